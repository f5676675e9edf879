"""`python -m simulator` is `ticdc-sim`."""

from __future__ import annotations

from simulator.cli import main

if __name__ == "__main__":
    main()

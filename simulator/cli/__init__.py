"""The command `ticdc-sim`. What it does is imported when it is called, so that a signal ends it from the start."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""numpy's threads for linear algebra, of which there is none here; they wait for work at the cost of CPU time."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run `ticdc-sim` as a program, with the arguments of the process."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as with nohup
            signal.signal(number, _end)
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    from simulator.cli import command_line

    sys.exit(command_line.main())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line in this process, and return its exit code."""
    from simulator.cli import command_line

    return command_line.run(arguments)


def _end(number: int, frame: object) -> None:
    """End the process while it is imported: nothing is begun yet. The exit code is the one that shells give."""
    os._exit(128 + number)

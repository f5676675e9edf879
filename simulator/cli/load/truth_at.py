"""`load --truth DIR --at WHEN`: writes the rows at a watermark, computed from plan, seed and rate; no run is needed."""

from __future__ import annotations

from pathlib import Path

from simulator import tso
from simulator.cli.truth import between_milliseconds, not_between, show, watermark
from simulator.load import truth
from simulator.load.epochs.epochs import PreparedLoad
from simulator.run import outputs
from simulator.ticdc.changefeed import Changefeed


def write(prepared: PreparedLoad, changefeed: Changefeed, directory: Path, format: str, at: str) -> None:
    """Write the truth and print its row counts; raises UserError for a TSO between two watermarks."""
    ts = watermark(at, prepared.start_ms)
    if not between_milliseconds(ts):
        raise not_between(ts)
    output = outputs.to_nowhere(prepared.plan, changefeed)
    rows = truth.write(prepared, output, changefeed, tso.physical(ts) - prepared.start_ms, directory, format)
    show(rows, directory, ts)

"""`load --truth DIR --at WHEN`: the rows that there are at a watermark, of a run that is over, goes on or never was.

One law: nothing is sent, and no run is asked: the plan, its seed and its rate tell everything.
"""

from __future__ import annotations

from pathlib import Path

from simulator import tso
from simulator.cli.truth import between_milliseconds, not_between, show, watermark
from simulator.load import truth
from simulator.load.epochs.epochs import PreparedLoad
from simulator.run import outputs
from simulator.ticdc.changefeed import Changefeed


def write(prepared: PreparedLoad, changefeed: Changefeed, directory: Path, format: str, at: str) -> None:
    """Writes it and tells how many rows each table has; raises UserError for a TSO that is no watermark's."""
    ts = watermark(at, prepared.start_ms)
    if not between_milliseconds(ts):
        raise not_between(ts)
    output = outputs.to_nowhere(prepared.plan, changefeed)
    rows = truth.write(prepared, output, changefeed, tso.physical(ts) - prepared.start_ms, directory, format)
    show(rows, directory, ts)

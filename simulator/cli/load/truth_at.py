"""`load --truth DIR --at WHEN`: the rows that there are at a watermark, of a run that is over, goes on or never was.

One law: nothing is sent, and no run is asked: the plan, its seed and its rate tell everything.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.cli.output import show_lines
from simulator.errors import UserError
from simulator.run import outputs
from simulator.run.load import truth
from simulator.run.load.stretches import Opening, stretches
from simulator.ticdc.changefeed import Changefeed

NOW = re.compile("0+(ms|s|m|h|d)")
TSO = re.compile("[0-9]{17,}")


def check(options: dict[str, Any]) -> None:
    """Raises UserError where there is no place for it."""
    if options["truth"] is None:
        raise UserError("--at says of when the truth is; --truth DIR says where it goes")
    truth.check(options["truth"])


def write(opening: Opening, changefeed: Changefeed, directory: Path, at: str) -> None:
    """Writes it and tells how many rows each table has."""
    ms = milliseconds(at, opening.start_ms)
    stretch = next(stretches(opening, outputs.to_nowhere(opening.plan, changefeed), ms))
    rows = truth.write(stretch, ms, directory, opening.load)
    width = max(map(len, rows))
    show_lines(f"{name:{width}} {count:>15,} rows" for name, count in rows.items())
    show_lines([f"{directory}: all rows at {tso.describe(tso.compose(opening.start_ms + ms))}"])


def milliseconds(at: str, start_ms: int) -> int:
    """Since the stream's start, of a duration or a TSO; raises UserError."""
    if NOW.fullmatch(at):
        return 0
    if not TSO.fullmatch(at):
        try:
            return tso.duration_ms(at)
        except UserError:
            raise UserError(
                f"--at {at!r}: expected a watermark, as a TSO such as {tso.compose(start_ms + 60_000)} or as the time "
                "since the stream's start such as 10m") from None
    ts = int(at)
    if ts > tso.FOREVER or tso.physical(ts) < start_ms:
        raise UserError(f"--at {at}: the stream starts at {tso.describe(tso.compose(start_ms))}")
    if ts != tso.compose(tso.physical(ts)):
        raise UserError(
            f"--at {at}: a watermark lies between two milliseconds, such as {tso.compose(tso.physical(ts))}")
    return tso.physical(ts) - start_ms

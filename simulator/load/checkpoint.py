"""The position of a load run, in `checkpoint.json` of its `--checkpoint` directory, so that another run can go on
there.

A checkpoint is written after all rows below it are acknowledged, and before its watermark is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from operator import add
from typing import Any

from simulator import tso
from simulator.columns.hashing import SumsByKind, read_sums
from simulator.generate.changes.transactions import Segment
from simulator.load.epochs import PreparedLoad
from simulator.run.checkpoint import changefeed_identity, short_hash
from simulator.ticdc.dispatch.partitions import Destinations

LAST_MS = 1 << 45
"""The upper limit of a position: a TSO has 46 bits for milliseconds since 1970."""

LONGEST_RATES = 60
"""Rates with more characters are recorded as a hash."""


@dataclass(frozen=True)
class SentTotals:
    """What a run has sent since it began, the parts before a restart included."""

    rows: int = 0
    messages: int = 0
    bytes: int = 0
    """Of keys and values of the rows' messages."""

    windows: int = 0

    def __add__(self, other: SentTotals) -> SentTotals:
        return SentTotals(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class LoadCheckpoint:
    """The position of a load run."""

    run: Mapping[str, str]
    """The identity of the run (`load_identity`)."""

    start_ms: int
    """The stream's start, in milliseconds since 1970."""

    acknowledged_ms: int = 0
    """Simulated milliseconds since the stream's start. All rows below are acknowledged."""

    statements: int = 0
    """The number of statements at this position that have been sent."""

    totals: SentTotals = field(default_factory=SentTotals)
    sums: SumsByKind | None = None
    """Of the row changes that were sent; None if not all of them were summed."""

    @property
    def watermark(self) -> int:
        """The TSO up to which everything is acknowledged."""
        return tso.compose(self.start_ms + self.acknowledged_ms)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LoadCheckpoint:
        """Read the fields; raise ValueError for numbers that no run writes."""
        if not 0 <= int(document["acknowledged_ms"]) < LAST_MS or int(document["statements"]) < 0:
            raise ValueError("nobody wrote that")
        return cls(
            {str(name): str(value) for name, value in document["run"].items()},
            int(document["start_ms"]),
            int(document["acknowledged_ms"]),
            int(document["statements"]),
            SentTotals(**document["totals"]),
            None if document["sums"] is None else read_sums(document["sums"]),
        )


def load_identity(prepared: PreparedLoad, to: Destinations) -> dict[str, str]:
    """Return everything that decides what a run sends, by the names that a message about a difference uses."""
    load, rules = prepared.load, prepared.rules
    rates = ", ".join(map(_rate, prepared.stream.segments))
    return {
        "plan": short_hash(load.text or repr(load)),
        "--seed": str(load.model.seed),
        "--rate": rates if len(rates) <= LONGEST_RATES else short_hash(rates),
        "--start-ts": str(tso.compose(prepared.start_ms)),
        **changefeed_identity(rules.release, rules.changefeed, dict(zip(to.topics, to.counts, strict=True))),
    }


def _rate(segment: Segment) -> str:
    ramp = f"..{segment.last:g}" if segment.last != segment.first else ""
    again = f" again every {segment.again_ms}ms" if segment.again_ms else ""
    return (f"{segment.from_ms}ms:" if segment.from_ms else "") + f"{segment.first:g}{ramp} rows/s{again}"

"""A partition in pieces that several tasks check at the same time.

Each reads some records before its piece, which tell the state of the checks where the piece begins. If that is the state
in which the piece before ends, the findings are those of one task that reads everything; otherwise they are not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from simulator.reader.contract.checks import REASONS
from simulator.reader.contract.events import MOST_SAMPLES
from simulator.reader.contract.summary import NEVER, PartitionSummary, ProgressSamples
from simulator.reader.contract.violations import SHOW, merge_violations

BELOW = frozenset(("row-below-watermark", "ddl-below-watermark"))
"""Checks of events that depend on more than the state of `PartitionChecks`."""


@dataclass(frozen=True)
class CheckedPiece:
    summary: PartitionSummary
    """Of the piece alone."""

    begin: bytes | None
    """The state where it begins; None if it is not known."""

    end: bytes | None


def joined_pieces(pieces: Sequence[CheckedPiece], show: int = SHOW) -> PartitionSummary | None:
    """Return the summary of the partition with these pieces, in order; None if they do not fit."""
    first, *others = (piece.summary for piece in pieces)
    if any(before.end is None or before.end != after.begin for before, after in pairwise(pieces)):
        return None
    if any(check in BELOW for other in others for check, _ in other.found.counts):
        return None
    every = [first, *others]
    statements = tuple(dict.fromkeys(ddl for each in every for ddl in each.statements))
    offsets = [each for each in every if each.first_offset is not None]
    return replace(
        first,
        records=sum(each.records for each in every),
        size=sum(each.size for each in every),
        first_offset=offsets[0].first_offset if offsets else None,
        last_offset=offsets[-1].last_offset if offsets else None,
        watermarks=np.unique(np.concatenate([each.watermarks for each in every])),
        statements=statements,
        rows=sum((each.rows for each in every), Counter()),
        bootstraps=sum((each.bootstraps for each in every), Counter()),
        repeated=sum(each.repeated for each in every),
        bare_deletes=sum(each.bare_deletes for each in every),
        exact=all(each.exact for each in every),
        whole=sum(each.whole for each in every),
        untimed=sum(each.untimed for each in every),
        repeated_statements=sum(each.repeated_statements + len(each.statements) for each in every) - len(statements),
        low=_lowest([each.low for each in every]),
        first_row=_lowest([each.first_row for each in every]),
        last_row=max(each.last_row for each in every),
        last_event=max(each.last_event for each in every),
        headless=bool(offsets) and offsets[0].headless,
        unchecked=sum((each.unchecked for each in every), Counter()),
        unreadable=_reasons(every),
        found=merge_violations([each.found for each in every], show),
        samples=_samples([each.samples for each in every]),
    )


def _lowest(times: Sequence[int]) -> int:
    return min((ts for ts in times if ts != NEVER), default=NEVER)


def _reasons(summaries: Sequence[PartitionSummary]) -> Counter[str]:
    reasons = Counter[str]()
    for why, count in (item for each in summaries for item in each.unreadable.items()):
        reasons[why if why in reasons or len(reasons) < REASONS else "other"] += count
    return reasons


def _samples(parts: Sequence[ProgressSamples]) -> ProgressSamples:
    offset, timestamp, watermark, row = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("offset", "timestamp", "watermark", "row")
    )
    stride = -(-len(offset) // MOST_SAMPLES) or 1
    tops = np.maximum.accumulate(row) if len(row) else row
    return ProgressSamples(offset[::stride], timestamp[::stride], watermark[::stride], tops[::stride])

"""What a topic holds beside what it should hold, message by message: nothing of the simulator's verification is used.

A message that comes again is the same bytes in the same partition. It is legal above the last watermark before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from support.load_told import Told

UNEXPECTED = -2


@dataclass(frozen=True)
class Counts:
    """Of rows and statements; watermarks only bound them."""

    lost: int
    misordered: int
    """Messages whose first time is after that of a younger one in the expected order, watermarks that fall, and messages
    that nobody expects."""

    again_above: int
    """Messages that come again above the last watermark."""

    again_below: int
    """Messages at or below the last watermark before them."""


def count(found: Sequence[Told], expected: Sequence[Told]) -> Counts:
    """Count partition by partition."""
    parts = {each.partition for each in (*found, *expected)}
    counts = [
        _partition(*([each for each in all if each.partition == part] for all in (found, expected))) for part in parts
    ]
    return Counts(*(sum(getattr(each, name) for each in counts) for name in Counts.__dataclass_fields__))


def _partition(found: Sequence[Told], expected: Sequence[Told]) -> Counts:
    places = {each.value: place for place, each in enumerate(expected) if each.kind != "watermark"}
    seen, watermark, newest = set[bytes](), 0, -1
    misordered = above = below = 0
    for message in found:
        if message.kind == "watermark":
            misordered += message.commit_ts < watermark
            watermark = message.commit_ts
            continue
        # a statement at the checkpoint comes again behind its watermark
        below += message.commit_ts < watermark + (message.kind == "row")
        if message.value in seen:
            above += message.commit_ts >= watermark + (message.kind == "row")
            continue
        seen.add(message.value)
        place = places.get(message.value, UNEXPECTED)
        misordered += place < newest
        newest = max(newest, place)
    return Counts(len(places.keys() - seen), misordered, above, below)

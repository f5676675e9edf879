"""What a topic holds of a run that a fault has met: the whole stream, and twice only what was not acknowledged.

A message that comes again is the same bytes in the same partition. It is legal above the last watermark before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.reader.records import read_records

PARTITIONS = 3
OPTIONS = f"protocol=canal-json&enable-tidb-extension=true&partition-num={PARTITIONS}"

DDL = """
[[ddl]]
every = "700ms"
kinds = ["add-column", "truncate", "drop-column"]
"""


@dataclass(frozen=True)
class Told:
    """A message, as a consumer takes it."""

    partition: int
    value: bytes
    commit_ts: int
    kind: str
    """`row`, `ddl` or `watermark`."""


def told(partition: int, value: bytes | None) -> Told:
    document: dict[str, Any] = json.loads(value or b"")
    extension = document["_tidb"]
    if document["type"] == "TIDB_WATERMARK":
        return Told(partition, value or b"", extension["watermarkTs"], "watermark")
    return Told(partition, value or b"", extension["commitTs"], "ddl" if document["isDdl"] else "row")


def of(source: str) -> list[Told]:
    """What is there, in the order of each partition."""
    return [told(record.partition, record.value) for record in read_records(source)]


def repeated_above(messages: Sequence[Told]) -> set[int]:
    """Return the watermarks above which messages come again; watermarks never fall, and nothing is at or below one."""
    above = set()
    for partition in range(PARTITIONS):
        watermark, seen = 0, set[bytes]()
        for message in (each for each in messages if each.partition == partition):
            if message.kind == "watermark":
                assert message.commit_ts >= watermark
                watermark = message.commit_ts
                continue
            assert message.commit_ts > watermark
            above |= {watermark} if message.value in seen else set()
            seen.add(message.value)
    return above


def assert_nothing_is_lost(found: Sequence[Told], expected: Sequence[Told], faults: Iterable[int]) -> None:
    """Partition by partition; `faults` are the watermarks above which messages may come again."""
    assert repeated_above(found) <= {*faults}
    again = 0
    for partition in range(PARTITIONS):
        mine = [each for each in found if each.partition == partition]
        firsts = list({each.value: each.commit_ts for each in mine if each.kind != "watermark"}.items())
        assert [ts for _, ts in firsts] == sorted(ts for _, ts in firsts)
        assert [value for value, _ in firsts] == [
            each.value for each in expected if each.partition == partition and each.kind != "watermark"
        ]
        again += sum(each.kind != "watermark" for each in mine) - len(firsts)
        assert {each.kind for each in mine} >= {"row", "watermark"}
    assert len({each.commit_ts for each in found if each.kind == "ddl"}) > 2
    assert again < len(expected) / 2


# -- counted: nothing of the simulator's verification is used

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

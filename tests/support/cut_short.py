"""Runs that are ended early, at a signal, at a write or by a fault, and what they leave: all that a complete run writes, and
twice only what was not acknowledged.

A message that comes again is the same bytes in the same partition. It is legal above the last watermark before it.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import SimulatorError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark, decode, time_of
from simulator.reader.records import Record, read_records
from simulator.signals import StopRequest
from simulator.sinks.external_storage import ExternalStorage, Part
from simulator.sinks.memory import Message
from support.databases import Table, write
from support.playing import play

NOWHERE = "kafka://127.0.0.1:1/shop?protocol=open-protocol"
RUN = "--resolved-interval", "500ms", "--sink-uri"

Sent = Sequence[Record] | Sequence[Message]


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """The command that compares two tables which share partitions, all rows new."""
    home = tmp_path_factory.mktemp("two tables")
    tables = [
        Table(f"CREATE TABLE `{name}` (`id` int PRIMARY KEY, `v` varchar(9))", (), [[key, "x"] for key in range(400)])
        for name in "st"
    ]
    before, after = (write(home / name, tables, state, "csv") for state, name in enumerate(("before", "after")))
    return "diff", before, after


@pytest.fixture(scope="module")
def whole(two_tables: tuple[str, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """The records of a complete run."""
    fixtures = tmp_path_factory.mktemp("whole")
    assert play(*two_tables, *RUN, f"{NOWHERE}&partition-num=2", "--fixtures", fixtures, "--master", "none") == 0
    return list(read_records(str(fixtures)))


def require_true(lines: Sequence[str], kafka: str, topic: str, whole: Sequence[Record]) -> None:
    """Each partition begins as the whole run's does, and lacks nothing below the commit-ts that a line says."""
    pattern = rf"  {topic}/([01]): (\d+) \(2025-01-01 00:\d\d:\d\d\.\d+ UTC\)"
    below = {int(found[1]): int(found[2]) for line in lines if (found := re.fullmatch(pattern, line))}
    for partition in (0, 1):
        expected = [record for record in whole if record.partition == partition]
        sent = [record for record in held(kafka, topic) if record.partition == partition]
        rest = expected[len(sent) :]
        assert [(each.key, each.value) for each in sent] == [(each.key, each.value) for each in expected[: len(sent)]]
        assert rest and min(commit_ts(rest)) >= below[partition] > min(commit_ts(sent))


def held(kafka: str, topic: str) -> list[Record]:
    """The topic's records; none before it is there."""
    try:
        return list(read_records(f"kafka://{kafka}/{topic}"))
    except SimulatorError:
        return []


def commit_ts(records: Sequence[Record]) -> Iterator[int]:
    """Of every event."""
    for record in records:
        for event in decode(record.key, record.value, "open-protocol"):
            ts = event.ts if isinstance(event, Watermark) else event.commit_ts
            assert ts is not None
            yield ts


def assert_nothing_is_lost(found: Sent, whole: Sent) -> int:
    """Each partition has every event of the whole stream in its order, and some again, as long as no watermark has
    covered them; gives how many came again."""
    events, expected = told(found), told(whole)
    assert {*expected} <= {*events}
    counts = count(events, expected)
    assert (counts.lost, counts.misordered, counts.again_below) == (0, 0, 0)
    return counts.again_above


def told(sent: Sent) -> list[Told]:
    """The events of one topic."""
    assert len({each.topic for each in sent}) == 1
    return [
        Told(each.partition, repr(event).encode(), time_of(event), KINDS[type(event)])
        for each in sent
        for event in decode(each.key, each.value)
    ]


KINDS: dict[type, str] = {Watermark: "watermark", DdlEvent: "ddl", RowEvent: "row"}


class Killed(BaseException):
    """The process is gone."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """Ends this process, as far as one can play that, instead of writing that file to a storage."""
    count, write = 0, ExternalStorage.write

    def counted(self: ExternalStorage, name: str, parts: Sequence[Part]) -> None:
        nonlocal count
        count += not name.startswith(".ticdc-sim-")
        if count > number:
            raise Killed
        write(self, name, parts)

    with monkeypatch.context() as patch:
        patch.setattr(ExternalStorage, "write", counted)
        try:
            yield
        except Killed:
            return
        raise AssertionError("the run has fewer files")


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


def told_by(partition: int, value: bytes | None) -> Told:
    document: dict[str, Any] = json.loads(value or b"")
    extension = document["_tidb"]
    if document["type"] == "TIDB_WATERMARK":
        return Told(partition, value or b"", extension["watermarkTs"], "watermark")
    return Told(partition, value or b"", extension["commitTs"], "ddl" if document["isDdl"] else "row")


def of(source: str) -> list[Told]:
    """What is there, in the order of each partition."""
    return [told_by(record.partition, record.value) for record in read_records(source)]


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


def assert_load_is_whole(found: Sequence[Told], expected: Sequence[Told], faults: Iterable[int]) -> None:
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


class StopAfter(StopRequest):
    """A stop request that becomes true after so many checks."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    @property
    def number(self) -> int:  # type: ignore[override]
        self._left -= 1
        return signal.SIGINT if self._left < 0 else 0

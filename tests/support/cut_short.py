"""Runs that are ended early, at a signal or at any write, and what they leave beside what a complete run writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulator.errors import SimulatorError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark, decode, time_of
from simulator.reader.records import Record, read_records
from simulator.sinks.external_storage import ExternalStorage, Part
from simulator.sinks.memory import Message
from support.databases import Table, write
from support.load_told import Told, count
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

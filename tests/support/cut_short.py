"""A run that is ended early and a complete one: what is reported about partitions is compared with the topic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from simulator.consumer.decode import Watermark, decode
from simulator.consumer.records import Record, read_records
from simulator.errors import SimulatorError
from support.databases import Table, write
from support.playing import play

NOWHERE = "kafka://127.0.0.1:1/shop?protocol=open-protocol"
RUN = "--resolved-interval", "500ms", "--sink-uri"


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
        assert [(record.key, record.value) for record in sent] == [
            (record.key, record.value) for record in expected[: len(sent)]
        ]
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

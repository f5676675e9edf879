"""What a consumer has at a watermark that replays a stream, to be held against the truth of then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.decode import time_of
from simulator.consumer.records import Record, read_records
from simulator.releases import V8_5, Release
from simulator.sources.snapshots import open
from simulator.ticdc.changefeed import Changefeed
from simulator.tidb.model.table import Name, Table
from support import oracle
from support.oracle.state import State, compare
from support.playing import state, tables_of


def marks(fixtures: Path, changefeed: Changefeed) -> list[int]:
    """Every commit-ts of a stream in order."""
    spec = stream_spec_of(changefeed, (), _counts(fixtures))
    events = (placed.event for part in _partitions(fixtures) for placed in oracle.events(part, spec))
    return sorted({time_of(event) for event in events})


def replayed(
    fixtures: Path,
    changefeed: Changefeed,
    before: State,
    tables: Mapping[Name, Table],
    until: int,
    release: Release = V8_5,
) -> State:
    """The state behind all events up to a watermark; raises AssertionError where they do not fit."""
    spec = stream_spec_of(changefeed, tables.values(), _counts(fixtures), release=release)
    every = oracle.in_commit_order(oracle.events(part, spec) for part in _partitions(fixtures))
    done = oracle.replay([placed for placed in every if time_of(placed.event) <= until], before, tables)
    assert done.violations == []
    return done.state


def assert_truth(truth: Path, found: State) -> None:
    """The truth holds exactly these rows, and no table that nobody has."""
    tables = tables_of(truth) if open(truth).tables else {}
    assert list(compare({name: rows for name, rows in found.items() if rows}, state(truth), tables)) == []


def _counts(fixtures: Path) -> dict[str, int]:
    return {topic.name: len(list(topic.iterdir())) for topic in fixtures.iterdir()}


def _partitions(fixtures: Path) -> list[list[Record]]:
    stream = list(read_records(str(fixtures)))
    places = sorted({(record.topic, record.partition) for record in stream})
    return [[record for record in stream if (record.topic, record.partition) == place] for place in places]

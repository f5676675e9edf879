"""A stream up to a watermark, as a consumer replays it, held against the truth of then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.decode import decode, time_of
from simulator.consumer.records import Record, read_records
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.model.table import Name, Table
from support import replaying
from support.playing import State, state


@dataclass(frozen=True)
class Replay:
    """The stream up to a watermark, and the tables and rows before it."""

    stream: tuple[Record, ...]
    before: State
    tables: Mapping[Name, Table]
    protocol: str
    fidelity: Fidelity


def marks(fixtures: Path, changefeed: Changefeed) -> list[int]:
    """Every commit-ts of a stream in order."""
    return sorted({ts for record in read_records(str(fixtures)) for ts in _times(record, changefeed)})


def _times(record: Record, changefeed: Changefeed) -> Iterator[int]:
    return map(time_of, decode(record.key, record.value, changefeed.codec.protocol))


def replayed(
    fixtures: Path,
    changefeed: Changefeed,
    before: State,
    tables: Mapping[Name, Table],
    until: int,
    release: Release = V8_5,
) -> Replay:
    """The replay of all messages up to a watermark; they have one event each."""
    spec = stream_spec_of(changefeed, tables.values(), {}, release=release)
    stream = (each for each in read_records(str(fixtures)) if [*_times(each, changefeed)] <= [until])
    return Replay(tuple(stream), before, spec.tables, spec.protocol, spec.fidelity)


def assert_truth(truth: Path, found: Replay) -> None:
    """The stream leads to exactly the rows of the truth."""
    outcome = replaying.replayed(
        found.stream, found.protocol, found.tables.values(), found.before, state(truth), found.fidelity
    )
    assert (outcome.counts, outcome.examples, outcome.not_compared) == ({}, (), {})

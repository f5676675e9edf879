"""Partitions read once: decoded, checked, and made into what a replay is made of.

One law: a partition is read a batch at a time, and what is left of it is a summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import pyarrow as pa

from simulator.channel import DriverAddress
from simulator.consumer.contract.checks import PartitionChecks
from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.decode.event_texts import possible_statements as may_be_statements
from simulator.consumer.partitions import StreamPartition
from simulator.consumer.records import Record
from simulator.consumer.replay.frame import ImagePairSource, Report
from simulator.consumer.replay.image_pairs import ImagePairBuilder, SkippedChanges
from simulator.consumer.replay.table_timeline import StreamStatement
from simulator.consumer.replay.table_timeline import stream_statements as found_in
from simulator.engines.tasks.progress import report_reading

FIRST = 50
"""Records of each partition that are looked at to see what the stream is."""


@dataclass(frozen=True)
class ReadSettings:
    """What is done with every partition."""

    spec: StreamSpec
    show: int
    replaying: ImagePairBuilder | None = None
    """None where rows are not replayed."""

    driver: DriverAddress | None = None
    """Who hears how much was read."""


@dataclass(frozen=True)
class PartitionResult:
    """Told of a partition when it is read."""

    number: int
    """Its place among all."""

    summary: PartitionSummary
    left: SkippedChanges


def first_records(partitions: Iterable[StreamPartition]) -> Iterator[Record]:
    """Some of the first records of each partition."""
    for partition in partitions:
        for batch in islice(partition.batches(), 1):
            for row in batch.slice(0, FIRST).to_pylist():
                yield Record(*partition.place, row["offset"], row["timestamp"], row["key"], row["value"])


def read_statements(partitions: Iterable[StreamPartition], protocol: str) -> list[StreamStatement]:
    """All statements of a stream, in the order of their commit-ts: the first partition of each topic has its own."""
    return found_in(
        decoding.decoded(may_be_statements(records, protocol))
        for partition in partitions
        if partition.partition == 0
        for decoding in [StreamDecoder(protocol)]
        for records in partition.batches()
    )


def partition_sources(partitions: Iterable[StreamPartition], reading: ReadSettings) -> list[ImagePairSource]:
    """What reads each partition: its row changes as halves, while `tell` hears `PartitionResult` in the end."""
    return [partial(_read, partition, number, reading) for number, partition in enumerate(partitions)]


def _read(partition: StreamPartition, number: int, reading: ReadSettings, tell: Report) -> Iterator[pa.RecordBatch]:
    checks = PartitionChecks(partition.place, reading.spec, reading.show)
    decoding = StreamDecoder(reading.spec.protocol, reading.spec.stored)
    left = SkippedChanges()
    for records in report_reading(partition.batches(), number, reading.driver):
        events = decoding.decoded(records)
        checks.take(events, decoding.layouts, records)
        if reading.replaying is not None:
            yield from reading.replaying.image_pairs(events, decoding.layouts, number, left)
    tell(PartitionResult(number, checks.end(), left))


class ReadResults:
    """What sources told, in this process or in those of Spark."""

    def __init__(self) -> None:
        self._read: dict[int, PartitionResult] = {}

    def __call__(self, value: object) -> None:
        if isinstance(value, PartitionResult):
            self._read[value.number] = value  # again, where a task of Spark was begun again

    @property
    def summaries(self) -> list[PartitionSummary]:
        return [self._read[number].summary for number in sorted(self._read)]

    @property
    def left(self) -> SkippedChanges:
        """Row changes that are in no half."""
        found = SkippedChanges()
        for each in self._read.values():
            found.include(each.left)
        return found


def partition_counts(partitions: Sequence[StreamPartition]) -> dict[str, int]:
    """How many partitions each topic has."""
    found: dict[str, int] = {}
    for partition in partitions:
        found[partition.topic] = max(found.get(partition.topic, 0), partition.partition + 1)
    return found

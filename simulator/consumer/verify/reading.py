"""Reads partitions once: decodes and checks their records, and converts row changes to image pairs.

A partition is read batch by batch; only its summary is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType

import pyarrow as pa

from simulator.channel import DriverAddress
from simulator.consumer.contract.checks import PartitionChecks
from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.decode.batches import StreamDecoder, possible_statements
from simulator.consumer.frame import Layout
from simulator.consumer.partitions import StreamPartition, split_batch
from simulator.consumer.records import Record
from simulator.consumer.replay.frame import ImagePairSource, Report
from simulator.consumer.replay.image_pairs import ImagePairBuilder, SkippedChanges
from simulator.consumer.replay.table_timeline import StreamStatement, stream_statements
from simulator.consumer.storage.table_events import TableEvents, TableFiles
from simulator.engines.tasks.progress import report_reading

FIRST = 50
"""Records of each partition that are examined to recognise the stream."""


@dataclass(frozen=True)
class ReadSettings:
    spec: StreamSpec
    show: int
    pair_builder: ImagePairBuilder | None = None
    """None if rows are not replayed."""

    driver: DriverAddress | None = None
    """Receives the number of records read."""


@dataclass(frozen=True)
class PartitionResult:
    number: int
    """Its index among all partitions."""

    summary: PartitionSummary
    skipped: SkippedChanges


def first_records(partitions: Iterable[StreamPartition]) -> Iterator[Record]:
    """Yield some of the first records of each partition."""
    for partition in partitions:
        for batch in islice(partition.batches(), 1):
            for row in batch.slice(0, FIRST).to_pylist():
                yield Record(*partition.place, row["offset"], row["timestamp"], row["key"], row["value"])


def read_statements(
    partitions: Iterable[StreamPartition], protocol: str, schemas: Mapping[int, str] = MappingProxyType({})
) -> list[StreamStatement]:
    """Return all statements of a stream in the order of commit-ts. Each topic has all its statements in partition 0.
    `schemas` are those of a registry.

    Those of files with one commit-ts, which are renames, are in the order of `StorageDirectory.files`.
    """
    partitions = list(partitions)
    if partitions and isinstance(files := partitions[0].source, TableFiles):
        return stream_statements(TableFiles(files.directory, files.directory.files).statements())
    return stream_statements(
        events
        for partition in partitions
        if partition.partition == 0
        for events in _statements(partition, protocol, schemas)
    )


def _statements(partition: StreamPartition, protocol: str, schemas: Mapping[int, str]) -> Iterator[pa.RecordBatch]:
    decoding = StreamDecoder(protocol, schemas=schemas)
    return (decoding.decoded(possible_statements(records, protocol)) for records in partition.batches())


def partition_sources(partitions: Iterable[StreamPartition], settings: ReadSettings) -> list[ImagePairSource]:
    """Return sources that read the partitions: each yields image pairs, and reports a PartitionResult at the end."""
    return [partial(_read, partition, number, settings) for number, partition in enumerate(partitions)]


def _read(partition: StreamPartition, number: int, settings: ReadSettings, report: Report) -> Iterator[pa.RecordBatch]:
    checks = PartitionChecks(partition.place, settings.spec, settings.show)
    skipped = SkippedChanges()
    for events, layouts, records in _events(partition, number, settings):
        checks.take(events, layouts, records)
        if settings.pair_builder is not None:
            yield from settings.pair_builder.image_pairs(events, layouts, number, skipped)
    report(PartitionResult(number, checks.end(), skipped))


def _events(
    partition: StreamPartition, number: int, settings: ReadSettings
) -> Iterator[tuple[pa.RecordBatch, Sequence[Layout], pa.RecordBatch | None]]:
    """Yield events (EVENT_SCHEMA), the layouts of all rows so far, and the records of the events if there are any."""
    if isinstance(partition.source, TableFiles):
        files = TableEvents(partition.source)
        for batch in report_reading(files.batches(), number, settings.driver):
            for events in split_batch(batch):
                yield events, files.layouts, None
        return
    spec = settings.spec
    decoding = StreamDecoder(spec.protocol, spec.stored, schemas=spec.schemas, tables=spec.all_tables)
    for records in report_reading(partition.batches(), number, settings.driver):
        yield decoding.decoded(records), decoding.layouts, records


class ReadResults:
    """Collects the results that sources report, in this process or from Spark."""

    def __init__(self) -> None:
        self._read: dict[int, PartitionResult] = {}

    def __call__(self, value: object) -> None:
        if isinstance(value, PartitionResult):
            self._read[value.number] = value  # again, where a task of Spark was begun again

    @property
    def summaries(self) -> list[PartitionSummary]:
        return [self._read[number].summary for number in sorted(self._read)]

    @property
    def skipped(self) -> SkippedChanges:
        """Return the row changes without an image pair."""
        skipped = SkippedChanges()
        for each in self._read.values():
            skipped.include(each.skipped)
        return skipped


def partition_counts(partitions: Sequence[StreamPartition]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partition in partitions:
        counts[partition.topic] = max(counts.get(partition.topic, 0), partition.partition + 1)
    return counts

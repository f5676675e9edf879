"""The partitions of a recorded stream in fixtures directories or Kafka topics, read as batches of RECORD_SCHEMA.

A StreamPartition only describes what to read, so that any process can read it. Records come in offset order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import UserError
from simulator.reader.events import record_batch
from simulator.reader.record_batches import BYTES, ROWS, file_size, offset_range, read_batches
from simulator.reader.records import FixtureFile, TopicPartition, fixture_files, kafka_topic
from simulator.reader.storage.directory import StorageDirectory
from simulator.reader.storage.table_events import TableFiles, table_files
from simulator.sinks.kafka import KafkaSettings, of_changefeed

MOST_WHOLE = 2
"""Pieces from which it pays to cut a partition."""


@dataclass(frozen=True)
class StreamPartition:
    """A partition, and the range of offsets to read."""

    topic: str
    partition: int
    source: Path | KafkaSettings | TableFiles
    """A file of fixtures, the settings of a Kafka cluster, or the files of a table on a storage."""

    first: int | None = None
    """The first offset to read; None for everything."""

    next: int | None = None
    """The offset after the last one to read."""

    records: int | None = None
    """Approximate number of records; None if unknown."""

    size: int | None = None
    """Bytes of the file."""

    @property
    def place(self) -> TopicPartition:
        return self.topic, self.partition

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches of RECORD_SCHEMA; raises UserError for a broken file, DeliveryError if Kafka fails."""
        assert not isinstance(self.source, TableFiles)  # it has events
        read = _of_kafka(self, self.source) if isinstance(self.source, KafkaSettings) else _of_file(self, self.source)
        return (piece for batch in read for piece in split_batch(batch))


StreamSources: TypeAlias = "str | Path | Sequence[str | Path]"
"""Fixtures directories, or `kafka://host:port/topic[,topic]`; several sources form one stream."""


def partitions(source: StreamSources, warn: Callable[[Iterable[str]], object] = tuple) -> list[StreamPartition]:
    """Return all partitions by topic and number, up to the current end of each topic.

    `warn` receives parameters of an address without effect. Raises UserError for a missing directory or topic, a
    directory without fixtures, or a duplicate partition; DeliveryError if Kafka does not answer.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    all_partitions = [partition for one in sources for partition in _partitions(one, warn)]
    all_partitions.sort(key=lambda partition: partition.place)
    for partition, other in zip(all_partitions, all_partitions[1:]):
        if partition.place == other.place:
            raise UserError(
                f"{partition.topic}/{partition.partition} is there twice: {_where(partition.source)} and "
                f"{_where(other.source)}; give one of them"
            )
    return all_partitions


def storage_partitions(directory: StorageDirectory) -> list[StreamPartition]:
    """Return a partition 0 for each table of a storage, and for each database with statements."""
    return [StreamPartition(name, 0, files) for name, files in sorted(table_files(directory).items())]


def cut_partition(partition: StreamPartition, records: int) -> list[StreamPartition]:
    """Cut a partition into ranges of offsets of about so many records; one whose offsets are not known stays whole."""
    count = (partition.records or 0) // records
    if count < MOST_WHOLE or isinstance(partition.source, TableFiles):
        return [partition]
    if isinstance(partition.source, Path):
        offsets = offset_range(FixtureFile(partition.topic, partition.partition, partition.source))
    else:
        offsets = None if partition.first is None or partition.next is None else (partition.first, partition.next)
    if offsets is None:
        return [partition]
    first, behind = offsets
    bounds = [first + (behind - first) * number // count for number in range(count + 1)]
    return [
        replace(partition, first=begin, next=end, records=(partition.records or 0) // count, size=None)
        for begin, end in zip(bounds, bounds[1:])
    ]


def split_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch into slices of at most about ROWS rows and BYTES bytes."""
    parts = max(-(-batch.num_rows // ROWS), -(-batch.nbytes // BYTES), 1)
    rows = max(1, -(-batch.num_rows // parts))
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def _partitions(source: str | Path, warn: Callable[[Iterable[str]], object]) -> list[StreamPartition]:
    if "://" in str(source):
        return _topics(str(source), warn)
    return [
        StreamPartition(shard.topic, shard.partition, shard.path, **file_size(shard))
        for shard in fixture_files(Path(source))
    ]


def _topics(source: str, warn: Callable[[Iterable[str]], object]) -> list[StreamPartition]:
    from simulator.sinks.kafka.read import offset_ranges

    head, slash, rest = source.partition("://")[2].partition("/")
    names, mark, parameters = rest.partition("?")
    scheme = source.partition("://")[0]
    topics: dict[str, KafkaSettings] = {}
    for name in names.split(","):
        topic, kafka, warnings = kafka_topic(f"{scheme}://{head}{slash}{name}{mark}{parameters}", source)
        if not topics:
            warn(warnings)
        topics[topic] = of_changefeed(kafka)
    settings = next(iter(topics.values()))
    return [
        StreamPartition(topic, partition, settings, first, end, end - first)
        for (topic, partition), (first, end) in offset_ranges(settings, list(topics)).items()
    ]


def _of_file(partition: StreamPartition, path: Path) -> Iterator[pa.RecordBatch]:
    shard = FixtureFile(partition.topic, partition.partition, path)
    for batch in read_batches(shard, (partition.first, partition.next)):
        offset = batch.column("offset")
        if partition.first is not None and batch.num_rows and offset[0].as_py() < partition.first:
            batch = batch.filter(pc.greater_equal(offset, partition.first))
            offset = batch.column("offset")
        if partition.next is not None and batch.num_rows and offset[-1].as_py() >= partition.next:
            yield batch.filter(pc.less(offset, partition.next))
            return
        yield batch


def _of_kafka(partition: StreamPartition, settings: KafkaSettings) -> Iterator[pa.RecordBatch]:
    from simulator.sinks.kafka.read import read_partition

    assert partition.first is not None and partition.next is not None
    for columns in read_partition(settings, partition.topic, partition.partition, partition.first, partition.next):
        yield record_batch(columns)


def _where(source: Path | KafkaSettings | TableFiles) -> str:
    return f"Kafka at {source.address}" if isinstance(source, KafkaSettings) else str(source)

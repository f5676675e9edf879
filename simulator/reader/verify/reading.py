"""Reads partitions once: decodes and checks their records, and converts row changes to image pairs.

A partition is read batch by batch; only its summary is kept. Several tasks read a long one, a piece each
(`contract.CheckedPiece`). With `--follow` the tail of each partition is read until every one has the final watermark; the
verification afterwards reads everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.channel import DriverAddress
from simulator.columns.change_frame import DDL, WATERMARK, ints
from simulator.engines.tasks.progress import report_reading
from simulator.limits import counted
from simulator.reader.contract import SHOW, CheckedPiece, PartitionSummary, joined_pieces
from simulator.reader.contract.checks import PartitionChecks
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode import is_sequential, schema_memory
from simulator.reader.decode.batches import StreamDecoder, possible_statements
from simulator.reader.decode.decoder import SchemaMemory
from simulator.reader.events import RECORD_SCHEMA, Layout, TableSchemas, record_batch
from simulator.reader.partitions import StreamPartition, cut_partition, split_batch
from simulator.reader.records import TopicPartition
from simulator.reader.replay import ImagePairSource, Report, SkippedChanges
from simulator.reader.replay.image_pairs import ImagePairBuilder
from simulator.reader.replay.stream_statements import StreamStatement, renames, statements_in_order, stream_statements
from simulator.reader.storage.table_events import TableEvents, TableFiles
from simulator.reader.verify.options import Reader
from simulator.sinks.records import Record

if TYPE_CHECKING:
    from simulator.sinks.kafka import KafkaSettings
    from simulator.sinks.kafka.read import Polled


PIECE = 1 << 22
"""Records of a piece of a partition on Spark."""

BEFORE = tuple(1 << bits for bits in (16, 18, 20))
"""Records that are read before a piece, until there are enough watermarks."""

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

    records: int = 0
    """Records of a piece; 0 if partitions are not cut."""


@dataclass(frozen=True)
class Piece:
    """A range of a partition's offsets."""

    number: int
    """Index of the partition among all."""

    place: int
    """Index of the piece in its partition."""

    partition: StreamPartition
    start: int | None = None
    """The first offset of the partition, before the piece; None if that is where it begins."""


@dataclass(frozen=True)
class PieceResult:
    number: int
    place: int
    """As in Piece."""

    checked: CheckedPiece
    skipped: SkippedChanges


def first_records(partitions: Iterable[StreamPartition]) -> Iterator[Record]:
    """Yield some of the first records of each partition."""
    for partition in partitions:
        for batch in islice(partition.batches(), 1):
            for row in batch.slice(0, FIRST).to_pylist():
                yield Record(*partition.place, row["offset"], row["timestamp"], row["key"], row["value"])


@dataclass(frozen=True)
class ReadStatements:
    statements: list[StreamStatement] = field(default_factory=list)
    """In the order of commit-ts."""

    renamed: Mapping[str, TableSchemas] = field(default_factory=dict)
    """Topic → the table schemas that a RENAME tells there, in protocols that have some."""


def read_statements(
    partitions: Iterable[StreamPartition],
    protocol: str,
    reader: Reader,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> ReadStatements:
    """Return all statements of a stream. Each topic has all its statements in partition 0. `schemas` are those of a
    registry.

    Those of files with one commit-ts, which are renames, are in the order of `StorageDirectory.files`.
    """
    partitions = list(partitions)
    if partitions and isinstance(files := partitions[0].source, TableFiles):
        return ReadStatements(stream_statements(TableFiles(files.directory, files.directory.files).statements()))
    pieces = [
        piece
        for partition in partitions
        if partition.partition == 0
        for piece in (cut_partition(partition, PIECE) if _each_alone(protocol) else [partition])
    ]
    found: dict[int, ReadStatements] = {}
    reader(
        [partial(_report_statements, number, piece, protocol, schemas) for number, piece in enumerate(pieces)],
        lambda value: found.update([cast("tuple[int, ReadStatements]", value)]),
    )
    every = [found[number] for number in sorted(found)]
    renamed: dict[str, TableSchemas] = {}
    for topic, told in (item for each in every for item in each.renamed.items()):
        renamed.setdefault(topic, {}).update(told)
    return ReadStatements(statements_in_order(each for part in every for each in part.statements), renamed)


def _report_statements(
    number: int, partition: StreamPartition, protocol: str, schemas: Mapping[int, str], report: Report
) -> Iterator[pa.RecordBatch]:
    """Report a number and the statements of a partition, or of a piece of it."""
    decoding, memory = StreamDecoder(protocol, schemas=schemas), schema_memory(protocol)
    found: list[StreamStatement] = []
    told: TableSchemas = {}
    for records in (possible_statements(records, protocol) for records in partition.batches()):
        events = decoding.decoded(records)
        found += stream_statements([events])
        if memory is not None:
            told |= _told_by_renames(memory, records, events)
    report((number, ReadStatements(statements_in_order(found), {partition.topic: told} if told else {})))
    yield from ()


def _told_by_renames(memory: SchemaMemory, records: pa.RecordBatch, events: pa.RecordBatch) -> TableSchemas:
    """Return the table schemas that the RENAMEs among events tell, given the records that they were decoded from."""
    told: TableSchemas = {}
    offsets = records.column("offset").to_pylist()
    for place in np.flatnonzero(ints(events, "kind") == DDL).tolist():
        row = {name: events.column(name)[place].as_py() for name in ("commit_ts", "schema", "text", "offset")}
        each = memory.told(None, records.column("value")[offsets.index(row["offset"])].as_py())
        if is_rename(StreamStatement(row["commit_ts"], row["schema"] or "", row["text"]), each):
            told |= each
    return told


def is_rename(statement: StreamStatement, told: TableSchemas) -> bool:
    """Return whether a statement gives a table another name, given the table schemas that its message tells: classic TiCDC
    tells that before it, the new architecture writes the old name in full."""
    return len({(schema, table) for schema, table, _ in told}) > 1 or bool(renames(statement))


def _each_alone(protocol: str) -> bool:
    """Return whether each event has a commit-ts, and a meaning without those before it."""
    return not is_sequential(protocol) and not schema_memory(protocol)


def partition_sources(partitions: Iterable[StreamPartition], settings: ReadSettings) -> list[ImagePairSource]:
    """Return sources that read the partitions: each yields image pairs, and reports a PieceResult at the end."""
    pieces = [piece for number, partition in enumerate(partitions) for piece in _pieces(number, partition, settings)]
    return [partial(_read, piece, number, settings) for number, piece in enumerate(pieces)]


def _pieces(number: int, partition: StreamPartition, settings: ReadSettings) -> list[Piece]:
    """Cut a partition whose events all have a commit-ts and a meaning of their own."""
    spec = settings.spec
    alone = spec.watermarks and not spec.files and _each_alone(spec.protocol)
    parts = cut_partition(partition, settings.records) if alone and settings.records else [partition]
    return [Piece(number, place, part, parts[0].first if place else None) for place, part in enumerate(parts)]


def _read(piece: Piece, task: int, settings: ReadSettings, report: Report) -> Iterator[pa.RecordBatch]:
    (checks, begin, decoding), skipped = _begun(piece, settings), SkippedChanges()
    for events, layouts, records in _events(piece.partition, task, settings, decoding):
        checks.take(events, layouts, records)
        if settings.pair_builder is not None:
            yield from settings.pair_builder.image_pairs(events, layouts, piece.number, skipped)
    end = checks.state()
    report(PieceResult(piece.number, piece.place, CheckedPiece(checks.end(), begin, end), skipped))


def _begun(piece: Piece, settings: ReadSettings) -> tuple[PartitionChecks, bytes | None, StreamDecoder]:
    """Return the checks where the piece begins and their state there, by records before it with two watermarks, and the
    decoder of these."""
    checks, decoding = _new(piece, settings)
    if piece.start is None or piece.partition.first is None:
        return checks, None, decoding
    for size in BEFORE:
        first = max(piece.start, piece.partition.first - size)
        before = replace(piece.partition, first=first, next=piece.partition.first)
        checks, decoding = _new(piece, settings)
        for events, layouts, records in _events(before, 0, replace(settings, driver=None), decoding):
            checks.take(events, layouts, records)
        if checks.watermarks > 1 or first == piece.start:
            break
    begin = checks.state()
    checks.begin_piece()
    return checks, begin, decoding


def _new(piece: Piece, settings: ReadSettings) -> tuple[PartitionChecks, StreamDecoder]:
    spec = settings.spec
    told: TableSchemas = {}
    for topic, schemas in spec.renamed.items():  # rows go to the topic of the new name, RENAME to that of the old one
        told |= schemas if topic != piece.partition.topic else {}
    decoding = StreamDecoder(spec.protocol, spec.stored, told, spec.schemas, spec.all_tables)
    return PartitionChecks(piece.partition.place, spec, settings.show), decoding


def _events(
    partition: StreamPartition, task: int, settings: ReadSettings, decoding: StreamDecoder
) -> Iterator[tuple[pa.RecordBatch, Sequence[Layout], pa.RecordBatch | None]]:
    """Yield events (EVENT_SCHEMA), the layouts of all rows so far, and the records of the events if there are any."""
    if isinstance(partition.source, TableFiles):
        files = TableEvents(partition.source)
        for batch in report_reading(files.batches(), task, settings.driver):
            for events in split_batch(batch):
                yield events, files.layouts, files.records
        return
    for records in report_reading(partition.batches(), task, settings.driver):
        yield decoding.decoded(records), decoding.layouts, records


class ReadResults:
    """Collects the results that sources report, in this process or from Spark."""

    def __init__(self, show: int = SHOW) -> None:
        self._show = show
        self._read: dict[int, dict[int, PieceResult]] = {}
        self._whole: dict[int, PartitionSummary] = {}

    def __call__(self, value: object) -> None:
        if isinstance(value, PieceResult):
            # again, where a task of Spark was begun again
            self._read.setdefault(value.number, {})[value.place] = value

    @property
    def apart(self) -> list[int]:
        """Return the partitions of which the pieces do not fit, so that they must be read by one task."""
        return [number for number in sorted(self._read) if self._summary(number) is None]

    def with_whole(self, again: ReadResults) -> ReadResults:
        """Return these results, with the partitions that are `apart` as they were read again, in that order."""
        whole = dict(zip(self.apart, again.summaries, strict=True))
        results = ReadResults(self._show)
        results._read, results._whole = self._read, whole
        return results

    @property
    def summaries(self) -> list[PartitionSummary]:
        found = (self._summary(number) for number in sorted(self._read))
        return [summary for summary in found if summary is not None]

    def _summary(self, number: int) -> PartitionSummary | None:
        if number in self._whole:
            return self._whole[number]
        pieces = self._read[number]
        return joined_pieces([pieces[place].checked for place in sorted(pieces)], self._show)

    @property
    def skipped(self) -> SkippedChanges:
        """Return the row changes without an image pair."""
        skipped = SkippedChanges()
        for each in (piece for pieces in self._read.values() for piece in pieces.values()):
            skipped.include(each.skipped)
        return skipped


def partition_counts(partitions: Sequence[StreamPartition]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partition in partitions:
        counts[partition.topic] = max(counts.get(partition.topic, 0), partition.partition + 1)
    return counts


BACK = 500
"""Offsets before the end of each partition where following starts."""


@dataclass
class FollowProgress:
    """The greatest watermark in the tail of each partition."""

    until: int
    watermarks: dict[TopicPartition, int] = field(default_factory=dict)
    """0 for none yet."""

    @property
    def behind(self) -> list[TopicPartition]:
        """Return the partitions that have not reached the watermark."""
        return [partition for partition, watermark in self.watermarks.items() if watermark < self.until]

    def __str__(self) -> str:
        behind = self.behind
        if not behind:
            return f"all {counted(len(self.watermarks), 'partition')} have the watermark {tso.describe(self.until)}"
        slowest = min(behind, key=lambda partition: self.watermarks[partition])
        at = self.watermarks[slowest]
        return (
            f"{len(self.watermarks) - len(behind)} of {counted(len(self.watermarks), 'partition')} have the watermark "
            f"{tso.describe(self.until)}; {slowest[0]}/{slowest[1]} "
            f"{f'is at {tso.describe(at)}' if at else 'has shown none yet'}"
        )


def wait_for_watermark(
    settings: KafkaSettings,
    places: Iterable[TopicPartition],
    until: int,
    listener: Callable[[FollowProgress], object] = lambda followed: None,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> FollowProgress:
    """Wait until each partition has a watermark of at least `until`. `listener` is called with the progress; `schemas` are
    those that messages name, by id."""
    from simulator.sinks.kafka.read import tail

    followed = FollowProgress(until, dict.fromkeys(places, 0))
    listener(followed)
    with closing(tail(settings, followed.watermarks, BACK)) as polls:
        while followed.behind:
            for partition, watermark in watermarks(next(polls), schemas).items():
                followed.watermarks[partition] = max(followed.watermarks[partition], watermark)
            listener(followed)
    return followed


def watermarks(polled: Polled, schemas: Mapping[int, str]) -> Mapping[TopicPartition, int]:
    """Return the greatest watermark of each partition among these records; partitions without one are left out."""
    greatest: dict[TopicPartition, int] = {}
    for partition, records in polled.items():
        columns = [[getattr(record, name) for record in records] for name in RECORD_SCHEMA.names]
        events = StreamDecoder(schemas=schemas).decoded(record_batch(columns))
        marks = events.column("commit_ts").to_numpy()[np.asarray(events.column("kind")) == WATERMARK]
        if len(marks):
            greatest[partition] = int(marks.max())
    return greatest

"""Opens a stream: what is known of it before it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from simulator import tso
from simulator.errors import UserError, uri_without_secrets
from simulator.reader.contract.destinations import PartitionCountSpans, Span, spans_between
from simulator.reader.contract.message_writer import LikeNullOfAny, MessageWriter
from simulator.reader.contract.stream_spec import (
    UNBOUNDED,
    StreamSpec,
    may_have_bare_deletes,
    possible_releases,
    releases_by_fidelity,
    spec_of_any_release,
    stream_spec_of,
    told_tables,
)
from simulator.reader.decode import DECODERS, is_sequential, schema_memory
from simulator.reader.decode.message_bytes import parse
from simulator.reader.decode.row_images import ImagesOfReleases
from simulator.reader.events import TableSchemas
from simulator.reader.partitions import StreamPartition, partitions, storage_partitions
from simulator.reader.records import TopicPartition, source_schemas
from simulator.reader.replay import ImagePairSource
from simulator.reader.replay.normalize import LikeNull
from simulator.reader.replay.outcome import table_knowledge
from simulator.reader.replay.states import RowsInMessages, snapshot_sources, state_table_numbers
from simulator.reader.replay.stream_statements import StreamStatement, exchanged_tables, renames
from simulator.reader.replay.table_timeline import TableTimeline
from simulator.reader.storage import is_storage
from simulator.reader.storage.directory import open_directory
from simulator.reader.truth_metadata import ExpectedStatement, Truth
from simulator.reader.verify import comparison, reading, untold
from simulator.reader.verify.options import VerifyListener, VerifyOptions, engine_of
from simulator.reader.verify.origin import StreamOrigin, inspect_records, resolve_origin, storage_origin, stream_schemas
from simulator.reader.verify.reading import FollowProgress, wait_for_watermark
from simulator.reader.verify.stored_schemas import later_checkpoint, statement_findings, with_definitions
from simulator.reader.verify.topics import left_topics, topic_spans
from simulator.reader.verify.verification import UNKNOWN, NotChecked
from simulator.signals import Stopped
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.records import Record
from simulator.sinks.schema_registry import RegistrySchemas
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.csv import CSV
from simulator.ticdc.mounter import zone_of_rows
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Name, Table

UNTIMED = "nothing tells which of its definitions it had"


@dataclass(frozen=True)
class StreamRecords:
    """A stream, of which no statement has been read."""

    partitions: Sequence[StreamPartition]
    origin: StreamOrigin
    size: int = 0
    """Approximate bytes."""

    schemas: Mapping[int, str] = field(default_factory=dict)
    """Those of a registry, by id."""

    headless: bool = False
    """Whether it begins in the middle, so that it is not known which rows its tables have there."""


@dataclass(frozen=True)
class OpenedStream:
    """A stream, and what is known of it before it is read."""

    partitions: tuple[StreamPartition, ...]
    origin: StreamOrigin
    states: comparison.StreamStates
    statements: tuple[StreamStatement, ...]
    tables: TableTimeline
    spec: StreamSpec
    writer: MessageWriter
    """Writes messages as the changefeed does, as far as it is known."""

    like_null: LikeNull
    images: ImagesOfReleases
    """Converts rows to images of the releases that may have written it."""

    size: int
    """Approximate bytes of its records."""

    told: TableTimeline | None = None
    """The tables by all statements of a truth, where rows are in the order of their places alone."""

    def of_any_release(self) -> OpenedStream:
        """Return the stream as one of which nobody knows what release wrote it."""
        codec = self.origin.changefeed.codec
        writers = (replace(self.writer, release=release) for release in releases_by_fidelity(codec).values())
        return replace(
            self,
            spec=spec_of_any_release(self.spec, codec),
            like_null=LikeNullOfAny(tuple(writers)),
            images=ImagesOfReleases.of(possible_releases(codec.protocol), self.images.zone),
        )

    def replay_inputs(self) -> comparison.ReplayInputs:
        """Return what the stream is replayed between."""
        states, zone, spec = self.states, self.images.zone, self.spec
        timeline = states.timeline(states.until(self.statements)).in_zone(zone)
        sources: list[ImagePairSource] = []
        for snapshot, is_after in ((states.before, False), (states.after, True)):
            if snapshot is not None:
                sources += snapshot_sources(snapshot, timeline, is_after, RowsInMessages(self.like_null, zone))
        ends = () if states.after is None else tuple(state_table_numbers(timeline, True).values())
        known = table_knowledge(timeline, ends, spec.restarts, is_sequential(spec.protocol), spec.fidelity)
        size = sum(snapshot.size for snapshot in (states.before, states.after) if snapshot is not None)
        return comparison.ReplayInputs(timeline, known, tuple(sources), states.at, size)


def open_stream(options: VerifyOptions, truth: Truth | None, listener: VerifyListener) -> OpenedStream:
    """Open the stream of the options and read its statements. Raises UserError if it cannot be verified, DeliveryError
    if Kafka cannot be read."""
    source = options.source or ""
    listener.stage(f"opening {uri_without_secrets(source)}")
    if is_storage(source):
        return _open_storage(options, truth, listener)
    all_partitions = partitions(source, listener.warn)
    if truth is not None:
        truth.check_topics(reading.partition_counts(all_partitions))
    if options.follow:
        _follow(options, truth, all_partitions, listener)
        all_partitions = partitions(source)
    sample = list(reading.first_records(all_partitions))
    schemas = source_schemas(source, options.schema_registry)
    origin = resolve_origin(options, truth, inspect_records(sample, schemas))
    if options.schema_registry is None and options.to_kafka and CODECS[origin.protocol].needs_registry:
        schemas = _registry(origin)
    if not sample and truth is None and options.after is None:
        raise UserError(
            f"{uri_without_secrets(source)} has no records, and nothing says whether that is right: --truth DIR or --after DIR does"
        )
    size, headless = _input_size(all_partitions, sample), _is_headless(sample)
    return _opened(options, truth, StreamRecords(all_partitions, origin, size, schemas, headless), listener)


def _is_headless(first: Sequence[Record]) -> bool:
    """Return whether a partition begins in the middle, given its first records."""
    begins: dict[TopicPartition, int] = {}
    for record in first:
        place = record.topic, record.partition
        begins[place] = min(record.offset, begins.get(place, record.offset))
    return any(begins.values())


def _open_storage(options: VerifyOptions, truth: Truth | None, listener: VerifyListener) -> OpenedStream:
    directory = open_directory(options.source or "")
    origin = storage_origin(options, truth, directory)
    known = truth is not None or options.release is not None and (options.sink_uri or options.config) is not None
    files = replace(directory, changefeed=origin.changefeed, release=origin.release if known else None)
    doubts = [NotChecked(each.path, each.why) for each in files.findings if not each.check]
    doubts += later_checkpoint(files.listing.checkpoint_ts, truth)
    if not known:
        doubts.append(
            NotChecked("which files there should be", "--truth tells, or --release with --config or --sink-uri", False)
        )
    origin = replace(origin, not_checked=(*origin.not_checked, *doubts))
    stream = _opened(options, truth, StreamRecords(storage_partitions(files), origin), listener)
    expected = [] if truth is None else _told_tables(stream, files.listing.checkpoint_ts or 0, truth)
    files = with_definitions(files, stream.tables, expected, 0 if truth is None else truth.watermark)
    if truth is not None:
        files = replace(files, told=(*files.told, *statement_findings(files, truth)), is_simulated=True)
    doubts = [NotChecked(each.path, each.why) for each in files.told if not each.check]
    origin = replace(origin, not_checked=(*origin.not_checked, *doubts))
    all_partitions = storage_partitions(files)
    told = known and (truth is not None or options.sink_uri is not None or origin.protocol == CSV.protocol.name)
    definitions = tuple(stream.tables.definitions)
    writer = MessageWriter(origin.changefeed, origin.release, definitions) if told else None
    spec = replace(stream.spec, writer=writer, partitions=reading.partition_counts(all_partitions))
    return replace(stream, origin=origin, partitions=tuple(all_partitions), spec=spec)


def _told_tables(stream: OpenedStream, checkpoint: int, truth: Truth) -> list[Table]:
    """Return the tables of the truth that the statements of a stream must lead to."""
    after, feed = stream.states.after, stream.origin.changefeed
    if after is None or checkpoint < truth.watermark:
        return []
    held_back = untold.filter_check(stream.origin)
    tables = (entry.table for entry in after.tables)
    return [
        table
        for table in tables
        if (handle_key(table) or feed.force_replicate) and not held_back(f"{table.schema}.{table.name}")
    ]


def _opened(
    options: VerifyOptions, truth: Truth | None, records: StreamRecords, listener: VerifyListener
) -> OpenedStream:
    """Read the statements of a stream; return what is known by them."""
    listener.stage("reading the statements")
    origin, states = records.origin, replace(comparison.open_states(options, truth), headless=records.headless)
    any_time: dict[Name, tuple[Table, ...]] = {}
    whole: TableTimeline | None = None
    spans: Mapping[str, tuple[Span, ...]] | None = None
    if truth is None:
        read = engine_of(options.master, records.size).read
        told_in_stream = reading.read_statements(records.partitions, origin.protocol, read, records.schemas)
        sent, renamed = told_in_stream.statements, told_in_stream.renamed
    else:
        told = [
            (each.is_sent, StreamStatement(*each.statement, each.table_after, each.modes)) for each in truth.statements
        ]
        sent, renamed = [statement for _, statement in told], _told_by_renames(truth, origin.protocol)
        spans = _topic_spans(states, sent, origin)
        if is_sequential(origin.protocol):  # nothing tells when its rows were
            whole = states.timeline(sent)
            any_time = _definitions_by_name(whole)
            untold_ones = [statement for is_sent, statement in told if not is_sent]
            moved = {name for each in untold_ones for pair in renames(each) for name in pair}
            moved.update(name for each in untold_ones for name in exchanged_tables(each))
            states = replace(states, definitions=None, emptied=states.emptied | {object_key(*name) for name in moved})
            sent = [statement for is_sent, statement in told if is_sent]
    timeline = states.timeline(sent)
    spec = _stream_spec(options, origin, timeline, _partition_counts(records, truth))
    names = {f"{table.schema}.{table.name}" for table in timeline.definitions}
    first, later = comparison.table_definitions(timeline, tso.FOREVER if states.at is None else states.at)
    writer = MessageWriter(origin.changefeed, origin.release, tuple(spec.all_tables))
    every = () if truth is None else (whole or timeline).definitions  # without a truth there may be dropped ones
    return OpenedStream(
        tuple(records.partitions),
        origin,
        states,
        tuple(sent),
        timeline,
        replace(
            spec,
            tables=first,
            later=later,
            any_time=any_time,
            bare_deletes=may_have_bare_deletes(origin.protocol, origin.release, every),
            by_layout=UNTIMED if any_time else spec.by_layout,
            schemas=records.schemas,
            renamed=renamed,
            grown=_grown_topics(truth),
            topic_spans=spans,
            statements=_sent_statements(truth, origin),
            told=None if truth is None else told_tables(truth.statements, origin.protocol),
            held_back=frozenset(filter(untold.statements_held_back(origin), names)),
        ),
        writer,
        writer.like_null,
        ImagesOfReleases.of([origin.release], zone_of_rows(origin.changefeed.codec.time_zone, origin.release)),
        records.size,
        whole,
    )


def _told_by_renames(truth: Truth, protocol: str) -> Mapping[str, TableSchemas]:
    """Return the table schemas that the RENAMEs of a truth tell, by their topic."""
    memory = schema_memory(protocol)
    found: dict[str, TableSchemas] = {}
    for each in truth.statements if memory is not None else ():
        if each.is_sent:
            assert memory is not None
            told = memory.told_in(parse(each.value.encode("utf-8", "surrogateescape"), "surrogateescape"))
            if reading.is_rename(StreamStatement(*each.statement, None, each.modes), told):
                found.setdefault(each.topic, {}).update(told)
    return found


def _topic_spans(
    states: comparison.StreamStates, statements: Sequence[StreamStatement], origin: StreamOrigin
) -> Mapping[str, tuple[Span, ...]] | None:
    """Return when topics of a stream had tables, by all statements; None for files."""
    if origin.changefeed.storage is not None:
        return None
    return topic_spans(states.timeline(statements), origin)


def _grown_topics(truth: Truth | None) -> PartitionCountSpans:
    grown = {} if truth is None else truth.grown
    return {topic: spans_between({int(ts): count for ts, count in steps.items()}) for topic, steps in grown.items()}


def _definitions_by_name(timeline: TableTimeline) -> dict[Name, tuple[Table, ...]]:
    """Return all definitions of tables by schema and name."""
    found: dict[Name, dict[int, Table]] = {}
    for table in timeline.definitions:
        found.setdefault((table.schema, table.name), {})[id(table)] = table
    return {name: tuple(tables.values()) for name, tables in found.items()}


def _sent_statements(truth: Truth | None, origin: StreamOrigin) -> tuple[ExpectedStatement, ...] | None:
    """Return the statements that the stream must have; None if nobody tells."""
    if truth is None or origin.changefeed.storage is not None:
        return None
    return tuple(each for each in truth.statements if each.is_sent)


def _registry(origin: StreamOrigin) -> Mapping[int, str]:
    """Return the schemas of the changefeed's registry; raises UserError if it is not known."""
    if not origin.known:
        raise UserError(f"messages of {origin.protocol} name schemas of a registry: --schema-registry URL tells which")
    return RegistrySchemas(origin.changefeed.codec.schema_registry)


def _follow(
    options: VerifyOptions, truth: Truth | None, all_partitions: Sequence[StreamPartition], listener: VerifyListener
) -> None:
    until = options.until or (truth.final_watermark if truth is not None else 0)
    settings = next(each.source for each in all_partitions if isinstance(each.source, KafkaSettings))
    last: list[FollowProgress] = []

    def results(followed: FollowProgress) -> None:
        last[:] = [followed]
        listener.waits(str(followed))

    listener.stage(f"waiting for the watermark {tso.describe(until)}")
    try:
        left, schemas = _left_before(options, truth, until), stream_schemas(options, truth)
        places = [each.place for each in all_partitions if each.topic not in left]
        wait_for_watermark(settings, places, until, results, schemas)
    except Stopped:
        listener.last(f"still waiting: {last[0]}" if last else "nothing was read")
        raise


def _left_before(options: VerifyOptions, truth: Truth | None, until: int) -> frozenset[str]:
    """Return the topics without a watermark at that time, as all their tables left them."""
    if truth is None:
        return frozenset()
    origin = resolve_origin(options, truth, inspect_records(()))
    statements = [StreamStatement(*each.statement, each.table_after, each.modes) for each in truth.statements]
    return left_topics(_topic_spans(comparison.open_states(options, truth), statements, origin) or {}, until)


def _input_size(all_partitions: Sequence[StreamPartition], first: Sequence[Record]) -> int:
    """Return the approximate size in bytes; a number of records is multiplied by the average size of the first ones."""
    sizes = [len(record.key or b"") + len(record.value or b"") for record in first]
    each = sum(sizes) // len(sizes) if sizes else 0
    return sum(partition.size or (partition.records or 0) * each for partition in all_partitions)


def _partition_counts(records: StreamRecords, truth: Truth | None) -> dict[str, int]:
    """Return the number of partitions of each topic; fixtures may lack empty ones."""
    counts, origin = reading.partition_counts(records.partitions), records.origin
    if origin.changefeed.storage is not None:
        return counts
    if truth is not None:
        return {**counts, **truth.topics}
    partition_num = origin.changefeed.kafka.partition_num if origin.known else None
    if partition_num and not any(isinstance(each.source, KafkaSettings) for each in records.partitions):
        return {topic: max(count, partition_num) for topic, count in counts.items()}
    return counts


def _stream_spec(
    options: VerifyOptions, origin: StreamOrigin, tables: TableTimeline, counts: dict[str, int]
) -> StreamSpec:
    """Return the properties that the stream must have, as far as it is known how it was made."""
    definitions = tables.definitions
    spec = replace(
        stream_spec_of(origin.changefeed, definitions, counts, origin.release),
        finished=False,
        restarts=options.restarts,
        complete=False,
    )
    lenient = replace(
        spec, max_message_bytes=UNBOUNDED, max_batch_size=UNBOUNDED, orders=lambda table: "hash", stages=None
    )
    if origin.changefeed.storage is not None:
        scope = partial(_scope_on_storage, origin.changefeed.storage.dispatcher_names)
        return replace(lenient, files=True, watermarks=True, orders=scope)
    if origin.known:
        return replace(spec, writer=MessageWriter(origin.changefeed, origin.release, tuple(definitions)))
    return replace(lenient, destination=UNKNOWN, by_layout=UNKNOWN, watermarks=_watermarks(origin))


def _watermarks(origin: StreamOrigin) -> bool | None:
    """Return whether the stream of an unknown changefeed has watermarks; None if its rows do not tell."""
    codec, options, release = CODECS[origin.protocol], origin.changefeed.codec, origin.release
    decoder, plain = DECODERS[origin.protocol], replace(options, enable_tidb_extension=False)
    if origin.watermarked or codec.has_watermarks(plain, release):
        return True
    return None if decoder.always_timed or decoder.sequential else codec.has_watermarks(options, release)


def _scope_on_storage(dispatcher_names: bool, table: Table) -> str:
    """Return in which scope the rows of a table are ordered: one worker writes them, unless they are of several
    partitions or dispatchers."""
    return "hash" if dispatcher_names or table.partitioning is not None else "table"

"""A verification from start to end: open the stream, read it once, and summarize the result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from simulator import tso
from simulator.consumer import truth_metadata
from simulator.consumer.contract import across_partitions
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.contract.summary import NEVER, PartitionSummary
from simulator.consumer.contract.violations import merge_violations
from simulator.consumer.decode.batches import is_sequential
from simulator.consumer.decode.row_images import row_images
from simulator.consumer.partitions import StreamPartition, partitions, storage_partitions
from simulator.consumer.records import Record
from simulator.consumer.replay.image_pairs import ImagePairBuilder
from simulator.consumer.replay.outcome import ReplayOutcome, summarize_findings
from simulator.consumer.replay.table_timeline import StreamStatement, TableTimeline
from simulator.consumer.schemas import source_schemas
from simulator.consumer.storage.directory import IndexFile, open_directory
from simulator.consumer.storage.sources import is_storage
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.consumer.verify import comparison, reading, summaries
from simulator.consumer.verify.engine import Reader, engine_of, engine_title, master_of, reader_of
from simulator.consumer.verify.file_places import in_files
from simulator.consumer.verify.following import FollowProgress, wait_for_watermark
from simulator.consumer.verify.options import VerifyListener, VerifyOptions, check_options
from simulator.consumer.verify.origin import (
    UNKNOWN,
    StreamOrigin,
    inspect_records,
    resolve_origin,
    storage_origin,
    stream_schemas,
)
from simulator.consumer.verify.verification import NotChecked, Verification
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.tasks.progress import Listener
from simulator.errors import UserError, uri_without_secrets
from simulator.settings import IN_PROCESS
from simulator.signals import Stopped
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.schema_registry import RegistrySchemas
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Fidelity

UNBOUNDED = 1 << 62
"""Stands for a size that is unknown."""

MISFIT = "it does not fit those before it: --before DIR tells which there were"

FEW = 3
"""Number of partitions that get their own note."""


@dataclass(frozen=True)
class OpenedStream:
    """A stream, and what is known of it before it is read."""

    partitions: tuple[StreamPartition, ...]
    origin: StreamOrigin
    states: comparison.StreamStates
    statements: tuple[StreamStatement, ...]
    tables: TableTimeline
    spec: StreamSpec
    size: int
    """Approximate bytes of its records."""


def verify(options: VerifyOptions, listener: VerifyListener = VerifyListener()) -> Verification:
    """Verify a stream, the tables that a consumer wrote, or both. Raises UserError if something cannot be verified,
    DeliveryError if Kafka cannot be read."""
    check_options(options)
    began, start = time.time(), time.monotonic()
    truth = None if options.truth is None else truth_metadata.read(options.truth)
    verification = EMPTY if options.source is None else _verify_stream(options, truth, listener)
    if options.against is not None:
        verification = _with_consumer_tables(verification, options, truth, listener)
    return replace(
        verification, expected=comparison.expected_in(options), began=began, seconds=time.monotonic() - start
    )


EMPTY = Verification("", "", "", (), (), {}, (), ())


def _with_consumer_tables(
    verification: Verification, options: VerifyOptions, truth: TruthMetadata | None, listener: VerifyListener
) -> Verification:
    outcome, notes = comparison.compare_consumer_tables(options, truth, listener)
    _check_rows(options, truth, outcome)
    name = comparison.display_location(options.against or "")
    return replace(
        verification,
        against=name,
        failures=(*verification.failures, *summaries.failures(outcome.counts, outcome.examples, of=name)),
        compared=(*verification.compared, *(replace(table, of=name) for table in outcome.tables)),
        not_checked=(*verification.not_checked, *comparison.not_checked(outcome)),
        notes=(*verification.notes, *notes),
    )


def _verify_stream(options: VerifyOptions, truth: TruthMetadata | None, listener: VerifyListener) -> Verification:
    stream = _open_stream(options, truth, listener)
    sequential = is_sequential(stream.spec.protocol)
    replay = comparison.replay_inputs(stream.states, stream.statements, options.restarts, sequential)
    results, outcome = _read_partitions(options, stream, replay, listener)
    _check_rows(options, truth, outcome)
    outcome, excused = comparison.without_filtered_changes(outcome, comparison.filter_check(stream.origin))
    summed = results.summaries
    if grown := across_partitions.partition_count_spans(summed, stream.spec):
        listener.stage("reading topics again that got more partitions")
        reader = reader_of(master_of(options.master, stream.size), stream.size)
        summed = _read_grown_topics(reader, stream, replace(stream.spec, grown=grown), options.show, summed)
        if sequential:
            outcome, moved = comparison.without_end_checks(outcome, comparison.GROWN)
            excused = (*excused, *moved)
    if truth is not None and options.truth is not None:
        _check_truth(options.truth, truth, stream, summed)
    until, watermark = summaries.complete(summed), 0 if truth is None or not stream.spec.watermarks else truth.watermark
    if until < watermark:
        outcome, ahead = comparison.without_end_checks(outcome)
        excused = (*excused, *ahead)
    whole = options.after is not None or truth is not None and until >= truth.final_watermark
    spec = replace(stream.spec, finished=whole)
    violations = merge_violations(
        [*(each.found for each in summed), across_partitions.check_across_partitions(summed, spec, options.show)],
        options.show,
    )
    failures = (
        *summaries.failures(violations.counts, violations.shown, options.show),
        *summaries.failures(outcome.counts, outcome.examples),
    )
    return Verification(
        uri_without_secrets(options.source or ""),
        "",
        "",
        stream.origin.settings,
        tuple(map(summaries.partition_read, summed)),
        summaries.by_table(summed),
        tuple(in_files(failures, stream.partitions)),
        outcome.tables,
        (
            *stream.origin.not_checked,
            *(NotChecked(f"tables of {statement}", MISFIT) for statement in stream.tables.notes),
            *summaries.unchecked(summed),
            *comparison.not_checked(outcome),
            *(_untimed(summed, stream.spec) if sequential else ()),
            *excused,
        ),
        tuple(_notes(stream, summed, spec, until)),
        until,
        watermark,
        engine=engine_title(master_of(options.master, stream.size + replay.size)),
    )


def _untimed(summed: Sequence[PartitionSummary], spec: StreamSpec) -> Iterable[NotChecked]:
    untimed = sum(each.untimed for each in summed)
    return comparison.untimed_changes(untimed, spec.fidelity.names_operations, spec.restarts)


def _read_partitions(
    options: VerifyOptions, stream: OpenedStream, replay: comparison.ReplayInputs, listener: VerifyListener
) -> tuple[reading.ReadResults, ReplayOutcome]:
    spec, all_partitions, results = stream.spec, stream.partitions, reading.ReadResults(options.show)
    master = master_of(options.master, stream.size + replay.size)
    listener.stage("reading" if master == IN_PROCESS else f"reading, on Spark ({master})")
    total = _record_count(all_partitions)
    with Listener(
        lambda progress: listener.records(sum(progress.read.values()), total), driver_host(master)
    ) as task_listener:
        pair_builder = ImagePairBuilder(
            replay.timeline, spec.fidelity, row_images, replay.until, spec.restarts, spec.one_partition
        )
        settings = reading.ReadSettings(
            spec, options.show, pair_builder, task_listener.driver, 0 if master == IN_PROCESS else reading.PIECE
        )
        work = engine_of(master, stream.size + replay.size)
        batches = work(
            [*reading.partition_sources(all_partitions, settings), *replay.sources],
            replace(replay.known, whole=_tells_images(spec.fidelity)),
            options.show,
            results,
        )
        reader = reader_of(master, stream.size + replay.size)
        results = _with_whole_partitions(reader, stream, results, settings, listener)
    places = [partition.place for partition in all_partitions]
    return results, summarize_findings(batches, replay.timeline, replay.known, results.skipped, places, options.show)


def _with_whole_partitions(
    reader: Reader,
    stream: OpenedStream,
    results: reading.ReadResults,
    settings: reading.ReadSettings,
    listener: VerifyListener,
) -> reading.ReadResults:
    """Let one task check each partition of which the pieces do not fit."""
    if not results.apart:
        return results
    listener.stage(f"reading {len(results.apart)} partitions again, each in one task")
    whole = replace(settings, pair_builder=None, records=0)
    again = reading.ReadResults(settings.show)
    reader(reading.partition_sources([stream.partitions[number] for number in results.apart], whole), again)
    return results.with_whole(again)


def _tells_images(fidelity: Fidelity) -> bool:
    return fidelity.old_values and not (fidelity.nulls or fidelity.old_nulls or fidelity.whole_seconds)


def _read_grown_topics(
    reader: Reader, stream: OpenedStream, spec: StreamSpec, show: int, summed: Sequence[PartitionSummary]
) -> list[PartitionSummary]:
    """Read topics that got more partitions again, with the number of partitions at each time; return the summaries."""
    results = reading.ReadResults(show)
    again = [each for each in stream.partitions if each.topic in spec.grown]
    reader(reading.partition_sources(again, reading.ReadSettings(spec, show)), results)
    return across_partitions.choose_reading(summed, results.summaries)


def _record_count(all_partitions: Sequence[StreamPartition]) -> int | None:
    known = [partition.records for partition in all_partitions if partition.records is not None]
    return sum(known) if len(known) == len(all_partitions) else None


def _open_stream(options: VerifyOptions, truth: TruthMetadata | None, listener: VerifyListener) -> OpenedStream:
    source = options.source or ""
    listener.stage(f"opening {uri_without_secrets(source)}")
    if is_storage(source):
        return _open_storage(options, truth, listener)
    all_partitions = partitions(source, listener.warn)
    if truth is not None and options.truth is not None:
        truth_metadata.check_topics(options.truth, truth, reading.partition_counts(all_partitions))
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
    return _opened(options, truth, origin, all_partitions, _input_size(all_partitions, sample), listener, schemas)


def _open_storage(options: VerifyOptions, truth: TruthMetadata | None, listener: VerifyListener) -> OpenedStream:
    directory = open_directory(options.source or "")
    origin = storage_origin(options, truth, directory)
    files = replace(directory, changefeed=origin.changefeed)
    missing = (name for file in files.files if isinstance(file, IndexFile) and (name := files.missing_file(file)))
    notes = (f"an index names {name}, which is not there: TiCDC was about to write it" for name in missing)
    origin = replace(origin, notes=(*origin.notes, *notes))
    return _opened(options, truth, origin, storage_partitions(files), 0, listener)


def _opened(
    options: VerifyOptions,
    truth: TruthMetadata | None,
    origin: StreamOrigin,
    all_partitions: Sequence[StreamPartition],
    size: int,
    listener: VerifyListener,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> OpenedStream:
    """Return a stream of approximately `size` bytes, after its statements were read."""
    listener.stage("reading the statements")
    states = comparison.open_states(options, truth)
    reader = reader_of(master_of(options.master, size), size)
    sent = reading.read_statements(all_partitions, origin.protocol, reader, schemas)
    timeline = states.timeline(sent)
    spec = _stream_spec(options, origin, timeline, _partition_counts(all_partitions, truth, origin))
    first, later = comparison.table_definitions(timeline, tso.FOREVER if states.at is None else states.at)
    return OpenedStream(
        tuple(all_partitions),
        origin,
        states,
        tuple(sent),
        timeline,
        replace(spec, tables=first, later=later, schemas=schemas),
        size,
    )


def _registry(origin: StreamOrigin) -> Mapping[int, str]:
    """Return the schemas of the changefeed's registry; raises UserError if it is not known."""
    if not origin.known:
        raise UserError(f"messages of {origin.protocol} name schemas of a registry: --schema-registry URL tells which")
    return RegistrySchemas(origin.changefeed.codec.schema_registry)


def _follow(
    options: VerifyOptions,
    truth: TruthMetadata | None,
    all_partitions: Sequence[StreamPartition],
    listener: VerifyListener,
) -> None:
    until = options.until or (truth.final_watermark if truth is not None else 0)
    settings = next(each.source for each in all_partitions if isinstance(each.source, KafkaSettings))
    last: list[FollowProgress] = []

    def results(followed: FollowProgress) -> None:
        last[:] = [followed]
        listener.waits(str(followed))

    listener.stage(f"waiting for the watermark {tso.describe(until)}")
    try:
        places, schemas = [each.place for each in all_partitions], stream_schemas(options, truth)
        wait_for_watermark(settings, places, None, until, results, schemas)
    except Stopped:
        listener.last(f"still waiting: {last[0]}" if last else "nothing was read")
        raise


def _input_size(all_partitions: Sequence[StreamPartition], first: Sequence[Record]) -> int:
    """Return the approximate size in bytes; a number of records is multiplied by the average size of the first ones."""
    sizes = [len(record.key or b"") + len(record.value or b"") for record in first]
    each = sum(sizes) // len(sizes) if sizes else 0
    return sum(partition.size or (partition.records or 0) * each for partition in all_partitions)


def _partition_counts(
    all_partitions: Sequence[StreamPartition], truth: TruthMetadata | None, origin: StreamOrigin
) -> dict[str, int]:
    """Return the number of partitions of each topic; fixtures may lack empty ones."""
    counts = reading.partition_counts(all_partitions)
    if origin.changefeed.storage is not None:
        return counts
    if truth is not None:
        return {**counts, **truth.topics}
    partition_num = origin.changefeed.kafka.partition_num if origin.known else None
    if partition_num and not any(isinstance(each.source, KafkaSettings) for each in all_partitions):
        return {topic: max(count, partition_num) for topic, count in counts.items()}
    return counts


def _stream_spec(
    options: VerifyOptions, origin: StreamOrigin, tables: TableTimeline, counts: dict[str, int]
) -> StreamSpec:
    """Return the properties that the stream must have, as far as it is known how it was made."""
    definitions = [definition.table for history in tables.tables for definition in history.definitions]
    spec = replace(
        stream_spec_of(
            origin.changefeed, definitions, counts, finished=False, restarts=options.restarts, release=origin.release
        ),
        complete=False,
    )
    if origin.changefeed.storage is not None:
        return replace(
            spec,
            files=True,
            max_message_bytes=UNBOUNDED,
            max_batch_size=UNBOUNDED,
            watermarks=True,
            orders=lambda table: "hash",
            stages=None,
        )
    if origin.known:
        return spec
    return replace(
        spec,
        destination=UNKNOWN,
        by_layout=UNKNOWN,
        max_message_bytes=UNBOUNDED,
        max_batch_size=UNBOUNDED,
        orders=lambda table: "hash",
        stages=None,
        watermarks=spec.watermarks or origin.watermarked,
    )


def _check_rows(options: VerifyOptions, truth: TruthMetadata | None, outcome: ReplayOutcome) -> None:
    """Raise UserError if the truth was changed after it was written."""
    if truth is not None and options.truth is not None:
        truth_metadata.check_rows(options.truth, truth, {table.table: table.expected for table in outcome.tables})


def _check_truth(
    directory: Path, truth: TruthMetadata, stream: OpenedStream, summed: Sequence[PartitionSummary]
) -> None:
    """Raise UserError if the truth belongs to another run."""
    with_rows = [each for each in summed if each.rows]
    timed = [each for each in with_rows if each.first_row != NEVER]
    if timed:
        first, last = min(each.first_row for each in timed), max(each.last_row for each in timed)
        truth_metadata.check_times(directory, truth, first, last)
    if with_rows:
        truth_metadata.check_tables(directory, stream.tables.names, summaries.names(with_rows))


def _notes(stream: OpenedStream, summed: Sequence[PartitionSummary], spec: StreamSpec, until: int) -> Iterable[str]:
    yield from stream.origin.notes
    if len(stopped := across_partitions.interrupted_watermarks(summed, spec)):
        yield (
            f"{len(stopped):,} watermarks, the first {tso.describe(int(stopped[0]))}, did not reach all partitions, "
            "and later ones did: TiCDC ended while it sent them"
        )
    listener = [note for each in summed for note in each.notes]
    yield from listener[:FEW]
    if len(listener) > FEW:
        yield f"… and {len(listener) - FEW} more partitions like these"
    if not any(len(each.watermarks) for each in summed):
        yield "the stream has no watermarks, so that nothing tells whether it is whole"
        return
    above = [each for each in summed if each.last_row > until]
    if above:
        yield (
            f"rows of {len(above)} of {len(summed)} partitions lie above {tso.describe(until)}, up to where all are "
            "complete: the stream was still being written, or ends there"
        )

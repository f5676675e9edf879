"""A verification from start to end: open the stream, read it once, and summarize the result."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from simulator import tso
from simulator.columns.hashing import ChangeSums
from simulator.engines.spark.master import driver_host
from simulator.engines.tasks.progress import Listener
from simulator.errors import uri_without_secrets
from simulator.limits import counted
from simulator.reader import truth_metadata
from simulator.reader.contract import NEVER, PartitionSummary, across_partitions, merge_violations
from simulator.reader.contract.stream_spec import StreamSpec, possible_releases
from simulator.reader.decode import is_sequential
from simulator.reader.partitions import StreamPartition
from simulator.reader.replay import merge_findings
from simulator.reader.replay.image_pairs import ImagePairBuilder
from simulator.reader.replay.outcome import ReplayOutcome, summarize_findings
from simulator.reader.replay.stream_statements import StreamStatement
from simulator.reader.storage.table_events import TableEvents, TableFiles
from simulator.reader.truth_metadata import Truth
from simulator.reader.verify import comparison, reading, untold, verification
from simulator.reader.verify.opening import OpenedStream, open_stream
from simulator.reader.verify.options import Engine, Reader, VerifyListener, VerifyOptions, check_options, engine_of
from simulator.reader.verify.verification import Failure, NotChecked, Verification
from simulator.releases import Release
from simulator.settings import IN_PROCESS
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.mounter import zone_of_rows

MISFIT = "it does not fit those before it: --before DIR tells which there were"

FEW = 3
"""Number of partitions that get their own note."""


def verify(options: VerifyOptions, listener: VerifyListener = VerifyListener()) -> Verification:
    """Verify a stream, the tables that a consumer wrote, or both. Raises UserError if something cannot be verified,
    DeliveryError if Kafka cannot be read."""
    check_options(options)
    began, start = time.time(), time.monotonic()
    truth = None if options.truth is None else truth_metadata.read(options.truth)
    found = EMPTY if options.source is None else _verify_stream(options, truth, listener)
    if options.against is not None:
        found = _with_consumer_tables(found, options, truth, listener)
    return replace(found, expected=comparison.expected_in(options), began=began, seconds=time.monotonic() - start)


EMPTY = Verification("", "", "", (), (), {}, (), ())


def _with_consumer_tables(
    found: Verification, options: VerifyOptions, truth: Truth | None, listener: VerifyListener
) -> Verification:
    outcome, gaps = comparison.compare_consumer_tables(options, truth, listener)
    _check_rows(truth, outcome)
    name = comparison.display_location(options.against or "")
    return replace(
        found,
        against=name,
        failures=(*found.failures, *verification.failures(outcome.counts, outcome.examples, of=name)),
        compared=(*found.compared, *(replace(table, of=name) for table in outcome.tables)),
        not_checked=(
            *found.not_checked,
            *comparison.not_checked(outcome, False),
            *(NotChecked(what, why) for what, why in gaps.not_compared),
        ),
        notes=(*found.notes, *gaps.notes),
    )


def _verify_stream(options: VerifyOptions, truth: Truth | None, listener: VerifyListener) -> Verification:
    stream = open_stream(options, truth, listener)
    found = _verify_opened(options, truth, stream, [stream.origin.release], listener)
    if stream.origin.release_known or not found.failures:
        return found
    of_any = _verify_opened(options, truth, stream.of_any_release(), possible_releases(stream.spec.protocol), listener)
    return replace(of_any, not_checked=(*untold.unproved(found, of_any), *of_any.not_checked))


def _verify_opened(
    options: VerifyOptions,
    truth: Truth | None,
    stream: OpenedStream,
    releases: Collection[Release],
    listener: VerifyListener,
) -> Verification:
    """Return what is found of a stream that one of the releases wrote."""
    sequential = is_sequential(stream.spec.protocol)
    replay = stream.replay_inputs()
    engine = engine_of(options.master, stream.size + replay.size)
    results, outcome = _read_partitions(engine, options.show, stream, replay, listener)
    _check_rows(truth, outcome)
    bare = sum(each.bare_deletes for each in results.summaries)
    excuses = [*_excuses(truth, stream, releases, bare)]
    outcome, excused = untold.excused(outcome, excuses)
    summed = results.summaries
    grown = stream.spec.grown
    if not grown and (grown := across_partitions.partition_count_spans(summed, stream.spec)):
        listener.stage("reading topics again that got more partitions")
        summed = _read_grown_topics(engine.read, stream, replace(stream.spec, grown=grown), options.show, summed)
    if grown and sequential:
        outcome, moved = untold.without_replay(outcome, untold.GROWN)
        excused = (*excused, *moved)
    if truth is not None:
        _check_truth(truth, stream, summed)
    until, watermark = (
        across_partitions.complete(summed, stream.spec),
        0 if truth is None or not stream.spec.watermarks else truth.watermark,
    )
    if until < watermark:
        outcome, ahead = untold.without_end_checks(outcome)
        excused = (*excused, *ahead)
    whole = options.after is not None or truth is not None and until >= truth.final_watermark
    watermarked = stream.spec.watermarks is None and any(len(each.watermarks) for each in summed)
    spec = replace(stream.spec, finished=whole, watermarks=stream.spec.watermarks or watermarked)
    sent = _sent_changes(truth, summed) if whole or not stream.spec.watermarks else {}
    all_sent = (
        bool(sent) and not sequential and across_partitions.rows_found(summed) == across_partitions.rows_sent(sent)
    )
    redefined = _redefined(spec)
    violations = merge_violations(
        [
            *(each.found for each in summed),
            across_partitions.check_across_partitions(summed, spec, options.show),
            across_partitions.check_sent_changes(summed, results.skipped.sums, sent, options.show, redefined, spec),
        ],
        options.show,
    )
    violations, doubtful = untold.excused_messages(violations, excuses)
    failures = (
        *verification.failures(violations.counts, violations.shown, options.show),
        *verification.failures(outcome.counts, outcome.examples),
    )
    return Verification(
        uri_without_secrets(options.source or ""),
        "",
        "",
        stream.origin.settings,
        tuple(map(verification.partition_read, summed)),
        verification.by_table(summed),
        tuple(in_files(failures, stream.partitions)),
        outcome.tables,
        (
            *stream.origin.not_checked,
            *(NotChecked(f"tables of {statement}", MISFIT) for statement in stream.tables.notes),
            *verification.unchecked(summed),
            *comparison.not_checked(outcome, all_sent),
            *(_untimed(summed, stream.spec) if sequential else ()),
            *([NotChecked(f"which rows {counted(bare, 'DELETE')} took", untold.BARE)] if bare else ()),
            *_later_watermarks(summed, truth, stream.spec),
            *(_uncompared_values(redefined, stream.origin.protocol) if sent else ()),
            *excused,
            *doubtful,
        ),
        tuple(_notes(stream, summed, spec, until)),
        until,
        watermark,
        engine=engine.title,
    )


def _excuses(
    truth: Truth | None, stream: OpenedStream, releases: Collection[Release], bare: int
) -> Iterator[untold.Excuse]:
    """Yield what nothing proves of a stream that one of the releases wrote; `bare` DELETEs do not tell their row."""
    origin, tables = stream.origin, stream.tables
    yield from untold.held_back(origin)
    if truth is None:
        yield from untold.untold_statements(origin, tables, stream.states.after, releases)
        yield from untold.open_files(stream.spec)
    else:
        yield from untold.left_untold(truth)
    if bare:
        yield untold.bare_deletes(stream.spec)
    told = () if truth is None else truth.statements
    known = (StreamStatement(*each.statement, None, each.modes) for each in told)
    statements = [*stream.statements, *known]
    yield from untold.old_names(origin, statements)
    yield from untold.shared_schemas(origin, statements)
    yield from untold.mistaken_columns(origin, tables)
    yield from untold.moved_rows(stream.spec, tables)


def _sent_changes(truth: Truth | None, summed: Sequence[PartitionSummary]) -> ChangeSums:
    """Return the row changes that were sent, if the stream has all of them and no others after them."""
    if truth is None or any(each.headless or each.last_row > truth.final_watermark for each in summed):
        return {}
    return truth.sums


def _uncompared_values(redefined: Collection[str], protocol: str) -> Iterable[NotChecked]:
    """Return of which tables the values of row changes are not compared with those that were sent. Messages that name a
    schema are still compared with it."""
    why = "a statement gave it other columns, and nothing tells which of them a row had: only its last rows count"
    opens = not CODECS[protocol].needs_registry
    return [NotChecked(f"the values of row changes of {table}", why, opens) for table in sorted(redefined)]


def _untimed(summed: Sequence[PartitionSummary], spec: StreamSpec) -> Iterable[NotChecked]:
    untimed = sum(each.untimed for each in summed)
    return comparison.untimed_changes(untimed, spec.fidelity.names_operations, spec.restarts)


def _redefined(spec: StreamSpec) -> Collection[str]:
    """Return the tables (`db.table`) that statements gave other columns, where nothing tells when rows were."""
    return {f"{schema}.{table}" for (schema, table), tables in spec.any_time.items() if len(tables) > 1}


def _later_watermarks(
    summed: Sequence[PartitionSummary], truth: Truth | None, spec: StreamSpec
) -> Iterable[NotChecked]:
    """Yield that the stream goes on after the run that the truth is of; of a storage, its checkpoint tells that."""
    last = max((int(each.watermarks[-1]) for each in summed if len(each.watermarks)), default=NEVER)
    if truth is not None and last > truth.final_watermark and not spec.files:
        why = f"the run of the truth ended at {tso.describe(truth.final_watermark)}"
        yield NotChecked(f"watermarks up to {tso.describe(last)}", why)


def _read_partitions(
    engine: Engine, show: int, stream: OpenedStream, replay: comparison.ReplayInputs, listener: VerifyListener
) -> tuple[reading.ReadResults, ReplayOutcome]:
    spec, all_partitions, results = stream.spec, stream.partitions, reading.ReadResults(show)
    in_process = engine.master == IN_PROCESS
    listener.stage("reading" if in_process else f"reading, on Spark ({engine.master})")
    total = _record_count(all_partitions)
    with Listener(
        lambda progress: listener.records(sum(progress.read.values()), total), driver_host(engine.master)
    ) as task_listener:
        pair_builder = ImagePairBuilder(
            replay.timeline,
            spec.fidelity,
            stream.images,
            replay.until,
            spec.restarts,
            spec.one_partition,
            stream.like_null,
            stream.told,
        )
        records = 0 if in_process else reading.PIECE
        settings = reading.ReadSettings(spec, show, pair_builder, task_listener.driver, records)
        batches = engine.replay(
            [*reading.partition_sources(all_partitions, settings), *replay.sources],
            replace(replay.known, whole=_tells_images(spec.fidelity)),
            show,
            results,
        )
        results = _with_whole_partitions(engine.read, stream, results, settings, listener)
    places = [partition.place for partition in all_partitions]
    return results, summarize_findings(
        merge_findings(batches, show), replay.timeline, replay.known, results.skipped, places
    )


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
    listener.stage(f"reading {counted(len(results.apart), 'partition')} again, each in one task")
    whole = replace(settings, pair_builder=None, records=0)
    again = reading.ReadResults(settings.show)
    reader(reading.partition_sources([stream.partitions[number] for number in results.apart], whole), again)
    return results.with_whole(again)


def _tells_images(fidelity: Fidelity) -> bool:
    return fidelity.old_values and not (
        fidelity.nulls or fidelity.old_nulls or fidelity.null_word or fidelity.whole_seconds
    )


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


def _check_rows(truth: Truth | None, outcome: ReplayOutcome) -> None:
    """Raise UserError if the truth was changed after it was written."""
    if truth is not None:
        truth.check_rows({table.table: table.expected for table in outcome.tables})


def _check_truth(truth: Truth, stream: OpenedStream, summed: Sequence[PartitionSummary]) -> None:
    """Raise UserError if the truth belongs to another run."""
    with_rows = [each for each in summed if each.rows]
    timed = [each for each in with_rows if each.first_row != NEVER]
    if timed:
        truth.check_times(min(each.first_row for each in timed), max(each.last_row for each in timed))
    if with_rows:
        truth.check_tables([*stream.tables.names, *stream.spec.any_time], verification.names(with_rows))


def _notes(stream: OpenedStream, summed: Sequence[PartitionSummary], spec: StreamSpec, until: int) -> Iterable[str]:
    yield from stream.origin.notes
    if len(stopped := across_partitions.interrupted_watermarks(summed, spec)):
        yield (
            f"{counted(len(stopped), 'watermark')}, the first {tso.describe(int(stopped[0]))}, did not reach all partitions, "
            "and later ones did: TiCDC ended while it sent them"
        )
    listener = [note for each in summed for note in each.notes]
    yield from listener[:FEW]
    if len(listener) > FEW:
        yield f"… and {len(listener) - FEW} more partitions like these"
    rows, whole = sum(sum(each.rows.values()) for each in summed), sum(each.whole for each in summed)
    if 0 < whole < rows:
        yield f"{whole:,} of {rows:,} messages of rows were compared as a whole, the first of each partition and a part of the others"
    yield from _ambiguous_nulls(stream)
    if not any(len(each.watermarks) for each in summed):
        yield "the stream has no watermarks, so that nothing tells whether it is whole"
        return
    above = [each for each in summed if each.last_row > until]
    if above:
        yield (
            f"rows of {len(above)} of {counted(len(summed), 'partition')} lie above {tso.describe(until)}, up to where all are "
            "complete: the stream was still being written, or ends there"
        )


def _ambiguous_nulls(stream: OpenedStream) -> Iterable[str]:
    """Yield a note for each table of which messages do not distinguish NULL from a default."""
    tables, protocol = stream.spec.all_tables, stream.spec.protocol
    for name, table in sorted({f"{table.schema}.{table.name}": table for table in tables}.items()):
        if columns := stream.writer.defaults_like_null(table):
            yield f"{name}: NULL and the default of {', '.join(columns)} are one in {protocol} of this release"


def in_files(failures: Iterable[Failure], partitions: Iterable[StreamPartition]) -> Iterator[Failure]:
    """Yield the failures; examples in the tables of a storage name their file and row instead of a number in the table.
    Reads these tables again."""
    failures = list(failures)
    examples = [example for failure in failures for example in failure.examples]
    places: dict[tuple[str, int | None], str] = {}
    for partition in partitions:
        offsets = {each.offset for each in examples if each.topic == partition.topic and each.offset is not None}
        if offsets and isinstance(partition.source, TableFiles):
            named = TableEvents(partition.source).places(offsets)
            places |= {(partition.topic, offset): place for offset, place in named}
    for failure in failures:
        located = (replace(each, at=places.get((each.topic, each.offset), "")) for each in failure.examples)
        yield replace(failure, examples=tuple(located))

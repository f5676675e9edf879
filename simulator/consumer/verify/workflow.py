"""A verification from beginning to end: what the stream is, then one reading of it, then what that comes to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simulator import tso
from simulator.consumer import truth_metadata
from simulator.consumer.contract.across_partitions import (
    check_across_partitions,
    choose_reading,
    interrupted_watermarks,
    partition_count_spans,
)
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.contract.summary import NEVER, PartitionSummary
from simulator.consumer.contract.violations import merge_violations
from simulator.consumer.decode.row_images import row_images
from simulator.consumer.partitions import StreamPartition, partitions
from simulator.consumer.records import Record
from simulator.consumer.replay.image_pairs import ImagePairBuilder
from simulator.consumer.replay.outcome import ReplayOutcome, summarize_findings
from simulator.consumer.replay.table_timeline import StreamStatement, TableTimeline
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.consumer.verify import comparison, summaries, truth_checks
from simulator.consumer.verify.comparison import ReplayInputs, StreamStates, expected_in, open_states, replay_inputs
from simulator.consumer.verify.consumer_tables import compare_consumer_tables, display_location
from simulator.consumer.verify.engine import engine_of, engine_title, master_of
from simulator.consumer.verify.following import FollowProgress, wait_for_watermark
from simulator.consumer.verify.options import VerifyOptions, check_options
from simulator.consumer.verify.origin import UNKNOWN, StreamOrigin, inspect_records, resolve_origin
from simulator.consumer.verify.progress import SilentListener, VerifyListener
from simulator.consumer.verify.reading import (
    ReadResults,
    ReadSettings,
    first_records,
    partition_counts,
    partition_sources,
    read_statements,
)
from simulator.consumer.verify.tables import table_definitions
from simulator.consumer.verify.verification import NotChecked, Verification
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.tasks.progress import Listener
from simulator.errors import UserError, uri_without_secrets
from simulator.settings import IN_PROCESS
from simulator.signals import Stopped
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.tso import FOREVER

UNBOUNDED = 1 << 62
"""In place of a size that nobody told."""

FEW = 3
"""Partitions that a note is made of, one by one."""


@dataclass(frozen=True)
class OpenedStream:
    """A stream, and what is known of it before it is read."""

    partitions: tuple[StreamPartition, ...]
    origin: StreamOrigin
    states: StreamStates
    statements: tuple[StreamStatement, ...]
    tables: TableTimeline
    spec: StreamSpec
    size: int
    """Bytes of its records, about."""


def verify(asked: VerifyOptions, told: VerifyListener = SilentListener()) -> Verification:
    """Raises UserError where something cannot be verified, DeliveryError where Kafka cannot be read."""
    check_options(asked)
    began, start = time.time(), time.monotonic()
    truth = None if asked.truth is None else truth_metadata.read(asked.truth)
    found = _NOTHING if asked.source is None else _stream(asked, truth, told)
    if asked.against is not None:
        found = _with_written_down(found, asked, truth, told)
    return replace(found, expected=expected_in(asked), began=began, seconds=time.monotonic() - start)


_NOTHING = Verification("", "", "", (), (), {}, (), ())


def _with_written_down(
    found: Verification, asked: VerifyOptions, truth: TruthMetadata | None, told: VerifyListener
) -> Verification:
    outcome, notes = compare_consumer_tables(asked, truth, told)
    _check_rows(asked, truth, outcome)
    name = display_location(asked.against or "")
    return replace(
        found,
        against=name,
        failures=(*found.failures, *comparison.failures(outcome, name)),
        compared=(*found.compared, *comparison.compared(outcome, name)),
        not_checked=(*found.not_checked, *comparison.not_checked(outcome)),
        notes=(*found.notes, *notes),
    )


def _stream(asked: VerifyOptions, truth: TruthMetadata | None, told: VerifyListener) -> Verification:
    opened = _opened(asked, truth, told)
    replay = replay_inputs(opened.states, opened.statements, asked.restarts)
    heard, outcome = _read(asked, opened, replay, told)
    _check_rows(asked, truth, outcome)
    outcome, excused = comparison.without_filtered_changes(outcome, comparison.filter_check(opened.origin))
    summed = heard.summaries
    if grown := partition_count_spans(summed, opened.spec):
        told.stage("reading topics again that got more partitions")
        summed = _again(opened, replace(opened.spec, grown=grown), asked.show, summed)
    if truth is not None and asked.truth is not None:
        _check_truth(asked.truth, truth, opened, summed)
    until, wanted = summaries.complete(summed), 0 if truth is None or not opened.spec.watermarks else truth.watermark
    if until < wanted:
        outcome, ahead = comparison.without_end_checks(outcome)
        excused = (*excused, *ahead)
    whole = asked.after is not None or truth is not None and until >= truth.final_watermark
    spec = replace(opened.spec, finished=whole)
    found = merge_violations(
        [*(each.found for each in summed), check_across_partitions(summed, spec, asked.show)], asked.show
    )
    return Verification(
        uri_without_secrets(asked.source or ""),
        "",
        "",
        opened.origin.settings,
        tuple(map(summaries.partition_read, summed)),
        summaries.by_table(summed),
        (*summaries.failures(found, asked.show), *comparison.failures(outcome)),
        comparison.compared(outcome),
        (
            *opened.origin.not_checked,
            *map(_unfit, opened.tables.notes),
            *summaries.unchecked(summed),
            *comparison.not_checked(outcome),
            *excused,
        ),
        tuple(_notes(opened, summed, spec, until)),
        until,
        wanted,
        engine=engine_title(master_of(asked.master, opened.size + replay.size)),
    )


def _read(
    asked: VerifyOptions, opened: OpenedStream, replay: ReplayInputs, told: VerifyListener
) -> tuple[ReadResults, ReplayOutcome]:
    """Everything, once."""
    spec, every, heard = opened.spec, opened.partitions, ReadResults()
    master = master_of(asked.master, opened.size + replay.size)
    told.stage("reading" if master == IN_PROCESS else f"reading, on Spark ({master})")
    of = _records(every)
    with Listener(lambda progress: told.records(sum(progress.read.values()), of), driver_host(master)) as listener:
        replaying = ImagePairBuilder(replay.timeline, spec.fidelity, row_images, replay.until)
        reading = ReadSettings(spec, asked.show, replaying, listener.driver)
        batches = engine_of(master, opened.size + replay.size)(
            [*partition_sources(every, reading), *replay.sources], replay.known, asked.show, heard
        )
    places = [partition.place for partition in every]
    return heard, summarize_findings(batches, replay.timeline, replay.known, heard.left, places, asked.show)


def _again(
    opened: OpenedStream, spec: StreamSpec, show: int, summed: Sequence[PartitionSummary]
) -> list[PartitionSummary]:
    """The summaries, those of topics that got more partitions by the number they had at each time."""
    heard = ReadResults()
    for source in partition_sources(
        [each for each in opened.partitions if each.topic in spec.grown], ReadSettings(spec, show)
    ):
        for _ in source(heard):
            pass
    return choose_reading(summed, heard.summaries)


def _records(every: Sequence[StreamPartition]) -> int | None:
    """How many they have; None where only reading tells."""
    known = [partition.records for partition in every if partition.records is not None]
    return sum(known) if len(known) == len(every) else None


def _opened(asked: VerifyOptions, truth: TruthMetadata | None, told: VerifyListener) -> OpenedStream:
    source = asked.source or ""
    told.stage(f"opening {uri_without_secrets(source)}")
    every = partitions(source, told.warn)
    if truth is not None and asked.truth is not None:
        truth_checks.check_topics(asked.truth, truth, partition_counts(every))
    if asked.follow:
        _follow(asked, truth, every, told)
        every = partitions(source)
    some = list(first_records(every))
    made = resolve_origin(asked, truth, inspect_records(some))
    if not some and truth is None and asked.after is None:
        raise UserError(
            f"{uri_without_secrets(source)} has no records, and nothing says whether that is right: --truth DIR or --after DIR does"
        )
    told.stage("reading the statements")
    known, sent = open_states(asked, truth), read_statements(every, made.protocol)
    found = known.timeline(sent)
    spec = _spec(asked, made, found, _counted(every, truth, made))
    first, later = table_definitions(found, FOREVER if known.at is None else known.at)
    return OpenedStream(
        tuple(every), made, known, tuple(sent), found, replace(spec, tables=first, later=later), _size(every, some)
    )


def _follow(
    asked: VerifyOptions, truth: TruthMetadata | None, every: Sequence[StreamPartition], told: VerifyListener
) -> None:
    until = asked.until or (truth.final_watermark if truth is not None else 0)
    settings = next(each.source for each in every if isinstance(each.source, KafkaSettings))
    last: list[FollowProgress] = []

    def heard(followed: FollowProgress) -> None:
        last[:] = [followed]
        told.waits(str(followed))

    told.stage(f"waiting for the watermark {tso.describe(until)}")
    try:
        wait_for_watermark(settings, [each.place for each in every], None, until, heard)
    except Stopped:
        told.last(f"still waiting: {last[0]}" if last else "nothing was read")
        raise


def _size(every: Sequence[StreamPartition], some: Sequence[Record]) -> int:
    """In bytes, about, by the first records where only their number is told."""
    sizes = [len(record.key or b"") + len(record.value or b"") for record in some]
    each = sum(sizes) // len(sizes) if sizes else 0
    return sum(partition.size or (partition.records or 0) * each for partition in every)


def _counted(every: Sequence[StreamPartition], truth: TruthMetadata | None, made: StreamOrigin) -> dict[str, int]:
    """How many partitions each topic has; fixtures may lack those that are empty."""
    found = partition_counts(every)
    if truth is not None:
        return {**found, **truth.topics}
    asked = made.changefeed.kafka.partition_num if made.known else None
    if asked and not any(isinstance(each.source, KafkaSettings) for each in every):
        return {topic: max(count, asked) for topic, count in found.items()}
    return found


def _spec(asked: VerifyOptions, made: StreamOrigin, tables: TableTimeline, number: dict[str, int]) -> StreamSpec:
    """What may be asked of the stream, as far as anybody knows how it was made."""
    every = [definition.table for history in tables.tables for definition in history.definitions]
    spec = replace(
        stream_spec_of(made.changefeed, every, number, finished=False, restarts=asked.restarts, release=made.release),
        complete=False,
    )
    if made.known:
        return spec
    return replace(
        spec,
        destination=UNKNOWN,
        by_layout=UNKNOWN,
        max_message_bytes=UNBOUNDED,
        max_batch_size=UNBOUNDED,
        orders=lambda table: "hash",
        stages=None,
    )


def _check_rows(asked: VerifyOptions, truth: TruthMetadata | None, outcome: ReplayOutcome) -> None:
    """Raises UserError for a truth that is not as it was written."""
    if truth is not None and asked.truth is not None:
        truth_checks.check_rows(asked.truth, truth, {table.table: table.expected for table in outcome.tables})


def _check_truth(
    directory: Path, truth: TruthMetadata, opened: OpenedStream, summed: Iterable[PartitionSummary]
) -> None:
    """Raises UserError for that of another run."""
    with_rows = [each for each in summed if each.first_row != NEVER]
    if with_rows:
        first, last = min(each.first_row for each in with_rows), max(each.last_row for each in with_rows)
        truth_checks.check_times(directory, truth, first, last)
        truth_checks.check_tables(directory, opened.tables.names, summaries.names(with_rows))


def _unfit(statement: str) -> NotChecked:
    return NotChecked(f"tables of {statement}", "it does not fit those before it: --before DIR tells which there were")


def _notes(opened: OpenedStream, summed: Sequence[PartitionSummary], spec: StreamSpec, until: int) -> Iterable[str]:
    yield from opened.origin.notes
    if len(stopped := interrupted_watermarks(summed, spec)):
        yield (
            f"{len(stopped):,} watermarks, the first {tso.describe(int(stopped[0]))}, did not reach all partitions, "
            "and later ones did: TiCDC ended while it sent them"
        )
    told = [note for each in summed for note in each.notes]
    yield from told[:FEW]
    if len(told) > FEW:
        yield f"… and {len(told) - FEW} more partitions like these"
    if not any(len(each.watermarks) for each in summed):
        yield "the stream has no watermarks, so that nothing tells whether it is whole"
        return
    above = [each for each in summed if each.last_row > until]
    if above:
        yield (
            f"rows of {len(above)} of {len(summed)} partitions lie above {tso.describe(until)}, up to where all are "
            "complete: the stream was still being written, or ends there"
        )

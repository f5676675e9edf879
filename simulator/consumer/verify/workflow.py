"""A verification from beginning to end: what the stream is, then one reading of it, then what that comes to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simulator import tso
from simulator.consumer import truth_metadata
from simulator.consumer.contract.across_partitions import better, broken_off, spans_of, together
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.contract.summary import NEVER, PartitionSummary
from simulator.consumer.contract.violations import joined
from simulator.consumer.decode.row_images import images
from simulator.consumer.partitions import Partition, partitions
from simulator.consumer.records import Record
from simulator.consumer.replay.image_pairs import Replaying
from simulator.consumer.replay.outcome import Outcome, outcome
from simulator.consumer.replay.table_timeline import Sent, Timeline
from simulator.consumer.truth_metadata import TruthAbout
from simulator.consumer.verify import comparison, summaries, truth_checks
from simulator.consumer.verify.comparison import Comparing, States, comparing, expected_in, states
from simulator.consumer.verify.consumer_tables import name_of, written_down
from simulator.consumer.verify.engine import called, engine_of, master_of
from simulator.consumer.verify.following import Followed, follow
from simulator.consumer.verify.options import Asked, check
from simulator.consumer.verify.origin import UNKNOWN, Origin, origin, seen
from simulator.consumer.verify.progress import Nobody, Told
from simulator.consumer.verify.reading import Heard, Reading, counts, first_records, sources, statements
from simulator.consumer.verify.tables import defined
from simulator.consumer.verify.verification import NotChecked, Verification
from simulator.engines.spark.driver_host import driver_host
from simulator.engines.tasks.progress import Listener
from simulator.errors import UserError, shown
from simulator.settings import IN_PROCESS
from simulator.signals import Stopped
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.tso import FOREVER

UNBOUNDED = 1 << 62
"""In place of a size that nobody told."""

FEW = 3
"""Partitions that a note is made of, one by one."""


@dataclass(frozen=True)
class Opened:
    """A stream, and what is known of it before it is read."""

    partitions: tuple[Partition, ...]
    origin: Origin
    states: States
    statements: tuple[Sent, ...]
    tables: Timeline
    spec: StreamSpec
    size: int
    """Bytes of its records, about."""


def verify(asked: Asked, told: Told = Nobody()) -> Verification:
    """Raises UserError where something cannot be verified, DeliveryError where Kafka cannot be read."""
    check(asked)
    began, start = time.time(), time.monotonic()
    truth = None if asked.truth is None else truth_metadata.read(asked.truth)
    found = _NOTHING if asked.source is None else _stream(asked, truth, told)
    if asked.against is not None:
        found = _with_written_down(found, asked, truth, told)
    return replace(found, expected=expected_in(asked), began=began, seconds=time.monotonic() - start)


_NOTHING = Verification("", "", "", (), (), {}, (), ())


def _with_written_down(found: Verification, asked: Asked, truth: TruthAbout | None, told: Told) -> Verification:
    outcome, notes = written_down(asked, truth, told)
    _check_rows(asked, truth, outcome)
    name = name_of(asked.against or "")
    return replace(
        found,
        against=name,
        failures=(*found.failures, *comparison.failures(outcome, name)),
        compared=(*found.compared, *comparison.compared(outcome, name)),
        not_checked=(*found.not_checked, *comparison.not_checked(outcome)),
        notes=(*found.notes, *notes),
    )


def _stream(asked: Asked, truth: TruthAbout | None, told: Told) -> Verification:
    opened = _opened(asked, truth, told)
    replay = comparing(opened.states, opened.statements, asked.restarts)
    heard, outcome = _read(asked, opened, replay, told)
    _check_rows(asked, truth, outcome)
    outcome, excused = comparison.excused(outcome, comparison.held_back(opened.origin))
    summed = heard.summaries
    if grown := spans_of(summed, opened.spec):
        told.stage("reading topics again that got more partitions")
        summed = _again(opened, replace(opened.spec, grown=grown), asked.show, summed)
    if truth is not None and asked.truth is not None:
        _check_truth(asked.truth, truth, opened, summed)
    until, wanted = summaries.complete(summed), 0 if truth is None or not opened.spec.watermarks else truth.watermark
    if until < wanted:
        outcome, ahead = comparison.unfinished(outcome)
        excused = (*excused, *ahead)
    whole = asked.after is not None or truth is not None and until >= truth.final_watermark
    spec = replace(opened.spec, finished=whole)
    found = joined([*(each.found for each in summed), together(summed, spec, asked.show)], asked.show)
    return Verification(
        shown(asked.source or ""),
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
        engine=called(master_of(asked.master, opened.size + replay.size)),
    )


def _read(asked: Asked, opened: Opened, replay: Comparing, told: Told) -> tuple[Heard, Outcome]:
    """Everything, once."""
    spec, every, heard = opened.spec, opened.partitions, Heard()
    master = master_of(asked.master, opened.size + replay.size)
    told.stage("reading" if master == IN_PROCESS else f"reading, on Spark ({master})")
    of = _records(every)
    with Listener(lambda progress: told.records(sum(progress.read.values()), of), driver_host(master)) as listener:
        replaying = Replaying(replay.timeline, spec.fidelity, images, replay.until)
        reading = Reading(spec, asked.show, replaying, listener.driver)
        batches = engine_of(master, opened.size + replay.size)(
            [*sources(every, reading), *replay.sources], replay.known, asked.show, heard
        )
    places = [partition.place for partition in every]
    return heard, outcome(batches, replay.timeline, replay.known, heard.left, places, asked.show)


def _again(opened: Opened, spec: StreamSpec, show: int, summed: Sequence[PartitionSummary]) -> list[PartitionSummary]:
    """The summaries, those of topics that got more partitions by the number they had at each time."""
    heard = Heard()
    for source in sources([each for each in opened.partitions if each.topic in spec.grown], Reading(spec, show)):
        for _ in source(heard):
            pass
    return better(summed, heard.summaries)


def _records(every: Sequence[Partition]) -> int | None:
    """How many they have; None where only reading tells."""
    known = [partition.records for partition in every if partition.records is not None]
    return sum(known) if len(known) == len(every) else None


def _opened(asked: Asked, truth: TruthAbout | None, told: Told) -> Opened:
    source = asked.source or ""
    told.stage(f"opening {shown(source)}")
    every = partitions(source, told.warn)
    if truth is not None and asked.truth is not None:
        truth_checks.check_topics(asked.truth, truth, counts(every))
    if asked.follow:
        _follow(asked, truth, every, told)
        every = partitions(source)
    some = list(first_records(every))
    made = origin(asked, truth, seen(some))
    if not some and truth is None and asked.after is None:
        raise UserError(
            f"{shown(source)} has no records, and nothing says whether that is right: --truth DIR or --after DIR does"
        )
    told.stage("reading the statements")
    known, sent = states(asked, truth), statements(every, made.protocol)
    found = known.timeline(sent)
    spec = _spec(asked, made, found, _counted(every, truth, made))
    first, later = defined(found, FOREVER if known.at is None else known.at)
    return Opened(
        tuple(every), made, known, tuple(sent), found, replace(spec, tables=first, later=later), _size(every, some)
    )


def _follow(asked: Asked, truth: TruthAbout | None, every: Sequence[Partition], told: Told) -> None:
    until = asked.until or (truth.final_watermark if truth is not None else 0)
    settings = next(each.source for each in every if isinstance(each.source, KafkaSettings))
    last: list[Followed] = []

    def heard(followed: Followed) -> None:
        last[:] = [followed]
        told.waits(str(followed))

    told.stage(f"waiting for the watermark {tso.describe(until)}")
    try:
        follow(settings, [each.place for each in every], None, until, heard)
    except Stopped:
        told.last(f"still waiting: {last[0]}" if last else "nothing was read")
        raise


def _size(every: Sequence[Partition], some: Sequence[Record]) -> int:
    """In bytes, about, by the first records where only their number is told."""
    sizes = [len(record.key or b"") + len(record.value or b"") for record in some]
    each = sum(sizes) // len(sizes) if sizes else 0
    return sum(partition.size or (partition.records or 0) * each for partition in every)


def _counted(every: Sequence[Partition], truth: TruthAbout | None, made: Origin) -> dict[str, int]:
    """How many partitions each topic has; fixtures may lack those that are empty."""
    found = counts(every)
    if truth is not None:
        return {**found, **truth.topics}
    asked = made.changefeed.kafka.partition_num if made.known else None
    if asked and not any(isinstance(each.source, KafkaSettings) for each in every):
        return {topic: max(count, asked) for topic, count in found.items()}
    return found


def _spec(asked: Asked, made: Origin, tables: Timeline, number: dict[str, int]) -> StreamSpec:
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


def _check_rows(asked: Asked, truth: TruthAbout | None, outcome: Outcome) -> None:
    """Raises UserError for a truth that is not as it was written."""
    if truth is not None and asked.truth is not None:
        truth_checks.check_rows(asked.truth, truth, {table.table: table.expected for table in outcome.tables})


def _check_truth(directory: Path, truth: TruthAbout, opened: Opened, summed: Iterable[PartitionSummary]) -> None:
    """Raises UserError for that of another run."""
    with_rows = [each for each in summed if each.first_row != NEVER]
    if with_rows:
        first, last = min(each.first_row for each in with_rows), max(each.last_row for each in with_rows)
        truth_checks.check_times(directory, truth, first, last)
        truth_checks.check_tables(directory, opened.tables.names, summaries.names(with_rows))


def _unfit(statement: str) -> NotChecked:
    return NotChecked(f"tables of {statement}", "it does not fit those before it: --before DIR tells which there were")


def _notes(opened: Opened, summed: Sequence[PartitionSummary], spec: StreamSpec, until: int) -> Iterable[str]:
    yield from opened.origin.notes
    if len(stopped := broken_off(summed, spec)):
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

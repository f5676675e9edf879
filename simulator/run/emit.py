"""One task: the events of its destinations in order → messages → its sink, and an account of both.

One law: nothing here handles rows one at a time; a batch of events is a handful of Arrow arrays from end to end.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import DDL, Ints, OPERATIONS, ROW, ints, picked, picked_values
from simulator.errors import DeliveryError
from simulator.releases import Release
from simulator.run import storage
from simulator.run.barriers import BarrierClient, legs
from simulator.run.flush import Flush, GroupKeys, grouped, ungrouped
from simulator.run.marks import Marks, merged
from simulator.run.pace import Until, paced
from simulator.run.progress import Reporter
from simulator.signals import Asked
from simulator.sinks import SINKS
from simulator.sinks.driver import Driver
from simulator.sinks.latencies import Latencies
from simulator.sinks.records import Records, Sink, cut_off
from simulator.sources.snapshots.physical import PhysicalTable
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, Encoded, Messages, Rows, StoredFile
from simulator.ticdc.codecs.binary import valid_utf8
from simulator.ticdc.codecs.compression import decompressed_values
from simulator.ticdc.dispatch import Destinations, Route, sent_table


@dataclass(frozen=True)
class Job:
    """All a task must know; it travels to Spark's workers."""

    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    statements: tuple[DdlEvent, ...]
    marks: Marks
    options: CodecOptions
    release: Release
    sink: str
    settings: object
    speed: float
    """Simulated seconds for each real one; 0 is as fast as the sink takes it."""

    start_ms: int
    progress: Driver | None
    barriers: tuple[int, ...] = ()
    """At which commit-ts, ascending, a task goes on only when everything older is acknowledged."""

    barrier: Driver | None = None
    """Where several tasks meet at the barriers."""

    since: int = 0
    """The checkpoint from which the changefeed is restarted: of what is older nothing is sent; 0 for none."""

    @property
    def destinations(self) -> Destinations:
        return self.marks.destinations

    @property
    def meetings(self) -> tuple[int | None, ...]:
        """What is told before each leg, of `barriers.legs`, when all tasks have come: up to where everything has been
        sent; 0 before statements, of which some of that time may be missing; None where nobody waits."""
        statements = frozenset(self.marks.barriers.tolist())
        return None, *(told for ts in self.barriers for told in (0 if ts in statements else None, ts))


@dataclass(frozen=True)
class TaskReport:
    """What one task sent."""

    delivered: list[dict[str, Any]]
    """`sinks.records.Delivered` of each partition."""

    changes: list[tuple[int, int, int, int]]
    """(table, op, destination, rows)"""

    alone: bool
    """Whether it ended at a statement to which another task did not come."""

    sending: tuple[float, float] | None
    """When the sink got the first record, and when the last one was acknowledged, in seconds since 1970."""

    ended: tuple[int, int] | None = None
    """The signal that asked for an early end, and the commit-ts up to which everything was sent; 0 for nothing."""

    latencies: Latencies = Latencies()
    resent: int = 0
    """Records that had to be given to Kafka again."""

    unmet: list[str] = field(default_factory=list)
    """Faults that have not met what they wait for."""

    @staticmethod
    def read(document: Mapping[str, Any]) -> TaskReport:
        """Back from the JSON of its fields."""
        return TaskReport(**{**document, "latencies": Latencies.read(document["latencies"])})


Reached = Callable[[int], None]
"""Told that everything up to a commit-ts is acknowledged, before anything behind it is sent."""


def send(
    rows: Iterable[pa.RecordBatch], owned: Iterable[int], job: Job, asked: Asked | None = None,
    passage: Passage | None = None, reached: Reached | None = None,
) -> TaskReport:
    """Sends the rows (EVENTS, in order) of the owned destinations, and their statements and watermarks; once `asked`,
    no more than makes them complete up to a watermark. What `reached` raises ends it, and is raised."""
    until = Until(asked or Asked(), job.since)
    reporter = Reporter(job.progress)
    sink = SINKS[job.sink](job.settings, job.destinations.topics, reporter.waiting)
    with closing(BarrierClient(job.barrier)) as client:
        try:
            given = give(rows, owned, job, sink, client.met, reporter, until, passage, reached)
        except DeliveryError:
            reporter.done(sink.close())
            raise
    stopped = sink.failed or client.left_alone
    delivered = sink.close()
    sending = (given.began, time.time()) if given.began else None
    reporter.done(delivered)
    if stopped and job.sink == "kafka":
        delivered = cut_off(delivered, job.destinations.topics)
    counts = [(*key, count) for key, count in sorted(given.changes.items())]
    ended = (until.asked.number, until.last) if until.asked.number else None
    return TaskReport(
        [asdict(account) for account in delivered], counts, client.left_alone, sending, ended, sink.latencies(),
        sink.resent)


@dataclass
class Given:
    """What a sink was given."""

    changes: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """(table, op, destination) → rows"""

    began: float = 0.0
    """When it got the first record, in seconds since 1970; 0 where there was none."""

    def add(self, made: Outgoing, job: Job, sink: Sink, reporter: Reporter) -> None:
        """Gives the sink a flush."""
        storage.write(job.options.claim_check_storage_uri, made.files)
        self.began = self.began or time.time()
        sink.write(made.records)
        self.changes.update(counted(made.events, job))
        reporter.sent(made.events.num_rows, made.records, sink)


def give(
    rows: Iterable[pa.RecordBatch], owned: Iterable[int], job: Job, sink: Sink, met: Callable[[], bool],
    reporter: Reporter, until: Until | None = None, passage: Passage | None = None, reached: Reached | None = None,
) -> Given:
    """Gives a sink the messages of the rows, statements and watermarks, up to where it fails; all as it comes, or by
    way of a passage.

    `met` says at a barrier whether all other tasks are there, too; what `reached` raises is raised.
    """
    given, until = Given(), until or Until(Asked())
    owned = list(owned)
    cut = flushing(job, eager=bool(job.speed))

    def passed(commit_ts: int) -> bool:
        sink.drain()
        if sink.failed or not met():
            return False
        if commit_ts and reached is not None:
            reached(commit_ts)
        return True

    for part in _parts(_events(rows, job, owned), job, passed, until, owned, passage or Straight(job)):
        if part.apart and not passed(0):
            return given
        for made in (made for flush in cut(part.events) for made in part.made(flush)):
            given.add(made, job, sink, reporter)
            if sink.failed:
                return given
    return given


def _events(rows: Iterable[pa.RecordBatch], job: Job, owned: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Rows and marks in one order; those of a changefeed that is restarted from a checkpoint begin with the statements
    of its commit-ts, where the release sends them again, and go on above it."""
    events = merged(rows, job.marks.of(owned))
    if not job.since:
        yield from events
        return
    again = job.marks.statements_at(job.since, owned)
    if again.num_rows and job.release.statement_again_at_checkpoint:
        yield again
    for batch in events:
        above = int(np.searchsorted(ints(batch, "commit_ts"), job.since, "right"))
        if above < batch.num_rows:
            yield batch.slice(above)


@dataclass(frozen=True)
class Outgoing:
    """What a flush comes to."""

    events: pa.RecordBatch
    """EVENTS without what is in the messages."""

    records: Records
    files: tuple[StoredFile, ...]
    """To be stored before the records are sent."""

    first_row: Ints
    """Record i holds the events `first_row[i]` up to `first_row[i + 1]`."""


def outgoing(flush: Flush, job: Job) -> Outgoing:
    """A flush, encoded."""
    encoded = _encoded(flush, job)
    events = flush.events.select(["commit_ts", "kind", "table", "op", "destination"])
    messages = CODECS[job.options.protocol].frame(encoded, flush.group, job.options, job.release)
    return Outgoing(
        events, _records(flush, encoded, messages, job), encoded.files, np.asarray(messages.first_row, np.int64))


@dataclass(frozen=True)
class Part:
    """Events that are cut into flushes together."""

    events: Iterable[pa.RecordBatch]
    made: Callable[[Flush], Iterable[Outgoing]]
    """What a flush of them comes to."""

    apart: bool = False
    """Whether everything before them is acknowledged first."""


class Passage(Protocol):
    """What events go through on their way to the sink."""

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[Part]:
        """Of ordered events between two barriers; each part is used up before the next is asked for."""

    def early(self, commit_ts: int) -> bool:
        """No event above that commit-ts will come; whether its watermark has not been sent."""

    def last(self) -> Iterator[Part]:
        """What comes behind all events."""


@dataclass(frozen=True)
class Straight:
    """Everything goes as it comes."""

    job: Job

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[Part]:
        yield Part(events, lambda flush: [outgoing(flush, self.job)])

    def early(self, commit_ts: int) -> bool:
        return not self.job.marks.is_watermark(commit_ts)

    def last(self) -> Iterator[Part]:
        yield from ()


def _parts(
    events: Iterable[pa.RecordBatch], job: Job, passed: Callable[[int], bool], until: Until, owned: Sequence[int],
    passage: Passage,
) -> Iterator[Part]:
    """What is sent, in order; ends before and behind a mark that `passed` keeps back, which is told what the job's
    meetings are. An early end has a watermark of its own, and a begin at a checkpoint that of the checkpoint again, as
    TiCDC keeps the last one in memory (tiflow: cdc/owner/ddl_sink.go run, lastCheckpointTs)."""
    begun = time.monotonic()
    barriers = np.array(job.barriers, np.int64)
    if job.since and job.marks.watermarks:
        yield from passage.parts([job.marks.watermark(job.since, owned)])
    for told, leg in zip(job.meetings, legs(events, barriers) if job.barriers else [events], strict=True):
        if until.ended:
            break
        if told is not None and not passed(told):
            return
        timed = paced(leg, job.speed, job.start_ms, begun, until.asked) if job.speed else leg
        yield from passage.parts(until.cut(timed))
    if until.ended and passage.early(until.last) and until.last and job.marks.watermarks:
        if not passed(until.last):
            return
        yield from passage.parts([job.marks.watermark(until.last, owned)])
    yield from passage.last()


def flushing(job: Job, eager: bool) -> Callable[[Iterable[pa.RecordBatch]], Iterator[Flush]]:
    """Cuts ordered events into what the job's protocol encodes at a time; `eager` as `grouped` has it."""
    if not CODECS[job.options.protocol].batches:
        return ungrouped
    names = [(stored.table.schema, stored.table.name) for stored in job.tables]
    keys = GroupKeys.of(job.routes, names, job.release, job.marks.barriers)
    return partial(grouped, keys=keys, eager=eager)


def _records(flush: Flush, encoded: Encoded, messages: Messages, job: Job) -> Records:
    """The flush's messages with their places."""
    first_row = np.asarray(messages.first_row)
    destination = ints(flush.events, "destination")[first_row[:-1]]
    topic = np.searchsorted(job.destinations.first, destination, side="right") - 1
    partition = destination - np.array(job.destinations.first)[topic]
    return Records(
        pa.array(topic, pa.int32()),
        pa.array(partition, pa.int32()),
        messages.keys if messages.keys is not None else pa.nulls(len(messages.values), pa.binary()),
        messages.values,
        flush.events.column("commit_ts").take(pa.array(first_row[1:] - 1)),
        _readable(encoded, messages.first_row, job.options) if job.sink == "jsonl" else None,
    )


def _encoded(flush: Flush, job: Job) -> Encoded:
    """Key and value of each event, in the order of the events."""
    events = flush.events
    kind, table = ints(events, "kind"), ints(events, "table")
    parts: list[Encoded] = []
    places: list[npt.NDArray[np.int64]] = []
    is_row = kind == ROW
    rows = events.select(["commit_ts", "row_id", "before", "after"])
    for number in np.unique(table[is_row]):
        chosen = np.flatnonzero(is_row & (table == number))
        large = None if flush.large is None else pa.array(flush.large[chosen])
        parts.append(_encoded_rows(picked(rows, chosen), large, int(number), job))
        places.append(chosen)
    others = np.flatnonzero(~is_row)
    if len(others):
        parts.append(_encoded_others(kind[others], table[others], ints(events, "commit_ts")[others], job))
        places.append(others)
    if len(parts) == 1:
        return parts[0]
    back = np.argsort(np.concatenate(places))
    keys = None if parts[0].keys is None else picked_values(pa.concat_arrays([part.keys for part in parts]), back)
    files = tuple(file for part in parts for file in part.files)
    return Encoded(keys, picked_values(pa.concat_arrays([part.values for part in parts]), back), files)


def _encoded_rows(rows: pa.RecordBatch, large: pa.Array | None, number: int, job: Job) -> Encoded:
    physical_table, to = job.tables[number], job.routes[number]
    changed = replace(
        Rows(sent_table(to, physical_table.table), physical_table.partition_id, *rows.columns), selected=to.selected,
        table_id=physical_table.table_id, large=large)
    return CODECS[job.options.protocol].encode(changed, job.options, job.release)


def _encoded_others(
    kinds: npt.NDArray[np.int64], index: npt.NDArray[np.int64], commit_ts: npt.NDArray[np.int64], job: Job
) -> Encoded:
    """Statements and watermarks: few, so each is made once and repeated for its destinations."""
    codec = CODECS[job.options.protocol]
    wanted, place = np.unique(np.stack([kinds, index, commit_ts]), axis=1, return_inverse=True)
    made = [
        (
            codec.ddl(job.statements[number], job.options, job.release)
            if kind == DDL
            else codec.watermark(ts, job.options, job.release)
        )
        for kind, number, ts in wanted.T.tolist()
    ]
    where = pa.array(place.reshape(-1))
    keys, values = [pair[0] for pair in made if pair], [pair[1] for pair in made if pair]
    values = pa.array(values, pa.binary()).take(where)
    return Encoded(None if None in keys else pa.array(keys, pa.binary()).take(where), values)


def _readable(encoded: Encoded, first_row: pa.Array, options: CodecOptions) -> pa.Array:
    """The messages' events as JSON lists: `{"key": …, "value": …}` each, or the value alone without keys; what ends a
    row is left out, and `?` stands for each byte that is no UTF-8."""
    texts = decompressed_values(encoded.values, options.large_message_handle_compression)
    if options.terminator:
        texts = pc.replace_substring_regex(texts, rf"{re.escape(options.terminator)}\z", "")
    values = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(b"null", pa.binary()), texts)
    events = values
    if encoded.keys is not None:
        events = pc.binary_join_element_wise(b'{"key":', encoded.keys, b',"value":', values, b"}", b"")
    lists = pa.ListArray.from_arrays(first_row, valid_utf8(events))
    return pc.binary_join_element_wise(b"[", pc.binary_join(lists, b","), b"]", b"").cast(pa.string())


def counted(events: pa.RecordBatch, job: Job) -> dict[tuple[int, int, int], int]:
    """Rows by (table, op, destination)."""
    shape = len(job.tables), OPERATIONS, job.destinations.total
    is_row = ints(events, "kind") == ROW
    cells = np.ravel_multi_index([ints(events, name)[is_row] for name in ("table", "op", "destination")], shape)
    found, counts = np.unique(cells, return_counts=True)
    places = zip(*(axis.tolist() for axis in np.unravel_index(found, shape)), strict=True)
    return dict(zip(places, counts.tolist(), strict=True))

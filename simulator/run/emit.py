"""One task: the events of its destinations in order → messages → its sink, and an account of both.

One law: nothing here handles rows one at a time; a batch of events is a handful of Arrow arrays from end to end.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.errors import DeliveryError
from simulator.run import storage
from simulator.run.barriers import BarrierClient, legs
from simulator.run.flush import Flush, GroupKeys, grouped, ungrouped
from simulator.run.job import Job, TaskReport
from simulator.run.marks import merged
from simulator.run.outgoing import Outgoing, counted, outgoing
from simulator.run.pace import Until, paced
from simulator.run.progress import Reporter
from simulator.signals import Asked
from simulator.sinks import SINKS
from simulator.sinks.records import Sink, cut_off
from simulator.ticdc.codecs import CODECS

Reached = Callable[[int], None]
"""Told that everything up to a commit-ts is acknowledged, before anything behind it is sent."""


def send(
    rows: Iterable[pa.RecordBatch],
    owned: Iterable[int],
    job: Job,
    asked: Asked | None = None,
    passage: Passage | None = None,
    reached: Reached | None = None,
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
        [asdict(account) for account in delivered],
        counts,
        client.left_alone,
        sending,
        ended,
        sink.latencies(),
        sink.resent,
    )


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
    rows: Iterable[pa.RecordBatch],
    owned: Iterable[int],
    job: Job,
    sink: Sink,
    met: Callable[[], bool],
    reporter: Reporter,
    until: Until | None = None,
    passage: Passage | None = None,
    reached: Reached | None = None,
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
    events: Iterable[pa.RecordBatch],
    job: Job,
    passed: Callable[[int], bool],
    until: Until,
    owned: Sequence[int],
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

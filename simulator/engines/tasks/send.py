"""One task: the events of its destinations, in order, become messages and go to its sink.

A batch of events is a handful of Arrow arrays from end to end. At an event that TiCDC cannot encode the stream ends:
what commits before it is sent, and nothing else. TiCDC's workers encode and send side by side, so that of what
commits with the event, or later, it may have sent more.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.columns.hashing import ChangeSum, add_sums, sums_by_kind
from simulator.engines.tasks import TaskReport, TaskSpec
from simulator.engines.tasks.barriers import BarrierClient, phases
from simulator.engines.tasks.bootstraps import Bootstraps, with_bootstraps
from simulator.engines.tasks.control_events import merge
from simulator.engines.tasks.messages import FlushMessages, count_rows, encode_flush, sum_rows
from simulator.engines.tasks.progress import EarlyEnd, Reporter, pace
from simulator.errors import DeliveryError, EncodeError
from simulator.signals import StopRequest
from simulator.sinks import SINKS
from simulator.sinks.external_storage import write_claim_checks
from simulator.sinks.records import DeliveryReport, Records, Sink, report_cut_off
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.flush import Flush, GroupKeys, grouped, ungrouped
from simulator.tso import FOREVER, compose

OnComplete = Callable[[int], None]
"""Called with each commit-ts once everything up to it is acknowledged, before anything above it is sent."""


@dataclass(frozen=True)
class EventGroup:
    """Events that are cut into flushes together."""

    events: Iterable[pa.RecordBatch]
    encode: Callable[[Flush], Iterable[FlushMessages]]
    """Encodes a flush of the events."""

    waits: bool = False
    """Whether everything before the events is acknowledged first."""


class FaultPipeline(Protocol):
    """The faults that events, flushes and messages pass on their way to the sink."""

    @property
    def unmet(self) -> list[str]:
        """The faults whose condition never occurred."""

    def begin(self, spec: TaskSpec) -> None:
        """Start a run; raises UserError for a fault that the run cannot show."""

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[EventGroup]:
        """Yield the ordered events between two barriers; each group is consumed before the next is requested."""

    def end_early(self, commit_ts: int) -> bool:
        """Drop faults above a commit-ts, as no event above it follows; return whether its watermark is still due."""

    def finish(self) -> Iterator[EventGroup]:
        """Yield what follows all events."""


@dataclass
class NoFaults:
    """The pipeline of a run without faults: events pass unchanged."""

    spec: TaskSpec

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[EventGroup]:
        yield EventGroup(events, lambda flush: [encode_flush(flush, self.spec)])

    def end_early(self, commit_ts: int) -> bool:
        return not self.spec.control_events.is_watermark(commit_ts)

    def finish(self) -> Iterator[EventGroup]:
        yield from ()


@dataclass(frozen=True)
class SendingTask:
    """The rows and control events of some destinations."""

    rows: Iterable[pa.RecordBatch]
    """EVENTS, in order."""

    owned: Sequence[int]
    """The destinations of the task."""

    spec: TaskSpec
    faults: FaultPipeline | None = None
    """None for a run without any."""

    on_complete: OnComplete | None = None
    early_end: EarlyEnd = field(default_factory=lambda: EarlyEnd(StopRequest()))
    bootstraps: Bootstraps | None = None
    """Those of the parts before, if the changefeed has sent any."""

    wait: Callable[[], bool] = lambda: True
    """Blocks at a barrier until all other tasks are there, and returns False if one of them ended."""

    def into(self, sink: Sink, reporter: Reporter) -> SinkInput:
        """Write the messages of rows, DDL and watermarks to a sink, until it fails or one cannot be encoded.

        Propagates exceptions of `on_complete`.
        """
        spec, written = self.spec, SinkInput(self.spec, sink, reporter)
        stop = EncoderStop(commit_ts=spec.until)
        bootstraps = self.bootstraps or Bootstraps(told=spec.told)
        cut = flusher(spec, eager=bool(spec.speed))
        first = bootstraps.at_start(spec.since or int(compose(spec.start_ms)), spec, spec.present, self.owned)
        waiting = bootstraps.scheduled(spec, self.owned)
        for group in self._groups(first, waiting, sink):
            if group.waits and not self._pass_barrier(sink, 0):
                return written
            events = stop.events(with_bootstraps(group.events, waiting, spec))
            for messages in (messages for flush in cut(events) for messages in stop.encoded(flush, group.encode)):
                written.write(messages)
                if sink.failed:
                    return written
            if stop.error is not None:
                break
        written.stopped = None if stop.error is None else (stop.commit_ts, stop.error)
        return written

    def _pass_barrier(self, sink: Sink, commit_ts: int) -> bool:
        """Wait until everything is acknowledged and all other tasks are there; return whether the task goes on."""
        sink.drain()
        if sink.failed or not self.wait():
            return False
        if commit_ts and self.on_complete is not None:
            self.on_complete(commit_ts)
        return True

    def _groups(
        self, first: list[pa.RecordBatch], bootstraps: list[pa.RecordBatch], sink: Sink
    ) -> Iterator[EventGroup]:
        """Yield what is sent, in order, until the task may not pass a barrier: `first`, and then all events.

        `bootstraps` are to go among the events, and those sent are taken out. A stream that ends early gets a watermark
        of its own. One that begins at a checkpoint repeats the checkpoint's, as TiCDC keeps the last checkpoint only in
        memory (tiflow: cdc/owner/ddl_sink.go run, lastCheckpointTs).
        """
        spec, early_end = self.spec, self.early_end
        faults = NoFaults(spec) if self.faults is None else self.faults
        began, control_events = time.monotonic(), spec.control_events
        yield from faults.parts(first)
        if spec.since and control_events.watermarks:
            yield from faults.parts([control_events.watermark(spec.since, self.owned)])
        events = _events(self.rows, spec, self.owned)
        each_phase = phases(events, np.array(spec.barriers, np.int64)) if spec.barriers else [events]
        for complete, phase in zip(spec.complete_before, each_phase, strict=True):
            if early_end.ended:
                break
            if complete is not None:
                if not self._pass_barrier(sink, complete):
                    return
                early_end.last = max(early_end.last, complete)
            timed = pace(phase, spec.speed, spec.start_ms, began, early_end.stop) if spec.speed else phase
            yield from faults.parts(early_end.cut(timed))
        if early_end.ended and faults.end_early(early_end.last) and early_end.last:
            if not self._pass_barrier(sink, early_end.last):
                return
            if control_events.watermarks:
                yield from faults.parts([control_events.watermark(early_end.last, self.owned)])
        if bootstraps and not early_end.ended:
            yield from faults.parts([bootstraps.pop()])
        yield from faults.finish()


def send(task: SendingTask) -> TaskReport:
    """Send what a task has to a sink of its own.

    After a stop request, sends only what completes the stream to a watermark. Propagates exceptions of `on_complete`.
    """
    spec, early_end = task.spec, replace(task.early_end, last=task.spec.since)
    reporter = Reporter(spec.progress)
    sink = SINKS[spec.sink](spec.settings, spec.destinations.topics, reporter.waiting)
    with closing(BarrierClient(spec.barrier)) as client:
        try:
            sent = replace(task, wait=client.wait, early_end=early_end).into(sink, reporter)
        except DeliveryError:
            reporter.done(sink.close())
            raise
        except BaseException:
            reporter.close()
            raise
    cut_off = sink.failed or client.left_alone
    delivered = sink.close()
    reporter.done(delivered)
    if cut_off and spec.sink == "kafka":
        delivered = report_cut_off(delivered, spec.destinations.topics)
    ended = (early_end.stop.number, early_end.last) if early_end.stop.number else None
    return replace(sent.report(delivered), alone=client.left_alone, ended=ended)


@dataclass
class SinkInput:
    """What a sink was given."""

    spec: TaskSpec
    sink: Sink
    reporter: Reporter = field(default_factory=lambda: Reporter(None))
    changes: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """(table, op, destination) → rows"""

    sums: dict[tuple[str, str], ChangeSum] = field(default_factory=dict)
    """Empty unless the run is to sum its row changes."""

    began: float = 0.0
    """When the sink got the first record, in seconds since 1970; 0 if it got none."""

    stopped: tuple[int, EncodeError] | None = None
    """The commit-ts of the first event that cannot be encoded, and what TiCDC's encoder says of it."""

    def write(self, messages: FlushMessages, released: Iterable[Records] | None = None) -> None:
        """Store the claim-check files of a flush and write its records to the sink, all at once or as they are released."""
        write_claim_checks(self.spec.options.claim_check_storage_uri, messages.files)
        for records in [messages.records] if released is None else released:
            self.began = self.began or time.time()
            self.sink.write(records)
            rows = messages.events.num_rows
            if records is not messages.records:
                rows = rows * len(records.value) // len(messages.records.value)
            self.reporter.sent(rows, records, self.sink)
        self.changes.update(count_rows(messages.events, self.spec))
        add_sums(self.sums, sum_rows(messages.events, self.spec))

    def report(self, delivered: Iterable[DeliveryReport]) -> TaskReport:
        """Return the report of a task, given those of the sink."""
        return TaskReport(
            delivered=list(delivered),
            changes=[(*key, count) for key, count in sorted(self.changes.items())],
            sending=(self.began, time.time()) if self.began else None,
            latencies=self.sink.latencies(),
            resent=self.sink.resent,
            sums=sums_by_kind(self.sums),
            stopped=self.stopped,
        )


def _events(rows: Iterable[pa.RecordBatch], spec: TaskSpec, owned: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Yield rows and control events in one order, from the checkpoint on.

    A changefeed that is restarted from a checkpoint begins with the DDL of its commit-ts, if the release sends that
    again, and goes on above it.
    """
    events = merge(rows, spec.control_events.of(owned))
    if not spec.since:
        yield from events
        return
    repeated = spec.control_events.ddl_at(spec.since, owned)
    if repeated.num_rows and spec.release.statement_again_at_checkpoint:
        yield repeated
    for batch in events:
        above = int(np.searchsorted(ints(batch, "commit_ts"), spec.since, "right"))
        if above < batch.num_rows:
            yield batch.slice(above)


def messages_of(events: Iterable[pa.RecordBatch], spec: TaskSpec) -> Iterator[FlushMessages]:
    """Yield the messages of ordered events (EVENTS)."""
    return (encode_flush(flush, spec) for flush in flusher(spec, eager=False)(events))


def flusher(spec: TaskSpec, eager: bool) -> Callable[[Iterable[pa.RecordBatch]], Iterator[Flush]]:
    """Return a function that cuts ordered events into flushes for the protocol; `eager` as in `ticdc.flush.grouped`."""
    if not CODECS[spec.options.protocol].batches:
        return ungrouped
    names = [(physical.table.schema, physical.table.name) for physical in spec.tables]
    keys = GroupKeys.of(spec.routes, names, spec.release, spec.control_events.barriers)
    keys = replace(keys, ends=np.array(spec.flush_ends, np.int64))
    return partial(grouped, keys=keys, eager=eager)


Encode = Callable[[Flush], Iterable[FlushMessages]]


@dataclass
class EncoderStop:
    """The first event that cannot be encoded."""

    error: EncodeError | None = None
    """None as long as everything was encoded."""

    commit_ts: int = FOREVER
    """Only events below are encoded."""

    def events(self, events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield events until one cannot be encoded."""
        for batch in events:
            if batch.num_rows and ints(batch, "commit_ts")[0] >= self.commit_ts:
                return
            yield batch
            if self.error is not None:
                return

    def encoded(self, flush: Flush, encode: Encode) -> Iterator[FlushMessages]:
        """Yield the messages of a flush, of events before that one."""
        flush = _below(flush, self.commit_ts)
        if not flush.events.num_rows:
            return
        try:
            yield from encode(flush)
        except EncodeError as error:
            self.commit_ts, self.error = _first_refused(flush, encode, error)
            yield from self.encoded(flush, encode)


def _below(flush: Flush, commit_ts: int) -> Flush:
    below = ints(flush.events, "commit_ts") < commit_ts
    if below.all():
        return flush
    large = None if flush.large is None else flush.large[below]
    return Flush(flush.events.filter(pa.array(below)), flush.group[below], large)


def _first_refused(flush: Flush, encode: Encode, error: EncodeError) -> tuple[int, EncodeError]:
    """Return the commit-ts of the first event that cannot be encoded, and its error; that of all events is given."""
    times = np.unique(ints(flush.events, "commit_ts"))
    possible, refused = 0, len(times) - 1
    while possible < refused:
        middle = (possible + refused) // 2
        try:
            list(encode(_below(flush, int(times[middle]) + 1)))
            possible = middle + 1
        except EncodeError as first:
            refused, error = middle, first
    return int(times[refused]), error

"""One task: the events of its destinations, in order, become messages and go to its sink.

A batch of events is a handful of Arrow arrays from end to end.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.columns.change_sums import ChangeSum, add_sums, sums_by_kind
from simulator.engines.tasks.barriers import BarrierClient, phases
from simulator.engines.tasks.bootstraps import Bootstraps, with_bootstraps
from simulator.engines.tasks.control_events import merge
from simulator.engines.tasks.encoder_stop import EncoderStop
from simulator.engines.tasks.messages import FlushMessages, count_rows, encode_flush, sum_rows
from simulator.engines.tasks.pacing import EarlyEnd, pace
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.task import TaskReport, TaskSpec
from simulator.errors import DeliveryError, EncodeError
from simulator.signals import StopRequest
from simulator.sinks import SINKS, claim_check
from simulator.sinks.records import Sink, report_cut_off
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.flush import Flush, GroupKeys, grouped, ungrouped
from simulator.tso import compose

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
    unmet: list[str] = field(default_factory=list)

    def begin(self, spec: TaskSpec) -> None:
        self.spec = spec

    def parts(self, events: Iterable[pa.RecordBatch]) -> Iterator[EventGroup]:
        yield EventGroup(events, lambda flush: [encode_flush(flush, self.spec)])

    def end_early(self, commit_ts: int) -> bool:
        return not self.spec.control_events.is_watermark(commit_ts)

    def finish(self) -> Iterator[EventGroup]:
        yield from ()


def send(
    rows: Iterable[pa.RecordBatch],
    owned: Iterable[int],
    spec: TaskSpec,
    stop: StopRequest | None = None,
    faults: FaultPipeline | None = None,
    on_complete: OnComplete | None = None,
) -> TaskReport:
    """Send the rows (EVENTS, in order), DDL and watermarks of the owned destinations.

    After a stop request, sends only what completes the stream to a watermark. Propagates exceptions of `on_complete`.
    """
    early_end = EarlyEnd(stop or StopRequest(), spec.since)
    reporter = Reporter(spec.progress)
    sink = SINKS[spec.sink](spec.settings, spec.destinations.topics, reporter.waiting)
    with closing(BarrierClient(spec.barrier)) as client:
        try:
            sent = feed(rows, owned, spec, sink, client.wait, reporter, early_end, faults, on_complete)
        except DeliveryError:
            reporter.done(sink.close())
            raise
        except BaseException:
            reporter.close()
            raise
    stopped = sink.failed or client.left_alone
    delivered = sink.close()
    sending = (sent.began, time.time()) if sent.began else None
    reporter.done(delivered)
    if stopped and spec.sink == "kafka":
        delivered = report_cut_off(delivered, spec.destinations.topics)
    ended = (early_end.stop.number, early_end.last) if early_end.stop.number else None
    return TaskReport(
        [asdict(account) for account in delivered],
        [(*key, count) for key, count in sorted(sent.changes.items())],
        client.left_alone,
        sending,
        ended,
        sink.latencies(),
        sink.resent,
        sums=sums_by_kind(sent.sums),
        stopped=sent.stopped,
    )


@dataclass
class SinkInput:
    """What a sink was given."""

    changes: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """(table, op, destination) → rows"""

    sums: dict[tuple[str, str], ChangeSum] = field(default_factory=dict)
    """Empty unless the run is to sum its row changes."""

    began: float = 0.0
    """When the sink got the first record, in seconds since 1970; 0 if it got none."""

    stopped: tuple[int, EncodeError] | None = None
    """The commit-ts of the first event that cannot be encoded, and what TiCDC's encoder says of it."""

    def write(self, messages: FlushMessages, spec: TaskSpec, sink: Sink, reporter: Reporter) -> None:
        """Store the claim-check files of a flush and write its records to the sink."""
        claim_check.write(spec.options.claim_check_storage_uri, messages.files)
        self.began = self.began or time.time()
        sink.write(messages.records)
        self.changes.update(count_rows(messages.events, spec))
        add_sums(self.sums, sum_rows(messages.events, spec))
        reporter.sent(messages.events.num_rows, messages.records, sink)


def feed(
    rows: Iterable[pa.RecordBatch],
    owned: Iterable[int],
    spec: TaskSpec,
    sink: Sink,
    wait: Callable[[], bool],
    reporter: Reporter,
    early_end: EarlyEnd | None = None,
    faults: FaultPipeline | None = None,
    on_complete: OnComplete | None = None,
    bootstraps: Bootstraps | None = None,
) -> SinkInput:
    """Write the messages of rows, DDL and watermarks to a sink, until it fails or one cannot be encoded.

    `wait` blocks at a barrier until all other tasks are there, and returns False if one of them ended. `bootstraps` are
    those of the parts before. Propagates exceptions of `on_complete`.
    """
    written, early_end = SinkInput(), early_end or EarlyEnd(StopRequest())
    stop = EncoderStop(commit_ts=spec.until)
    owned, bootstraps = list(owned), bootstraps or Bootstraps(told=spec.told)
    cut = flusher(spec, eager=bool(spec.speed))

    def pass_barrier(commit_ts: int) -> bool:
        sink.drain()
        if sink.failed or not wait():
            return False
        if commit_ts and on_complete is not None:
            on_complete(commit_ts)
        return True

    first = bootstraps.at_start(spec.since or int(compose(spec.start_ms)), spec, spec.present, owned)
    parts = MessageParts(first, _events(rows, spec, owned), bootstraps.scheduled(spec, owned))
    for group in _groups(parts, spec, pass_barrier, early_end, owned, faults or NoFaults(spec)):
        if group.waits and not pass_barrier(0):
            return written
        events = stop.events(with_bootstraps(group.events, parts.bootstraps, spec))
        for messages in (messages for flush in cut(events) for messages in stop.encoded(flush, group.encode)):
            written.write(messages, spec, sink, reporter)
            if sink.failed:
                return written
        if stop.error is not None:
            break
    written.stopped = None if stop.error is None else (stop.commit_ts, stop.error)
    return written


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


@dataclass(frozen=True)
class MessageParts:
    """What a task sends, as EVENTS."""

    first: list[pa.RecordBatch]
    """What precedes all else."""

    events: Iterable[pa.RecordBatch]
    """Rows and control events in order."""

    bootstraps: list[pa.RecordBatch]
    """BOOTSTRAPs in order that are to go among them; those sent are taken out."""


def _groups(
    parts: MessageParts,
    spec: TaskSpec,
    pass_barrier: Callable[[int], bool],
    early_end: EarlyEnd,
    owned: Sequence[int],
    faults: FaultPipeline,
) -> Iterator[EventGroup]:
    """Yield what is sent, in order, until `pass_barrier` returns False.

    A stream that ends early gets a watermark of its own. One that begins at a checkpoint repeats the checkpoint's, as
    TiCDC keeps the last checkpoint only in memory (tiflow: cdc/owner/ddl_sink.go run, lastCheckpointTs).
    """
    began = time.monotonic()
    barriers = np.array(spec.barriers, np.int64)
    yield from faults.parts(parts.first)
    if spec.since and spec.control_events.watermarks:
        yield from faults.parts([spec.control_events.watermark(spec.since, owned)])
    each_phase = phases(parts.events, barriers) if spec.barriers else [parts.events]
    for complete, phase in zip(spec.complete_before, each_phase, strict=True):
        if early_end.ended:
            break
        if complete is not None and not pass_barrier(complete):
            return
        timed = pace(phase, spec.speed, spec.start_ms, began, early_end.stop) if spec.speed else phase
        yield from faults.parts(early_end.cut(timed))
    if early_end.ended and faults.end_early(early_end.last) and early_end.last and spec.control_events.watermarks:
        if not pass_barrier(early_end.last):
            return
        yield from faults.parts([spec.control_events.watermark(early_end.last, owned)])
    if parts.bootstraps and not early_end.ended:
        yield from faults.parts([parts.bootstraps.pop()])
    yield from faults.finish()


def flusher(spec: TaskSpec, eager: bool) -> Callable[[Iterable[pa.RecordBatch]], Iterator[Flush]]:
    """Return a function that cuts ordered events into flushes for the protocol; `eager` as in `ticdc.flush.grouped`."""
    if not CODECS[spec.options.protocol].batches:
        return ungrouped
    names = [(physical.table.schema, physical.table.name) for physical in spec.tables]
    keys = GroupKeys.of(spec.routes, names, spec.release, spec.control_events.barriers)
    keys = replace(keys, ends=np.array(spec.flush_ends, np.int64))
    return partial(grouped, keys=keys, eager=eager)

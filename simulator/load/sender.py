"""Encodes the rows of windows, and hands the messages to a sink at the requested pace.

While the sink sends a window, or the driver plans the next one, a thread encodes ahead; messages are the same with
and without it. The records of a partition are sent in order. When `send_window` returns, all records are
acknowledged. A rate in bytes is converted to rows by the size of rows in messages, which is measured on rows of the
plan, and always the same for a plan.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import Ints
from simulator.engines.tasks import TaskReport, TaskSpec
from simulator.engines.tasks.messages import FlushMessages
from simulator.engines.tasks.progress import POLL_SECONDS, Reporter
from simulator.engines.tasks.send import SinkInput, messages_of
from simulator.generate.transactions import Segment
from simulator.load.epochs import Pace, PreparedLoad, Window, schema_epochs
from simulator.load.windows import window_rows
from simulator.run.outputs import Output
from simulator.signals import StopRequest
from simulator.sinks.records import DeliveryReport, Records, Sink, part, report_cut_off, take
from simulator.sinks.storage import StorageSettings, StorageSink
from simulator.ticdc.codecs import CODECS
from simulator.tso import compose, physical

MOST_BYTES = 32 << 20
"""The limit of prefetched keys and values, in bytes."""


class WindowSender:
    """The sink of a process and its prefetched messages, which outlive a window."""

    def __init__(self, sink: Sink, reporter: Reporter | None = None) -> None:
        self._sink, self._reporter = sink, reporter
        self._prefetch: MessagePrefetch | None = None
        self._length = 0

    def send(self, window: Window, owned: Iterable[int], stop_request: StopRequest | None = None) -> TaskReport:
        """Send the rows of a window as `send_window` does."""
        mine, length = frozenset(owned), window.end_ms - window.first_ms
        if self._prefetch is None or not self._prefetch.fits(window, mine):
            self.stop()
            self._prefetch = MessagePrefetch(window, mine, length == self._length)
        self._length = length
        return send_window(window, mine, self._sink, stop_request, self._prefetch.messages_of(window), self._reporter)

    def close(self) -> list[DeliveryReport]:
        """Stop the prefetch, and close the sink."""
        self.stop()
        return self._sink.close()

    def stop(self) -> None:
        if self._prefetch is not None:
            self._prefetch.stop()
        self._prefetch = None


@dataclass(frozen=True)
class QueueItem:
    """Messages, or a position up to which all messages are in the queue, or an error."""

    made: FlushMessages | None = None
    up_to_ms: int = 0
    error: BaseException | None = None

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return 0 if self.made is None else self.made.records.key.nbytes + self.made.records.value.nbytes


class MessagePrefetch:
    """Encodes the messages of a window, and then of windows of the same length, as far as there is room."""

    def __init__(self, window: Window, owned: frozenset[int], steady: bool) -> None:
        """`steady` says that the next window has the same length: batches of rows end with the window."""
        self._window, self._owned = window, owned
        self._grouped = CODECS[window.epoch.spec.options.protocol].batches
        self._goes_on = steady or not self._grouped
        self._sent_ms = self._made_ms = window.first_ms
        self._items: deque[QueueItem] = deque()
        self._size = 0
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._make, name="windows made ahead", daemon=True)
        self._thread.start()

    def fits(self, window: Window, owned: frozenset[int]) -> bool:
        """Return whether the next messages are those of the window."""
        same = window.epoch.number == self._window.epoch.number and owned == self._owned
        goes_on = window.first_ms == self._sent_ms and self._goes_on
        return same and goes_on and (not self._grouped or window.end_ms == self._next_end(window.first_ms))

    def messages_of(self, window: Window) -> Iterator[FlushMessages]:
        """Yield the messages of a window; raise the error of encoding them."""
        end_ts = compose(window.epoch.spec.start_ms + window.end_ms)
        while self._made_ms < window.end_ms:
            item = self._next()
            if item.error is not None:
                raise item.error
            if item.made is None:
                self._made_ms = item.up_to_ms
                continue
            below = int(np.searchsorted(np.asarray(item.made.records.commit_ts), end_ts))
            if self._grouped or below == len(item.made.records.value):
                yield item.made
                continue
            with self._changed:
                self._items.appendleft(QueueItem(item.made.part(below, len(item.made.records.value))))
            if below:
                yield item.made.part(0, below)
            break
        self._sent_ms = window.end_ms

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()

    def _next_end(self, ms: int) -> int:
        end = ms + self._window.end_ms - self._window.first_ms
        last = self._window.epoch.end_ms
        return end if last is None else min(end, last)

    def _make(self) -> None:
        try:
            window = self._window
            while self._goes_on or window is self._window:
                for made in window_messages(window, self._owned):
                    if not self._put(QueueItem(made)):
                        return
                if not self._put(QueueItem(up_to_ms=window.end_ms)) or window.end_ms == window.epoch.end_ms:
                    return
                window = replace(window, first_ms=window.end_ms, end_ms=self._next_end(window.end_ms))
        except BaseException as error:  # raised by `messages_of`
            self._put(QueueItem(error=error))

    def _put(self, item: QueueItem) -> bool:
        """Wait for room, and add an item; return False after `stop`."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._size or self._size + item.size <= MOST_BYTES)
            self._items.append(item)
            self._size += item.size
            self._changed.notify_all()
            return not self._stopped

    def _next(self) -> QueueItem:
        with self._changed:
            self._changed.wait_for(lambda: self._items)
            item = self._items.popleft()
            self._size = sum(left.size for left in self._items)
            self._changed.notify_all()
            return item


SLICE_MS = 50
"""Real milliseconds of records that are released together."""


def window_messages(window: Window, owned: Iterable[int]) -> Iterator[FlushMessages]:
    """Return the messages of the owned destinations in a window.

    No message has rows of two windows, as there is a watermark between them.
    """
    spec = window.epoch.spec
    return messages_of(window_rows(window, owned), spec)


def send_window(
    window: Window,
    owned: Iterable[int],
    sink: Sink,
    stop_request: StopRequest | None = None,
    prefetched: Iterable[FlushMessages] | None = None,
    reporter: Reporter | None = None,
) -> TaskReport:
    """Send the rows of a window to the owned destinations, and wait for acknowledgements.

    `prefetched` has the messages if they exist already. After a stop request, records are not paced any more.
    """
    spec, start = window.epoch.spec, time.monotonic()
    if isinstance(spec.settings, StorageSettings) and isinstance(sink, StorageSink):
        sink.use(spec.settings)
    before, resent = sink.accounts(), sink.resent
    sink.latencies()
    written = SinkInput(spec, sink, reporter or Reporter(None))
    for each in window_messages(window, owned) if prefetched is None else prefetched:
        written.write(each, _pace_records(each.records, window, start, stop_request or StopRequest()))
        if sink.failed:
            break
    sink.drain()
    if not sink.failed:
        written.reporter.acknowledged()
    report = written.report(_delivered_since(before, sink, spec))
    return replace(report, resent=sink.resent - resent)


def _delivered_since(before: Sequence[DeliveryReport], sink: Sink, spec: TaskSpec) -> list[DeliveryReport]:
    """Return what was delivered since `before`. A sink that failed is closed."""
    known = {(account.topic, account.partition): account for account in before}
    after = sink.accounts()
    if sink.failed:
        after = sink.close()
        after = report_cut_off(after, spec.destinations.topics) if spec.sink == "kafka" else after
    reports = []
    for account in after:
        was = known.get((account.topic, account.partition))
        since = (
            account
            if was is None
            else replace(account, records=account.records - was.records, bytes=account.bytes - was.bytes)
        )
        if since.records or since.error:
            reports.append(since)
    return reports


def _pace_records(records: Records, window: Window, start: float, stop_request: StopRequest) -> Iterator[Records]:
    """Yield records when their simulated time has come, for a task that began at `start`. Late records go at once."""
    pace = window.pace
    if not pace.speed:
        yield records
        return
    behind = _latest_ms_by_partition(records) - window.epoch.spec.start_ms - window.first_ms
    due = start - pace.behind + behind / 1000 / pace.speed
    slot = np.maximum(0, np.ceil((due - time.monotonic()) * 1000 / SLICE_MS)).astype(np.int64)
    if slot[0] < slot[-1] or (np.diff(slot) < 0).any():
        order = np.argsort(slot, kind="stable")
        records, slot, due = take(records, pa.array(order)), slot[order], due[order]
    cuts = np.flatnonzero(np.diff(slot, prepend=-1, append=1 << 62)).tolist()
    for first, end in zip(cuts, cuts[1:]):
        while not stop_request.number and (left := due[first:end].min() - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))
        yield part(records, first, end - first)


def _latest_ms_by_partition(records: Records) -> Ints:
    """Return the millisecond of each record, or the latest one before it in its partition."""
    ms = physical(np.asarray(records.commit_ts))
    where = np.asarray(records.topic, np.int64) << 32 | np.asarray(records.partition)
    order = np.lexsort((where,))
    span = int(ms.max() - ms.min()) + 1
    _, place = np.unique(where[order], return_inverse=True)
    latest = np.maximum.accumulate(place * span + (ms[order] - ms.min())) - place * span + ms.min()
    latest_ms = np.empty_like(ms)
    latest_ms[order] = latest
    return latest_ms


ROWS = 4096
PER_SECOND = 100_000.0


def measure_bytes_per_row(prepared: PreparedLoad) -> float:
    """Return the average size of keys and values, measured on the rows after those that tables start with."""
    prepared = prepared.at_rate((Segment(0, PER_SECOND, PER_SECOND),))
    stream = prepared.stream
    first, last = stream.milliseconds(np.array([stream.fill_transactions, stream.fill_transactions + ROWS])).tolist()
    output = Output(prepared.rules.changefeed).for_plan(prepared.plan)
    still = replace(prepared, load=replace(prepared.load, statements=(), timed=()))
    epoch = next(schema_epochs(still, output))
    end_ms = min(last, first + round(1000 * ROWS / PER_SECOND)) + 1
    window = Window(epoch, first, end_ms, Pace(0.0, 0.0))
    size = rows = 0
    for made in window_messages(window, range(output.destinations.total)):
        size += made.records.key.nbytes + made.records.value.nbytes
        rows += made.events.num_rows
    return size / rows if rows else 1.0

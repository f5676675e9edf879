"""Prefetch of messages: while the sink sends a window, or the driver plans the next one, a thread encodes ahead.

The messages of a window are the same with and without prefetch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from simulator.engines.tasks.messages import FlushMessages
from simulator.engines.tasks.progress import Reporter
from simulator.engines.tasks.task import TaskReport
from simulator.load.epochs.epoch import Window
from simulator.load.windows.sending import send_window, window_messages
from simulator.signals import StopRequest
from simulator.sinks.records import DeliveryReport, Sink
from simulator.ticdc.codecs import CODECS
from simulator.tso import compose

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
        """Stop the prefetch."""
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
        """Stop encoding."""
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

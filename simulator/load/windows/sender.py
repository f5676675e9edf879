"""Messages made ahead: while a window's records are held back or acknowledged, and while the driver plans the next one,
a thread of the task's process goes on making.

One law: what is taken for a window is what would be made for it alone; what does not fit is made anew.
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
from simulator.sinks.records import DeliveryReport, Sink, part
from simulator.ticdc.codecs import CODECS
from simulator.tso import compose

MOST_BYTES = 32 << 20
"""Bytes of keys and values that are made ahead."""


class WindowSender:
    """What a process keeps between the windows of a run: its sink, and what is made of the next window."""

    def __init__(self, sink: Sink, reporter: Reporter | None = None) -> None:
        self._sink, self._reporter = sink, reporter
        self._ahead: MessagePrefetch | None = None
        self._length = 0

    def send(self, window: Window, owned: Iterable[int], stop_request: StopRequest | None = None) -> TaskReport:
        """Sends the window's rows of these destinations, as `send_window` does."""
        mine, length = frozenset(owned), window.end_ms - window.first_ms
        if self._ahead is None or not self._ahead.fits(window, mine):
            self.stop()
            self._ahead = MessagePrefetch(window, mine, length == self._length)
        self._length = length
        return send_window(window, mine, self._sink, stop_request, self._ahead.taken(window), self._reporter)

    def close(self) -> list[DeliveryReport]:
        """Makes nothing more, and ends the sink."""
        self.stop()
        return self._sink.close()

    def stop(self) -> None:
        """Makes nothing more of what is not stop_request for."""
        if self._ahead is not None:
            self._ahead.stop()
        self._ahead = None


@dataclass(frozen=True)
class QueueItem:
    """Messages; or up to where all are made; or why no more are."""

    made: FlushMessages | None = None
    up_to_ms: int = 0
    error: BaseException | None = None

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return 0 if self.made is None else self.made.records.key.nbytes + self.made.records.value.nbytes


class MessagePrefetch:
    """Makes the messages of a window, and then of others as long as it, as far as there is room."""

    def __init__(self, window: Window, owned: frozenset[int], steady: bool) -> None:
        """`steady` says that the next window will be as long: what shares a message depends on where it ends."""
        self._window, self._owned = window, owned
        self._grouped = CODECS[window.epoch.spec.options.protocol].batches
        self._goes_on = steady or not self._grouped
        self._taken_ms = self._made_ms = window.first_ms
        self._items: deque[QueueItem] = deque()
        self._size = 0
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._make, name="windows made ahead", daemon=True)
        self._thread.start()

    def fits(self, window: Window, owned: frozenset[int]) -> bool:
        """Whether what comes next is the window's."""
        same = window.epoch.number == self._window.epoch.number and owned == self._owned
        goes_on = window.first_ms == self._taken_ms and self._goes_on
        return same and goes_on and (not self._grouped or window.end_ms == self._end_behind(window.first_ms))

    def taken(self, window: Window) -> Iterator[FlushMessages]:
        """The window's messages; raises what went wrong in making them."""
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
                self._items.appendleft(QueueItem(_slice_messages(item.made, below, len(item.made.records.value))))
            if below:
                yield _slice_messages(item.made, 0, below)
            break
        self._taken_ms = window.end_ms

    def stop(self) -> None:
        """Makes nothing more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()

    def _end_behind(self, ms: int) -> int:
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
                window = replace(window, first_ms=window.end_ms, end_ms=self._end_behind(window.end_ms))
        except BaseException as error:  # whoever takes is to hear of it
            self._put(QueueItem(error=error))

    def _put(self, item: QueueItem) -> bool:
        """Waits until there is room; False where nothing more is stop_request for."""
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


def _slice_messages(made: FlushMessages, first: int, end: int) -> FlushMessages:
    """The messages from there on; files are stored with the first of them."""
    records = part(made.records, first, end - first)
    first_row = made.first_row[first : end + 1] - made.first_row[first]
    return FlushMessages(made.events.slice(first, end - first), records, () if first else made.files, first_row)

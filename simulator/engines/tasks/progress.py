"""The progress of tasks, which they report by datagrams, and their pace: when events are due, where a task ends early.

A lost datagram only delays the display. A partition has at least what was reported.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simulator.channel import LOOPBACK, SECRET_BYTES, DriverAddress, DriverHost
from simulator.columns.change_frame import ints
from simulator.signals import StopRequest
from simulator.sinks.records import DeliveryReport, Records, Sink, positions_by_partition
from simulator.tso import physical

REPORT_INTERVAL = 0.5
"""Seconds between two datagrams of a task."""

PARTITIONS_PER_DATAGRAM = 500


@dataclass
class Progress:
    """The progress that the tasks have reported."""

    read: dict[int, int] = field(default_factory=dict)
    """Task → rows of snapshots read."""

    events: dict[int, int] = field(default_factory=dict)
    """Task → events."""

    bytes: dict[int, int] = field(default_factory=dict)
    in_flight: dict[int, int] = field(default_factory=dict)
    """Task → bytes sent and not acknowledged."""

    complete: dict[tuple[int, int], int] = field(default_factory=dict)
    """(topic, partition) → commit-ts: every event below it is delivered."""

    waiting: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Task → (since, until) while its sink waits for acknowledgements, in seconds since 1970."""


class CompletedPartitions:
    """Tracks up to which commit-ts each partition is complete.

    The records of one write may have any order; those of the next one are above.
    """

    def __init__(self) -> None:
        self._written: Counter[tuple[int, int]] = Counter()
        self._pending: dict[tuple[int, int], deque[tuple[int, int]]] = {}
        self.complete: dict[tuple[int, int], int] = {}
        """(topic, partition) → commit-ts: every event below it is delivered."""

    def written(self, records: Records) -> None:
        """Note records that were written to the sink."""
        commit_ts = np.asarray(records.commit_ts)
        for topic, partition, places in positions_by_partition(records):
            where = topic, partition
            self._written[where] += len(places)
            self._pending.setdefault(where, deque()).append((self._written[where], int(commit_ts[places].max())))

    def delivered(self, accounts: Iterable[DeliveryReport]) -> None:
        """Note the delivered records of each partition."""
        for account in accounts:
            where = account.topic, account.partition
            pending = self._pending.get(where, deque())
            while pending and pending[0][0] <= account.records:
                self.complete[where] = pending.popleft()[1]


class Reporter:
    """The task's side: counts, and sends a datagram now and then."""

    def __init__(self, driver: DriverAddress | None) -> None:
        self._driver = driver
        self._partitions = CompletedPartitions()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM) if driver else None
        self._events = self._bytes = self._in_flight = 0
        self._last = 0.0
        self._waits = False

    def sent(self, events: int, records: Records, sink: Sink) -> None:
        """Called after each write."""
        if self._driver is None:
            return
        self._in_flight = sink.in_flight
        self._events += events
        self._bytes += records.value.nbytes + records.key.nbytes
        self._partitions.written(records)
        if time.monotonic() - self._last >= REPORT_INTERVAL:
            self._report(sink.accounts())

    def waiting(self, since: float, until: float) -> None:
        """Called while the sink waits for acknowledgements (`sinks.records.WaitListener`)."""
        if time.monotonic() - self._last >= REPORT_INTERVAL:
            self._report((), (since, until))

    def acknowledged(self) -> None:
        """Called when every record is acknowledged."""
        self._in_flight = 0
        if self._waits:
            self._report(())

    def done(self, delivered: Sequence[DeliveryReport]) -> None:
        """Called once everything is delivered."""
        self._in_flight = 0
        self._report(delivered)
        self.close()

    def close(self) -> None:
        """Report no more. Closing again does nothing."""
        if self._socket is not None:
            self._socket.close()

    def _report(self, delivered: Sequence[DeliveryReport], waiting: tuple[float, float] | None = None) -> None:
        self._last, self._waits = time.monotonic(), waiting is not None
        self._partitions.delivered(delivered)
        complete = [(*where, commit_ts) for where, commit_ts in self._partitions.complete.items()]
        for start in range(0, max(1, len(complete)), PARTITIONS_PER_DATAGRAM):
            part = complete[start : start + PARTITIONS_PER_DATAGRAM]
            message: dict[str, object] = {
                "task": os.getpid(),
                "events": self._events,
                "bytes": self._bytes,
                "in_flight": self._in_flight,
                "complete": part,
                "waiting": waiting,
            }
            if self._driver is not None and self._socket is not None:
                _send(self._socket, self._driver, message)


def report_reading(
    batches: Iterable[pa.RecordBatch], task: int, driver: DriverAddress | None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches that a task reads, and report the number of rows now and then and at the end."""
    rows, last = 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for batch in batches:
            rows += batch.num_rows
            yield batch
            if driver is not None and time.monotonic() - last >= REPORT_INTERVAL:
                last = time.monotonic()
                _send(sender, driver, {"reads": task, "rows": rows})
        if driver is not None:
            _send(sender, driver, {"reads": task, "rows": rows})


def _send(sender: socket.socket, driver: DriverAddress, message: dict[str, object]) -> None:
    with suppress(OSError):  # a datagram may be lost
        sender.sendto(driver.secret + json.dumps(message).encode(), driver.address)


class Listener:
    """The driver's side: a thread that updates `progress`."""

    def __init__(
        self, update: Callable[[Progress], None] = lambda progress: None, place: DriverHost = LOOPBACK
    ) -> None:
        self.progress = Progress()
        self._update = update
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((place.bound, 0))
        self.driver = place.driver(self._socket)
        self._open = True
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        self._socket.sendto(b"", self._socket.getsockname())  # wakes the thread
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while self._open:
            datagram = self._socket.recv(1 << 16)
            if not self.driver.knows(datagram[:SECRET_BYTES]):
                continue
            message = json.loads(datagram[SECRET_BYTES:])
            if "reads" in message:
                self.progress.read[message["reads"]] = message["rows"]
                self._update(self.progress)
                continue
            task = message["task"]
            self.progress.events[task] = message["events"]
            self.progress.bytes[task] = message["bytes"]
            self.progress.in_flight[task] = message["in_flight"]
            self.progress.complete.update({(topic, partition): ts for topic, partition, ts in message["complete"]})
            self.progress.waiting.pop(task, None)
            if message["waiting"] is not None:
                self.progress.waiting[task] = tuple(message["waiting"])
            self._update(self.progress)


POLL_SECONDS = 0.05
"""Interval between checks for a stop request."""


@dataclass
class EarlyEnd:
    """Ends the events of a task after a stop request, behind the last commit-ts that was begun."""

    stop: StopRequest
    last: int = 0
    """The commit-ts of the last event to send, or of the barrier behind it."""

    ended: bool = False

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield events until a stop request comes, then only those with the last commit-ts."""
        for batch in batches:
            commit_ts = ints(batch, "commit_ts")
            if self.stop.number:
                count = int(np.searchsorted(commit_ts, self.last, "right"))
                if count:
                    yield batch.slice(0, count)
                if count < len(commit_ts):
                    self.ended = True
                    return
            elif len(commit_ts):
                self.last = int(commit_ts[-1])
                yield batch


def pace(
    batches: Iterable[pa.RecordBatch], speed: float, start_ms: int, began: float, stop: StopRequest
) -> Iterator[pa.RecordBatch]:
    """Yield events when their simulated time has come, in slices of about a tenth of a real second."""
    slice_ms = max(1, int(min(100 * speed, 1 << 62)))
    for batch in batches:
        elapsed_ms = physical(ints(batch, "commit_ts")) - start_ms
        bounds = np.flatnonzero(np.diff(elapsed_ms // slice_ms, prepend=-1, append=1 << 62))
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            due = began + elapsed_ms[first] / 1000 / speed
            while not stop.number and (left := due - time.monotonic()) > 0:
                time.sleep(min(left, POLL_SECONDS))
            yield batch.slice(first, end - first)

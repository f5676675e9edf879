"""How far the tasks are, told to the driver while they work.

One law: a lost datagram loses nothing but freshness; a partition has at least what was said, by a task of this run.
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
from simulator.sinks.records import DeliveryReport, Records, Sink, positions_by_partition

EVERY = 0.5
"""Seconds between two datagrams of a task."""

PARTITIONS_A_DATAGRAM = 500


@dataclass
class Progress:
    """What the driver has heard so far."""

    read: dict[int, int] = field(default_factory=dict)
    """Rows of snapshots, by task that reads."""

    events: dict[int, int] = field(default_factory=dict)
    """By task."""

    bytes: dict[int, int] = field(default_factory=dict)
    in_flight: dict[int, int] = field(default_factory=dict)
    """Bytes that a sink was given and that are not acknowledged, by task."""

    complete: dict[tuple[int, int], int] = field(default_factory=dict)
    """(topic, partition) → commit-ts: every event below it is delivered."""

    waiting: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By task, while its sink waits for acknowledgements: since when and until when, in seconds since 1970."""


class CompletedPartitions:
    """Up to where partitions are complete; the rows of one write may lie in any order, those of the next are above."""

    def __init__(self) -> None:
        self._given: Counter[tuple[int, int]] = Counter()
        self._marks: dict[tuple[int, int], deque[tuple[int, int]]] = {}
        self.complete: dict[tuple[int, int], int] = {}
        """(topic, partition) → commit-ts: every event below it is delivered."""

    def given(self, records: Records) -> None:
        """Records that the sink was given."""
        commit_ts = np.asarray(records.commit_ts)
        for topic, partition, places in positions_by_partition(records):
            where = topic, partition
            self._given[where] += len(places)
            self._marks.setdefault(where, deque()).append((self._given[where], int(commit_ts[places].max())))

    def delivered(self, accounts: Iterable[DeliveryReport]) -> None:
        """What has become of them."""
        for account in accounts:
            where = account.topic, account.partition
            marks = self._marks.get(where, deque())
            while marks and marks[0][0] <= account.records:
                self.complete[where] = marks.popleft()[1]


class Reporter:
    """A task's side: counts, and sends now and then."""

    def __init__(self, driver: DriverAddress | None) -> None:
        self._driver = driver
        self._marks = CompletedPartitions()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM) if driver else None
        self._events = self._bytes = self._in_flight = 0
        self._last = 0.0
        self._waits = False

    def sent(self, events: int, records: Records, sink: Sink) -> None:
        """Called after each write."""
        self._in_flight = sink.in_flight
        self._events += events
        self._bytes += records.value.nbytes + records.key.nbytes
        self._marks.given(records)
        if time.monotonic() - self._last >= EVERY:
            self._tell(sink.accounts())

    def waiting(self, since: float, until: float) -> None:
        """Called while the sink waits for acknowledgements (`sinks.records.Waiting`)."""
        if time.monotonic() - self._last >= EVERY:
            self._tell((), (since, until))

    def acknowledged(self) -> None:
        """Called when nothing that the sink was given is on its way any more: it waits no longer."""
        self._in_flight = 0
        if self._waits:
            self._tell(())

    def done(self, delivered: Sequence[DeliveryReport]) -> None:
        """Called once everything is delivered."""
        self._in_flight = 0
        self._tell(delivered)
        if self._socket is not None:
            self._socket.close()

    def _tell(self, delivered: Sequence[DeliveryReport], waiting: tuple[float, float] | None = None) -> None:
        self._last, self._waits = time.monotonic(), waiting is not None
        self._marks.delivered(delivered)
        complete = [(*where, commit_ts) for where, commit_ts in self._marks.complete.items()]
        for start in range(0, max(1, len(complete)), PARTITIONS_A_DATAGRAM):
            part = complete[start : start + PARTITIONS_A_DATAGRAM]
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
    """The batches that a task reads; the driver is told of their rows now and then, and at the end."""
    rows, last = 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outwards:
        for batch in batches:
            rows += batch.num_rows
            yield batch
            if driver is not None and time.monotonic() - last >= EVERY:
                last = time.monotonic()
                _send(outwards, driver, {"reads": task, "rows": rows})
        if driver is not None:
            _send(outwards, driver, {"reads": task, "rows": rows})


def _send(outwards: socket.socket, driver: DriverAddress, message: dict[str, object]) -> None:
    with suppress(OSError):  # as any datagram, it may not arrive
        outwards.sendto(driver.secret + json.dumps(message).encode(), driver.address)


class Listener:
    """The driver's side: a thread that keeps `progress` up to date while it is open."""

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
        self._socket.sendto(b"", self._socket.getsockname())  # whoever listens wakes up
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

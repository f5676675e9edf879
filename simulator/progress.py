"""How far the tasks are, told to the driver while they work.

One law: a lost datagram loses nothing but freshness; a partition is complete at least up to what was said.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from simulator.sinks.records import Delivered, Records, Sink

EVERY = 0.5
"""Seconds between two datagrams of a task."""

PARTITIONS_A_DATAGRAM = 500


@dataclass
class Progress:
    """What the driver has heard so far."""

    events: dict[int, int] = field(default_factory=dict)
    """By task."""

    bytes: dict[int, int] = field(default_factory=dict)
    complete: dict[tuple[int, int], int] = field(default_factory=dict)
    """(topic, partition) → commit-ts of the last record delivered."""


class Reporter:
    """A task's side: counts, and sends now and then."""

    def __init__(self, address: tuple[str, int] | None) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._events = self._bytes = 0
        self._last = 0.0

    def sent(self, events: int, records: Records, sink: Sink) -> None:
        """Called after each write."""
        self._events += events
        self._bytes += records.value.nbytes + records.key.nbytes
        if time.monotonic() - self._last >= EVERY:
            self._tell(sink.accounts())

    def done(self, delivered: Sequence[Delivered]) -> None:
        """Called once everything is delivered."""
        self._tell(delivered)
        self._socket.close()

    def _tell(self, delivered: Sequence[Delivered]) -> None:
        self._last = time.monotonic()
        complete = [(one.topic, one.partition, one.commit_ts) for one in delivered if one.commit_ts is not None]
        for start in range(0, max(1, len(complete)), PARTITIONS_A_DATAGRAM):
            part = complete[start : start + PARTITIONS_A_DATAGRAM]
            message = {"task": os.getpid(), "events": self._events, "bytes": self._bytes, "complete": part}
            if self._address is not None:
                self._socket.sendto(json.dumps(message).encode(), self._address)


class Listener:
    """The driver's side: a thread that keeps `progress` up to date while it is open."""

    def __init__(self, heard: Callable[[Progress], None] = lambda progress: None) -> None:
        self.progress = Progress()
        self._heard = heard
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self.address: tuple[str, int] = self._socket.getsockname()
        self._open = True
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while self._open:
            try:
                message = json.loads(self._socket.recv(1 << 16))
            except TimeoutError:
                continue
            task = message["task"]
            self.progress.events[task] = message["events"]
            self.progress.bytes[task] = message["bytes"]
            self.progress.complete.update({(topic, partition): ts for topic, partition, ts in message["complete"]})
            self._heard(self.progress)

"""Barriers at DDL, and at the watermarks of a run with a checkpoint.

The tasks of a run wait for each other when they have sent everything older, and again when the DDL is sent. If one task
ends before a barrier, none passes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa

from simulator.channel import LOOPBACK, DriverAddress, DriverHost, TaskServer
from simulator.columns.change_frame import Ints, ints
from simulator.errors import DeliveryError
from simulator.ticdc.flush import phase_of


def phases(batches: Iterable[pa.RecordBatch], barriers: Ints) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield the ordered events of each phase; a phase may be empty."""
    groups = groupby(_pieces(batches, barriers), key=itemgetter(0))
    behind = 2 * len(barriers) + 1
    number, pieces = next(groups, (behind, iter(())))
    for phase in range(behind):
        if phase < number:
            yield iter(())
        else:
            yield map(itemgetter(1), pieces)
            number, pieces = next(groups, (behind, iter(())))


def _pieces(batches: Iterable[pa.RecordBatch], barriers: Ints) -> Iterator[tuple[int, pa.RecordBatch]]:
    for batch in batches:
        commit_ts, kind = (ints(batch, name) for name in ("commit_ts", "kind"))
        phase = phase_of(commit_ts, kind, barriers)
        cuts = [0, *(np.flatnonzero(np.diff(phase)) + 1).tolist(), batch.num_rows]
        for first, end in zip(cuts, cuts[1:]):
            if first < end:
                yield int(phase[first]), batch.slice(first, end - first)


ARRIVED = b"."
"""A task sends it at a barrier, and receives it when all tasks have arrived."""


class BarrierClient:
    """The task's side; without a driver there are no other tasks."""

    def __init__(self, driver: DriverAddress | None) -> None:
        self.left_alone = False
        """Whether another task ended before a barrier."""

        self._socket = None if driver is None else driver.connect()

    def wait(self) -> bool:
        """Wait for the other tasks; return False if one of them ended."""
        if self._socket is None:
            return True
        try:
            self._socket.sendall(ARRIVED)
            self.left_alone = self._socket.recv(1) != ARRIVED
        except OSError:
            self.left_alone = True
        return not self.left_alone

    def close(self) -> None:
        """Leave; tasks that wait are released."""
        if self._socket is not None:
            self._socket.close()


class BarrierServer:
    """The driver's side, open while the tasks run."""

    def __init__(
        self,
        tasks: int,
        times: int,
        place: DriverHost = LOOPBACK,
        all_arrived: Callable[[int], None] = lambda number: None,
    ) -> None:
        """`all_arrived` is called with the number of each barrier, from 0, before any task passes it.

        No task passes if it raises DeliveryError.
        """
        self.failed: DeliveryError | None = None
        """What `all_arrived` raised."""

        self._all_arrived, self._passed = all_arrived, 0
        self._barrier = threading.Barrier(tasks, self._note)
        self._times = times
        self._server = TaskServer(self._serve, place)
        self.driver = self._server.driver

    def __enter__(self) -> BarrierServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._barrier.abort()
        self._server.close()

    def _serve(self, request: BufferedIOBase, response: BufferedIOBase) -> None:
        """Serve one task at each barrier; if it ends before, release the others."""
        try:
            for _ in range(self._times):
                if request.read(1) != ARRIVED:
                    self._barrier.abort()
                self._barrier.wait()
                response.write(ARRIVED)
        except (OSError, threading.BrokenBarrierError, DeliveryError):
            self._barrier.abort()

    def _note(self) -> None:
        number, self._passed = self._passed, self._passed + 1
        try:
            self._all_arrived(number)
        except DeliveryError as error:
            self.failed = error
            raise

"""Where statements, and watermarks of a run with a checkpoint, hold a run back: its tasks meet when they have sent all
that is older, and again when a statement is sent.

One law: no task goes on before every task has come; where one does not come, none goes on.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import DDL, ROW, Ints, ints
from simulator.errors import DeliveryError
from simulator.sinks.driver import LOOPBACK, Driver, Place, Server


def leg_of(commit_ts: Ints, kind: Ints, barriers: Ints) -> Ints:
    """The leg of each event: statements at the ascending `barriers` have legs of their own, 1, 3, 5 …; rows of their
    commit-ts belong to the leg before."""
    place = np.searchsorted(barriers, commit_ts)
    at = np.append(barriers, -1)[place] == commit_ts
    found: Ints = 2 * place + np.where(at, np.select([kind == ROW, kind == DDL], [0, 1], 2), 0)
    return found


def legs(batches: Iterable[pa.RecordBatch], barriers: Ints) -> Iterator[Iterator[pa.RecordBatch]]:
    """Ordered events, cut before and behind the statements at each barrier; a leg may be empty."""
    found = groupby(_pieces(batches, barriers), key=itemgetter(0))
    behind = 2 * len(barriers) + 1
    number, pieces = next(found, (behind, iter(())))
    for leg in range(behind):
        if leg < number:
            yield iter(())
        else:
            yield map(itemgetter(1), pieces)
            number, pieces = next(found, (behind, iter(())))


def _pieces(batches: Iterable[pa.RecordBatch], barriers: Ints) -> Iterator[tuple[int, pa.RecordBatch]]:
    for batch in batches:
        commit_ts, kind = (ints(batch, name) for name in ("commit_ts", "kind"))
        leg = leg_of(commit_ts, kind, barriers)
        cuts = [0, *(np.flatnonzero(np.diff(leg)) + 1).tolist(), batch.num_rows]
        for first, end in zip(cuts, cuts[1:]):
            if first < end:
                yield int(leg[first]), batch.slice(first, end - first)


HERE = b"."
"""What a task says when it comes, and hears when all have."""


class BarrierClient:
    """A task's side; without a driver there is nobody to wait for."""

    def __init__(self, driver: Driver | None) -> None:
        self.left_alone = False
        """Whether another task ended without having come."""

        self._socket = None if driver is None else socket.create_connection(driver.address)
        if self._socket is not None and driver is not None:
            self._socket.sendall(driver.secret)

    def met(self) -> bool:
        """Waits for the other tasks; False where one of them does not come."""
        if self._socket is None:
            return True
        try:
            self._socket.sendall(HERE)
            self.left_alone = self._socket.recv(1) != HERE
        except OSError:
            self.left_alone = True
        return not self.left_alone

    def close(self) -> None:
        """Leaves: whoever waits, or will, is told."""
        if self._socket is not None:
            self._socket.close()


def unwatched(number: int) -> None:
    """For tasks whose meetings nobody notes."""


class BarrierServer:
    """The driver's side, open while the tasks run."""

    def __init__(
        self, tasks: int, times: int, place: Place = LOOPBACK, all_came: Callable[[int], None] = unwatched
    ) -> None:
        """`all_came` is told the number of each meeting, from 0, before any task goes on; none does where it raises a
        DeliveryError."""
        self.failed: DeliveryError | None = None
        """What `all_came` raised."""

        self._all_came, self._met = all_came, 0
        self._barrier = threading.Barrier(tasks, self._note)
        self._times = times
        self._server = Server(self._serve, place)
        self.driver = self._server.driver

    def __enter__(self) -> BarrierServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._barrier.abort()
        self._server.close()

    def _serve(self, request: BufferedIOBase, response: BufferedIOBase) -> None:
        """One task, as often as all meet; where it ends before, nobody waits for it."""
        try:
            for _ in range(self._times):
                if request.read(1) != HERE:
                    self._barrier.abort()
                self._barrier.wait()
                response.write(HERE)
        except (OSError, threading.BrokenBarrierError, DeliveryError):
            self._barrier.abort()

    def _note(self) -> None:
        number, self._met = self._met, self._met + 1
        try:
            self._all_came(number)
        except DeliveryError as error:
            self.failed = error
            raise

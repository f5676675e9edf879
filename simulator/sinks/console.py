"""Records for people: tasks hand them to the driver, whose standard output is the user's.

One law: a partition's records keep their order, and a task is done only when all it sent has been shown.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BufferedIOBase

import pyarrow as pa

from simulator.errors import DeliveryError
from simulator.sinks.driver import Driver, Server
from simulator.sinks.files.formats import SCHEMA, table
from simulator.sinks.immediate import Immediate
from simulator.sinks.records import Delivered, PartitionRecords

SHOWN = b"."
"""The driver's answer to a task of which everything has been shown."""

REFUSED = "standard output takes no more"


class ConsoleSink(Immediate):
    """A task's side: an Arrow stream of records as Spark's Kafka source shows them."""

    def __init__(self, driver: Driver, topics: Sequence[str]) -> None:
        super().__init__()
        self._topics = list(topics)
        try:
            self._socket = socket.create_connection(driver.address)
        except OSError as error:
            where = f"{driver.host}:{driver.port}"
            raise DeliveryError(f"the console at {where} cannot be reached by Spark's workers: {error}") from error
        self._file = self._socket.makefile("wb")
        self._file.write(driver.secret)
        self._stream = pa.ipc.new_stream(self._file, SCHEMA)

    def close(self) -> list[Delivered]:
        """Waits until everything has been shown."""
        try:
            self._stream.close()
            self._file.close()
            self._socket.shutdown(socket.SHUT_WR)
            shown = self._socket.recv(1) == SHOWN
        except OSError:
            shown = False
        self._socket.close()
        for account in self._tallies.accounts() if not shown else ():
            self._tallies[account.topic, account.partition].error = REFUSED
        return self._tallies.accounts()

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        self._stream.write_table(table(run.records, self._topics[run.topic], run.partition, offset))
        self._file.flush()

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        return REFUSED


class ConsoleServer:
    """The driver's side: calls `show` with what the tasks send, a batch at a time, while it is open."""

    def __init__(self, show: Callable[[pa.RecordBatch], None]) -> None:
        self.refused: OSError | None = None
        """Why `show` could show no more."""

        self._show = show
        self._ended = False
        self._one_at_a_time = threading.Lock()
        self._server = Server(self._hear)
        self.driver = self._server.driver

    def __enter__(self) -> ConsoleServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        with self._one_at_a_time:
            self._ended = True

    def _hear(self, read: BufferedIOBase, write: BufferedIOBase) -> None:
        with suppress(pa.ArrowInvalid):  # the task ended early
            for batch in pa.ipc.open_stream(read):
                self._take(batch)
            write.write(SHOWN)

    def _take(self, batch: pa.RecordBatch) -> None:
        with self._one_at_a_time:
            if self._ended:
                raise BrokenPipeError
            try:
                if self.refused is None:
                    self._show(batch)
            except OSError as error:
                self.refused = error
            if self.refused is not None:
                raise self.refused

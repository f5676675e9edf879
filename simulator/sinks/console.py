"""Records on standard output: tasks send them to the driver, which prints them.

The records of one write are shown in the order of commit-ts, so that each partition's order is kept. A task is done
only when everything that it sent has been shown.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BufferedIOBase

import numpy as np
import pyarrow as pa

from simulator.channel import LOOPBACK, DriverAddress, DriverHost, TaskServer
from simulator.errors import DeliveryError
from simulator.sinks.files import SCHEMA, table
from simulator.sinks.memory import SynchronousSink
from simulator.sinks.records import DeliveryReport, PartitionRecords, Records, WaitListener, ignore_waiting

SHOWN = b"."
"""The driver's answer to a task when everything has been shown."""

REFUSED = "standard output takes no more"


class ConsoleSink(SynchronousSink):
    """The task's side: sends an Arrow stream of records in the form of Spark's Kafka source."""

    def __init__(self, driver: DriverAddress, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        super().__init__(driver, topics)
        try:
            self._socket = driver.connect()
        except OSError as error:
            where = f"{driver.host}:{driver.port}"
            raise DeliveryError(f"the console at {where} cannot be reached by Spark's workers: {error}") from error
        self._file = self._socket.makefile("wb")
        self._stream = pa.ipc.new_stream(self._file, SCHEMA)
        self._tables: list[tuple[pa.Table, pa.Array]] = []

    def write(self, records: Records) -> None:
        """Show the records of all partitions in the order of commit-ts."""
        super().write(records)
        shown = pa.concat_tables([SCHEMA.empty_table(), *(table for table, _ in self._tables)])
        commit_ts = pa.chunked_array([commit_ts for _, commit_ts in self._tables], pa.int64())
        self._tables.clear()
        places = pa.array(np.argsort(commit_ts.to_numpy(), kind="stable"))
        try:
            self._stream.write_table(shown.take(places).combine_chunks())
            self._file.flush()
        except OSError:
            self._refuse()

    def close(self) -> list[DeliveryReport]:
        """Wait until everything has been shown."""
        try:
            self._stream.close()
            self._file.close()
            self._socket.shutdown(socket.SHUT_WR)
            is_shown = self._socket.recv(1) == SHOWN
        except OSError:
            is_shown = False
        self._socket.close()
        if not is_shown:
            self._refuse()
        return self._counters.accounts()

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        of_partition = table(run.records, self._topics[run.topic], run.partition, offset)
        self._tables.append((of_partition, run.records.commit_ts))

    def _refuse(self) -> None:
        for account in self._counters.accounts():
            self._counters[account.topic, account.partition].error = REFUSED


class ConsoleServer:
    """The driver's side: calls `show` with the batches that tasks send, one at a time, while it is open."""

    def __init__(self, show: Callable[[pa.RecordBatch], None], place: DriverHost = LOOPBACK) -> None:
        self.refused: OSError | None = None
        """Why `show` could show no more."""

        self._show = show
        self._ended = False
        self._one_at_a_time = threading.Lock()
        self._server = TaskServer(self._serve, place)
        self.driver = self._server.driver

    def __enter__(self) -> ConsoleServer:
        return self

    def __exit__(self, *_: object) -> None:
        with self._one_at_a_time:
            self._ended = True
        self._server.end()

    def _serve(self, read: BufferedIOBase, write: BufferedIOBase) -> None:
        with suppress(pa.ArrowInvalid):  # the task ended early
            for batch in pa.ipc.open_stream(read):
                self._show_batch(batch)
            write.write(SHOWN)

    def _show_batch(self, batch: pa.RecordBatch) -> None:
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

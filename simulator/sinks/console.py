"""Records for people: Spark tasks hand them to the driver, whose standard output is the user's.

One law: a partition's records keep their order, and a task is done only when all it sent has been shown. Whoever is no
task of this run is shown nothing of, and holds nothing up.
"""

from __future__ import annotations

import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import pyarrow as pa

from simulator.driver import SECRET_BYTES, Driver
from simulator.errors import DeliveryError
from simulator.sinks.immediate import Immediate
from simulator.sinks.parquet import SCHEMA, table
from simulator.sinks.records import Delivered, Run

SHOWN = b"."
"""The driver's answer to a task of which everything has been shown."""

STRANGERS = 64
"""Connections at a time that have not shown the secret of the run."""

REFUSED = "standard output takes no more"


class Console(Immediate):
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

    def _deliver(self, run: Run, offset: int) -> None:
        self._stream.write_table(table(run.records, self._topics[run.topic], run.partition, offset))
        self._file.flush()

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        return REFUSED


class Screen:
    """The driver's side: calls `show` with what the tasks send, a batch at a time, while it is open."""

    def __init__(self, show: Callable[[pa.RecordBatch], None]) -> None:
        self.refused: OSError | None = None
        """Why `show` could show no more."""

        self._show = show
        self._ended = False
        self._one_at_a_time = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.driver = Driver(*self._server.socket.getsockname())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        with self._one_at_a_time:
            self._ended = True

    def _handler(self) -> type[StreamRequestHandler]:
        screen = self

        class Task(StreamRequestHandler):
            def handle(self) -> None:
                try:
                    if not screen.driver.knows(self.rfile.read(SECRET_BYTES)):
                        return
                    screen._server.known(self.connection)
                    for batch in pa.ipc.open_stream(self.rfile):
                        screen._take(batch)
                    self.wfile.write(SHOWN)
                except (pa.ArrowInvalid, OSError):
                    # The task ended early, or closing its connection tells it that nothing more is shown.
                    pass

        return Task

    def _take(self, batch: pa.RecordBatch) -> None:
        with self._one_at_a_time:
            try:
                if self.refused is None and not self._ended:
                    self._show(batch)
            except OSError as error:
                self.refused = error
            if self.refused is not None:
                raise self.refused


class _Server(ThreadingTCPServer):
    """A thread for each connection; of those that have not shown the secret yet only so many are kept."""

    daemon_threads = True
    request_queue_size = STRANGERS

    def __init__(self, address: tuple[str, int], handler: type[StreamRequestHandler]) -> None:
        super().__init__(address, handler)
        self._strangers: OrderedDict[socket.socket, None] = OrderedDict()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._strangers[request] = None
        if len(self._strangers) > STRANGERS:
            oldest, _ = self._strangers.popitem(last=False)
            with suppress(OSError):  # it may be gone already
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._strangers.pop(request, None)
        super().shutdown_request(request)

    def known(self, request: socket.socket) -> None:
        """A task's connection: it may keep silent for as long as it has nothing to show."""
        self._strangers.pop(request, None)

"""Records for people: Spark tasks hand them to the driver, whose standard output is the user's.

One law: a partition's records keep their order, and a task is done only when all it sent has been shown.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pyarrow as pa

from simulator.sinks.immediate import Immediate
from simulator.sinks.parquet import SCHEMA, table
from simulator.sinks.records import Delivered, Run

SHOWN = b"."
"""The driver's answer to a task of which everything has been shown."""

REFUSED = "standard output takes no more"


class Console(Immediate):
    """A task's side: an Arrow stream of records as Spark's Kafka source shows them."""

    def __init__(self, address: tuple[str, int], topics: Sequence[str]) -> None:
        super().__init__()
        self._topics = list(topics)
        self._socket = socket.create_connection(address)
        self._file = self._socket.makefile("wb")
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
        self._one_at_a_time = threading.Lock()
        self._server = ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self.address: tuple[str, int] = self._server.socket.getsockname()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[StreamRequestHandler]:
        screen = self

        class Task(StreamRequestHandler):
            def handle(self) -> None:
                try:
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
                if self.refused is None:
                    self._show(batch)
            except OSError as error:
                self.refused = error
            if self.refused is not None:
                raise self.refused

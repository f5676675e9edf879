"""Sockets by which the tasks of a run reach its driver, from the same machine or another.

The task spec carries a secret. Connections and datagrams that do not begin with it are dropped.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedIOBase
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

SECRET_BYTES = 32

CONNECT_WITHIN = 10.0
"""Seconds in which a task must reach the driver."""

UNAUTHENTICATED = 64
"""Open connections that have not sent the secret."""


@dataclass(frozen=True)
class DriverHost:
    """The addresses of the driver's machine."""

    host: str = "127.0.0.1"
    """Name or address that tasks connect to."""

    bound: str = "127.0.0.1"
    """Local address that sockets listen on."""

    def driver(self, bound: socket.socket) -> DriverAddress:
        """Return the address of a bound socket for tasks."""
        return DriverAddress(self.host, bound.getsockname()[1])


LOOPBACK = DriverHost()


@dataclass(frozen=True)
class DriverAddress:
    """Address and secret of a socket of the driver."""

    host: str
    port: int
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(SECRET_BYTES), repr=False)

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def connect(self) -> socket.socket:
        """Connect, and send the secret; raise OSError."""
        connection = socket.create_connection(self.address, CONNECT_WITHIN)
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(self.secret)
        return connection

    def knows(self, secret: bytes) -> bool:
        """Whether a secret is that of this run; compares in constant time."""
        return hmac.compare_digest(secret, self.secret)


class TaskServer(ThreadingTCPServer):
    """Calls `serve` with the request and response streams of each task that connects, in a thread of its own."""

    daemon_threads = True
    request_queue_size = UNAUTHENTICATED

    def __init__(self, serve: Callable[[BufferedIOBase, BufferedIOBase], None], place: DriverHost = LOOPBACK) -> None:
        server = self

        class Connection(StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # the peer may have closed
                    if server.driver.knows(self.rfile.read(SECRET_BYTES)):
                        server._unauthenticated.pop(self.connection, None)
                        serve(self.rfile, self.wfile)

        super().__init__((place.bound, 0), Connection)
        self._unauthenticated: OrderedDict[socket.socket, None] = OrderedDict()
        self._served: set[socket.socket] = set()
        self._one_ended = threading.Condition()
        self.driver = place.driver(self.socket)
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Accept a connection, and drop the oldest unauthenticated one if there are too many."""
        self._unauthenticated[request] = None
        with self._one_ended:
            self._served.add(request)
        if len(self._unauthenticated) > UNAUTHENTICATED:
            oldest, _ = self._unauthenticated.popitem(last=False)
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._unauthenticated.pop(request, None)
        with self._one_ended:
            self._served.discard(request)
            self._one_ended.notify_all()
        super().shutdown_request(request)

    def close(self) -> None:
        """Accept no more connections; open ones go on."""
        with suppress(OSError):  # wakes the thread that listens, on Linux; elsewhere it looks ten times a second
            self.socket.shutdown(socket.SHUT_RDWR)
        self.shutdown()
        self.server_close()

    def end(self) -> None:
        """Accept no more connections, cut open ones off, and wait until nothing is served. A thread that is inside Arrow
        when Python ends aborts the process."""
        self.close()
        with self._one_ended:
            for connection in self._served:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._one_ended.wait_for(lambda: not self._served)

"""Where the tasks of a run reach its driver, from its own machine or another, with a secret that travels in the job.

One law: what does not begin with the secret comes from somebody else; nothing of it is read, and it holds nobody up.
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

STRANGERS = 64
"""Connections at a time that have not shown the secret."""


@dataclass(frozen=True)
class DriverHost:
    """The machine of the driver, as its tasks see it."""

    host: str = "127.0.0.1"
    """Its name or address to them."""

    bound: str = "127.0.0.1"
    """The address of its own that its sockets listen on."""

    def driver(self, bound: socket.socket) -> DriverAddress:
        """How the tasks reach a socket of ours."""
        return DriverAddress(self.host, bound.getsockname()[1])


LOOPBACK = DriverHost()


@dataclass(frozen=True)
class DriverAddress:
    """A socket of the driver."""

    host: str
    port: int
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(SECRET_BYTES), repr=False)

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def knows(self, secret: bytes) -> bool:
        """Whether the sender is a task of this run; takes as long whatever was sent."""
        return hmac.compare_digest(secret, self.secret)


class TaskServer(ThreadingTCPServer):
    """Calls `hear` with what a task reads and writes, for each task that connects, in a thread of its own."""

    daemon_threads = True
    request_queue_size = STRANGERS

    def __init__(self, hear: Callable[[BufferedIOBase, BufferedIOBase], None], place: DriverHost = LOOPBACK) -> None:
        server = self

        class Connection(StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # whoever it is may be gone
                    if server.driver.knows(self.rfile.read(SECRET_BYTES)):
                        server._strangers.pop(self.connection, None)
                        hear(self.rfile, self.wfile)

        super().__init__((place.bound, 0), Connection)
        self._strangers: OrderedDict[socket.socket, None] = OrderedDict()
        self.driver = place.driver(self.socket)
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """One that says nothing and stays makes room for others."""
        self._strangers[request] = None
        if len(self._strangers) > STRANGERS:
            oldest, _ = self._strangers.popitem(last=False)
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._strangers.pop(request, None)
        super().shutdown_request(request)

    def close(self) -> None:
        """Takes no more connections; those that are there may go on."""
        self.shutdown()
        self.server_close()

"""A MySQL server in front of the simulated TiDB: it gives each client that may log in a connection to the shared database.

The event loop reads and writes packets. The statements of all clients are executed one after another, in a thread of
their own if commits may wait for Kafka. Users have passwords, and log in by mysql_native_password or
caching_sha2_password.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self, TypeVar

from mysql_mimic.auth import (
    AuthInfo,
    AuthPlugin,
    AuthState,
    Forbidden,
    IdentityProvider,
    NativePasswordAuthPlugin,
    Success,
    User,
)
from mysql_mimic.constants import KillKind
from mysql_mimic.stream import ConnectionClosed
from mysql_mimic.utils import nonce, xor

from simulator.errors import UserError
from simulator.serve.connection import ClientConnection
from simulator.serve.database import SharedDatabase
from simulator.serve.handler import ClientHandler, SimulatorCall
from simulator.serve.stream import ClientStream

Returned = TypeVar("Returned")

logging.getLogger("mysql_mimic").setLevel(logging.CRITICAL)
"""A client gets the errors that mysql_mimic logs as well, with tracebacks."""

TICK_SECONDS = 1.0

DELIVERY_SECONDS = 0.05
"""How long messages wait for those of later commits: together they cost less. In TiCDC a commit waits for a resolved ts,
which takes longer."""

DELIVERY_SHARE = 8
MOST_DELIVERY_SECONDS = 0.2
"""They wait as many times as long as the last delivery took, if that is longer, but not longer than this."""


INTERRUPTED_SECONDS = 3.0
"""How long the end of the server waits for a statement that it has interrupted."""


def listen(option: str, host: str, port: int) -> socket.socket:
    """Return a socket that listens; `port` 0 takes a free one. Raises UserError, with the option, if it cannot."""
    try:
        return socket.create_server((host, port), backlog=1024)
    except (OSError, UnicodeError, TypeError) as error:  # the last two for what is no name
        why = (getattr(error, "strerror", None) or str(error)).partition(" (while attempting")[0]
        about_port = isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES)
        blamed = f"{option} {port}" if about_port else f"{option.replace('port', 'host')} {host}"
        raise UserError(f"{blamed}: {host}:{port} cannot be listened on: {why}") from None


@dataclass(frozen=True)
class Access:
    """Where a server listens, and who may log in."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""

    passwords: Mapping[str, str] = field(default_factory=lambda: {"root": ""}, repr=False)
    """Those of users by name."""

    authentication: str = NativePasswordAuthPlugin.name
    ssl: SSLContext | None = None


class StillRunning(BaseException):
    """A statement goes on although it was interrupted, so that its thread cannot be joined."""


class Server:
    """Serves a database to MySQL clients until it is closed."""

    def __init__(
        self,
        database: SharedDatabase,
        access: Access,
        simulator_call: Callable[[SimulatorCall], None],
        tick: Callable[[], None] | None = None,
        deliver: Callable[[], None] | None = None,
    ) -> None:
        """These are called between two statements: `simulator_call` with a command of the simulator in a statement, `tick`
        every second, `deliver` at most DELIVERY_SECONDS after a commit."""
        self.database = database
        self.host, self.port = access.host, access.port
        self.connections: dict[int, ClientConnection] = {}
        self._users, self._ssl = Users(access.passwords, access.authentication), access.ssl
        self._tick, self.simulator_call, self._deliver = tick, simulator_call, deliver
        self._delivery: asyncio.Task[None] | None = None
        self._delivery_took = 0.0
        self._error: BaseException | None = None
        self._turn = database.changefeeds.turn
        self._thread = ThreadPoolExecutor(1, "ticdc-sim-database") if deliver is not None else None
        """Executes statements, so that packets are read while a commit waits for Kafka; None if none waits."""
        self._end: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop_thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """Where it listens; None before and after."""
        self._stopping = asyncio.Event()

    async def call(self, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that is called between two statements."""
        if self._thread is None:
            return self.call_from_other_thread(function)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.call_from_other_thread, function)

    async def call_briefly(self, function: Callable[[bool], Returned]) -> Returned:
        """Return what a function returns that does not block, called between two statements: with true if it holds up all
        clients, as a change of threads takes longer than most statements."""
        if self._thread is None or not self._turn.acquire(blocking=False):
            return await self.call(partial(function, False))
        try:
            return function(True)
        finally:
            self._turn.release()

    def call_from_other_thread(self, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that is called between two statements."""
        with self._turn:
            return function()

    def kill(self, number: int, query_only: bool) -> bool:
        connection = self.connections.get(number)
        if connection is None:
            return False
        runs = self.database.running.interrupt(number)
        if not query_only or not runs:
            connection.kill(KillKind.QUERY if query_only else KillKind.CONNECTION)
        return True

    def committed(self) -> None:
        """Let the messages of a commit be sent soon."""
        if self._deliver is not None and self._delivery is None:
            self._delivery = self._started(self._deliver_soon(self._deliver))

    async def _deliver_soon(self, deliver: Callable[[], None]) -> None:
        await asyncio.sleep(min(max(DELIVERY_SECONDS, DELIVERY_SHARE * self._delivery_took), MOST_DELIVERY_SECONDS))
        self._delivery, began = None, time.monotonic()
        await self.call(deliver)
        self._delivery_took = time.monotonic() - began

    def _started(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Return a task that does the work; its error ends the server."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._error = task.exception()
            self.stop()

    def transaction_ended(self) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(None)
        self._end = None

    def next_end(self) -> Awaitable[None]:
        if self._end is None:
            self._end = asyncio.get_running_loop().create_future()
        return self._end

    async def serve(self, listening: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop` is called; `listening` is called when clients can connect. Raises UserError for a port that
        is taken, and what `tick` and `deliver` raise."""
        listener = listen("--port", self.host, self.port)
        self._loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        accepting = asyncio.create_task(self._accept_again(listener))
        ticking = self._started(self._tick_again()) if self._tick is not None else None
        listening()
        try:
            await self._stopping.wait()
        finally:
            accepting.cancel()
            listener.close()
            for running in (ticking, self._delivery):
                if running is not None:
                    running.cancel()
            for task in self._tasks:
                task.cancel()
            await self._interrupt(asyncio.gather(*self._tasks, return_exceptions=True))
            self._loop = None
        if self._error is not None:
            raise self._error

    async def _interrupt(self, ending: asyncio.Future[Any]) -> None:
        """Interrupt statements until all clients are gone. Raises StillRunning if one goes on."""
        last, since = 0, time.monotonic()
        while not ending.done():
            number = self.database.running.interrupt()
            if number != last:
                last, since = number, time.monotonic()
            if number and time.monotonic() - since > INTERRUPTED_SECONDS:
                raise StillRunning
            await asyncio.wait([ending], timeout=0.05)

    def stop(self) -> None:
        """Let `serve` return; may be called in any thread, and by a signal handler."""
        if self._loop is None:
            self._stopping.set()
        else:
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _tick_again(self) -> None:
        assert self._tick is not None
        while True:
            await asyncio.sleep(TICK_SECONDS)
            await self.call(self._tick)

    async def _accept_again(self, listener: socket.socket) -> None:
        """Give each client a task of its own."""
        while True:
            connection, (host, *_) = await asyncio.get_running_loop().sock_accept(listener)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = asyncio.create_task(self._connected(ClientStream(connection), host))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connected(self, stream: ClientStream, host: str) -> None:
        try:
            await self._converse(stream, host)
        except (ConnectionClosed, OSError, asyncio.CancelledError):
            pass
        finally:
            await stream.close()

    async def _converse(self, stream: ClientStream, host: str) -> None:
        """Answer a client until it disconnects."""
        client = self.database.connect()
        handler = ClientHandler(self, client)
        connection = ClientConnection(stream, handler, self._users, self._ssl, host)
        connection.connection_id = client.number
        self.connections[client.number] = connection
        try:
            await connection.start()
        finally:
            del self.connections[client.number]
            await asyncio.shield(handler.close())

    # -- in a thread of its own -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Serve in a thread of its own, and return when clients can connect. Raises UserError."""
        ready = threading.Event()
        failure: list[BaseException] = []

        def run() -> None:
            try:
                asyncio.run(self.serve(ready.set))
            except BaseException as error:
                failure.append(error)
            finally:
                ready.set()

        self._loop_thread = threading.Thread(target=run, name="ticdc-sim-server", daemon=True)
        self._loop_thread.start()
        ready.wait()
        if failure:
            raise failure[0]

    def close(self) -> None:
        """Disconnect all clients; their open transactions are rolled back. Closing again does nothing."""
        self.stop()
        if self._loop_thread is not None:
            self._loop_thread.join()
            self._loop_thread = None
        if self._thread is not None:
            self._thread.shutdown(wait=not self.database.running.interrupt())


# -- who may log in ----------------------------------------------------------------------------------------------------

FAST_AUTHENTICATION = b"\x03"


class CachingSha2PasswordPlugin(AuthPlugin):
    """caching_sha2_password. The server knows the password, so the client's first answer always decides.

    https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
    """

    name = "caching_sha2_password"
    client_plugin_name = "caching_sha2_password"

    async def auth(self, auth_info: AuthInfo | None = None) -> AuthState:
        handshake = auth_info.handshake_auth_data if auth_info is not None else None
        if auth_info is not None and handshake and auth_info.handshake_plugin_name == self.name:
            challenge = handshake.rstrip(b"\0")
        else:
            challenge = nonce(20)
            auth_info = yield challenge + b"\0"
        password = (auth_info.user.auth_string or "").encode()
        answer = auth_info.data.rstrip(b"\0") if not password else auth_info.data
        if answer != (scramble(password, challenge) if password else b""):
            yield Forbidden()
            return
        if password:
            yield FAST_AUTHENTICATION
        yield Success(auth_info.user.name)


def scramble(password: bytes, challenge: bytes) -> bytes:
    """Return the answer to a challenge: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + challenge)."""
    once = sha256(password).digest()
    return xor(once, sha256(sha256(once).digest() + challenge).digest())


class Users(IdentityProvider):
    """The users of a server, by name."""

    def __init__(self, passwords: Mapping[str, str], plugin: str) -> None:
        self._passwords = passwords
        plugins: list[AuthPlugin] = [NativePasswordAuthPlugin(), CachingSha2PasswordPlugin()]
        self._plugins = sorted(plugins, key=lambda each: each.name != plugin)

    def get_plugins(self) -> Sequence[AuthPlugin]:
        return self._plugins

    async def get_user(self, username: str) -> User | None:
        password = self._passwords.get(username)
        if password is None:
            return None
        plugin = self._plugins[0]
        native = isinstance(plugin, NativePasswordAuthPlugin) and password
        stored = NativePasswordAuthPlugin.create_auth_string(password) if native else password
        return User(username, stored or None, plugin.name)

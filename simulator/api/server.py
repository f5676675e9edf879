"""A simulated TiDB on a port: MySQL clients write, and the changefeed turns what they commit into messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self, TypeVar

from simulator import tso
from simulator.api.python_values import PythonValue
from simulator.api.session import TiCDC
from simulator.errors import DeliveryError, SimulatorError, SqlError, UserError, did_you_mean
from simulator.reader.decode import Event
from simulator.serve.data_directory import DataDirectory
from simulator.serve.database import SharedDatabase
from simulator.serve.handler import SimulatorCall, key_values
from simulator.serve.server import Server
from simulator.sinks.memory import Message
from simulator.tidb.ddl.catalog import DatabaseInfo

Returned = TypeVar("Returned")


class TiCDCServer:
    """Serves a `TiCDC` to MySQL clients until it is closed.

    While it serves, use its methods and not those of the `TiCDC`: all of them run between two statements.
    """

    def __init__(
        self,
        ticdc: TiCDC,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        passwords: Mapping[str, str] | None = None,
        authentication: str = "mysql_native_password",
        ssl: SSLContext | None = None,
        real_time: bool = False,
        data: DataDirectory | None = None,
        resume: bool = False,
        refuse_commits: bool = False,
        after_delivery: Callable[[], None] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`port` 0 takes a free port. `passwords` are those of users by name; by default `root` has none.

        With `real_time` commits have the time of the clock, and watermarks come every second; otherwise each commit
        takes a simulated millisecond, as in `TiCDC.execute`. `data` keeps the state; with `resume` the changefeed sends
        what an earlier one did not. If Kafka is gone, commits wait for it, or are refused with `refuse_commits`.
        `after_delivery` is called when messages have been sent; `tell` with a line when the changefeed cannot send,
        and when it sends again.
        """
        self._ticdc = ticdc
        self._live = ticdc.open_changefeed
        self._data = data
        if data is not None:
            data.restore(self._live, resume)
        upstream = self._live.upstream()
        self._live.replace_upstream(upstream.live())
        self.changefeeds = ticdc.changefeeds(upstream)
        """All changefeeds; that of the `TiCDC` is `default`."""

        if data is not None:
            self.changefeeds.history.forget(data.replayed, tso.compose(self._live.position.now_ms) - 1)
        self._after_delivery = after_delivery
        self._real_time = real_time
        self.database = SharedDatabase(
            self.changefeeds, upstream, _clock_ms if real_time else None, data, refuse_commits
        )
        sends = real_time or self._live.output.name != "memory"
        self._tell, self._told = tell, False
        self._server = Server(
            self.database,
            ticdc.server_version,
            host,
            port,
            passwords,
            authentication,
            ssl,
            self._tick if sends else None,
            self._call,
            self._deliver if sends else None,
        )

    @property
    def host(self) -> str:
        return self._server.host

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def server(self) -> Server:
        return self._server

    def start(self) -> Self:
        """Serve in a thread of its own, and return when clients can connect. Raises UserError for a port that is taken."""
        self._server.start()
        return self

    def create_database(self, name: str) -> None:
        """Create a database as if it had existed from the start: no statement is sent for it."""
        self._in_thread(partial(self._live.create_database, DatabaseInfo(name)))

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages since the last call, as `TiCDC.messages` does."""
        return self._in_thread(partial(self._ticdc.messages, watermark))

    def events(self, watermark: bool = True) -> list[Event]:
        """Return the events since the last call, as `TiCDC.events` does."""
        return self._in_thread(partial(self._ticdc.events, watermark))

    def rows(self, table: str) -> list[dict[str, PythonValue]]:
        """Return the committed rows of `db.table`."""
        return self._in_thread(partial(self._ticdc.rows, table))

    def fault(self, name: str, **keys: Any) -> None:
        """Inject a fault, as `TiCDC.fault` does."""
        self._in_thread(partial(self._ticdc.fault, name, **keys))

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        self._in_thread(partial(self._ticdc.wait, duration))

    def run_in_thread(self, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that is called between two statements."""
        return self._in_thread(function)

    def close(self) -> None:
        """Disconnect all clients; their open transactions are rolled back. Closing again does nothing."""
        self._server.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _in_thread(self, function: Callable[[], Returned]) -> Returned:
        return self._server.call_from_other_thread(function)

    def _deliver(self) -> None:
        self.database.deliver()
        self._delivered()

    def _tick(self) -> None:
        """Let the time until now pass, with its watermarks. Connect anew if messages could not be sent."""
        if isinstance(self.database.failure, DeliveryError):
            self._delivered()
            try:
                self._ticdc.reconnect()
            except DeliveryError:
                return
            self.database.deliver()
        if self._real_time:
            self.database.advance(_clock_ms())
        if self._delivered() and self._data is not None:
            self._data.checkpoint(self._live.watermark)

    def _delivered(self) -> bool:
        """Return whether everything has been sent; tell if that is new."""
        failure = self.database.failure
        if self._tell is not None and (failure is not None) is not self._told:
            self._told = failure is not None
            if failure is None:
                self._tell("the changefeed sends again")
            elif isinstance(failure, DeliveryError):
                self._tell(f"the changefeed cannot send, and tries again every second: {failure}")
            else:
                self._tell(f"the changefeed has stopped, and commits are refused: {failure}")
        if failure is None and self._after_delivery is not None:
            self._after_delivery()
        return failure is None

    def _call(self, call: SimulatorCall) -> None:
        """Execute a command of the simulator. Raises SqlError."""
        if call.name not in CALLS:
            known = ", ".join(f"ticdc.{name}" for name in CALLS)
            raise SqlError(
                1305,
                "42000",
                f"PROCEDURE ticdc.{call.name} does not exist.{did_you_mean(call.name, CALLS)} Known: {known}",
            )
        try:
            CALLS[call.name](self, *call.arguments)
            if self._data is not None:
                self._data.checkpoint(self._live.watermark)
        except SqlError:
            raise
        except (SimulatorError, TypeError) as error:
            raise SqlError(1105, "HY000", f"ticdc.{call.name}: {error}") from None


@dataclass(frozen=True)
class ServedDatabase:
    """A database of a server, for one test."""

    server: TiCDCServer
    name: str
    user: str = "root"
    """It has no password."""

    @property
    def host(self) -> str:
        return self.server.host

    @property
    def port(self) -> int:
        return self.server.port

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages since the last call, as `TiCDC.messages` does."""
        return self.server.messages(watermark)

    def events(self, watermark: bool = True) -> list[Event]:
        """Return the events since the last call, as `TiCDC.events` does."""
        return self.server.events(watermark)

    def rows(self, table: str) -> list[dict[str, PythonValue]]:
        """Return the committed rows of a table."""
        return self.server.rows(table if "." in table else f"{self.name}.{table}")

    def fault(self, name: str, **keys: Any) -> None:
        """Inject a fault, as `TiCDC.fault` does."""
        self.server.fault(name, **keys)

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        self.server.wait(duration)


def _fault(server: TiCDCServer, name: str = "", *keys: str) -> None:
    if not name:
        raise UserError("the name of a fault is expected, such as ticdc.fault('restart')")
    server._ticdc.fault(name, **key_values(keys))


CALLS: dict[str, Callable[..., None]] = {
    "fault": _fault,
    "wait": lambda server, duration: server._ticdc.wait(duration),
    "watermark": lambda server: server.changefeeds.resolve(),
}


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000

"""A simulated TiDB on a port: MySQL clients write, and the changefeed turns what they commit into messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from simulator import tso
from simulator.api.results import PythonValue
from simulator.api.session import TiCDC
from simulator.changefeeds import DEFAULT, Changefeeds, Retention
from simulator.changefeeds.spec import Sinks
from simulator.errors import DeliveryError, SimulatorError, SqlError, UserError, did_you_mean
from simulator.reader.decode import Event
from simulator.releases import Release
from simulator.run.steps.fault import fault_step
from simulator.serve import Access, Server
from simulator.serve.data_directory import DataDirectory
from simulator.serve.database import SharedDatabase
from simulator.serve.handler import SimulatorCall, key_values
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
        access: Access = Access(),
        clock: Callable[[], int] | None = None,
        data: DataDirectory | None = None,
        refuse_commits: bool = False,
        after_delivery: Callable[[], None] | None = None,
        tell: Callable[[str], None] | None = None,
        begins_with_default: bool = True,
        sinks: Sinks | None = None,
        retention: Retention = Retention(),
    ) -> None:
        """With a `clock` (milliseconds since 1970, such as `clock_ms`) commits have its time, and watermarks come every
        second; otherwise each commit takes a simulated millisecond, as in `TiCDC.execute`. `data` keeps the state. If Kafka
        is gone, commits wait for it, or are refused with `refuse_commits`. `after_delivery` is called when messages have been
        sent; `tell` with a line when the changefeed cannot send, and when it sends again.

        The changefeed of the `TiCDC` is the default one, unless the server begins without any. `sinks` are those of the
        others, by default those of the `TiCDC`.
        """
        self._ticdc = ticdc
        live = ticdc.open_changefeed
        upstream = live.upstream()
        self._data = data
        self.changefeeds = ticdc.changefeeds(upstream, sinks or ticdc.sinks, retention)
        """All changefeeds, which may be created and changed at any time."""

        history, checkpoint_ts = self.changefeeds.history, None
        history.begin(live.position.now_ms)
        if data is not None:
            data.restore(upstream.latest().session, history)
            checkpoint_ts = data.checkpoint_ts(history)
        live.replace_upstream(upstream.live())
        if begins_with_default:
            self.changefeeds.adopt(ticdc.stream, checkpoint_ts)
        if data is not None:
            self.changefeeds.restore(data.changefeeds if data.resumes else ())
            self.changefeeds.keep = self._keep
            self._keep()
        history.keeps = retention.commits or len(self.changefeeds.list()) > begins_with_default
        self._after_delivery = after_delivery
        self._clock, self._tell, self._told = clock, tell, False
        self.database = SharedDatabase(self.changefeeds, upstream, clock, data, refuse_commits)
        ticks, deliver = None, None
        if clock is not None or live.output.name != "memory":
            ticks, deliver = self._tick, self.deliver
        self.server = Server(self.database, access, self._call, ticks, deliver)

    @property
    def host(self) -> str:
        return self.server.host

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def release(self) -> Release:
        """The release of TiCDC, the same for every changefeed."""
        return self._ticdc.release_facts

    def start(self) -> Self:
        """Serve in a thread of its own, and return when clients can connect. Raises UserError for a port that is taken."""
        self.server.start()
        return self

    def deliver(self) -> None:
        """Send the messages of all commits so far; if that fails, `failure` says why, and they go on waiting. Called between
        two statements."""
        self.changefeeds.follow()
        self._delivered()

    def create_database(self, name: str) -> None:
        """Create a database as if it had existed from the start: no statement is sent for it."""
        self.run_in_thread(partial(self._ticdc.open_changefeed.create_database, DatabaseInfo(name)))

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages of the default changefeed since the last call, as `TiCDC.messages` does."""
        return self.run_in_thread(partial(self.changefeeds.get(DEFAULT).messages, watermark))

    def events(self, watermark: bool = True) -> list[Event]:
        """Return the events of the default changefeed since the last call, as `TiCDC.events` does."""
        return self.run_in_thread(partial(self.changefeeds.get(DEFAULT).events, watermark))

    def rows(self, table: str) -> list[dict[str, PythonValue]]:
        """Return the committed rows of `db.table`."""
        return self.run_in_thread(partial(self._ticdc.rows, table))

    def fault(self, name: str, changefeed: str = "", **keys: Any) -> None:
        """Inject a fault, as `TiCDC.fault` does, into a changefeed, `NAME` or `NAMESPACE/NAME`, or else into all that can
        have it."""
        self.run_in_thread(partial(_fault, self, name, keys, changefeed))

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        self.run_in_thread(partial(self.changefeeds.wait, tso.duration_ms(duration)))

    def run_in_thread(self, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that is called between two statements."""
        return self.server.call_from_other_thread(function)

    def close(self) -> None:
        """Disconnect all clients; their open transactions are rolled back. All changefeeds but the default one end at a
        watermark. Closing again does nothing. Raises DeliveryError for what could not be sent."""
        self.server.close()
        try:
            self.changefeeds.close()
        finally:
            self.run_in_thread(self._keep)

    def end(self) -> int:
        """Send a last watermark of the default changefeed, and return it, or else the time. Raises DeliveryError."""
        now_ts = self.changefeeds.end()
        self._keep()
        return now_ts

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tick(self) -> None:
        """Let the time until now pass, with its watermarks. Connect anew if messages could not be sent."""
        if isinstance(self.changefeeds.failure, DeliveryError):
            self._delivered()
            try:
                self.changefeeds.reconnect()
            except DeliveryError:
                return
            self.changefeeds.follow()
        if self._clock is not None:
            self.changefeeds.follow(self._clock())
            self.changefeeds.collect()
        self._delivered()
        self._keep()

    def _keep(self) -> None:
        """Keep the changefeeds with their checkpoints."""
        if self._data is not None:
            self._data.keep_changefeeds(self.changefeeds.kept())

    def _delivered(self) -> None:
        """Tell whether everything has been sent, if that is new."""
        failure = self.changefeeds.failure
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
            self._keep()
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

    @property
    def changefeeds(self) -> Changefeeds:
        """All changefeeds of the server; those that a test creates are removed after it."""
        return self.server.changefeeds

    def fault(self, name: str, changefeed: str = "", **keys: Any) -> None:
        """Inject a fault, as `TiCDCServer.fault` does."""
        self.server.fault(name, changefeed, **keys)

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""
        self.server.wait(duration)


def _fault(server: TiCDCServer, name: str, keys: Mapping[str, Any], changefeed: str) -> None:
    step = fault_step(name, {key.rstrip("_"): value for key, value in keys.items()})
    server.changefeeds.play(step, changefeed)


def _call_fault(server: TiCDCServer, name: str = "", *words: str) -> None:
    if not name:
        raise UserError("the name of a fault is expected, such as ticdc.fault('restart')")
    keys = key_values(words)
    _fault(server, name, keys, keys.pop("changefeed", ""))


def _call_watermark(server: TiCDCServer, *words: str) -> None:
    server.changefeeds.resolve(key_values(words).get("changefeed", ""))


def _call_wait(server: TiCDCServer, duration: str) -> None:
    server.changefeeds.wait(tso.duration_ms(duration))


CALLS: dict[str, Callable[..., None]] = {"fault": _call_fault, "wait": _call_wait, "watermark": _call_watermark}

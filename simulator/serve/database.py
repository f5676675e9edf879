"""A TiDB with several clients, whose commits changefeeds replicate.

A commit is kept in the data directory and handed to the changefeeds before it takes effect; what refuses it leaves it
undone. One thread at a time may call a method, but for `connect`. KILL and the end of the server interrupt the
statement that runs.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from simulator.changefeeds import Changefeeds
from simulator.changefeeds.history import HISTORY_MS
from simulator.errors import DeliveryError, SimulatorError
from simulator.serve.data_directory import DataDirectory
from simulator.tidb import syntax
from simulator.tidb.engine import Event, FailedStatement, StatementOutcome
from simulator.tidb.engine.execution import Upstream, execute
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import Process, SqlSession, new_session, with_client, with_global_settings
from simulator.tidb.engine.system_tables import own_process
from simulator.tidb.errors import sql_error
from simulator.tidb.storage.rows import TooLong
from simulator.tidb.syntax.statements import LoadFile

Returned = TypeVar("Returned")

BRIEF_SECONDS = 0.02


class SharedDatabase:
    """The database of all clients."""

    def __init__(
        self,
        changefeeds: Changefeeds,
        upstream: Upstream,
        clock: Callable[[], int] | None,
        data: DataDirectory | None,
        refuses: bool,
    ) -> None:
        """`clock` returns milliseconds since 1970; without it each commit takes a simulated millisecond. `data` keeps
        commits. While the default changefeed cannot send, commits wait, or are refused if it `refuses` them.
        """
        self.changefeeds = changefeeds
        self.clients: Mapping[int, Client] = {}
        """The clients by number; replaced, so that it may be read while one connects."""

        self.rows = upstream.database
        self.rows.history_ms = HISTORY_MS
        self.rows.publish = self._publish
        self.rows.processes = self._processes
        self._connecting = threading.Lock()
        self._clock, self._data, self.refuses = clock, data, refuses
        if clock is not None:
            changefeeds.clock = clock
        self._global_settings: Mapping[str, str] = {} if data is None else data.global_settings
        self.running = RunningStatement()
        self._last_number = 0

    # -- clients -------------------------------------------------------------------------------------------------------

    def connect(self) -> Client:
        """Return a new client. Unlike the other methods it may be called while a statement runs."""
        with self._connecting:
            self._last_number += 1
            session = Session(self.rows, self._new_settings(self._last_number))
            session.waits = True
            client = Client(self._last_number, session)
            self.clients = {**self.clients, client.number: client}
        return client

    def _new_settings(self, number: int) -> SqlSession:
        """Return the settings of a new connection. It has no current database."""
        return new_session(SqlSession(connection_id=number), self._global_settings)

    def disconnect(self, client: Client) -> None:
        """Roll the client's transaction back, and release its locks."""
        client.session.close()
        with self._connecting:
            self.clients = {number: other for number, other in self.clients.items() if other is not client}

    def reset(self, client: Client) -> None:
        """Give the client a new session in the same database."""
        session, settings = client.session, client.session.settings
        session.close()
        new = replace(self._new_settings(client.number), database=settings.database)
        session.settings = with_client(new, settings.user, settings.found_rows, settings.greeted)

    def _processes(self) -> list[Process]:
        return [self._process(client) for client in self.clients.values()]

    def _process(self, client: Client) -> Process:
        process = own_process(client.session.settings, client.session.transaction is not None)
        seconds = max(0, time.time_ns() // 1_000_000 - client.since_ms) // 1000
        return process._replace(command=client.command, seconds=seconds, statement=client.statement or None)

    # -- statements ----------------------------------------------------------------------------------------------------

    def execute(
        self, client: Client, statement: syntax.SqlStatement | LoadFile, text: str, brief: bool = False
    ) -> StatementOutcome | FailedStatement:
        """Execute a statement; if it is to be `brief`, it raises TooLong after BRIEF_SECONDS.

        Raises LockWait and Pause, after which it may be executed again; DeliveryError if the changefeed cannot send now,
        with no effect; and its failure if it has stopped, after the transaction was rolled back.
        """
        session, now_ms = client.session, self.changefeeds.now_ms
        session.killed, before = False, session.settings
        session.patience = time.monotonic() + BRIEF_SECONDS if brief else None
        try:
            outcome = self.running.watch(
                client.number, session.kill, partial(execute, session, statement, text, now_ms)
            )
        except TooLong:
            session.settings = before
            raise
        except SimulatorError as error:
            if not isinstance(error, DeliveryError) or self.refuses:
                session.roll_back()
            raise
        if isinstance(outcome, FailedStatement) and outcome.error is self.changefeeds.failure:
            session.roll_back()
            raise outcome.error
        if session.settings.global_settings is not self._global_settings:
            self._set_globals(session.settings.global_settings)
        is_commit = session.transaction is None and not isinstance(statement, syntax.SessionStatement)
        if (
            self._clock is None
            and is_commit
            and not outcome.events
            and not isinstance(outcome, FailedStatement)
            and self.changefeeds.failure is None
        ):
            self.changefeeds.pass_millisecond(now_ms)
        return outcome

    def is_brief(self, client: Client, statement: syntax.SqlStatement | LoadFile) -> bool:
        """Return whether a statement has nothing to commit, so that it does not block."""
        if isinstance(statement, syntax.RowStatement):
            return client.session.transaction is not None
        if isinstance(statement, syntax.Begin):
            return client.session.transaction is None
        return isinstance(statement, syntax.SelectStatement)

    def _publish(self, events: Sequence[Event], session: Session, now_ms: int) -> None:
        """Hand events to the changefeed. Raises SimulatorError if it cannot take them; then nothing is committed."""
        if self.changefeeds.failure is not None:
            raise self.changefeeds.failure
        if self._data is not None:
            self._data.append(events, now_ms, session.settings, self.rows)
        try:
            self.changefeeds.publish(events, now_ms)
        except BaseException:
            if self._data is not None:
                self._data.undo()
            raise

    def _set_globals(self, settings: Mapping[str, str]) -> None:
        """Let all sessions know what SET GLOBAL has set."""
        self._global_settings = settings
        if self._data is not None:
            self._data.keep_globals(settings)
        for client in self.clients.values():
            client.session.settings = with_global_settings(client.session.settings, settings)


class _Interruption(BaseException):
    """Is raised inside a statement; no Exception, so that handlers of errors do not catch it."""


class RunningStatement:
    """The statement that a thread computes, if one does.

    Interrupted, a function ends between two steps of Python; an execution is told, and looks now and then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._client = 0
        self._kill: Callable[[], None] | None = None
        self._interrupted = False
        self._number = 0

    def compute(self, client: int, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns, which may be interrupted. Raises SqlError 1317 if it was."""
        try:
            try:
                with self._lock:
                    self._thread, self._client, self._interrupted = threading.get_ident(), client, False
                    self._number += 1
                returned = function()
            finally:
                self._ended()
        except BaseException:
            self._ended()
            if not self._interrupted:
                raise
        if self._interrupted:
            raise sql_error(1317)
        return returned

    def watch(self, client: int, kill: Callable[[], None], function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that `kill` tells to end."""
        with self._lock:
            self._thread, self._client, self._kill = threading.get_ident(), client, kill
            self._number += 1
        try:
            return function()
        finally:
            with self._lock:
                self._thread = self._kill = None

    def interrupt(self, client: int | None = None) -> int:
        """Interrupt the statement, if it is of that client or of any; return its number, 0 without one. May be called
        in any thread."""
        with self._lock:
            if self._thread is None or client not in (None, self._client):
                return 0
            if self._kill is not None:
                self._kill()
            elif not self._interrupted:
                self._interrupted = True
                _raise_in(self._thread, _Interruption)
            return self._number

    def _ended(self) -> None:
        with self._lock:
            self._thread = None
        if self._interrupted:
            _catch_interruption()


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Let a thread raise an error between two of its steps."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _catch_interruption() -> None:
    """Let this thread raise its interruption now, whether it has been raised or has not: one that is taken back with NULL
    stays announced to all threads, and a thread that is traced or profiled then takes no further step (Python 3.11)."""
    try:
        _raise_in(threading.get_ident(), _Interruption)
        while True:
            pass
    except _Interruption:
        return


@dataclass(eq=False)
class Client:
    """A connected client."""

    number: int
    """Its connection id."""

    session: Session
    command: str = "Sleep"
    """What it does, as SHOW PROCESSLIST says it."""

    statement: str = ""
    since_ms: int = 0

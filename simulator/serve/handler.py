"""Executes the statements of one client, which wait for the locks of others.

Some statements are commands of the simulator: `CALL ticdc.fault('restart')`, or a comment `/* ticdc: fault restart */`
before a statement. `CALL ticdc.wait('10s')` lets simulated time pass, `CALL ticdc.watermark()` sends a watermark.
"""

from __future__ import annotations

import asyncio
import math
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from simulator.errors import DdlError, DeliveryError, SimulatorError, SqlError
from simulator.serve.database import Client, SharedDatabase
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine import FailedStatement, ResultColumn, StatementOutcome, table_column
from simulator.tidb.engine.queries import reading_context
from simulator.tidb.engine.session_statements import columns_of_prepared
from simulator.tidb.engine.settings import with_client
from simulator.tidb.engine.writes.load_data import check_load
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import visible_columns
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.storage.rows import LockWait, Pause, TooLong
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.statements import LoadData, LoadFile, SqlStatement

Returned = TypeVar("Returned")

LOCK_WAIT_TIMEOUT = "innodb_lock_wait_timeout"
LOCK_WAIT_SECONDS = 50.0
"""TiDB's default of innodb_lock_wait_timeout."""

LONG_TEXT = 1 << 14
"""Characters of a statement that takes long to parse."""

POLL_SECONDS = 0.02
WAIT_FOR_KAFKA_SECONDS = 0.1
"""After which a commit is tried again while the changefeed cannot send."""

KILL = re.compile(r"\s*KILL\s+(?:TIDB\s+)?(QUERY|CONNECTION)?\s*(\d+)\s*", re.IGNORECASE)

TIMED_OUT = SqlError(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction")


class Transactions(Protocol):
    """Calls functions of the database between two statements, and reports ends of transactions."""

    database: SharedDatabase
    simulator_call: Callable[[SimulatorCall], None]
    """Executes a command of the simulator; raises SqlError."""

    async def call(self, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that is called between two statements."""

    async def call_briefly(self, function: Callable[[bool], Returned]) -> Returned:
        """Return what a function returns that does not block, called between two statements: with true if it holds up all
        clients."""

    def kill(self, number: int, query_only: bool) -> bool:
        """End a connection, or its statement; return False if there is no such connection."""

    def committed(self) -> None:
        """Let the messages of a commit be sent soon."""

    def transaction_ended(self) -> None:
        """Wake the statements that wait for locks."""

    def next_end(self) -> Awaitable[None]:
        """Return what is done when the next transaction has ended."""


class ClientHandler:
    def __init__(self, server: Transactions, client: Client) -> None:
        self.client = client
        self._server = server
        self.read_file: Callable[[str], Awaitable[bytes]] | None = None
        """Asks the client for a file; None if the client sends none."""

    def log_in(self, user: str, found_rows: bool, collation: str) -> None:
        session = self.client.session
        session.settings = with_client(session.settings, user, found_rows, collation)

    async def run_text(self, text: str, modes: frozenset[str]) -> tuple[SqlStatement | None, StatementOutcome]:
        """Parse and execute a statement, after a command of the simulator before it; return both. Raises as `run`."""
        call, text = split_call(text)
        if call is not None:
            await self._call_simulator(call)
            if not text.strip():
                return None, StatementOutcome()
        kill = KILL.fullmatch(text)
        if kill:
            await self._kill(int(kill[2]), (kill[1] or "").upper() == "QUERY")
            return None, StatementOutcome()
        try:
            statement = await self.in_turn(len(text), partial(parse_sql, text, modes))
        except (SqlError, DdlError) as error:
            self.client.session.refuse(error)
            raise
        rows = await self._with_file(statement) if isinstance(statement, LoadData) else statement
        return statement, await self.run(rows, text)

    def warn(self, outcome: StatementOutcome, warnings: tuple[str, ...]) -> StatementOutcome:
        """Return the outcome of a statement with warnings about its text, which SHOW WARNINGS then shows, too."""
        if not warnings:
            return outcome
        warned = replace(outcome, warnings=(*outcome.warnings, *warnings))
        session = self.client.session
        session.settings = replace(session.settings, last=replace(session.settings.last, warnings=warned.warnings))
        return warned

    async def in_turn(self, length: int, parse: Callable[[], Returned]) -> Returned:
        """Return what a function makes of a text: of a long one between two statements, so that other clients are
        answered meanwhile."""
        compute = self._server.database.running.compute
        return parse() if length < LONG_TEXT else await self._server.call(partial(compute, self.client.number, parse))

    async def _with_file(self, statement: LoadData) -> LoadFile:
        """Return LOAD DATA LOCAL with the rows of the client's file, for which it is asked last."""
        await self._server.call(lambda: check_load(statement, reading_context(self.client.session, self._now_ms)))
        if self.read_file is None:
            raise SqlError(1148, "42000", "The used command is not allowed with this MySQL version")
        return LoadFile(statement, await self.read_file(statement.path))

    async def _call_simulator(self, call: SimulatorCall) -> None:
        await self._server.call(partial(self._server.simulator_call, call))
        self._server.committed()

    async def _kill(self, number: int, query_only: bool) -> None:
        if not self._server.kill(number, query_only):
            raise SqlError(1094, "HY000", f"Unknown thread id: {number}")

    async def run(self, statement: SqlStatement | LoadFile | None, text: str) -> StatementOutcome:
        """Execute a statement, after waiting for the locks that it needs.

        Raises SqlError and DdlError: of the statement, 1205 after innodb_lock_wait_timeout, 1213 for a deadlock, which
        rolls the transaction back, and 1105 if the changefeed cannot send a commit.
        """
        client, server = self.client, self._server
        if statement is None:
            raise SqlError(1065, "42000", "Query was empty")
        waits_long = isinstance(statement, Statement)  # DDL waits until the other transactions end
        deadline = math.inf if waits_long else time.monotonic() + self._lock_wait_seconds()
        client.command, client.statement, client.since_ms = "Query", text, int(time.time() * 1000)
        before = client.session.transaction
        try:
            outcome = await self._executed(statement, text, deadline)
        except SimulatorError as error:
            if isinstance(error, SqlError | DdlError) and error is not server.database.changefeeds.failure:
                raise
            raise SqlError(
                1105, "HY000", f"the changefeed cannot send this commit, which is rolled back: {error}"
            ) from None
        finally:
            client.command, client.statement = "Sleep", ""
            client.session.abandon()
            if client.session.freed or before is not None and client.session.transaction is not before:
                client.session.freed = False
                server.transaction_ended()
        if outcome.events:
            server.committed()
        if isinstance(outcome, FailedStatement):
            raise outcome.error
        return outcome

    async def _executed(
        self, statement: SqlStatement | LoadFile, text: str, deadline: float
    ) -> StatementOutcome | FailedStatement:
        """Execute a statement as often as it waits for something."""
        client, server, paused = self.client, self._server, 0.0
        execute = partial(server.database.execute, client, statement, text)
        brief = server.database.is_brief(client, statement)
        while True:
            ended = server.next_end()
            try:
                return await (server.call_briefly(execute) if brief else server.call(execute))
            except TooLong:
                brief = False
            except LockWait as wait:
                await self._wait_for(wait, ended, deadline)
            except Pause as pause:
                paused = paused or time.monotonic()
                if await self._wait_for_pause(pause, paused):
                    paused = 0.0
            except DeliveryError:
                if server.database.refuses:
                    raise
                await asyncio.sleep(WAIT_FOR_KAFKA_SECONDS)

    async def _wait_for(self, wait: LockWait, ended: Awaitable[None], deadline: float) -> None:
        """Wait for the end of a transaction. Raises SqlError 1205 and, after a rollback, 1213 for a deadlock."""
        database, transaction = self._server.database, self.client.session.transaction
        if transaction is not None:
            try:
                database.rows.locks.wait(transaction, wait.owner)
            except SqlError:
                await self._server.call(self.client.session.roll_back)
                raise
        if wait.seconds is not None:
            deadline = min(deadline, time.monotonic() + wait.seconds)
        try:
            # asyncio.wait_for of Python 3.11 may forget that it was cancelled
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await asyncio.shield(ended)
        except TimeoutError:
            raise TIMED_OUT from None
        finally:
            if transaction is not None:
                database.rows.locks.stop_waiting(transaction)

    async def _wait_for_pause(self, pause: Pause, since: float) -> bool:
        """Wait for the end of SLEEP, or for a lock of GET_LOCK; return whether the call has its result."""
        session = self.client.session
        while pause.seconds < 0 or time.monotonic() < since + pause.seconds:
            if session.killed:
                break
            await asyncio.sleep(POLL_SECONDS)
            if pause.lock and session.database.named_locks.holder(pause.lock) is None:
                return False
        session.resumed.append(int(session.killed and not pause.lock))
        return True

    @property
    def uptime_seconds(self) -> int:
        """How long the database has been running."""
        now_ms = self._now_ms
        return (now_ms - (self.client.session.database.started_ms or now_ms)) // 1000

    @property
    def _now_ms(self) -> int:
        """The millisecond of the next commit."""
        return self._server.database.changefeeds.now_ms

    def _lock_wait_seconds(self) -> float:
        value = self.client.session.settings.settings.get(LOCK_WAIT_TIMEOUT)
        return float(value) if value else LOCK_WAIT_SECONDS

    async def reset(self) -> None:
        """Roll the transaction back and forget the session's variables, as COM_RESET_CONNECTION does."""
        await self._server.call(partial(self._server.database.reset, self.client))
        self._server.transaction_ended()

    async def close(self) -> None:
        """Roll the transaction back, and release all locks: the client is gone."""
        await self._server.call(partial(self._server.database.disconnect, self.client))
        self._server.transaction_ended()

    async def columns_of_prepared(self, statement: SqlStatement) -> Sequence[ResultColumn]:
        """Return the columns of a statement's result. Raises SqlError if TiDB refuses to prepare the statement."""
        return await self._server.call(lambda: columns_of_prepared(statement, self.client.session, self._now_ms))

    def columns_of_table(self, name: str) -> Sequence[ResultColumn]:
        """Return the columns of a table in the current database. Raises SqlError 1146."""
        database = self.client.session.settings.database
        table = self._server.database.rows.catalog.tables.get(object_key(database, name))
        if table is None:
            raise sql_error(1146, database, name)
        schema, name = table.schema, table.name
        return [table_column(column.name, column, table, schema, name) for column in visible_columns(table)]


CALL = re.compile(r"\s*CALL\s+`?ticdc`?\s*\.\s*`?(\w+)`?\s*(?:\((.*)\))?\s*", re.IGNORECASE | re.DOTALL)
COMMENT = re.compile(r"\s*/\*\s*ticdc\s*:\s*(\w+)(.*?)\*/", re.IGNORECASE | re.DOTALL)
ARGUMENT = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([\w.]+))\s*(?:,|$)""")


class SimulatorCall(NamedTuple):
    name: str
    arguments: tuple[str, ...]


def split_call(text: str) -> tuple[SimulatorCall | None, str]:
    """Return the command that a statement begins with, and the rest of the statement. Raises SqlError 1064."""
    match = CALL.fullmatch(text)
    if match:
        return SimulatorCall(match[1].lower(), _arguments(match[2] or "")), ""
    match = COMMENT.match(text)
    if match is None:
        return None, text
    try:
        words = tuple(shlex.split(match[2]))
    except ValueError as error:
        raise _wrong(match[0], str(error)) from None
    return SimulatorCall(match[1].lower(), words), text[match.end() :]


def key_values(words: tuple[str, ...]) -> dict[str, str]:
    """Return `key=value` arguments. Raises SqlError 1064."""
    pairs = [word.partition("=") for word in words]
    wrong = next((word for word, (_, equals, _) in zip(words, pairs, strict=True) if not equals), None)
    if wrong is not None:
        raise _wrong(wrong, "key=value is expected, such as 'partition=0'")
    return {key: value for key, _, value in pairs}


def _arguments(text: str) -> tuple[str, ...]:
    found, place = [], 0
    while text[place:].strip():
        match = ARGUMENT.match(text, place)
        if match is None:
            raise _wrong(text[place:], "texts in quotes are expected, with commas between")
        found.append(next(group for group in match.groups() if group is not None))
        place = match.end()
    return tuple(found)


def _wrong(text: str, why: str) -> SqlError:
    return SqlError(1064, "42000", f"You have an error in your SQL syntax: {text.strip()!r}: {why}")

"""Executes the statements of one client, which wait for the locks of others."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from simulator.errors import DdlError, SimulatorError, SqlError
from simulator.serve.calls import SimulatorCall, split_call
from simulator.serve.clients import Client
from simulator.serve.database import Blocked, Database
from simulator.serve.named_locks import NamedLocks
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import visible_columns
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.result_columns import ResultColumn, table_column
from simulator.tidb.sql_engine.storage.state import FailedStatement, StatementOutcome
from simulator.tidb.syntax.load_data import LoadData
from simulator.tidb.syntax.session import SelectStatement, SqlStatement

Returned = TypeVar("Returned")

LOCK_WAIT_TIMEOUT = "innodb_lock_wait_timeout"
LOCK_WAIT_SECONDS = 50.0
"""TiDB's default of innodb_lock_wait_timeout."""

LONG_TEXT = 1 << 14
"""Characters of a statement that takes long to parse."""

WAIT_FOR_KAFKA_SECONDS = 0.1
"""After which a commit is tried again while the changefeed cannot send."""

KILL = re.compile(r"\s*KILL\s+(?:TIDB\s+)?(QUERY|CONNECTION)?\s*(\d+)\s*", re.IGNORECASE)

DEADLOCK = SqlError(1213, "40001", "Deadlock found when trying to get lock; try restarting transaction")
TIMED_OUT = SqlError(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction")
NOWAIT = SqlError(
    3572, "HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."
)


class Transactions(Protocol):
    """Calls functions of the database between two statements, and reports ends of transactions."""

    database: Database
    named_locks: NamedLocks
    simulator_call: Callable[[SimulatorCall], None] | None
    """Executes a command of the simulator; raises SqlError."""

    async def call(self, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns that is called between two statements."""

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

    def log_in(self, user: str, host: str) -> None:
        self.client.session = replace(self.client.session, user=f"{user}@{host}")

    async def run_text(self, text: str, modes: frozenset[str]) -> tuple[SqlStatement | None, StatementOutcome]:
        """Parse and execute a statement, after a command of the simulator before it; return both. Raises as `run`."""
        call, text = split_call(text)
        if call is not None:
            await self._call_simulator(call)
            if not text.strip():
                return None, StatementOutcome(self._server.database.committed)
        kill = KILL.fullmatch(text)
        if kill:
            await self._kill(int(kill[2]), (kill[1] or "").upper() == "QUERY")
            return None, StatementOutcome(self._server.database.committed)
        statement = await self.in_turn(len(text), partial(parse_sql, text, modes))
        rows = await self._with_file(statement) if isinstance(statement, LoadData) else statement
        return statement, await self.run(rows, text)

    async def in_turn(self, length: int, parse: Callable[[], Returned]) -> Returned:
        """Return what a function makes of a text: of a long one between two statements, so that other clients are
        answered meanwhile."""
        return (
            parse()
            if length < LONG_TEXT
            else await self._server.call(partial(self._server.database.compute, self.client, parse))
        )

    async def _with_file(self, statement: LoadData) -> SqlStatement:
        """Return LOAD DATA LOCAL with the rows of the client's file, for which it is asked last."""
        load = partial(self._server.database.load, self.client, statement)
        await self._server.call(partial(load, b""))
        if self.read_file is None:
            raise SqlError(1148, "42000", "The used command is not allowed with this MySQL version")
        return await self._server.call(partial(load, await self.read_file(statement.path)))

    async def _call_simulator(self, call: SimulatorCall) -> None:
        server = self._server
        if server.simulator_call is None:
            raise SqlError(1305, "42000", f"PROCEDURE ticdc.{call.name} does not exist")
        await server.call(partial(server.simulator_call, call))
        server.committed()

    async def _kill(self, number: int, query_only: bool) -> None:
        if not self._server.kill(number, query_only):
            raise SqlError(1094, "HY000", f"Unknown thread id: {number}")

    async def run(self, statement: SqlStatement | None, text: str) -> StatementOutcome:
        """Execute a statement, after waiting for the locks that it needs.

        Raises SqlError and DdlError: of the statement, 1205 after innodb_lock_wait_timeout, 1213 for a deadlock, which
        rolls the transaction back, and 1105 if the changefeed cannot send a commit.
        """
        client, server = self.client, self._server
        if statement is None:
            raise SqlError(1065, "42000", "Query was empty")
        statement = await server.named_locks.computed(statement, client)
        deadline = time.monotonic() + self._lock_wait_seconds()
        client.command, client.statement, client.since_ms = "Query", text, int(time.time() * 1000)
        had_transaction = client.transaction is not None
        try:
            while True:
                ended = server.next_end()
                outcome = await server.call(partial(server.database.execute, client, statement, text))
                if not isinstance(outcome, Blocked):
                    break
                if outcome.client is None:
                    await asyncio.sleep(WAIT_FOR_KAFKA_SECONDS)
                else:
                    await self._wait_for(outcome.client, ended, deadline, statement)
        except SimulatorError as error:
            if isinstance(error, SqlError | DdlError) and error is not server.database.failure:
                raise
            raise SqlError(
                1105, "HY000", f"the changefeed cannot send this commit, which is rolled back: {error}"
            ) from None
        finally:
            client.command, client.statement = "Sleep", ""
            if had_transaction and client.transaction is None:
                server.transaction_ended()
        if outcome.events:
            server.committed()
        if isinstance(outcome, FailedStatement):
            raise outcome.error
        return outcome

    async def _wait_for(self, holder: Client, ended: Awaitable[None], deadline: float, statement: SqlStatement) -> None:
        client = self.client
        if isinstance(statement, SelectStatement) and "NOWAIT" in getattr(statement.query, "lock", ""):
            raise NOWAIT
        if _waits_for(holder, client):
            await self._server.call(partial(self._server.database.roll_back, client))
            raise DEADLOCK
        client.waits_for = holder
        try:
            await asyncio.wait_for(asyncio.shield(ended), max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise TIMED_OUT from None
        finally:
            client.waits_for = None

    def _lock_wait_seconds(self) -> float:
        value = self.client.session.settings.get(LOCK_WAIT_TIMEOUT)
        return float(value) if value else LOCK_WAIT_SECONDS

    async def reset(self) -> None:
        """Roll the transaction back and forget the session's variables, as COM_RESET_CONNECTION does."""
        had_transaction = self.client.transaction is not None
        database = self.client.session.database
        await self._server.call(partial(self._server.database.reset, self.client, database))
        if had_transaction:
            self._server.transaction_ended()

    async def close(self) -> None:
        """Roll the transaction back, and release all locks: the client is gone."""
        self._server.named_locks.release_all(self.client)
        await self._server.call(partial(self._server.database.disconnect, self.client))
        self._server.transaction_ended()

    async def columns_of_prepared(self, statement: SqlStatement) -> Sequence[ResultColumn]:
        """Return the columns of a statement's result. Raises SqlError if TiDB refuses to prepare the statement."""
        return await self._server.call(partial(self._server.database.columns_of_prepared, self.client, statement))

    def columns_of_table(self, name: str) -> Sequence[ResultColumn]:
        """Return the columns of a table in the current database. Raises SqlError 1146."""
        database = self.client.session.database
        table = self._server.database.committed.catalog.tables.get(object_key(database, name))
        if table is None:
            raise sql_error(1146, database, name)
        schema, name = table.schema, table.name
        return [table_column(column.name, column, table, schema, name) for column in visible_columns(table)]


def _waits_for(client: Client | None, other: Client) -> bool:
    """Return whether a client waits for another one, directly or through others."""
    while client is not None:
        if client is other:
            return True
        client = client.waits_for
    return False

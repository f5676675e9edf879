"""A TiDB with several clients: the committed rows, open transactions, and the changefeed that replicates commits.

A writing statement runs on the newest committed rows and its own transaction's writes. If a key that it writes is
locked by another open transaction, the statement has no effect and runs again when that transaction has ended. A query
in a transaction sees the rows committed at BEGIN. (tidb pkg/sessiontxn/isolation: pessimistic transactions with
REPEATABLE READ, TiDB's default, and READ COMMITTED)

One thread at a time may call a method, but for `connect`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from simulator.errors import DdlError, DeliveryError, SimulatorError, SqlError
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.plan.upstream_rows import table_names
from simulator.serve.clients import Client, ClientTransaction
from simulator.serve.conflicts import blocking_client, ddl_tables, lock_selected_rows
from simulator.serve.data_directory import DataDirectory
from simulator.serve.history import SNAPSHOT, History, snapshot_ts
from simulator.serve.rebase import rebase, rebased_rows
from simulator.serve.running_statement import RunningStatement
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.sql_engine.changes.load_data import as_insert
from simulator.tidb.sql_engine.errors import sql_error_with_text
from simulator.tidb.sql_engine.execute import execute
from simulator.tidb.sql_engine.queries.evaluate import query_columns
from simulator.tidb.sql_engine.result_columns import ResultColumn
from simulator.tidb.sql_engine.session_statements import check_prepared, resolve_execute, value_text
from simulator.tidb.sql_engine.sessions.session_variables import new_session, with_global_settings
from simulator.tidb.sql_engine.sessions.transactions import rollback
from simulator.tidb.sql_engine.storage.allocators import Counters
from simulator.tidb.sql_engine.storage.rows import empty_rows
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    CompletedDdl,
    FailedStatement,
    Process,
    SqlSession,
    StatementOutcome,
    StoredRows,
    Upstream,
)
from simulator.tidb.sql_engine.system_tables.server import own_process
from simulator.tidb.syntax.load_data import LoadData

Returned = TypeVar("Returned")

Events = Sequence[CommittedTransaction | CompletedDdl]

SCHEMA_CHANGED = (
    "Information schema is changed during the execution of the statement(for example, table definition may be "
    "updated by other DDL ran in parallel). If you see this error often, try increasing "
    "`tidb_max_delta_schema_count`. [try again later]"
)


@dataclass(frozen=True)
class Blocked:
    """A statement that had no effect because it must wait."""

    client: Client | None
    """Whose transaction must end first; None if the changefeed must send again first."""


class Database:
    """The state that all clients share."""

    def __init__(
        self,
        changefeed: OpenChangefeed,
        clock: Callable[[], int] | None,
        data: DataDirectory | None = None,
        refuses: bool = False,
    ) -> None:
        """`clock` returns milliseconds since 1970; without it each commit takes a simulated millisecond. `data` keeps
        commits. While the changefeed cannot send, commits wait, or are refused if it `refuses` them.
        """
        self.changefeed = changefeed
        self.clients: Mapping[int, Client] = {}
        """The clients by number; replaced, so that it may be read while one connects."""

        self._connecting = threading.Lock()
        self.history = History()
        self._clock = clock
        self._data = data
        self._refuses = refuses
        self.failure: SimulatorError | None = None
        """Why messages of commits could not be sent, until they are. An error that is no DeliveryError stays: TiCDC stops
        the changefeed, and commits are refused."""

        self._counters: dict[Key, Counters] = {}
        """The id counters of tables whose ids statements have set: ids are allocated outside of transactions."""

        self._global_settings: Mapping[str, str] = {} if data is None else data.global_settings

        self.running = RunningStatement()
        self._last_number = 0

    @property
    def committed(self) -> Upstream:
        """The state after the last commit."""
        return self.changefeed.upstream()

    def connect(self) -> Client:
        """Return a new client. Unlike the other methods it may be called while a statement runs."""
        with self._connecting:
            self._last_number += 1
            client = Client(self._last_number, self.new_session(self._last_number))
            self.clients = {**self.clients, client.number: client}
        return client

    def new_session(self, number: int) -> SqlSession:
        """Return the session of a new connection. It has no current database."""
        return new_session(SqlSession(connection_id=number), self._global_settings)

    def disconnect(self, client: Client) -> None:
        """Roll the client's transaction back."""
        self.roll_back(client)
        with self._connecting:
            self.clients = {number: other for number, other in self.clients.items() if other is not client}

    def reset(self, client: Client, database: str) -> None:
        """Give the client a new session in the same database."""
        self.roll_back(client)
        client.session = replace(self.new_session(client.number), database=database, user=client.session.user)

    def compute(self, client: Client, function: Callable[[], Returned]) -> Returned:
        """Return what a function returns, which KILL may interrupt. Raises SqlError 1317 then."""
        return self.running.compute(client.number, function)

    def columns_of_prepared(self, client: Client, statement: syntax.SqlStatement) -> Sequence[ResultColumn]:
        """Return the columns of a statement's result; none if it returns no rows. Raises the SqlError that TiDB raises
        when it prepares the statement."""
        upstream = self._own_upstream(client)
        if isinstance(statement, syntax.SelectStatement):
            return query_columns(statement.query, upstream, self.now_ms)
        check_prepared(statement, upstream, self.now_ms)
        return ()

    def load(self, client: Client, statement: LoadData, data: bytes) -> syntax.Insert:
        """Return the statement that stores the rows of a client's file. Raises SqlError."""
        return as_insert(statement, data, self._own_upstream(client))

    def roll_back(self, client: Client) -> None:
        if client.transaction is not None:
            self._keep_counters(rollback(client.transaction.upstream).rows, client.transaction.tables)
            client.transaction = None

    @property
    def now_ms(self) -> int:
        """The millisecond of the next commit."""
        position = self.changefeed.position
        return position.now_ms if self._clock is None else position.not_before(self._clock()).now_ms

    def execute(
        self, client: Client, statement: syntax.SqlStatement, text: str
    ) -> StatementOutcome | FailedStatement | Blocked:
        """Execute a statement; raises SimulatorError if the changefeed cannot send a commit, which is rolled back."""
        now_ms = self.now_ms
        try:
            if isinstance(statement, syntax.SetVariables):
                statement = self._set_snapshot(client, statement, now_ms)
            statement, text = resolve_execute(statement, text, self._own_upstream(client))
            upstream = self._upstream_for(client, statement, now_ms)
        except (SqlError, DdlError) as error:
            return FailedStatement(error, self._own_upstream(client))
        if "processlist" in text.lower():
            upstream = replace(upstream, processes=tuple(map(self._process, self.clients.values())))
        outcome = self.compute(client, partial(execute, statement, text, upstream, now_ms))
        holder = self._holder(client, statement, upstream, outcome, now_ms)
        if holder is not None:
            return Blocked(holder)
        try:
            if outcome.events:
                self._commit(outcome.events, outcome.upstream, now_ms)
        except BaseException as error:
            if isinstance(error, DeliveryError) and not self._refuses:
                return Blocked(None)
            self.roll_back(client)
            raise
        self._accept(client, statement, outcome, now_ms)
        if not outcome.events and not isinstance(outcome, FailedStatement) and client.transaction is None:
            if not isinstance(statement, syntax.SessionStatement) and self.failure is None:  # a commit without changes
                self._try_to_send(lambda: self.changefeed.send_events((), self.committed, now_ms, prompt=False))
        return outcome

    def _process(self, client: Client) -> Process:
        process = own_process(client.session, client.transaction is not None)
        seconds = max(0, time.time_ns() // 1_000_000 - client.since_ms) // 1000
        return process._replace(command=client.command, seconds=seconds, statement=client.statement or None)

    def _set_snapshot(self, client: Client, statement: syntax.SetVariables, now_ms: int) -> syntax.SetVariables:
        """Set tidb_snapshot, which the SQL engine does not know; return the other settings. Raises SqlError."""
        others = tuple(setting for setting in statement.settings if setting.name != SNAPSHOT)
        for setting in statement.settings:
            if setting.name == SNAPSHOT:
                value = setting.value and value_text(setting.value, self._own_upstream(client), now_ms)
                at = str(snapshot_ts(value.decode(), client.session)) if value else ""
                client.session = replace(client.session, settings={**client.session.settings, SNAPSHOT: at})
        return syntax.SetVariables(others)

    # -- what a statement sees ---------------------------------------------------------------------------------------

    def _own_upstream(self, client: Client) -> Upstream:
        """Return the committed state, or that of the client's transaction, with the client's session."""
        base = self.committed if client.transaction is None else client.transaction.upstream
        return replace(base, session=client.session)

    def _upstream_for(self, client: Client, statement: syntax.SqlStatement, now_ms: int) -> Upstream:
        """Return the state on which a statement runs. Raises SqlError."""
        if client.session.settings.get(SNAPSHOT):
            historical = self.history.upstream_at(client.session, self.committed, now_ms)
            if isinstance(statement, syntax.SelectStatement):
                return historical
            if isinstance(statement, syntax.RowStatement | syntax.Statement):
                raise sql_error_with_text(1105, "can not execute write statement when 'tidb_snapshot' is set")
        writes = isinstance(statement, syntax.RowStatement)
        reads = isinstance(statement, syntax.SelectStatement)
        if client.transaction is None and not client.session.autocommit and (writes or reads):
            client.transaction = self._new_transaction(client, None)
        transaction = client.transaction
        if transaction is None:
            return self._with_counters(replace(self.committed, session=client.session), statement)
        if writes or reads:
            named = _named_tables(statement, client.session.database)
            self._require_same_schema(transaction, named)
            transaction.tables |= named
        if isinstance(statement, syntax.SelectStatement) and not statement.locks_rows:
            return replace(self._query_view(client, transaction), session=client.session)
        current = writes or reads or isinstance(statement, syntax.Statement | syntax.Begin | syntax.Commit)
        if current or isinstance(statement, syntax.SetVariables):
            self._rebase(transaction)
        return self._with_counters(replace(transaction.upstream, session=client.session), statement)

    def _rebase(self, transaction: ClientTransaction) -> None:
        committed = self.committed
        upstream = rebase(transaction.upstream, transaction.based_on, committed.rows)
        transaction.upstream = replace(
            committed, session=upstream.session, rows=upstream.rows, transaction=upstream.transaction
        )
        transaction.based_on = committed.rows

    def _query_view(self, client: Client, transaction: ClientTransaction) -> Upstream:
        """Return the rows at BEGIN, or with READ COMMITTED the newest ones, with the transaction's own writes."""
        if is_read_committed(client.session):
            self._rebase(transaction)
            return transaction.upstream
        upstream = transaction.upstream
        if transaction.based_on is transaction.snapshot:
            return upstream
        opened = upstream.transaction
        writes = opened.writes if opened is not None else ()
        rows = rebased_rows(upstream.rows, writes, transaction.based_on, transaction.snapshot)
        return replace(upstream, rows=rows, catalog=transaction.catalog)

    def _with_counters(self, upstream: Upstream, statement: syntax.SqlStatement) -> Upstream:
        """Return the upstream with the newest id counters of the tables whose counters a statement may advance."""
        newer: dict[Key, StoredRows] = {}
        for key in _counted_tables(statement, upstream.session.database):
            counters, table = self._counters.get(key), upstream.catalog.tables.get(key)
            if counters is not None and table is not None:
                stored = upstream.rows.get(key) or empty_rows(table)
                if stored.counters != counters:
                    newer[key] = stored.with_counters(counters)
        return replace(upstream, rows={**upstream.rows, **newer}) if newer else upstream

    def _require_same_schema(self, transaction: ClientTransaction, named: set[Key]) -> None:
        """Raise SqlError 8028 if DDL has changed a table that the transaction now uses first."""
        for key in named - transaction.tables:
            before, now = transaction.catalog.tables.get(key), self.committed.catalog.tables.get(key)
            if before is not None and now is not None and before is not now:
                raise SqlError(8028, "HY000", SCHEMA_CHANGED)

    # -- locks -------------------------------------------------------------------------------------------------------

    def _holder(
        self,
        client: Client,
        statement: syntax.SqlStatement,
        before: Upstream,
        outcome: StatementOutcome | FailedStatement,
        now_ms: int,
    ) -> Client | None:
        """Return a client whose transaction a statement must wait for; lock the rows of SELECT … FOR UPDATE."""
        others = [other for other in self.clients.values() if other is not client and other.transaction is not None]
        if isinstance(statement, syntax.SelectStatement):
            if not statement.locks_rows or client.transaction is None:
                return None
            return lock_selected_rows(client.transaction, statement, before, others, now_ms)
        if not others:
            return None
        if isinstance(statement, syntax.Statement):
            changed = ddl_tables(outcome.events)
            return next((o for o in others if o.transaction is not None and o.transaction.tables & changed), None)
        if isinstance(statement, syntax.RowStatement):
            named = _named_tables(statement, client.session.database)
            return blocking_client(statement, named, before, outcome, others, now_ms)
        return None

    # -- its effect --------------------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Send the messages of all commits so far; if that fails, `failure` says why, and they go on waiting."""
        self._try_to_send(self.changefeed.deliver)

    def advance(self, now_ms: int) -> None:
        """Let time pass until a millisecond, with the watermarks of that time; may fail as `deliver` does."""
        self._try_to_send(partial(self.changefeed.advance, now_ms))

    def _try_to_send(self, send: Callable[[], object]) -> None:
        if self.failure is None or isinstance(self.failure, DeliveryError):
            try:
                send()
                self.failure = None
            except SimulatorError as error:
                self.failure = error

    def _commit(self, events: Events, after: Upstream, now_ms: int) -> None:
        """Hand events to the changefeed. Raises SimulatorError if it cannot take them; then nothing is committed."""
        if self.failure is not None:
            raise self.failure
        before = self.committed
        committed = replace(after, session=before.session, transaction=None)
        if self._data is not None:
            self._data.append(events, now_ms, after.session, committed)
        try:
            commit_ts = self.changefeed.send_events(events, committed, now_ms, prompt=False)
        except BaseException as error:
            if self._data is not None:
                self._data.undo()
            if isinstance(error, DeliveryError):
                self.failure = error
            raise
        self.failure = self.changefeed.stopped
        self.history.add(commit_ts, before)
        if any(isinstance(event, CompletedDdl) for event in events):
            kept = {key for key, rows in after.rows.items() if before.rows.get(key) is rows}
            self._counters = {key: counters for key, counters in self._counters.items() if key in kept}

    def _accept(
        self, client: Client, statement: syntax.SqlStatement, outcome: StatementOutcome | FailedStatement, now_ms: int
    ) -> None:
        """Keep the client's session and transaction as they are after a statement."""
        after = outcome.upstream
        self._keep_counters(after.rows, _counted_tables(statement, after.session.database))
        client.session = after.session
        if after.session.global_settings is not self._global_settings:
            self._set_globals(after.session.global_settings)
        was, opened = client.transaction, after.transaction
        if opened is None:
            if (
                was is None
                or outcome.events
                or isinstance(statement, syntax.Commit | syntax.Rollback | syntax.Statement)
            ):
                client.transaction = None
            return
        if was is None or isinstance(statement, syntax.Begin) or outcome.events:
            client.transaction = self._new_transaction(client, after)
        elif not isinstance(statement, syntax.SelectStatement):
            was.upstream = after

    def _set_globals(self, settings: Mapping[str, str]) -> None:
        """Let all sessions know what SET GLOBAL has set."""
        self._global_settings = settings
        if self._data is not None:
            self._data.keep_globals(settings)
        for client in self.clients.values():
            client.session = with_global_settings(client.session, settings)

    def _new_transaction(self, client: Client, opened: Upstream | None) -> ClientTransaction:
        upstream = replace(self.committed, session=client.session) if opened is None else opened
        rows = self.committed.rows if opened is None or opened.transaction is None else opened.transaction.rows
        transaction = ClientTransaction(upstream, rows, self.committed.rows, self.committed.catalog)
        if opened is not None and opened.transaction is not None:
            transaction.tables |= {object_key(w.table.schema, w.table.name) for w in opened.transaction.writes}
        return transaction

    def _keep_counters(self, rows: Mapping[Key, StoredRows], tables: set[Key]) -> None:
        for key in tables:
            if key in rows:
                self._counters[key] = rows[key].counters


def _named_tables(statement: syntax.SqlStatement, database: str) -> set[Key]:
    """Return the tables that a statement on rows names; the values of an INSERT name none that matter."""
    if isinstance(statement, syntax.Insert):
        return {*table_names(statement.table, database), *table_names(statement.query, database)}
    return set(table_names(statement, database))


def _counted_tables(statement: syntax.SqlStatement, database: str) -> set[Key]:
    """Return the tables to which an INSERT or an UPDATE may give new ids."""
    if isinstance(statement, syntax.Insert):
        return {object_key(statement.table.schema or database, statement.table.name)}
    return set(table_names(statement.source, database)) if isinstance(statement, syntax.Update) else set()


def is_read_committed(session: SqlSession) -> bool:
    settings = session.settings
    level = settings.get("transaction_isolation") or settings.get("tx_isolation") or ""
    return level.upper() == "READ-COMMITTED"

"""A session: its settings, its transaction, and the execution of its statements.

A statement on rows outside of BEGIN is a transaction of its own unless autocommit is off. A DDL statement commits the
open transaction first, even if the statement is refused. A refused statement leaves no trace but the ids that it used up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simulator.errors import DdlError, SqlError
from simulator.nesting import TOO_DEEP
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.ddl.release_syntax import check_syntax
from simulator.tidb.engine.changes import committed_transaction
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.ddl import ddl_session, execute_ddl
from simulator.tidb.engine.delete import delete
from simulator.tidb.engine.hints import hinted_variables
from simulator.tidb.engine.insert import insert
from simulator.tidb.engine.load_data import load_data
from simulator.tidb.engine.outcome import Event, FailedStatement, StatementOutcome
from simulator.tidb.engine.past import past_of_session
from simulator.tidb.engine.queries import run_query
from simulator.tidb.engine.session_statements import execute_in_session, resolve_execute
from simulator.tidb.engine.session_variables import variable_text
from simulator.tidb.engine.set_variables import system_variable_set
from simulator.tidb.engine.settings import LastStatement, SqlSession
from simulator.tidb.engine.temporary import TemporaryTables, execute_on_local
from simulator.tidb.engine.update import update
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.storage.database import Database
from simulator.tidb.storage.locks import LockWait, Pause
from simulator.tidb.storage.rows import NEWEST
from simulator.tidb.storage.transactions import Transaction
from simulator.tidb.syntax.load_data import LoadFile
from simulator.tidb.syntax.show import Show

VARIABLE_FIELDS = ("settings", "sql_mode", "time_zone", "timestamp", "foreign_key_checks", "check_constraints")
"""The fields of SqlSession that system variables set."""

KEEP_WARNINGS = ("WARNINGS", "ERRORS")
"""What SHOW shows without replacing the warnings of the statement before it."""


class Session:
    """A client's session with a database."""

    def __init__(self, database: Database, settings: SqlSession = SqlSession()) -> None:
        self.database: Database = database
        self.settings: SqlSession = settings
        """Variables, the current database, prepared statements, what is remembered of the last statement."""
        self.transaction: Transaction | None = None
        """The open transaction, of BEGIN or with autocommit = 0."""
        self._own: Transaction | None = None
        """That of a statement outside of BEGIN."""
        self.step = 0
        """How many statements were executed."""
        self.killed = False
        """Whether KILL ends the statement that runs."""
        self.deadline: float | None = None
        """The end of `max_execution_time` of the statement that runs, by time.monotonic."""

        self.temporary = TemporaryTables()
        self.sequence_values: dict[Key, int] = {}
        """The last value of each sequence that NEXTVAL gave the session."""
        self.text = ""
        """The text of the statement that runs."""
        self.waits = False
        """Whether SLEEP and GET_LOCK raise Pause."""
        self.freed = False
        """Whether a statement has freed keys or tables that others may wait for. The caller resets it."""
        self._locks_before: int | None = None
        """The locks of the transaction before the statement that runs, or waits."""
        self._committed_before: tuple[Event, ...] = ()
        """What a DDL statement that waits has committed."""
        self._waiter: Transaction | None = None
        """What stands for a DDL statement that waits for transactions."""
        self.given_ids: list[tuple[int, int]] = []
        """How many ids the statement that runs was given, and the first of them, each time."""
        self.earlier_ids: list[tuple[int, int]] = []
        """Those of an attempt of the statement that waited for a lock, which it has again."""
        self.resumed: list[int] = []
        """What the first calls of SLEEP and GET_LOCK return in a statement that is executed again."""

    def execute(
        self, statement: syntax.SqlStatement | LoadFile, text: str, now_ms: int
    ) -> StatementOutcome | FailedStatement:
        """Execute a statement at a millisecond of simulated time. `text` is the statement's own text.

        Raises LockWait if another transaction has a lock that it needs, and Pause; it is undone then and may be executed
        again. Raises what `Database.publish` raises; then it has no effect, and its transaction is as before.
        """
        self.step += 1
        try:
            self.text = text
            if isinstance(statement, syntax.Execute):
                statement, self.text = resolve_execute(statement, text, self.settings)
            if "/*+" in self.text:
                outcome = self._with_hints(statement, now_ms)
            else:
                outcome = self._execute(statement, self.text, now_ms)
        except (SqlError, DdlError) as error:
            outcome = FailedStatement(_of_prepared(error) if text is not self.text else error)
        except RecursionError:
            outcome = FailedStatement(not_simulated(TOO_DEEP))
        if not (isinstance(statement, Show) and statement.kind in KEEP_WARNINGS):
            self._remember(outcome)
        self.abandon()
        return outcome

    def _with_hints(self, statement: syntax.SqlStatement | LoadFile, now_ms: int) -> StatementOutcome | FailedStatement:
        """Execute a statement with the variables that its hints set. A hint that is refused is a warning."""
        before, warnings = self.settings, list[str]()
        for name, value in hinted_variables(self.text):
            try:
                self.settings = system_variable_set(self.settings, name, "session", value, self, warnings, now_ms)
            except SqlError as error:
                warnings.append(f"{error.number} {error.text}")
        changed = {name: getattr(before, name) for name in VARIABLE_FIELDS}
        try:
            outcome = self._execute(statement, self.text, now_ms)
        finally:
            self.settings = replace(self.settings, **changed)
        if warnings and isinstance(outcome, StatementOutcome):
            outcome = replace(outcome, warnings=(*warnings, *outcome.warnings))
        return outcome

    def refuse(self, error: SqlError | DdlError) -> None:
        """Remember the error of a text that is no statement, for SHOW WARNINGS."""
        last = replace(self.settings.last, error=error, affected=-1)
        self.settings = replace(self.settings, last=last)

    def kill(self) -> None:
        """End the statement that runs, at its next check; may be called in any thread."""
        self.killed = True

    def close(self) -> None:
        """Roll the transaction back, and release the locks of GET_LOCK: the client is gone."""
        self.roll_back()
        self.database.named_locks.release_all(self)

    def abandon(self) -> None:
        """Forget a statement that waited and is not executed again."""
        self.resumed, self.given_ids = [], []
        if self._locks_before is not None and self.transaction is not None:
            self.freed = self.freed or self._locks_before < self.transaction.lock_count
            self.transaction.release_locks(self._locks_before)
        self._locks_before = None
        if self._waiter is not None:
            self.database.roll_back(self._waiter)
            self._waiter, self._committed_before, self.freed = None, (), True

    def _execute(
        self, statement: syntax.SqlStatement | LoadFile, text: str, now_ms: int
    ) -> StatementOutcome | FailedStatement:
        """Raises SqlError and DdlError."""
        if isinstance(statement, syntax.RowStatement | LoadFile):
            return self._change_rows(statement, now_ms)
        if isinstance(statement, syntax.SelectStatement):
            return self._query(statement, now_ms)
        if isinstance(statement, syntax.Statement):
            return self._execute_ddl(statement, text, now_ms)
        return execute_in_session(statement, text, self, now_ms)

    def _remember(self, outcome: StatementOutcome | FailedStatement) -> None:
        before = self.settings.last
        if isinstance(outcome, FailedStatement):
            last = LastStatement((), outcome.error, -1, before.found)
        elif outcome.result is not None:
            last = LastStatement(outcome.warnings, None, -1, len(outcome.result.rows))
        else:
            last = LastStatement(outcome.warnings, None, outcome.affected, before.found)
        if last != before:
            self.settings = replace(self.settings, last=last)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _change_rows(self, statement: syntax.RowStatement | LoadFile, now_ms: int) -> StatementOutcome:
        """Execute INSERT, UPDATE, DELETE or LOAD DATA."""
        self._check_writes()
        transaction = self.transaction or self._begin(now_ms)
        position = self._start(transaction)
        inserting = isinstance(statement, syntax.Insert | LoadFile)
        context = StatementContext(self, transaction, now_ms, NEWEST, True, statement.ignore, inserting)
        self.earlier_ids, self.given_ids = self.given_ids, []
        try:
            outcome = ROW_STATEMENTS[type(statement)](statement, context)
            committed = self._end_of_statement(now_ms)
        except BaseException as error:
            if not isinstance(error, LockWait):
                self.given_ids = []
            transaction.undo(position)
            self._end_refused(transaction)
            raise
        self._locks_before = None
        self._keep_given_id(context)
        if context.given_id is not None:
            outcome = replace(outcome, insert_id=context.given_id)
        return replace(outcome, events=committed)

    def _start(self, transaction: Transaction) -> int:
        """Note the locks of a transaction before a statement, which loses its own if it is refused; return the number of
        writes before it."""
        if self._locks_before is None:
            self._locks_before = transaction.lock_count
        return transaction.position

    def _keep_given_id(self, context: StatementContext) -> None:
        """Remember the argument of LAST_INSERT_ID."""
        if context.given_id is not None:
            self.settings = replace(self.settings, last_insert_id=context.given_id)

    # -- waiting -------------------------------------------------------------------------------------------------------

    def sleep(self, context: StatementContext, seconds: float) -> int:
        """Return what SLEEP returns: 1 if it was interrupted. Raises Pause."""
        if not self.waits:
            return 0
        resumed = self._resumed(context)
        if resumed is None:
            raise Pause(seconds)
        return resumed

    def get_lock(self, context: StatementContext, name: str, seconds: float) -> int:
        """Return what GET_LOCK returns: 0 if another session holds the lock. Raises Pause."""
        resumed = self._resumed(context)
        if resumed is not None:
            return resumed
        got = self.database.named_locks.get(name, self)
        if not got and self.waits and seconds:
            raise Pause(seconds, name)
        self.resumed.append(int(got))
        return int(got)

    def _resumed(self, context: StatementContext) -> int | None:
        """Return what the next call returned before the statement paused; None if it was not called."""
        context.pauses += 1
        return self.resumed[context.pauses - 1] if context.pauses <= len(self.resumed) else None

    # -- queries -------------------------------------------------------------------------------------------------------

    def _query(self, statement: syntax.SelectStatement, now_ms: int) -> StatementOutcome:
        transaction = self.transaction or self._begin(now_ms)
        self._start(transaction)
        newest = statement.locks_rows or transaction.reads_committed
        context = StatementContext(self, transaction, now_ms, NEWEST if newest else transaction.start_ts)
        limit_ms = int(self.settings.settings.get("max_execution_time", "0"))
        self.deadline = time.monotonic() + limit_ms / 1000 if limit_ms else None
        try:
            past = transaction.start_ts if transaction.stale else past_of_session(self.settings, self.database, now_ms)
            if past is not None:
                context.read_at(past)
            result = run_query(statement.query, context)
            self._end_of_statement(now_ms)
        except BaseException:
            self._end_refused(transaction)
            raise
        finally:
            self.deadline = None
        self._locks_before = None
        self._keep_given_id(context)
        return StatementOutcome(result=result, warnings=tuple(context.warnings))

    # -- transactions --------------------------------------------------------------------------------------------------

    def _check_writes(self) -> None:
        """Raise SqlError 1105 for a statement that writes while the session reads the past (tidb
        pkg/executor/adapter.go, handleNoDelayExecutor; pkg/executor/builder.go)."""
        if self.settings.settings.get("tidb_snapshot"):
            raise sql_error(1105, "can not execute write statement when 'tidb_snapshot' is set")
        if self.transaction is not None and self.transaction.stale:
            raise sql_error(1105, "only support read-only statement during read-only staleness transactions")

    def begin(self, now_ms: int, mode: str = "", past: int | None = None) -> Transaction:
        """Begin the transaction of BEGIN, `PESSIMISTIC` or `OPTIMISTIC`, or one that reads the past."""
        mode = mode or variable_text(self.settings, "tidb_txn_mode").upper()
        self.transaction = self._new_transaction(now_ms, mode == "PESSIMISTIC", True)
        if past is not None:
            self.transaction.start_ts, self.transaction.stale = past, True
        return self.transaction

    def _new_transaction(self, now_ms: int, pessimistic: bool, explicit: bool) -> Transaction:
        """Begin a transaction in the isolation level of SET TRANSACTION, or that of the session."""
        transaction = self.database.begin(now_ms, pessimistic, explicit)
        settings = self.settings.settings
        level = settings.get("tx_isolation_one_shot") or settings.get("transaction_isolation", "")
        transaction.reads_committed = level == "READ-COMMITTED"
        if "tx_isolation_one_shot" in settings:
            others = {name: value for name, value in settings.items() if name != "tx_isolation_one_shot"}
            self.settings = replace(self.settings, settings=others)
        return transaction

    def _begin(self, now_ms: int) -> Transaction:
        """Begin the transaction of a statement outside of BEGIN, which stays open with autocommit = 0."""
        if self.settings.autocommit:
            self._own = self._new_transaction(now_ms, True, False)
            return self._own
        return self.begin(now_ms)

    def _end_of_statement(self, now_ms: int) -> tuple[Event, ...]:
        """Commit the transaction of a statement outside of BEGIN."""
        if self.transaction is not None:
            return ()
        transaction, self._own = self._own, None
        assert transaction is not None
        return self._committed(transaction, now_ms)

    def _end_refused(self, transaction: Transaction) -> None:
        """Roll back the transaction of a refused statement outside of BEGIN."""
        if transaction is not self.transaction:
            self.database.roll_back(transaction)

    def commit(self, now_ms: int) -> tuple[Event, ...]:
        """Commit the open transaction, and return it if it has changes. Raises SqlError 9007 after rolling it back."""
        transaction = self.transaction
        if transaction is None:
            return ()
        committed = self._committed(transaction, now_ms)
        self.transaction = None
        return committed

    def _committed(self, transaction: Transaction, now_ms: int) -> tuple[Event, ...]:
        try:
            transaction.check()
        except SqlError:
            self.roll_back()
            raise
        event = committed_transaction(transaction, self.database.release)
        events: tuple[Event, ...] = () if event is None else (event,)
        if events:
            self.database.publish(events, self, now_ms)
        if transaction.has_writes:
            self.database.commit(transaction, self.database.next_ts(now_ms))
        else:
            self.database.roll_back(transaction)
        self.temporary.forget_rows()
        return events

    def roll_back(self) -> None:
        """Roll the open transaction back. Ids that were assigned stay used."""
        if self.transaction is not None:
            self.database.roll_back(self.transaction)
            self.transaction = None
            self.temporary.forget_rows()

    # -- DDL -----------------------------------------------------------------------------------------------------------

    def _execute_ddl(self, statement: syntax.Statement, text: str, now_ms: int) -> StatementOutcome | FailedStatement:
        """Commit the open transaction before looking at a statement that TiDB could parse (tidb pkg/executor/ddl.go,
        DDLExec.Next)."""
        check_syntax(statement, text, self.database.release)
        self._check_writes()
        remaining = execute_on_local(statement, text, self, ddl_session(self, now_ms), now_ms)
        if isinstance(remaining, StatementOutcome):
            return remaining
        statement = remaining
        before = (*self._committed_before, *self.commit(now_ms))
        try:
            waiter = self._waiter or Transaction(self.database, self.database.last_ts)
            try:
                outcome = execute_ddl(statement, text, self, waiter, now_ms)
            except LockWait:
                self._waiter, self._committed_before = waiter, before
                raise
        except (SqlError, DdlError) as error:
            return FailedStatement(error, before)
        except RecursionError:
            return FailedStatement(not_simulated(TOO_DEEP), before)
        return replace(outcome, events=(*before, *outcome.events))


def _of_prepared(error: SqlError | DdlError) -> SqlError | DdlError:
    """Return an error of EXECUTE: a table that is gone since PREPARE (tidb pkg/planner/core/plan_cache.go,
    planCachePreprocess)."""
    if not isinstance(error, SqlError) or error.number != 1146:
        return error
    return sql_error_with_text(8113, f"Schema change caused error: [schema:1146]{error.text}")


ROW_STATEMENTS: Mapping[type, Callable[[Any, StatementContext], StatementOutcome]] = MappingProxyType(
    {syntax.Insert: insert, syntax.Update: update, syntax.Delete: delete, LoadFile: load_data}
)

"""A session: its settings, its transaction, and what it remembers of the statement that runs.

A statement on rows outside of BEGIN is a transaction of its own unless autocommit is off.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import DdlError, SqlError
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.engine.sessions.changes import committed_transaction
from simulator.tidb.engine.sessions.outcome import Event, FailedStatement, StatementOutcome
from simulator.tidb.engine.sessions.session_variables import variable_text
from simulator.tidb.engine.sessions.settings import LastStatement, SqlSession
from simulator.tidb.engine.sessions.temporary_tables import TemporaryTables
from simulator.tidb.errors import sql_error
from simulator.tidb.storage.database import Database
from simulator.tidb.storage.transactions import Transaction


class Session:
    """A client's session with a database."""

    def __init__(self, database: Database, settings: SqlSession = SqlSession()) -> None:
        self.database: Database = database
        self.settings: SqlSession = settings
        """Variables, the current database, prepared statements, what is remembered of the last statement."""
        self.transaction: Transaction | None = None
        """The open transaction, of BEGIN or with autocommit = 0."""
        self.step = 0
        """How many statements were executed."""
        self.killed = False
        """Whether KILL ends the statement that runs."""
        self.deadline: float | None = None
        """The end of `max_execution_time` of the statement that runs, by time.monotonic."""
        self.patience: float | None = None
        """The time by time.monotonic at which the statement that runs raises TooLong."""

        self.temporary = TemporaryTables()
        self.sequence_values: dict[Key, int] = {}
        """The last value of each sequence that NEXTVAL gave the session."""
        self.text = ""
        """The text of the statement that runs."""
        self.waits = False
        """Whether SLEEP and GET_LOCK raise Pause."""
        self.freed = False
        """Whether a statement has freed keys or tables that others may wait for. The caller resets it."""
        self.locks_before: int | None = None
        """The locks of the transaction before the statement that runs, or waits."""
        self.committed_before: tuple[Event, ...] = ()
        """What a DDL statement that waits has committed."""
        self.waiter: Transaction | None = None
        """What stands for a DDL statement that waits for transactions."""
        self.given_ids: list[tuple[int, int]] = []
        """How many ids the statement that runs was given, and the first of them, each time."""
        self.earlier_ids: list[tuple[int, int]] = []
        """Those of an attempt of the statement that waited for a lock, which it has again."""
        self.resumed: list[int] = []
        """What the first calls of SLEEP and GET_LOCK return in a statement that is executed again."""

    def refuse(self, error: SqlError | DdlError) -> None:
        """Remember the error of a text that is no statement, for SHOW WARNINGS."""
        last = replace(self.settings.last, error=error, affected=-1)
        self.settings = replace(self.settings, last=last)

    def remember(self, outcome: StatementOutcome | FailedStatement) -> None:
        """Remember what the next statement may ask for: ROW_COUNT(), SHOW WARNINGS."""
        before = self.settings.last
        if isinstance(outcome, FailedStatement):
            last = LastStatement((), outcome.error, -1, before.found)
        elif outcome.result is not None:
            last = LastStatement(outcome.warnings, None, -1, len(outcome.result.rows))
        else:
            last = LastStatement(outcome.warnings, None, outcome.affected, before.found)
        if last != before:
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
        if self.locks_before is not None and self.transaction is not None:
            self.freed = self.freed or self.locks_before < self.transaction.lock_count
            self.transaction.release_locks(self.locks_before)
        self.locks_before = None
        if self.waiter is not None:
            self.database.roll_back(self.waiter)
            self.waiter, self.committed_before, self.freed = None, (), True

    # -- transactions --------------------------------------------------------------------------------------------------

    def check_writes(self) -> None:
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

    def begin_statement(self, now_ms: int) -> Transaction:
        """Return the transaction of a statement on rows: the open one, or one that stays open only with autocommit = 0."""
        transaction = self.transaction
        if transaction is None:
            implicit = self.settings.autocommit
            transaction = self._new_transaction(now_ms, True, False) if implicit else self.begin(now_ms)
        if self.locks_before is None:
            self.locks_before = transaction.lock_count
        return transaction

    def end_statement(self, transaction: Transaction, now_ms: int) -> tuple[Event, ...]:
        """Commit the transaction of a statement outside of BEGIN."""
        self.locks_before = None
        return () if transaction is self.transaction else self._committed(transaction, now_ms)

    def refuse_statement(self, transaction: Transaction) -> None:
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

"""A session: its settings, its transaction, and what it remembers of the statement that runs.

A statement on rows outside of BEGIN is a transaction of its own unless autocommit is off. A commit gives the
changefeed its net changes. The rows of temporary tables are in the memory of their session (tidb
pkg/table/temptable): a local one is known to its session alone, hides another table of its name, and lives until the
session ends; a global one is a table of the catalog, without rows at the begin of each transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pyarrow as pa

from simulator.columns.row_image import image_of
from simulator.errors import DdlError, SqlError
from simulator.releases import Release
from simulator.tidb.ddl.catalog import Catalog, Key, object_key, with_tables
from simulator.tidb.engine import CommittedTransaction, Event, FailedStatement, StatementOutcome, TableChanges
from simulator.tidb.engine.settings import LastStatement, SqlSession, variable_text
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import Table
from simulator.tidb.storage import Database, new_table
from simulator.tidb.storage.row_keys import handle_writer, row_id
from simulator.tidb.storage.rows import TableRows
from simulator.tidb.storage.tables import RowReader, StoredTable, layout_of, sent_images
from simulator.tidb.storage.transactions import Change, Transaction


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
        self.now_ms = 0
        """Its time, in milliseconds of simulated time."""
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

    def begin(self, mode: str = "", past: int | None = None) -> Transaction:
        """Begin the transaction of BEGIN, `PESSIMISTIC` or `OPTIMISTIC`, or one that reads the past."""
        mode = mode or variable_text(self.settings, "tidb_txn_mode").upper()
        self.transaction = self._new_transaction(mode == "PESSIMISTIC", True)
        if past is not None:
            self.transaction.start_ts, self.transaction.stale = past, True
        return self.transaction

    def _new_transaction(self, pessimistic: bool, explicit: bool) -> Transaction:
        """Begin a transaction in the isolation level of SET TRANSACTION, or that of the session."""
        transaction = self.database.begin(self.now_ms, pessimistic, explicit)
        settings = self.settings.settings
        level = settings.get("tx_isolation_one_shot") or settings.get("transaction_isolation", "")
        transaction.reads_committed = level == "READ-COMMITTED"
        if "tx_isolation_one_shot" in settings:
            others = {name: value for name, value in settings.items() if name != "tx_isolation_one_shot"}
            self.settings = replace(self.settings, settings=others)
        return transaction

    def begin_statement(self) -> Transaction:
        """Return the transaction of a statement on rows: the open one, or one that stays open only with autocommit = 0."""
        transaction = self.transaction
        if transaction is None:
            implicit = self.settings.autocommit
            transaction = self._new_transaction(True, False) if implicit else self.begin()
        if self.locks_before is None:
            self.locks_before = transaction.lock_count
        return transaction

    def end_statement(self, transaction: Transaction) -> tuple[Event, ...]:
        """Commit the transaction of a statement outside of BEGIN."""
        self.locks_before = None
        return () if transaction is self.transaction else self._committed(transaction)

    def refuse_statement(self, transaction: Transaction) -> None:
        """Roll back the transaction of a refused statement outside of BEGIN."""
        if transaction is not self.transaction:
            self.database.roll_back(transaction)

    def commit(self) -> tuple[Event, ...]:
        """Commit the open transaction, and return it if it has changes. Raises SqlError 9007 after rolling it back."""
        transaction = self.transaction
        if transaction is None:
            return ()
        committed = self._committed(transaction)
        self.transaction = None
        return committed

    def _committed(self, transaction: Transaction) -> tuple[Event, ...]:
        try:
            transaction.check()
        except SqlError:
            self.roll_back()
            raise
        event = committed_transaction(transaction, self.database.release)
        events: tuple[Event, ...] = () if event is None else (event,)
        if events:
            self.database.publish(events, self, self.now_ms)
        if transaction.has_writes:
            self.database.commit(transaction, self.database.next_ts(self.now_ms))
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


class TemporaryTables:
    """The temporary tables of a session."""

    def __init__(self) -> None:
        self.local: dict[Key, StoredTable] = {}
        self._of_transaction: dict[Key, StoredTable] = {}
        """The global ones that the transaction has used."""
        self._known: tuple[Catalog, Catalog] | None = None
        """The last catalog, and what it is with the local tables."""

    def catalog(self, catalog: Catalog) -> Catalog:
        """Return a catalog with the local tables."""
        if not self.local:
            return catalog
        if self._known is None or self._known[0] is not catalog:
            self._known = catalog, with_tables(catalog, [stored.table for stored in self.local.values()])
        return self._known[1]

    def stored(self, table: Table) -> StoredTable:
        """Return a temporary table as the session stores it."""
        key = object_key(table.schema, table.name)
        if table.temporary == "local":
            return self.local[key]
        stored = self._of_transaction.get(key)
        if stored is None or stored.table is not table:
            stored = self._of_transaction[key] = new_table(table)
        return stored

    def copy(self, ts: int) -> tuple[TemporaryTables, dict[TableRows, TableRows]]:
        """Return the same tables with rows of their own, and the rows of these with their copies."""
        other, rows_of = TemporaryTables(), dict[TableRows, TableRows]()
        for mine, its in ((self.local, other.local), (self._of_transaction, other._of_transaction)):
            its |= {key: stored.copy(ts, rows_of) for key, stored in mine.items()}
        return other, rows_of

    def forget_rows(self) -> None:
        """Forget the rows of global tables, at the end of a transaction."""
        self._of_transaction.clear()

    def put(self, table: Table) -> None:
        """Create a local table, or empty it."""
        self.local[object_key(table.schema, table.name)] = new_table(table)
        self._known = None

    def drop(self, key: Key) -> None:
        del self.local[key]
        self._known = None


BINARY, INT32, INT64 = pa.binary(), pa.int32(), pa.int64()


def committed_transaction(transaction: Transaction, release: Release) -> CommittedTransaction | None:
    """Return a transaction as its commit shows it; None without changes.

    A row that was inserted and deleted has no change, or in releases with empty changes one without images, if the
    transaction is pessimistic (tidb v5.1 store/tikv/2pc.go initKeysAndMutations). A row that was written without a change
    has equal images, because its key is in the transaction's buffer and TiKV writes it. Rows of temporary tables never
    reach TiKV.
    """
    if not transaction.has_writes:
        return None
    keeps_empty = bool(release.empty_changes or release.empty_deletes != "none") and transaction.explicit
    changes = [
        change
        for change in transaction.changes()
        if not change.stored.table.temporary and (keeps_empty or change.before is not None or change.after is not None)
    ]
    if not changes:
        return None
    tables = groupby(changes, lambda change: change.stored)
    return CommittedTransaction(tuple(table_changes(stored, [*each], release) for stored, each in tables))


def table_changes(stored: StoredTable, changes: Sequence[Change], release: Release) -> TableChanges:
    """Return changes of a table as a changefeed sees them."""
    table = stored.table
    layout, reader, write = layout_of(table), RowReader(table), handle_writer(table)
    before = [
        None if row is None else row.image if row.layout == layout else image_of(reader.cells(row))
        for row in (change.before for change in changes)
    ]
    after, gone = [change.after for change in changes], [change.gone for change in changes]
    if (sent := sent_images(table)) is not None:
        before, after, gone = ([*map(sent, images)] for images in (before, after, gone))
    lacking = [_lacking(table, change) for change in changes] if release.older_rows_differ else []
    return TableChanges(
        table,
        _numbers([change.ordinal for change in changes], INT32),
        _cells([write(change.handle) for change in changes]),
        _numbers([row_id(change.handle) for change in changes], INT64),
        _cells(before),
        _cells(after),
        _cells(lacking) if any(lacking) else None,
        _cells(gone) if any(gone) else None,
    )


def _cells(cells: Sequence[bytes | None]) -> pa.Array:
    """Return an array of bytes. That of one row, which most transactions have, is made without a search for its type."""
    if len(cells) != 1:
        return pa.array(cells, BINARY)
    (cell,) = cells
    if cell is None:
        return pa.nulls(1, BINARY)
    ends = pa.py_buffer(b"\0\0\0\0" + len(cell).to_bytes(4, "little"))
    return pa.Array.from_buffers(BINARY, 1, [None, ends, pa.py_buffer(cell)])


def _numbers(numbers: Sequence[int | None], type: pa.DataType) -> pa.Array:
    """Return an array of integers."""
    if len(numbers) != 1 or numbers[0] is None:
        return pa.array(numbers, type)
    content = numbers[0].to_bytes(type.bit_width // 8, "little", signed=True)
    return pa.Array.from_buffers(type, 1, [None, pa.py_buffer(content)])


def _lacking(table: Table, change: Change) -> bytes | None:
    """Return the ids of the columns that were added after the row before was written."""
    if change.before is None:
        return None
    ids = sorted(set(layout_of(table)).difference(change.before.layout))
    return ",".join(map(str, ids)).encode() or None

"""The database that all sessions share: its catalog and tables at any ts, its clock, its locks.

DDL replaces the catalog and the tables at a ts; those before stay readable as long as the history is kept
(`tidb_gc_life_time`).
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from simulator import tso
from simulator.releases import Release
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, Key, object_key, with_database
from simulator.tidb.ddl.session import FinishedJob
from simulator.tidb.model.table import Table
from simulator.tidb.storage.ids import SequenceValues, initial_counters
from simulator.tidb.storage.rows import Handle, Locks, LockWait, NamedLocks, TableRows
from simulator.tidb.storage.tables import Ids, StoredTable
from simulator.tidb.storage.transactions import Transaction


class Schema(NamedTuple):
    """The catalog and the tables from a ts on."""

    ts: int
    catalog: Catalog
    tables: Mapping[Key, StoredTable]
    """The tables that statements have named. Any other is empty."""

    dropped: Mapping[Key, StoredTable] = MappingProxyType({})
    """The last table of each name that was dropped or truncated. RECOVER and FLASHBACK restore them."""

    finished_jobs: tuple[FinishedJob, ...] = ()
    """The newest DDL jobs, the last one last."""

    job_count: int = 0

    def stored(self, table: Table) -> StoredTable | None:
        """Return a table of the catalog as it is stored; None if it is empty."""
        return self.tables.get(object_key(table.schema, table.name))


class Database:
    """A TiDB without its sessions."""

    def __init__(self, release: Release, catalog: Catalog, seed: int = 0, history_ms: int | None = None) -> None:
        self.release, self.seed = release, seed
        self.history_ms = history_ms
        """How long versions are kept; None keeps all."""
        self.locks = Locks()
        self.named_locks = NamedLocks()
        self._schemas = [Schema(0, catalog, {})]
        self.publish: Callable[[Sequence[Any], Any, int], None] = lambda events, session, now_ms: None
        """Called with events, the session and the millisecond before they take effect. What it raises refuses them."""
        self.processes: Callable[[], Sequence[Any]] = lambda: ()
        """Returns the clients of a server, as SHOW PROCESSLIST shows them; without one the session is the only one."""
        self.started_ms = 0
        """The millisecond of its first transaction."""
        self.sequences: dict[Key, SequenceValues] = {}
        """The values of the sequences that statements have named."""
        self._open: set[Transaction] = set()
        self._deleted: deque[tuple[int, TableRows, Handle]] = deque()
        self._given_ts = self.last_ts = 0
        """The last ts that a transaction was given, and that of the last commit."""

    @property
    def catalog(self) -> Catalog:
        return self._schemas[-1].catalog

    @property
    def present(self) -> Schema:
        """What a reader of the newest commits sees."""
        return self._schemas[-1]

    def schema(self, ts: int) -> Schema:
        """Return the catalog and the tables that a reader at `ts` sees."""
        if ts >= self._schemas[-1].ts:
            return self._schemas[-1]
        place = bisect_right(self._schemas, ts, key=lambda schema: schema.ts)
        return self._schemas[max(place - 1, 0)]

    def stored(self, table: Table) -> StoredTable:
        """Return a table of the present catalog as it is stored."""
        key = object_key(table.schema, table.name)
        stored = self._schemas[-1].tables.get(key)
        if stored is None or stored.table is not table:
            stored = new_table(table) if stored is None else redefined(stored, table)
            self._store(key, stored)
        return stored

    def emptied(self, table: Table) -> StoredTable:
        """Return a table of the present catalog without its rows, which it never had."""
        stored = new_table(table)
        self._store(object_key(table.schema, table.name), stored)
        return stored

    def _store(self, key: Key, stored: StoredTable) -> None:
        """Store a table for all readers that know its definition."""
        table = stored.table
        self._schemas = [
            each._replace(tables={**each.tables, key: stored}) if each.catalog.tables.get(key) is table else each
            for each in self._schemas
        ]

    def next_ts(self, now_ms: int) -> int:
        """Return a commit-ts at a millisecond, above all that were given: the one that the changefeed sends."""
        return self._next_ts(tso.compose(now_ms, tso.ROW_LOGICAL))

    def _next_ts(self, least: int) -> int:
        self._given_ts = max(self._given_ts + 1, least)
        return self._given_ts

    def begin(self, now_ms: int, pessimistic: bool = True, explicit: bool = True) -> Transaction:
        """Begin a transaction that sees all commits so far. Its ts is before those of the millisecond, in which others may
        commit."""
        self.started_ms = self.started_ms or now_ms
        start_ts = self._next_ts(tso.compose(now_ms - 1, tso.ROW_LOGICAL + 1))
        transaction = Transaction(self.locks, start_ts, pessimistic, explicit)
        self._open.add(transaction)
        return transaction

    def commit(self, transaction: Transaction, ts: int) -> None:
        """Write a transaction at a ts above all commits. Raises SqlError 9007, after which it is open still."""
        transaction.check()
        assert ts > self.last_ts, "commits rise"
        safe_ts = self._safe_ts(ts, transaction)
        for change in transaction.changes():
            if change.after is None:
                self._deleted.append((ts, change.stored.partitions[change.ordinal], change.handle))
        transaction.write(ts, safe_ts)
        self.last_ts = ts
        self.roll_back(transaction)
        while self._deleted and self._deleted[0][0] <= safe_ts:
            _, rows, handle = self._deleted.popleft()
            rows.forget(handle, safe_ts)

    def roll_back(self, transaction: Transaction) -> None:
        """End a transaction without its writes."""
        transaction.end()
        self._open.discard(transaction)
        self.locks.waiters.pop(transaction, None)

    def change_schema(self, schema: Schema) -> None:
        """Replace the catalog and the tables by those after a DDL statement at a ts above all commits."""
        assert schema.ts > self.last_ts, "commits rise"
        self.last_ts = schema.ts
        self._schemas.append(schema)
        for key in [key for key in self.sequences if key not in schema.catalog.sequences]:
            del self.sequences[key]
        safe_ts = self._safe_ts(schema.ts)
        place = bisect_right(self._schemas, safe_ts, key=lambda each: each.ts)
        del self._schemas[: max(place - 1, 0)]

    def wait_for_tables(self, keys: Sequence[Key], waiter: Transaction) -> None:
        """Wait for the transactions that have used tables, which a DDL statement is to change: raises LockWait of one of
        them, and of `waiter` for statements that use the tables next (tidb pkg/ddl/ddl_worker.go, waitSchemaSyncedForMDL,
        which lets them use the table as it is after the statement)."""
        self.locks.waiters.pop(waiter, None)
        for key, user in product(keys, self._open):
            if key in user.used:
                self.locks.waiters[waiter] = frozenset(keys)
                raise LockWait(user)

    def copy(self, ts: int) -> tuple[Database, dict[TableRows, TableRows]]:
        """Return another database with what a reader at `ts` sees, and the rows of this one with their copies."""
        schema, rows_of = self.schema(ts), dict[TableRows, TableRows]()
        other = Database(self.release, schema.catalog, self.seed, self.history_ms)

        tables, dropped = (
            {key: each.copy(ts, rows_of) for key, each in of.items()} for of in (schema.tables, schema.dropped)
        )
        other._schemas = [schema._replace(ts=0, tables=tables, dropped=dropped)]
        other._given_ts = other.last_ts = ts
        other.sequences = {key: copy.copy(values) for key, values in self.sequences.items()}
        return other, rows_of

    def add_database(self, info: DatabaseInfo) -> None:
        """Create a database as if it had been there from the start."""
        self._schemas = [each._replace(catalog=with_database(each.catalog, info)) for each in self._schemas]

    def _safe_ts(self, ts: int, but: Transaction | None = None) -> int:
        """Return the ts that no reader is below."""
        if self.history_ms is None:
            return 0
        kept = tso.compose(max(tso.physical(ts) - self.history_ms, 0))
        return min([kept, *(each.start_ts for each in self._open if each is not but)])


def new_database(release: Release, catalog: Catalog | None = None, seed: int = 0) -> Database:
    """Return a TiDB before its first statement, with the database `test` unless a catalog is given."""
    if catalog is None:
        catalog = with_database(Catalog(policies=frozenset()), DatabaseInfo("test"))
    return Database(release, catalog, seed)


def new_table(table: Table) -> StoredTable:
    """Return a table without rows."""
    count = len(table.partitioning.partitions) if table.partitioning else 1
    return StoredTable(table, tuple(TableRows() for _ in range(count)), Ids(initial_counters(table)))


def redefined(stored: StoredTable, table: Table) -> StoredTable:
    """Return the same rows under another definition with as many partitions."""
    return StoredTable(table, stored.partitions, stored.ids, stored.unpartitioned)

"""Temporary tables, whose rows are in the memory of their session (tidb pkg/table/temptable).

A local one is known to its session alone, hides another table of its name, and lives until the session ends. A global one
is a table of the catalog, without rows at the begin of each transaction.
"""

from __future__ import annotations

from simulator.tidb.ddl.catalog import Catalog, Key, object_key, with_tables
from simulator.tidb.model.table import Table
from simulator.tidb.storage.database import new_table
from simulator.tidb.storage.rows import TableRows
from simulator.tidb.storage.tables import Ids, StoredTable


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
            for key, stored in mine.items():
                rows_of |= {rows: rows.copy(ts) for rows in (*stored.partitions, stored.unpartitioned)}
                partitions = tuple(rows_of[rows] for rows in stored.partitions)
                ids = Ids(stored.ids.counters)
                its[key] = StoredTable(stored.table, partitions, ids, rows_of[stored.unpartitioned])
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

"""Temporary tables, whose rows are in the memory of their session (tidb pkg/table/temptable, pkg/executor/ddl.go).

A local one is known to its session alone, hides another table of its name, and lives until the session ends. A global one
is a table of the catalog, without rows at the begin of each transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, Key, object_key, with_tables, without_table
from simulator.tidb.ddl.execute import attempt
from simulator.tidb.ddl.session import Session as DdlSession
from simulator.tidb.engine.outcome import StatementOutcome
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.table import Table
from simulator.tidb.storage.database import new_table
from simulator.tidb.storage.rows import TableRows
from simulator.tidb.storage.tables import Ids, StoredTable

if TYPE_CHECKING:
    from simulator.tidb.engine.session import Session


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


Remaining = StatementOutcome | syntax.Statement
"""What a statement does to local tables, or what is left of it for other tables."""


def execute_on_local(
    statement: syntax.Statement, text: str, session: Session, names: DdlSession, now_ms: int
) -> Remaining:
    """Execute what a DDL statement does to local temporary tables, which commits no transaction. Raises SqlError, DdlError."""
    tables = session.temporary
    match statement:
        case syntax.CreateTable(temporary="local"):
            return _create(statement, text, tables, names)
        case syntax.CreateTable(like=syntax.TableName() as like) if _found(tables, [like], names):
            raise sql_error_with_text(8006, "`create table like` is unsupported on temporary tables.")
        case syntax.DropTable():
            return _drop(statement, tables, names)
        case syntax.TruncateTable(table) if keys := _found(tables, [table], names):
            events = session.commit(now_ms)
            tables.put(tables.local[keys[0]].table)
            return StatementOutcome(events)
        case syntax.CreateView():
            if found := _found(tables, list(_tables_in(statement.query.tree)), names):
                raise sql_error_with_text(1352, f"View's SELECT refers to a temporary table '{found[0][1]}'")
        case syntax.AlterTable(_, specs):
            for spec in specs:
                if isinstance(spec, syntax.ExchangePartition) and _found(tables, [spec.table], names):
                    error = f"Table to exchange with partition is temporary: '{spec.table.name}'"
                    raise sql_error_with_text(1733, error)
    verb, named = _altered(statement)
    if _found(tables, named, names):
        raise sql_error_with_text(8200, f"TiDB doesn't support {verb} for local temporary table")
    return statement


def _tables_in(tree: object) -> Iterator[syntax.TableName]:
    """Yield the tables that a query names."""
    if isinstance(tree, syntax.TableSource):
        yield tree.name
    elif isinstance(tree, tuple):
        for part in tree:
            yield from _tables_in(part)
    elif is_dataclass(tree):
        for each in fields(tree):
            yield from _tables_in(getattr(tree, each.name))


def _altered(statement: syntax.Statement) -> tuple[str, Sequence[syntax.TableName]]:
    """Return the verb and the tables of a statement that local tables do not have."""
    match statement:
        case syntax.AlterTable(table):
            return "ALTER TABLE", [table]
        case syntax.CreateIndex():
            return "CREATE INDEX", [statement.table]
        case syntax.DropIndex():
            return "DROP INDEX", [statement.table]
        case syntax.RenameTable(pairs):
            return "RENAME TABLE", [old for old, _ in pairs]
    return "", []


def _found(tables: TemporaryTables, named: Sequence[syntax.TableName], names: DdlSession) -> list[Key]:
    """Return the keys of the tables that are local."""
    if not tables.local:
        return []
    keys = [object_key(name.schema or names.database, name.name) for name in named]
    return [key for key in keys if key in tables.local]


def _create(statement: syntax.CreateTable, text: str, tables: TemporaryTables, names: DdlSession) -> StatementOutcome:
    """Create a local table. It is checked as a table of its kind, and defined as any other table."""
    key = object_key(statement.schema or names.database, statement.name)
    catalog = names.catalog
    assert catalog is not None, "an engine has one"
    if key in catalog.tables:
        catalog = without_table(catalog, catalog.tables[key])
    names = replace(names, catalog=catalog)
    checked = attempt(statement, text, names)
    if key in tables.local:
        shown = ".".join(names.qualified_name(syntax.TableName(statement.schema, statement.name)))
        if statement.if_not_exists:
            return StatementOutcome(warnings=(f"Table '{shown}' already exists",))
        raise sql_error(1050, shown)
    defined = attempt(replace(statement, temporary=""), text, names).catalog
    assert defined is not None, "the table was checked"
    tables.put(replace(defined.tables[key], temporary="local", foreign_keys=()))
    return StatementOutcome(warnings=tuple(note for note in checked.notes if "no job" not in note))


def _drop(statement: syntax.DropTable, tables: TemporaryTables, names: DdlSession) -> Remaining:
    """Drop local tables. DROP TEMPORARY TABLE knows no other ones."""
    keys = _found(tables, statement.tables, names)
    others = tuple(
        name for name in statement.tables if object_key(name.schema or names.database, name.name) not in keys
    )
    if statement.temporary == "local" and others:
        missing = sql_error(1051, ",".join(".".join(names.qualified_name(name)) for name in others))
        if not statement.if_exists:
            raise missing
        for key in keys:
            tables.drop(key)
        return StatementOutcome(warnings=(f"{missing.text}: no job",))
    for key in keys:
        tables.drop(key)
    return replace(statement, tables=others) if others else StatementOutcome()

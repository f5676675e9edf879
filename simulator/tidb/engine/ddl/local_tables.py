"""DDL of local temporary tables, which only their session knows (tidb pkg/executor/ddl.go)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, object_key, without_table
from simulator.tidb.ddl.execute import attempt
from simulator.tidb.ddl.session import Session as DdlSession
from simulator.tidb.engine.sessions.outcome import StatementOutcome
from simulator.tidb.engine.sessions.session import Session
from simulator.tidb.engine.sessions.temporary_tables import TemporaryTables
from simulator.tidb.errors import sql_error, sql_error_with_text

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
        missing = [".".join(names.qualified_name(name)) for name in others]
        if not statement.if_exists:
            raise sql_error(1051, ",".join(missing))
        for key in keys:
            tables.drop(key)
        return StatementOutcome(warnings=tuple(f"{sql_error(1051, name).text}: no job" for name in missing))
    for key in keys:
        tables.drop(key)
    return replace(statement, tables=others) if others else StatementOutcome()

"""CREATE TABLE, and LIKE another: the job, the table, and what TiDB refuses.

One law: charset and collation come from the database where the statement names none; errors are TiDB's own words as far
as they are known, and the builder of tables has the last word (TiDB: pkg/ddl/create_table.go,
pkg/planner/core/preprocess.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog, Database, LONGEST_NAME, with_table
from simulator.tidb.ddl.column_definitions import check_definition
from simulator.tidb.ddl.create.keys import INDEXED
from simulator.tidb.ddl.create.table import build_column, build_table
from simulator.tidb.ddl.expression_columns import generated_from
from simulator.tidb.ddl.foreign_keys import check_foreign_key
from simulator.tidb.ddl.index_parts import check_parts
from simulator.tidb.ddl.interval_partitioning import expanded
from simulator.tidb.ddl.partitioning import check_partitioned_table
from simulator.tidb.ddl.session import Executed, Job, Session
from simulator.tidb.ddl.steps import KnownTable, column_named
from simulator.tidb.ddl.table_options import check_ttl
from simulator.tidb.ddl.tidb_errors import refused, tidb, unsupported, worded
from simulator.tidb.model.charsets import resolve
from simulator.tidb.model.table import Column, Table
from simulator.tidb.syntax.definitions import KeySyntax, TableName
from simulator.tidb.syntax.tables import TableSyntax


TEMPORARY = "a local temporary table lives in its session alone: no job"


def existing_table(catalog: Catalog, schema: str, name: str) -> Table:
    """The table; raises DdlError where it, or its database, is not there, and for a view or a sequence."""
    table = catalog.table(schema, name)
    if table is None and catalog.has(schema, name):
        raise tidb("ddl:1347", schema, name, "BASE TABLE")
    if table is None:
        raise tidb("schema:1146", schema, name)
    return table


def create_table(statement: TableSyntax, text: str, session: Session) -> Executed:
    """No job where IF NOT EXISTS finds one, nor for a local temporary table. Raises DdlError."""
    if statement.query is not None:
        raise worded("planner:1105", "'CREATE TABLE ... SELECT' is not implemented yet")
    catalog, written = session.catalog, session.written(TableName(statement.schema, statement.name))
    database = catalog.database(written.schema) if catalog else Database(written.schema)
    if database is None:
        raise tidb("schema:1049", written.schema)
    if statement.temporary == "local":
        return session.nothing(TEMPORARY)
    if catalog is not None and catalog.has(*written):
        if statement.if_not_exists:
            return session.nothing(f"Table '{'.'.join(session.named(written))}' already exists: no job")
        raise tidb("schema:1050", ".".join(written))
    default = (database.charset, database.collation)
    if statement.like is None:
        check_syntax(statement, default)
    if catalog is not None:
        catalog = with_table(catalog, new_table(catalog, statement, database, default, text, session))
    copied = session.named(statement.like) if statement.like else None
    return Executed((Job(actions.CREATE_TABLE, text, statement, *session.new(written), like=copied),), (), catalog)


def create_tables(statements: Sequence[TableSyntax], text: str, session: Session) -> Executed:
    """The one job of several CREATE TABLE in one text (CREATE TABLES), as restoring tools queue it; they are of one
    database. Raises DdlError."""
    names = [session.new(TableName(statement.schema, statement.name)) for statement in statements]
    notes: list[str] = []
    behind = session
    for statement in statements:
        single = create_table(statement, text, behind)
        notes += single.notes
        behind = replace(session, catalog=single.catalog)
    if len({name.schema for name in names}) > 1:
        raise unsupported("batch creation of tables in several databases")
    job = Job(actions.CREATE_TABLES, text, None, *names[0], tables=tuple(statements))
    return Executed((job,), tuple(notes), behind.catalog)


def new_table(
    catalog: Catalog, syntax: TableSyntax, database: Database, default: tuple[str, str], text: str, session: Session,
) -> Table:
    """The table in a known database, whose charset and collation are the default; raises DdlError."""
    if syntax.like is not None:
        return copied_table(catalog, syntax, database.name, session)
    if syntax.partitioning is not None:
        syntax = replace(syntax, partitioning=expanded(syntax.partitioning))
    with refused("ddl:1105"):
        table = build_table(replace(syntax, schema=""), database.name, text, text, default)
    check_table(table, catalog, text)
    return table


def copied_table(catalog: Catalog, syntax: TableSyntax, schema: str, session: Session) -> Table:
    """Another table's definition, without its foreign keys and its place in other things."""
    assert syntax.like is not None
    model = existing_table(catalog, *session.written(syntax.like))
    return replace(
        model, schema=schema, name=syntax.name, foreign_keys=(), cached=False, temporary=syntax.temporary, statement="",
        columns=tuple(replace(column, origin_default=None) for column in model.columns),
        last_ids=replace(model.last_ids, foreign_key=0),
    )


def check_syntax(syntax: TableSyntax, default: tuple[str, str]) -> None:
    """What TiDB words itself of a definition that makes no table; `default` are its database's charset and collation.
    """
    names: set[str] = set()
    for column in syntax.columns:
        if column.name.lower() in names:
            raise tidb("schema:1060", column.name)
        if len(column.name) > LONGEST_NAME:
            raise tidb("ddl:1059", column.name)
        names.add(column.name.lower())
    if not names:
        raise tidb("ddl:1113")
    keys = [*syntax.keys, *(key for column in syntax.columns for key in column.keys)]
    if sum(key.kind == "primary" for key in keys) > 1:
        raise tidb("schema:1068")
    check_key_columns(syntax, names)
    check_auto_increment(syntax, [key.parts[0].column.lower() for key in keys if key.parts and key.kind != "foreign"])
    bare = Table("", syntax.name, tuple(check_columns(syntax, default)))
    for key in keys:
        check_key(key, bare)
    for column in syntax.columns:
        if column.null and any(key.kind == "primary" and named(key, column.name) for key in keys):
            raise tidb("ddl:1171")


def check_key(key: KeySyntax, table: Table) -> None:
    """A key that the columns can have."""
    if key.kind == "primary" and any(part.expression for part in key.parts):
        raise tidb("ddl:3756")
    if key.kind in INDEXED:
        check_parts(key, table)


def named(key: KeySyntax, column: str) -> bool:
    return column.lower() in [part.column.lower() for part in key.parts]


def check_auto_increment(syntax: TableSyntax, firsts: list[str]) -> None:
    """One column at most, and the first of a key; `firsts` are the first columns of keys."""
    columns = [column for column in syntax.columns if column.auto_increment]
    if len(columns) > 1 or any(column.name.lower() not in firsts for column in columns):
        raise tidb("autoid:1075")


def check_columns(syntax: TableSyntax, default: tuple[str, str]) -> Iterator[Column]:
    """The columns, each as its definition says; raises DdlError."""
    values = {option.name: "" if option.default else option.value for option in syntax.options}
    with refused("ddl:1115"):
        charset = resolve(values.get("CHARSET", ""), values.get("COLLATE", ""), default, f"table {syntax.name!r}")
    for column in syntax.columns:
        check_definition(column, charset)
        with refused("ddl:1105"):
            yield build_column(column, charset, "")


def check_key_columns(syntax: TableSyntax, names: set[str]) -> None:
    taken: set[str] = set()
    for key in syntax.keys:
        for part in key.parts:
            if part.column and part.column.lower() not in names:
                raise tidb("ddl:1072", part.column)
        if key.name and key.kind in ("key", "unique"):
            if key.name.lower() in taken:
                raise tidb("ddl:1061", key.name)
            taken.add(key.name.lower())


def check_table(table: Table, catalog: Catalog, text: str) -> None:
    """What TiDB asks of a new table beside its syntax."""
    for column in table.columns:
        for name in sorted(generated_from(column)):
            if column_named(table, name) is None:
                raise tidb("ddl:1054", name, "generated column function")
    check_partitioned_table(table)
    names: set[str] = set()
    for foreign in table.foreign_keys:
        if foreign.name.lower() in names:
            raise tidb("ddl:1826", foreign.name)
        names.add(foreign.name.lower())
        check_foreign_key(foreign, replace(table, foreign_keys=()), catalog)
    if table.ttl is not None:
        check_ttl(table.ttl.column, table, KnownTable(catalog, table, text, ""))

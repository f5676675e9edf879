"""CREATE TABLE, and LIKE another.

One law: charset and collation come from the database where the statement names none (TiDB: pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.build import build_table
from simulator.tidb.ddl.catalog import Catalog, Database, with_table
from simulator.tidb.ddl.evolve_create_checks import check_syntax, check_table
from simulator.tidb.ddl.evolve_errors import refused, tidb, unsupported, worded
from simulator.tidb.ddl.evolve_intervals import expanded
from simulator.tidb.ddl.session import Executed, Job, Session
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import TableSyntax

TEMPORARY = "a local temporary table lives in its session alone: no job"


def found(catalog: Catalog, schema: str, name: str) -> Table:
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
        catalog = with_table(catalog, made(statement, database, default, text, session))
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


def made(
    syntax: TableSyntax, database: Database, default: tuple[str, str], text: str, session: Session,
) -> Table:
    """The table in a known database, whose charset and collation are the default; raises DdlError."""
    assert session.catalog is not None
    if syntax.like is not None:
        return like(session.catalog, syntax, database.name, session)
    if syntax.partitioning is not None:
        syntax = replace(syntax, partitioning=expanded(syntax.partitioning))
    with refused("ddl:1105"):
        table = build_table(replace(syntax, schema=""), database.name, text, text, default)
    check_table(table, session.catalog, text)
    return table


def like(catalog: Catalog, syntax: TableSyntax, schema: str, session: Session) -> Table:
    """Another table's definition, without its foreign keys and its place in other things."""
    assert syntax.like is not None
    model = found(catalog, *session.written(syntax.like))
    return replace(
        model, schema=schema, name=syntax.name, foreign_keys=(), cached=False, temporary=syntax.temporary, statement="",
        columns=tuple(replace(column, origin_default=None) for column in model.columns),
        last_ids=replace(model.last_ids, foreign_key=0),
    )

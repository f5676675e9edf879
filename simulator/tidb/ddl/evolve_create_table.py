"""CREATE TABLE, and LIKE another.

One law: charset and collation come from the database where the statement names none (TiDB: pkg/ddl/create_table.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl.build import build_table
from simulator.tidb.ddl.catalog import Catalog, with_table
from simulator.tidb.ddl.evolve_create_checks import check_syntax, check_table
from simulator.tidb.ddl.evolve_errors import refused, tidb, worded
from simulator.tidb.ddl.evolve_intervals import expanded
from simulator.tidb.ddl.evolve_tables import selected
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.tables import TableSyntax


def found(catalog: Catalog, schema: str, name: str) -> Table:
    """The table; raises DdlError where it, or its database, is not there, and for a view or a sequence."""
    table = catalog.table(schema, name)
    if table is None and catalog.has(schema, name):
        raise tidb("ddl:1347", schema, name, "BASE TABLE")
    if table is None:
        raise tidb("schema:1146", schema, name)
    return table


def created(catalog: Catalog, syntax: TableSyntax, current: str, text: str) -> Catalog:
    """With the table, but where IF NOT EXISTS finds one; a temporary table is its session's alone. Raises DdlError.

    `current` is the current database.
    """
    if syntax.query is not None:
        raise worded("schema:1105", "'CREATE TABLE ... SELECT' is not implemented yet")
    schema = syntax.schema or selected(current)
    database = catalog.database(schema)
    if database is None:
        raise tidb("schema:1049", schema)
    if syntax.temporary == "local":
        return catalog
    if catalog.has(schema, syntax.name):
        if syntax.if_not_exists:
            return catalog
        raise tidb("schema:1050", f"{schema}.{syntax.name}")
    if syntax.like is not None:
        return with_table(catalog, like(catalog, syntax, database.name, current))
    default = (database.charset, database.collation)
    check_syntax(syntax, default)
    if syntax.partitioning is not None:
        syntax = replace(syntax, partitioning=expanded(syntax.partitioning))
    with refused("ddl:1105"):
        table = build_table(replace(syntax, schema=""), database.name, text, text, default)
    check_table(table, catalog, text)
    return with_table(catalog, table)


def like(catalog: Catalog, syntax: TableSyntax, schema: str, current: str) -> Table:
    """Another table's definition, without its foreign keys and its place in other things."""
    assert syntax.like is not None
    model = found(catalog, syntax.like.schema or selected(current), syntax.like.name)
    return replace(
        model, schema=schema, name=syntax.name, foreign_keys=(), cached=False, temporary=syntax.temporary, statement="",
        columns=tuple(replace(column, origin_default=None) for column in model.columns),
        last_ids=replace(model.last_ids, foreign_key=0),
    )

"""CREATE TABLE, and LIKE another.

One law: TiDB's own words for what makes no table, as far as they are known, and the builder's for the rest
(TiDB: pkg/ddl/create_table.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.ddl.catalog import Catalog, with_table
from simulator.ddl.evolve_errors import refused, tidb, worded
from simulator.ddl.evolve_foreign import check_foreign_key
from simulator.ddl.evolve_options import check_ttl
from simulator.ddl.evolve_partitioning import check_partitioned_table
from simulator.ddl.evolve_steps import Scene
from simulator.schema.build import build_table
from simulator.schema.syntax import TableSyntax
from simulator.schema.table import Table


def found(catalog: Catalog, schema: str, name: str) -> Table:
    """The table; raises DdlError where it, or its database, is not there, and for a view or a sequence."""
    table = catalog.table(schema, name)
    if table is None and catalog.has(schema, name):
        raise tidb("ddl:1347", schema, name, "BASE TABLE")
    if table is None:
        raise tidb("schema:1146", schema, name)
    return table


def created(catalog: Catalog, syntax: TableSyntax, schema: str, text: str) -> Catalog:
    """With the table, but where IF NOT EXISTS finds one; raises DdlError."""
    database = catalog.database(schema)
    if database is None:
        raise tidb("schema:1049", schema)
    if catalog.has(schema, syntax.name):
        if syntax.if_not_exists:
            return catalog
        raise tidb("schema:1050", f"{schema}.{syntax.name}")
    if syntax.query is not None:
        raise worded("schema:1105", "'CREATE TABLE ... SELECT' is not implemented yet")
    if syntax.like is not None:
        return with_table(catalog, like(catalog, syntax, database.name))
    check_syntax(syntax)
    with refused("ddl:1105"):
        table = build_table(replace(syntax, schema=""), database.name, text, text, (database.charset,
                                                                                    database.collation))
    check_table(table, catalog, text)
    return with_table(catalog, table)


def like(catalog: Catalog, syntax: TableSyntax, schema: str) -> Table:
    """Another table's definition, without its foreign keys and its place in other things."""
    assert syntax.like is not None
    model = found(catalog, syntax.like.schema or schema, syntax.like.name)
    return replace(
        model, schema=schema, name=syntax.name, foreign_keys=(), cached=False, temporary=syntax.temporary, statement="",
        columns=tuple(replace(column, origin_default=None) for column in model.columns),
        last_ids=replace(model.last_ids, foreign_key=0),
    )


def check_syntax(syntax: TableSyntax) -> None:
    """What TiDB words itself of a definition that makes no table."""
    names: set[str] = set()
    for column in syntax.columns:
        if column.name.lower() in names:
            raise tidb("schema:1060", column.name)
        if len(column.name) > 64:
            raise tidb("ddl:1059", column.name)
        names.add(column.name.lower())
    if not names:
        raise tidb("ddl:1113")
    keys = [*syntax.keys, *(one for column in syntax.columns for one in column.keys)]
    if sum(one.kind == "primary" for one in keys) > 1:
        raise tidb("schema:1068")
    check_key_columns(syntax, names)
    if sum(column.auto_increment for column in syntax.columns) > 1:
        raise tidb("ddl:1075")


def check_key_columns(syntax: TableSyntax, names: set[str]) -> None:
    taken: set[str] = set()
    for one in syntax.keys:
        for part in one.parts:
            if part.column and part.column.lower() not in names:
                raise tidb("ddl:1072", part.column)
        if one.name and one.kind in ("key", "unique"):
            if one.name.lower() in taken:
                raise tidb("ddl:1061", one.name)
            taken.add(one.name.lower())


def check_table(table: Table, catalog: Catalog, text: str) -> None:
    """What TiDB asks of a new table beside its syntax."""
    check_partitioned_table(table)
    names: set[str] = set()
    for foreign in table.foreign_keys:
        if foreign.name.lower() in names:
            raise tidb("ddl:1826", foreign.name)
        names.add(foreign.name.lower())
        check_foreign_key(foreign, replace(table, foreign_keys=()), catalog)
    if table.ttl is not None:
        check_ttl(table.ttl.column, table, Scene(catalog, table, text, ""))

"""CREATE, DROP, TRUNCATE, RENAME, RECOVER TABLE.

One law: a table that goes is remembered, so that RECOVER and FLASHBACK find it (TiDB: pkg/ddl/executor.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.ddl.catalog import Catalog, key as place_of, with_dropped, with_table, without_table
from simulator.ddl.evolve_alter import moved
from simulator.ddl.evolve_errors import refused, tidb, worded
from simulator.ddl.evolve_foreign import check_foreign_key, check_unreferred
from simulator.ddl.evolve_options import check_ttl
from simulator.ddl.evolve_partitioning import check_partitioned_table
from simulator.ddl.evolve_steps import Scene
from simulator.ddl.statements import DropTable, FlashbackTable, RecoverTable, RenameTable, TruncateTable
from simulator.schema.build import build_table
from simulator.schema.syntax import TableName, TableSyntax
from simulator.schema.table import Table


def found(catalog: Catalog, schema: str, name: str) -> Table:
    """The table; raises DdlError where it, or its database, is not there, and for a view or a sequence."""
    table = catalog.table(schema, name)
    if table is None and catalog.has(schema, name):
        raise tidb("ddl:1347", schema, name, "BASE TABLE")
    if table is None:
        raise tidb("schema:1146", schema, name)
    return table


def create_table(catalog: Catalog, syntax: TableSyntax, schema: str, text: str) -> Catalog:
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


def drop_table(catalog: Catalog, statement: DropTable, database: str) -> Catalog:
    """Without those that are there; raises DdlError naming those that are not, unless IF EXISTS."""
    names = [(one.schema or selected(database), one.name) for one in statement.tables]
    also = {place_of(*one) for one in names}
    missing = []
    for schema, name in names:
        table = catalog.table(schema, name)
        if table is None:
            missing.append(f"{schema}.{name}")
            continue
        check_unreferred(catalog, table, "ddl:3730", also)
        if table.cached:
            raise tidb("ddl:8242", "Drop Table")
        catalog = with_dropped(without_table(catalog, table), table)
    if missing and not statement.if_exists:
        raise tidb("schema:1051", ",".join(missing))
    return catalog


def truncate_table(catalog: Catalog, statement: TruncateTable, database: str) -> Catalog:
    """The rows go and the definition stays, its origin defaults without a row to serve; raises DdlError."""
    schema = statement.table.schema or selected(database)
    if catalog.database(schema) is None:
        raise tidb("schema:1049", schema)
    table = catalog.table(schema, statement.table.name)
    if table is None:
        raise tidb("schema:1146", schema, statement.table.name)
    if table.cached:
        raise tidb("ddl:8242", "Truncate Table")
    check_unreferred(catalog, table, "ddl:1701")
    return with_dropped(catalog, table)


def rename_table(catalog: Catalog, statement: RenameTable, database: str) -> Catalog:
    """Pair by pair, so that names may change places; raises DdlError, and then nothing is done."""
    for old, new in statement.pairs:
        catalog = renamed(catalog, qualified(old, database), qualified(new, database))
    return catalog


def renamed(catalog: Catalog, old: TableName, new: TableName) -> Catalog:
    """TiDB: ExtractTblInfos."""
    if not catalog.has(old.schema, old.name):
        if catalog.has(new.schema, new.name):
            raise tidb("schema:1050", f"{new.schema}.{new.name}")
        raise tidb("schema:1146", old.schema, old.name)
    view = catalog.views.get(place_of(*old))
    if view is not None and old.schema != new.schema:
        raise tidb("schema:1450", old.schema, new.schema)
    target = catalog.database(new.schema)
    if target is None:
        raise tidb("ddl:1025", old.schema, old.name, new.schema, new.name, new.schema)
    if catalog.has(new.schema, new.name):
        raise tidb("schema:1050", f"{new.schema}.{new.name}")
    if len(new.name) > 64:
        raise tidb("ddl:1059", new.name)
    place = place_of(*old)
    if view is not None:
        views = {held: one for held, one in catalog.views.items() if held != place}
        return replace(catalog, views={**views, place_of(*new): replace(view, name=new.name)})
    if place in catalog.sequences:
        sequences = {held: one for held, one in catalog.sequences.items() if held != place}
        sequence = replace(catalog.sequences[place], schema=target.name, name=new.name)
        return replace(catalog, sequences={**sequences, place_of(*new): sequence})
    table = catalog.tables[place]
    if table.cached:
        raise tidb("ddl:8242", "Rename Table")
    return moved(catalog, table, replace(table, schema=target.name, name=new.name))


def recover_table(catalog: Catalog, statement: RecoverTable | FlashbackTable, database: str) -> Catalog:
    """The last table of the name that was dropped or truncated; raises DdlError."""
    if statement.table is None:
        raise worded("ddl:1105", "RECOVER TABLE BY JOB: the jobs of a cluster are not known here; name the table")
    name = qualified(statement.table, database)
    table = catalog.dropped.get(place_of(*name))
    if table is None:
        raise worded("ddl:1105", f"Can't find dropped/truncated table: {name.name} in DDL history jobs")
    wanted = statement.new_name if isinstance(statement, FlashbackTable) else ""
    if catalog.has(table.schema, wanted or table.name):
        raise tidb("schema:1050", wanted or table.name)
    return with_table(catalog, replace(table, name=wanted or table.name))


def selected(database: str) -> str:
    """The current database; raises DdlError where there is none."""
    if not database:
        raise tidb("planner:1046")
    return database


def qualified(name: TableName, database: str) -> TableName:
    return TableName(name.schema or selected(database), name.name)

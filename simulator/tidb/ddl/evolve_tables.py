"""DROP, TRUNCATE, RENAME and RECOVER TABLE.

One law: a table that goes is remembered, so that RECOVER and FLASHBACK find it (TiDB: pkg/ddl/executor.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl.catalog import Catalog, key as place_of, with_dropped, with_table, without_table
from simulator.tidb.ddl.evolve_errors import tidb, worded
from simulator.tidb.ddl.evolve_foreign import check_unreferred
from simulator.tidb.ddl.evolve_moves import moved
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import DropTable, FlashbackTable, RecoverTable, RenameTable, TruncateTable


def drop_table(catalog: Catalog, statement: DropTable, database: str) -> Catalog:
    """Without those that are there; raises DdlError naming those that are not, unless IF EXISTS."""
    if statement.temporary == "local":
        return catalog
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
    """With the table, view or sequence under another name."""
    check_rename(catalog, old, new)
    place, database = place_of(*old), catalog.databases[new.schema.lower()]
    if place in catalog.views:
        views = {held: one for held, one in catalog.views.items() if held != place}
        return replace(catalog, views={**views, place_of(*new): replace(catalog.views[place], name=new.name)})
    if place in catalog.sequences:
        sequences = {held: one for held, one in catalog.sequences.items() if held != place}
        sequence = replace(catalog.sequences[place], schema=database.name, name=new.name)
        return replace(catalog, sequences={**sequences, place_of(*new): sequence})
    table = catalog.tables[place]
    return moved(catalog, table, replace(table, schema=database.name, name=new.name))


def check_rename(catalog: Catalog, old: TableName, new: TableName) -> None:
    """The one name is there and the other free (TiDB: ExtractTblInfos)."""
    if not catalog.has(old.schema, old.name):
        if catalog.has(new.schema, new.name):
            raise tidb("schema:1050", f"{new.schema}.{new.name}")
        raise tidb("schema:1146", old.schema, old.name)
    if place_of(*old) in catalog.views and old.schema != new.schema:
        raise tidb("schema:1450", old.schema, new.schema)
    if catalog.database(new.schema) is None:
        raise tidb("ddl:1025", old.schema, old.name, new.schema, new.name, new.schema)
    if catalog.has(new.schema, new.name):
        raise tidb("schema:1050", f"{new.schema}.{new.name}")
    if len(new.name) > 64:
        raise tidb("ddl:1059", new.name)
    table = catalog.table(*old)
    if table is not None and table.cached:
        raise tidb("ddl:8242", "Rename Table")


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

"""Tables and columns under other names, and the foreign keys that follow them.

One law: a foreign key refers to a table and columns, not to names (TiDB: pkg/ddl/table.go, onRenameTable;
pkg/ddl/modify_column.go, adjustForeignKeyChildTableInfoAfterModifyColumn).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog, with_table, with_tables, without_table
from simulator.tidb.ddl.evolve_errors import tidb
from simulator.tidb.ddl.evolve_foreign import referring
from simulator.tidb.ddl.evolve_steps import Alteration, Step, Steps, lower
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import RenameTo


def moved(catalog: Catalog, table: Table, changed: Table) -> Catalog:
    """The catalog with the table under another name."""
    return with_table(without_table(followed(catalog, table, changed, {}), table), changed)


def followed(catalog: Catalog, table: Table, changed: Table, renames: Mapping[str, str]) -> Catalog:
    """The catalog with the foreign keys that refer to the table following its new name and its columns'."""
    if (changed.schema, changed.name) == (table.schema, table.name) and not renames:
        return catalog
    children = {id(child): child for child, _ in referring(catalog, table.schema, table.name)}
    return with_tables(catalog, [refers_to(child, table, changed, renames) for child in children.values()])


def refers_to(child: Table, table: Table, changed: Table, renames: Mapping[str, str]) -> Table:
    """The table with its foreign keys to `table` changed to what that is now."""
    was = lower((table.schema, table.name))
    foreign_keys = tuple(
        replace(
            one, schema=changed.schema, table=changed.name,
            references=tuple(renames.get(name.lower(), name) for name in one.references),
        ) if lower((one.schema, one.table)) == was else one
        for one in child.foreign_keys
    )
    return replace(child, foreign_keys=foreign_keys)


def own_references(changed: Table, renames: Mapping[str, str]) -> Table:
    """The table with foreign keys to itself following its columns' names."""
    return refers_to(changed, changed, changed, renames) if renames and changed.foreign_keys else changed


def rename_to(spec: RenameTo, alteration: Alteration) -> Steps:
    """Another name, without a database in the current one; raises DdlError."""
    known, new = alteration.known, alteration.session.new(spec.table)
    if lower(new) == lower(alteration.name):
        yield "the table has that name: no job"
        return
    if known is not None:
        if known.catalog.database(new.schema) is None:
            raise tidb("ddl:1025", *alteration.name, *new, new.schema)
        if known.catalog.has(*new):
            raise tidb("schema:1050", f"{new.schema}.{new.name}")
        if len(new.name) > 64:
            raise tidb("ddl:1059", new.name)
    yield Step(actions.RENAME_TABLE, lambda before: replace(before, schema=new.schema, name=new.name))

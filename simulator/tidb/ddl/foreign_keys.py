"""Foreign keys: ADD with the index that they need, DROP, checks of other statements, and updates after renames.

Source: TiDB 6.6+: pkg/ddl/foreign_key.go; pkg/ddl/modify_column.go, adjustForeignKeyChildTableInfoAfterModifyColumn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import (
    Catalog,
    Key,
    check_length,
    existing_column,
    find_column,
    generation_columns,
    last_index_id,
    lower_names,
    resolve_part,
    with_tables,
)
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.key_definitions import begins_with, build_foreign_key
from simulator.tidb.ddl.session import AffectedNames, Alteration, Session, SubJob, SubJobs, TargetTable
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import Column, ForeignKey, Index, IndexColumn, Table, row_id_column

INDEX_NOTE = "a foreign key on columns that begin no index comes with an index, both as one job 61"


def add_foreign_key(key: syntax.KeyDefinition, alteration: Alteration) -> SubJobs:
    """Yield the sub-jobs of ADD FOREIGN KEY: a missing index, then the foreign key. Raises DdlError.

    TiDB up to 6.4 has no job for the index; the table gets it nevertheless.
    """
    target, of_its_own = alteration.target, alteration.session.release.foreign_key_index
    if target is None:
        if of_its_own:
            yield INDEX_NOTE
        yield SubJob(Action.ADD_FOREIGN_KEY)
        return
    table = target.table
    check_length(key.name)
    parts = tuple(resolve_part(part, table) for part in key.parts)
    foreign = build_foreign_key(key, parts, table.last_ids.foreign_key + 1, table.schema)
    check_foreign_key(foreign, table, target.catalog, alteration.session)
    indexed = is_covered(table, foreign.columns)
    if not indexed and foreign.name.lower() in lower_names(index.name for index in table.indexes):
        raise tidb_error("ddl:1061", foreign.name)
    if not indexed and of_its_own:
        affected = AffectedNames(added_keys=(foreign.name.lower(),), related=lower_names(foreign.columns))
        yield SubJob(Action.ADD_INDEX, lambda before: with_plain_index(before, foreign), affected)

    def apply(before: Table) -> Table:
        if indexed and not is_covered(before, foreign.columns):
            raise tidb_error(
                "ddl:1553", next(each.name for each in table.indexes if begins_with(each, foreign.columns))
            )
        return with_foreign_key(before if indexed or of_its_own else with_plain_index(before, foreign), foreign)

    yield SubJob(Action.ADD_FOREIGN_KEY, apply)


def check_foreign_key(foreign: ForeignKey, table: Table, catalog: Catalog, session: Session) -> None:
    """Check a foreign key that is added to a table (TiDB: CreateForeignKey)."""
    if table.temporary:
        raise tidb_error("schema:1215")
    if any(key.name.lower() == foreign.name.lower() for key in table.foreign_keys):
        raise tidb_error("ddl:1826", foreign.name)
    check_columns(foreign, table)
    check_parent(foreign, table, catalog, session)


def check_new_foreign_key(key: syntax.KeyDefinition, number: int, table: Table) -> None:
    check_columns(build_foreign_key(key, key.parts, number, table.schema), table)


CHANGING_ACTIONS = ("CASCADE", "SET NULL", "SET DEFAULT")


def check_columns(foreign: ForeignKey, table: Table) -> None:
    """Check the names and the columns of the foreign key's own table (TiDB: buildFKInfo)."""
    if len(foreign.columns) != len(foreign.references):
        raise tidb_error("schema:1239", foreign.name)
    for name in (foreign.name, foreign.schema, foreign.table):
        check_length(name)
    stored = [column for column in table.columns if column.generated == "stored"]
    bases: frozenset[str] = frozenset().union(*map(generation_columns, stored))
    on_delete, on_update = foreign.on_delete.upper(), foreign.on_update.upper()
    for name in foreign.columns:
        column = existing_column(table, name, tidb_error("ddl:1072", name))
        if column.generated == "virtual":
            raise tidb_error("schema:3733", foreign.name, column.name)
        if column.generated and on_update in CHANGING_ACTIONS:
            raise tidb_error("schema:3104", f"ON UPDATE {on_update}")
        if column.generated and on_delete in CHANGING_ACTIONS[1:]:
            raise tidb_error("schema:3104", f"ON DELETE {on_delete}")
        changes = on_update in CHANGING_ACTIONS or on_delete in CHANGING_ACTIONS
        if name.lower() in bases and not column.generated and changes:
            raise tidb_error("schema:1215")
        if column.not_null and "SET NULL" in (on_delete, on_update):
            raise tidb_error("schema:1830", column.name, foreign.name)
    for name in foreign.references:
        check_length(name)


def check_parent(foreign: ForeignKey, table: Table, catalog: Catalog, session: Session) -> None:
    """Check the referenced table, which must exist if foreign_key_checks is on (TiDB: checkTableForeignKeyValid)."""
    itself = place_of(foreign.schema, foreign.table) == place_of(table.schema, table.name)
    if itself and lower_names(foreign.columns) == lower_names(foreign.references):
        raise tidb_error("schema:1215")
    parent = table if itself else catalog.table(foreign.schema, foreign.table)
    if parent is None and catalog.has(foreign.schema, foreign.table):
        raise tidb_error("schema:3734", foreign.references[0], foreign.name, foreign.table)
    if parent is not None:
        check_reference(foreign, table, parent)
    elif session.foreign_key_checks:
        raise tidb_error("schema:1824", foreign.table)


def check_reference(foreign: ForeignKey, table: Table, parent: Table) -> None:
    """Check the referenced columns, which need the same types and an index that begins with them (TiDB:
    checkTableForeignKey)."""
    if any(each.temporary or each.soft_delete for each in (table, parent)):
        raise tidb_error("schema:1215")
    if parent.ttl:
        raise tidb_error("ddl:8152")
    if parent.partitioning or table.partitioning:
        raise tidb_error("schema:1506")
    for name, refers in zip(foreign.columns, foreign.references):
        check_pair(foreign, find_column(table, name), find_column(parent, refers), refers)
    if not has_key(parent, foreign.references):
        raise tidb_error("schema:1822", foreign.name, foreign.table)


def check_pair(foreign: ForeignKey, column: Column | None, other: Column | None, refers: str) -> None:
    if other is None or column is None:
        raise tidb_error("schema:3734", refers, foreign.name, foreign.table)
    if other.generated == "virtual":
        raise tidb_error("schema:3733", foreign.name, refers)
    child, parent = ((type.name, type.unsigned, type.charset, type.collation) for type in (column.type, other.type))
    if child != parent:
        raise tidb_error("ddl:3780", column.name, other.name, foreign.name)


def has_key(table: Table, columns: Collection[str], without: int = 0) -> bool:
    """Return whether an index begins with the columns, or they are the clustered integer primary key."""
    return lower_names(columns) == ((row_id_column(table) or "").lower(),) or is_covered(table, columns, without)


def is_covered(table: Table, columns: Collection[str], without: int = 0) -> bool:
    """Return whether an index, except that of id `without`, begins with the columns."""
    return any(begins_with(index, columns) for index in table.indexes if index.id != without)


def with_foreign_key(table: Table, foreign: ForeignKey) -> Table:
    ids = replace(table.last_ids, foreign_key=table.last_ids.foreign_key + 1)
    return replace(table, foreign_keys=(*table.foreign_keys, replace(foreign, id=ids.foreign_key)), last_ids=ids)


def with_plain_index(table: Table, foreign: ForeignKey) -> Table:
    last = last_index_id(table)
    index = Index(last + 1, foreign.name, tuple(IndexColumn(name) for name in foreign.columns))
    return replace(table, indexes=(*table.indexes, index), last_ids=replace(table.last_ids, index=index.id))


def drop_foreign_key(spec: syntax.DropKey, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of DROP FOREIGN KEY; its index stays."""
    target, name = alteration.target, spec.name.lower()
    if target is not None and all(foreign.name.lower() != name for foreign in target.table.foreign_keys):
        raise tidb_error("schema:1091", spec.name)

    def apply(before: Table) -> Table:
        return replace(before, foreign_keys=tuple(key for key in before.foreign_keys if key.name.lower() != name))

    yield SubJob(Action.DROP_FOREIGN_KEY, apply)


def referring_keys(catalog: Catalog, schema: str, name: str) -> Iterator[tuple[Table, ForeignKey]]:
    """Yield the foreign keys that refer to the table, each with its own table."""
    parent_key: Key = place_of(schema, name)
    for table in catalog.tables.values():
        for foreign in table.foreign_keys:
            if place_of(foreign.schema, foreign.table) == parent_key:
                yield table, foreign


def check_not_needed(column: Column, target: TargetTable) -> None:
    name = column.name.lower()
    for foreign in target.table.foreign_keys:
        if name in lower_names(foreign.columns):
            raise tidb_error("ddl:1828", name, foreign.name)
    for child, foreign in referring_keys(target.catalog, target.table.schema, target.table.name):
        if name in lower_names(foreign.references):
            raise tidb_error("ddl:1829", name, foreign.name, child.name)


def check_key_not_needed(index: Index, target: TargetTable) -> None:
    """Raise DdlError if a foreign key needs the index (TiDB: checkIndexNeededInForeignKey)."""
    table = target.table
    used = [foreign.columns for foreign in table.foreign_keys]
    used += [foreign.references for _, foreign in referring_keys(target.catalog, table.schema, table.name)]
    for columns in used:
        if begins_with(index, columns) and not has_key(table, columns, index.id):
            raise tidb_error("ddl:1553", index.name)


def check_unreferred(catalog: Catalog, table: Table, code: str, also: Collection[Key] = ()) -> None:
    """Raise DdlError (`ddl:3730` for DROP, `ddl:1701` for TRUNCATE) if a table that is not in `also` refers to it."""
    itself = place_of(table.schema, table.name)
    for child, foreign in referring_keys(catalog, table.schema, table.name):
        if (place := place_of(child.schema, child.name)) != itself and place not in also:
            if code == "ddl:3730":
                raise tidb_error(code, table.name, foreign.name, child.name)
            raise tidb_error(code, child.schema, child.name, foreign.name)


def update_references(catalog: Catalog, table: Table, changed: Table, renames: Mapping[str, str]) -> Catalog:
    """Return the catalog with the foreign keys that refer to the table updated to its new names."""
    if (changed.schema, changed.name) == (table.schema, table.name) and not renames:
        return catalog
    children = {id(child): child for child, _ in referring_keys(catalog, table.schema, table.name)}
    updated = [with_updated_references(child, table, changed, renames) for child in children.values()]
    return with_tables(catalog, updated)


def with_updated_references(child: Table, table: Table, changed: Table, renames: Mapping[str, str]) -> Table:
    was = lower_names((table.schema, table.name))

    def updated(key: ForeignKey) -> ForeignKey:
        if lower_names((key.schema, key.table)) != was:
            return key
        references = tuple(renames.get(name.lower(), name) for name in key.references)
        return replace(key, schema=changed.schema, table=changed.name, references=references)

    return replace(child, foreign_keys=tuple(map(updated, child.foreign_keys)))


def with_updated_own_references(changed: Table, renames: Mapping[str, str]) -> Table:
    """Return the table with foreign keys to itself updated to renamed columns."""
    return with_updated_references(changed, changed, changed, renames) if renames and changed.foreign_keys else changed

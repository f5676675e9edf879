"""ALTER TABLE … ADD and DROP of keys; CREATE INDEX and DROP INDEX are the same.

One law: a new key gets the id after the highest the table ever gave, and ids decide between equal handle keys
(TiDB: pkg/ddl/executor.go, pkg/ddl/index.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.build_keys import COLUMNAR, build_index, free_name
from simulator.tidb.ddl.evolve_errors import tidb, worded
from simulator.tidb.ddl.evolve_expressions import columns_of, partition_columns
from simulator.tidb.ddl.evolve_foreign import add_foreign_key, check_key_not_needed, drop_foreign_key
from simulator.tidb.ddl.evolve_key_parts import check_parts, spelled
from simulator.tidb.ddl.evolve_steps import Scene, Step, Touched, column_named, index_named, lower
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import AddKey, DropKey
from simulator.tidb.syntax.definitions import KeyPart, KeySyntax

LONGEST_NAME = 64
MOST_KEYS = 64


def add_key(spec: AddKey, scene: Scene) -> tuple[Step, ...]:
    """The key as TiDB adds it; no step for FULLTEXT, SPATIAL and CHECK, which it reads and forgets. Raises DdlError."""
    kind = spec.key.kind
    if kind == "foreign":
        return add_foreign_key(spec.key, scene)
    if kind == "primary":
        return add_primary_key(spec.key, scene)
    return add_index(spec.key, scene) if kind in ("key", "unique", *COLUMNAR) else ()


def add_index(key: KeySyntax, scene: Scene) -> tuple[Step, ...]:
    """A key that is not the primary one; no step where IF NOT EXISTS finds its name taken. Raises DdlError."""
    table = scene.table
    if key.name and index_named(table, key.name):
        if key.if_not_exists:
            return ()
        raise tidb("ddl:1061", key.name)
    check_key_name(key.name)
    if len(table.indexes) >= MOST_KEYS:
        raise tidb("ddl:1069", MOST_KEYS)
    check_parts(key, table)
    name = key.name or free_name(key.parts, set(lower(one.name for one in (*table.indexes, *table.columnar_indexes))))
    check_partitioned(key, name, table)
    touched = Touched(added_keys=(name.lower(),), related=related(key))
    action = actions.ADD_COLUMNAR_INDEX if key.kind in COLUMNAR else actions.ADD_INDEX
    return Step(action, lambda before: with_index(before, key, name), touched),


def check_key_name(name: str) -> None:
    if len(name) > LONGEST_NAME:
        raise tidb("ddl:1059", name)
    if name.lower() == "primary":
        raise worded("ddl:1280", f"Incorrect index name '{name}'")


def related(key: KeySyntax) -> tuple[str, ...]:
    """The columns of a key, those in its expressions too."""
    named = {part.column.lower() for part in key.parts if part.column}
    return tuple(sorted(named.union(*(columns_of(part.expression) for part in key.parts if part.expression))))


def add_primary_key(key: KeySyntax, scene: Scene) -> tuple[Step, ...]:
    """A primary key that is not clustered, its columns NOT NULL; raises DdlError."""
    table = scene.table
    if key.clustered:
        raise worded("ddl:8200", "Adding clustered primary key is not supported. Please consider adding NONCLUSTERED"
                                 " primary key instead")
    if table.primary_key:
        raise tidb("schema:1068")
    if any(part.expression for part in key.parts):
        raise tidb("ddl:3756")
    check_parts(key, table)
    columns = [column_named(table, part.column) for part in key.parts]
    if any(column and column.generated == "virtual" for column in columns):
        raise tidb("ddl:3106", "Defining a virtual generated column as primary key")
    check_partitioned(key, "PRIMARY", table)
    touched = Touched(added_keys=("primary",), related=related(key))
    return Step(actions.ADD_PRIMARY_KEY, lambda before: with_primary_key(before, key), touched),


def with_primary_key(table: Table, key: KeySyntax) -> Table:
    changed = with_index(table, key, "PRIMARY")
    names = tuple(part.name for part in changed.indexes[-1].columns)
    columns = tuple(replace(one, not_null=True) if one.name in names else one for one in changed.columns)
    return replace(changed, columns=columns, primary_key=names, clustered=False)


def with_index(table: Table, key: KeySyntax, name: str) -> Table:
    """The table with one more index, under the next id."""
    last = max(table.last_ids.index, *(one.id for one in table.indexes), *(one.id for one in table.columnar_indexes), 0)
    index = build_index(key, tuple(spelled(part, table) for part in key.parts), last + 1, name)
    ids = replace(table.last_ids, index=index.id)
    if key.kind in COLUMNAR:
        return replace(table, columnar_indexes=(*table.columnar_indexes, index), last_ids=ids)
    return replace(table, indexes=(*table.indexes, index), last_ids=ids)


def check_partitioned(key: KeySyntax, name: str, table: Table) -> None:
    """A unique key that is not GLOBAL holds every column that the partitioning needs."""
    if key.kind not in ("primary", "unique"):
        return
    if key.options.scope == "GLOBAL" and table.partitioning is None:
        raise worded("ddl:8200", "Unsupported Global Index on non-partitioned table")
    missing = partition_columns(table.partitioning) - {part.column.lower() for part in whole(key.parts)}
    if missing and key.options.scope != "GLOBAL":
        raise tidb("ddl:8264", name)


def whole(parts: tuple[KeyPart, ...]) -> tuple[KeyPart, ...]:
    return tuple(part for part in parts if part.length < 0)


def drop_key(spec: DropKey, scene: Scene) -> tuple[Step, ...]:
    """An index, the primary key or a foreign key; no step for a CHECK. Raises DdlError."""
    if spec.kind == "check":
        return ()
    if spec.kind == "foreign":
        return drop_foreign_key(spec, scene)
    return drop_index("PRIMARY" if spec.kind == "primary" else spec.name, spec.if_exists, scene)


def drop_index(name: str, if_exists: bool, scene: Scene) -> tuple[Step, ...]:
    """TiDB: dropIndex, CheckIsDropPrimaryKey."""
    table = scene.table
    index = index_named(table, name)
    primary = name.lower() == "primary" and (index is None or index.primary)
    if primary and not table.primary_key:
        raise tidb("ddl:1091", "PRIMARY")
    if primary and table.clustered:
        raise worded("ddl:8200", "Unsupported drop primary key when the table is using clustered index")
    if index is None:
        if if_exists:
            return ()
        raise worded("ddl:1091", f"index {name} doesn't exist")
    check_key_not_needed(index, scene)
    id = index.id
    action = actions.DROP_PRIMARY_KEY if primary else actions.DROP_INDEX
    return Step(action, lambda before: without_index(before, id, primary), Touched(dropped_keys=(name.lower(),))),


def without_index(table: Table, id: int, primary: bool) -> Table:
    return replace(
        table,
        indexes=tuple(one for one in table.indexes if one.id != id),
        columnar_indexes=tuple(one for one in table.columnar_indexes if one.id != id),
        primary_key=() if primary else table.primary_key,
        clustered=table.clustered and not primary,
    )

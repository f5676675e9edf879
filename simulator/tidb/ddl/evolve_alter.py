"""ALTER TABLE: its specs as steps, all of them or none.

One law: SPECS lists every spec; each gives its steps against the table before the statement (TiDB:
pkg/ddl/executor.go, AlterTable, ResolveAlterTableSpec).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog, with_table
from simulator.tidb.ddl.evolve_charset import convert_charset
from simulator.tidb.ddl.evolve_column_names import alter_default, rename_column
from simulator.tidb.ddl.evolve_columns import add_columns, drop_column
from simulator.tidb.ddl.evolve_errors import tidb, worded
from simulator.tidb.ddl.evolve_key_names import alter_visibility, rename_index
from simulator.tidb.ddl.evolve_keys import add_key, drop_key
from simulator.tidb.ddl.evolve_modify import change_column, modify_column
from simulator.tidb.ddl.evolve_moves import followed, moved, own_references, rename_to
from simulator.tidb.ddl.evolve_options import cache, remove_ttl, set_options
from simulator.tidb.ddl.evolve_partitioning import exchange, partition_by, remove_partitioning
from simulator.tidb.ddl.evolve_partitions import (
    UNKNOWN_SPEC,
    add_partitions,
    coalesce,
    last_partition,
    partition_action,
    partitioned,
    reorganize,
)
from simulator.tidb.ddl.evolve_steps import Scene, Step, check_together, lower, unchanged
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import (
    AddColumns,
    AddKey,
    AddPartitions,
    AlterCheck,
    AlterDefault,
    Attributes,
    Cache,
    ChangeColumn,
    Clause,
    CoalescePartition,
    ConvertCharset,
    DropColumn,
    DropKey,
    ExchangePartition,
    IndexVisibility,
    LastPartition,
    ModifyColumn,
    OrderBy,
    PartitionAction,
    PartitionBy,
    PartitionOptions,
    RemovePartitioning,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    ReorganizePartition,
    SetOptions,
    Spec,
    TiflashReplica,
)

IGNORED = ("ALGORITHM", "LOCK")
"""Clauses that TiDB takes out before it looks at the specs."""

HARMLESS = (
    "ENABLE KEYS", "DISABLE KEYS", "WITH VALIDATION", "WITHOUT VALIDATION", "READ ONLY", "READ WRITE",
    "ADD STATS_EXTENDED", "DROP STATS_EXTENDED",
)
"""Clauses that TiDB reads and makes no job of."""


def altered(catalog: Catalog, table: Table, specs: tuple[Spec, ...], text: str, now: str) -> Catalog:
    """The catalog after the specs; raises DdlError, and then nothing is done."""
    wanted = resolved(specs, table)
    if table.cached and [type(spec) for spec in wanted] != [Cache]:
        raise tidb("ddl:8242", "Alter Table")
    scene = Scene(catalog, table, text, now)
    if len(wanted) == 1 and isinstance(wanted[0], SetOptions):
        return alone(catalog, table, wanted[0], scene)
    steps = tuple(step for spec in wanted for step in SPECS[type(spec)](spec, scene))
    if len(wanted) > 1:
        check_together(steps, table)
    return carried_out(catalog, table, steps)


def alone(catalog: Catalog, table: Table, spec: SetOptions, scene: Scene) -> Catalog:
    """Options without a comma are a job each, done one after the other."""
    return carried_out(catalog, table, set_options(spec, scene))


def resolved(specs: tuple[Spec, ...], table: Table) -> tuple[Spec, ...]:
    """The specs that count: several columns in parentheses are one spec each, nameless foreign keys get their names."""
    wanted: list[Spec] = []
    for spec in specs:
        if isinstance(spec, Clause) and spec.words.partition(" ")[0] in IGNORED:
            continue
        if isinstance(spec, AddColumns) and len(spec.columns) + len(spec.keys) > 1:
            wanted += [replace(spec, columns=(column,), keys=()) for column in spec.columns]
            wanted += [AddKey(key) for key in spec.keys]
        else:
            wanted.append(spec)
    return named(wanted, table.last_ids.foreign_key)


def named(specs: list[Spec], last: int) -> tuple[Spec, ...]:
    """The specs with TiDB's names for foreign keys that have none."""
    result: list[Spec] = []
    for spec in specs:
        if isinstance(spec, AddKey) and spec.key.kind == "foreign" and not spec.key.name:
            last += 1
            spec = AddKey(replace(spec.key, name=f"fk_{last}"))
        result.append(spec)
    return tuple(result)


def carried_out(catalog: Catalog, table: Table, steps: tuple[Step, ...]) -> Catalog:
    """The catalog with the table changed, foreign keys that refer to it following its names."""
    if not steps:
        return catalog
    changed = reduce(lambda before, step: step.apply(before), steps, table)
    renames = {old.lower(): new for step in steps for old, new in step.renamed.items()}
    if (changed.schema, changed.name) != (table.schema, table.name):
        return moved(catalog, table, changed)
    return with_table(followed(catalog, table, changed, renames), own_references(changed, renames))


def partition_options(spec: PartitionOptions, scene: Scene) -> tuple[Step, ...]:
    """Placement and attributes of a partition: nothing that rows show."""
    known = lower(partition.name for partition in partitioned(scene.table).partitions)
    if spec.partition.lower() not in known:
        raise tidb("table:1735", spec.partition, scene.table.name)
    attributes = any(option.name == "ATTRIBUTES" for option in spec.options)
    action = actions.ALTER_TABLE_PARTITION_ATTRIBUTES if attributes else actions.ALTER_TABLE_PARTITION_PLACEMENT
    return Step(action, unchanged),


def attributes(spec: Attributes, scene: Scene) -> tuple[Step, ...]:
    return Step(actions.ALTER_TABLE_ATTRIBUTES, unchanged),


def tiflash_replica(spec: TiflashReplica, scene: Scene) -> tuple[Step, ...]:
    return () if spec.hypothetical else (Step(actions.SET_TIFLASH_REPLICA, unchanged),)


def nothing(spec: AlterCheck | OrderBy, scene: Scene) -> tuple[Step, ...]:
    """CHECKs are forgotten while `tidb_enable_check_constraint` is off, its default; an order has no meaning."""
    return ()


def clause(spec: Clause, scene: Scene) -> tuple[Step, ...]:
    if spec.words == "STATS_OPTIONS":
        return Step(actions.ALTER_TABLE_STATS_OPTIONS, unchanged),
    if not spec.words.startswith(HARMLESS):
        raise worded("ddl:8200", UNKNOWN_SPEC)
    return ()


SPECS: MappingProxyType[type, Callable[[Any, Scene], tuple[Step, ...]]] = MappingProxyType({
    AddColumns: add_columns,
    DropColumn: drop_column,
    ModifyColumn: modify_column,
    ChangeColumn: change_column,
    RenameColumn: rename_column,
    AlterDefault: alter_default,
    AddKey: add_key,
    DropKey: drop_key,
    RenameIndex: rename_index,
    IndexVisibility: alter_visibility,
    AlterCheck: nothing,
    SetOptions: set_options,
    ConvertCharset: convert_charset,
    RenameTo: rename_to,
    AddPartitions: add_partitions,
    LastPartition: last_partition,
    PartitionAction: partition_action,
    CoalescePartition: coalesce,
    ReorganizePartition: reorganize,
    ExchangePartition: exchange,
    PartitionBy: partition_by,
    RemovePartitioning: remove_partitioning,
    PartitionOptions: partition_options,
    Attributes: attributes,
    Cache: cache,
    RemoveTtl: remove_ttl,
    TiflashReplica: tiflash_replica,
    OrderBy: nothing,
    Clause: clause,
})

"""What each spec of ALTER TABLE is a job for (tidb: pkg/ddl/executor.go AlterTable).

One law: a spec gives codes, in TiDB's order, or notes where TiDB takes it and does nothing; what TiDB parses and
refuses is a DdlError in its words. Columns, keys and tables are not looked for, but under IF EXISTS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from simulator.tidb.ddl import actions, jobs_partitions as partitions
from simulator.tidb.ddl.jobs_keys import added_key, check_added_column, check_changed_column, dropped_key
from simulator.tidb.ddl.jobs_options import converted, options
from simulator.tidb.ddl.jobs_shape import UNKNOWN_SPEC, unsupported
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
from simulator.tidb.syntax.definitions import TableName

Codes = Iterator[int | str]

IGNORED_CLAUSES = {
    "ALGORITHM": "", "LOCK": "", "ENABLE KEYS": "accepted, no job", "DISABLE KEYS": "accepted, no job",
    "WITH VALIDATION": "ALTER TABLE WITH VALIDATION is currently unsupported: no job",
    "WITHOUT VALIDATION": "ALTER TABLE WITHOUT VALIDATION is currently unsupported: no job",
    "READ ONLY": "enable-table-lock is off: no job", "READ WRITE": "enable-table-lock is off: no job",
    "ADD STATS_EXTENDED": "statistics, no job", "DROP STATS_EXTENDED": "statistics, no job",
}


def codes(spec: Spec, name: TableName, table: Table | None) -> Codes:
    """The jobs of a spec on the table of that name, of which the catalog knows `table` or nothing."""
    plain = PLAIN.get(type(spec))
    if plain is not None:
        yield plain
    else:
        yield from READERS[type(spec)](spec, name, table)


def _has(table: Table, column: str) -> bool:
    return any(one.name.lower() == column.lower() for one in table.columns)


def _add_columns(spec: AddColumns, name: TableName, table: Table | None) -> Codes:
    for column in spec.columns:
        check_added_column(column, name)
        if spec.if_not_exists and table and _has(table, column.name):
            yield f"Duplicate column name '{column.name}': no job"
        else:
            yield actions.ADD_COLUMN


def _drop_column(spec: DropColumn, name: TableName, table: Table | None) -> Codes:
    if spec.if_exists and table and not _has(table, spec.name):
        yield f"Can't DROP '{spec.name}'; check that column/key exists: no job"
    else:
        yield actions.DROP_COLUMN


def _modify_column(spec: ModifyColumn | ChangeColumn, name: TableName, table: Table | None) -> Codes:
    old = spec.old if isinstance(spec, ChangeColumn) else spec.column.name
    if spec.if_exists and table and not _has(table, old):
        yield f"Unknown column '{old}' in '{name.name}': no job"
        return
    check_changed_column(spec.column)
    yield actions.MODIFY_COLUMN


def _rename_column(spec: RenameColumn, name: TableName, table: Table | None) -> Codes:
    yield actions.MODIFY_COLUMN if spec.old.lower() != spec.new.lower() else "the column has that name: no job"


def _add_key(spec: AddKey, name: TableName, table: Table | None) -> Codes:
    yield from added_key(spec.key, table)


def _drop_key(spec: DropKey, name: TableName, table: Table | None) -> Codes:
    yield from dropped_key(spec.kind, spec.name, spec.if_exists, table)


def _rename_index(spec: RenameIndex, name: TableName, table: Table | None) -> Codes:
    yield actions.RENAME_INDEX if spec.old != spec.new else "the index has that name: no job"


def _set_options(spec: SetOptions, name: TableName, table: Table | None) -> Codes:
    yield from options(spec.options, table)


def _convert(spec: ConvertCharset, name: TableName, table: Table | None) -> Codes:
    yield from converted(spec, table)


def _cache(spec: Cache, name: TableName, table: Table | None) -> Codes:
    if table and table.cached == spec.on:
        yield f"the table is {'' if spec.on else 'not '}cached already: no job"
    else:
        yield actions.ALTER_CACHE_TABLE if spec.on else actions.ALTER_NO_CACHE_TABLE


def _remove_ttl(spec: RemoveTtl, name: TableName, table: Table | None) -> Codes:
    yield actions.ALTER_TTL_REMOVE if table is None or table.ttl else "the table has no TTL: no job"


def _visibility(spec: IndexVisibility, name: TableName, table: Table | None) -> Codes:
    index = next((one for one in table.indexes if one.name.lower() == spec.name.lower()), None) if table else None
    if index and index.visible == spec.visible:
        yield f"index '{index.name}' is {'' if spec.visible else 'in'}visible already: no job"
    else:
        yield actions.ALTER_INDEX_VISIBILITY


def _tiflash(spec: TiflashReplica, name: TableName, table: Table | None) -> Codes:
    hypothetical = "a hypothetical replica lives in its session alone: no job"
    yield hypothetical if spec.hypothetical else actions.SET_TIFLASH_REPLICA


def _order_by(spec: OrderBy, name: TableName, table: Table | None) -> Codes:
    yield "ORDER BY is accepted, no job"


def _clause(spec: Clause, name: TableName, table: Table | None) -> Codes:
    note = IGNORED_CLAUSES.get(spec.words)
    if note is None:
        raise unsupported(UNKNOWN_SPEC)
    if note:
        yield note


PLAIN: Mapping[type, int] = {
    AlterDefault: actions.SET_DEFAULT_VALUE,
    AlterCheck: actions.ALTER_CHECK_CONSTRAINT,
    CoalescePartition: actions.REORGANIZE_PARTITION,
    ReorganizePartition: actions.REORGANIZE_PARTITION,
    ExchangePartition: actions.EXCHANGE_TABLE_PARTITION,
    PartitionBy: actions.ALTER_TABLE_PARTITIONING,
    RemovePartitioning: actions.REMOVE_PARTITIONING,
    Attributes: actions.ALTER_TABLE_ATTRIBUTES,
    RenameTo: actions.RENAME_TABLE,
}
"""Specs that are one job whatever they say."""

READERS: Mapping[type, Callable[[Any, TableName, Table | None], Codes]] = {
    AddColumns: _add_columns,
    DropColumn: _drop_column,
    ModifyColumn: _modify_column,
    ChangeColumn: _modify_column,
    RenameColumn: _rename_column,
    AddKey: _add_key,
    DropKey: _drop_key,
    RenameIndex: _rename_index,
    SetOptions: _set_options,
    ConvertCharset: _convert,
    AddPartitions: partitions.add_partitions,
    LastPartition: partitions.last_partition,
    PartitionAction: partitions.partition_action,
    PartitionOptions: partitions.partition_options,
    Cache: _cache,
    RemoveTtl: _remove_ttl,
    IndexVisibility: _visibility,
    TiflashReplica: _tiflash,
    OrderBy: _order_by,
    Clause: _clause,
}

"""Writes ALTER TABLE.

One law: a spec of placement alone is left out, its comma too; so are attributes (TiDB: pkg/parser/ast/ddl.go,
AlterTableSpec.IsAllPlacementRule).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from simulator.tidb.restore import alter_columns as columns, alter_partitions as partitions, alter_settings as settings
from simulator.tidb.restore.names import table
from simulator.tidb.syntax.alter import (
    AddColumns,
    AddKey,
    AlterCheck,
    AlterDefault,
    Cache,
    ChangeColumn,
    Clause,
    ConvertCharset,
    DropColumn,
    DropKey,
    IndexVisibility,
    ModifyColumn,
    OrderBy,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetOptions,
    Spec,
    TiflashReplica,
)
from simulator.tidb.syntax.alter_partitions import (
    AddPartitions,
    CoalescePartition,
    ExchangePartition,
    LastPartition,
    PartitionAction,
    PartitionBy,
    PartitionOptions,
    RemovePartitioning,
    ReorganizePartition,
)
from simulator.tidb.syntax.statements import AlterTable

WITHOUT_COMMA = ("IMPORT TABLESPACE", "DISCARD TABLESPACE")


def alter_table(statement: AlterTable) -> str:
    """Nothing where the statement is about the placement of partitions alone, or about nothing."""
    if all(isinstance(spec, PartitionOptions) and partitions.is_placement(spec) for spec in statement.specs):
        return ""
    text = f"ALTER TABLE {table(statement.table)}"
    specs = [spec for spec in map(settings.sent, statement.specs) if spec is not None]
    for index, spec in enumerate(specs):
        text += (", " if index and not stands_behind_blank(spec) else " ") + SPECS[type(spec)](spec)
    return text


def stands_behind_blank(spec: Spec) -> bool:
    """Whether no comma is written before the spec."""
    return isinstance(spec, (PartitionBy, RemovePartitioning)) or (
        isinstance(spec, Clause) and spec.words in WITHOUT_COMMA
    )


SPECS: Mapping[type, Callable[[Any], str]] = MappingProxyType({
    AddColumns: columns.add_columns,
    AddKey: columns.add_key,
    DropColumn: columns.drop_column,
    DropKey: columns.drop_key,
    ModifyColumn: columns.modify_column,
    ChangeColumn: columns.change_column,
    RenameColumn: columns.rename_column,
    AlterDefault: columns.alter_default,
    RenameIndex: columns.rename_index,
    IndexVisibility: columns.index_visibility,
    AlterCheck: columns.alter_check,
    RenameTo: columns.rename_to,
    AddPartitions: partitions.add_partitions,
    LastPartition: partitions.last_partition,
    PartitionAction: partitions.partition_action,
    CoalescePartition: partitions.coalesce_partition,
    ReorganizePartition: partitions.reorganize_partition,
    ExchangePartition: partitions.exchange_partition,
    PartitionBy: partitions.partition_by,
    PartitionOptions: partitions.partition_options,
    RemovePartitioning: lambda spec: "REMOVE PARTITIONING",
    SetOptions: settings.set_options,
    ConvertCharset: settings.convert_charset,
    Cache: lambda spec: "CACHE" if spec.on else "NOCACHE",
    RemoveTtl: settings.remove_ttl,
    TiflashReplica: settings.tiflash_replica,
    OrderBy: settings.order_by,
    Clause: settings.clause,
})

"""The specs of ALTER TABLE about partitions.

One law: as of the other specs: they say what the text says. Source: tidb pkg/parser/ast/ddl.go AlterTableSpec.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.definitions import Expression, TableName
from simulator.tidb.syntax.tables import PartitionDefinition, PartitionSyntax, TableOption


@dataclass(frozen=True)
class AddPartitions:
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    no_write_to_binlog: bool = False
    at: int = 0


@dataclass(frozen=True)
class LastPartition:
    """The specs of INTERVAL partitioning: `verb` is LAST, FIRST, MERGE FIRST or SPLIT MAXVALUE … LESS THAN (bound)."""

    verb: str
    bound: Expression
    no_write_to_binlog: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class PartitionAction:
    """A verb on partitions by name: DROP, TRUNCATE, CHECK, REBUILD, OPTIMIZE, REPAIR, IMPORT, DISCARD."""

    verb: str
    names: tuple[str, ...]
    """Empty for ALL."""

    if_exists: bool = False
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class CoalescePartition:
    count: int
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class ReorganizePartition:
    names: tuple[str, ...]
    """Empty for a REORGANIZE PARTITION of all."""

    definitions: tuple[PartitionDefinition, ...] = ()
    no_write_to_binlog: bool = False
    at: int = 0


@dataclass(frozen=True)
class ExchangePartition:
    partition: str
    table: TableName
    validation: bool = True


@dataclass(frozen=True)
class PartitionBy:
    partitioning: PartitionSyntax


@dataclass(frozen=True)
class RemovePartitioning:
    pass


@dataclass(frozen=True)
class PartitionOptions:
    """PARTITION p [PLACEMENT POLICY x | ATTRIBUTES …]."""

    partition: str
    options: tuple[TableOption, ...]
    """`PLACEMENT POLICY` or `ATTRIBUTES`."""

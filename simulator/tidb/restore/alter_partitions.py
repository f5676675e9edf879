"""Writes the specs on partitions.

One law: lists of names have commas without blanks, lists of definitions with them.
"""

from __future__ import annotations

from simulator.tidb.restore.names import feature, table, words
from simulator.tidb.restore.options import restored_option
from simulator.tidb.restore.partitions import restored_definition, restored_partitioning
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.alter_partitions import (
    AddPartitions,
    CoalescePartition,
    ExchangePartition,
    LastPartition,
    PartitionAction,
    PartitionBy,
    PartitionOptions,
    ReorganizePartition,
)
from simulator.tidb.syntax.tables import PartitionDefinition

TABLESPACES = ("IMPORT", "DISCARD")


def no_write(said: bool) -> str:
    return "NO_WRITE_TO_BINLOG" if said else ""


def names(given: tuple[str, ...]) -> str:
    return ",".join(map(quoted, given)) or "ALL"


def definitions(given: tuple[PartitionDefinition, ...]) -> str:
    return f"({', '.join(map(restored_definition, given))})" if given else ""


def add_partitions(spec: AddPartitions) -> str:
    exists = "IF NOT EXISTS" if spec.if_not_exists else ""
    count = f"PARTITIONS {spec.count}" if spec.count else ""
    return words("ADD PARTITION", exists, no_write(spec.no_write_to_binlog), definitions(spec.definitions), count)


def last_partition(spec: LastPartition) -> str:
    """FIRST … IF EXISTS is forgotten, as TiDB forgets it."""
    return words(f"{spec.verb} PARTITION LESS THAN ({spec.bound.restored})", no_write(spec.no_write_to_binlog))


def partition_action(spec: PartitionAction) -> str:
    exists = "IF EXISTS" if spec.if_exists else ""
    tablespace = "TABLESPACE" if spec.verb in TABLESPACES else ""
    silent = no_write(spec.no_write_to_binlog)
    return words(spec.verb, "PARTITION", exists, silent, names(spec.names), tablespace)


def coalesce_partition(spec: CoalescePartition) -> str:
    return words("COALESCE PARTITION", no_write(spec.no_write_to_binlog), str(spec.count))


def reorganize_partition(spec: ReorganizePartition) -> str:
    head = words("REORGANIZE PARTITION", no_write(spec.no_write_to_binlog))
    return words(head, names(spec.names), "INTO", definitions(spec.definitions)) if spec.names else head


def exchange_partition(spec: ExchangePartition) -> str:
    validation = "" if spec.validation else "WITHOUT VALIDATION"
    return words("EXCHANGE PARTITION", quoted(spec.partition), "WITH TABLE", table(spec.table), validation)


def partition_by(spec: PartitionBy) -> str:
    return restored_partitioning(spec.partitioning)


def is_placement(spec: PartitionOptions) -> bool:
    return all(option.name == "PLACEMENT POLICY" for option in spec.options)


def is_attributes(spec: PartitionOptions) -> bool:
    return any(option.name == "ATTRIBUTES" for option in spec.options)


def partition_options(spec: PartitionOptions) -> str:
    options = " ".join(restored_option(option, partition=True) for option in spec.options)
    return feature(f"PARTITION {quoted(spec.partition)} {options}", "placement")

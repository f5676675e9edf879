"""What the specs of ALTER TABLE on partitions are jobs for (tidb: pkg/ddl/executor.go AddTablePartitions, …).

One law: as `jobs_specs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.jobs_shape import UNKNOWN_SPEC, unsupported
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import AddPartitions, LastPartition, PartitionAction, PartitionOptions
from simulator.tidb.syntax.definitions import TableName

Codes = Iterator[int | str]

PARTITION_VERBS = {"DROP": actions.DROP_TABLE_PARTITION, "TRUNCATE": actions.TRUNCATE_TABLE_PARTITION}

UNSUPPORTED_PARTITION_VERBS = ("CHECK", "REBUILD", "OPTIMIZE", "REPAIR")

LAST_VERBS = {"LAST": actions.ADD_TABLE_PARTITION, "FIRST": actions.DROP_TABLE_PARTITION}


def add_partitions(spec: AddPartitions, name: TableName, table: Table | None) -> Codes:
    """HASH and KEY are reorganized. Without a catalog only a number, or partitions without values, tell them."""
    if table and table.partitioning:
        hashed = table.partitioning.kind in ("hash", "key")
    else:
        hashed = not any(definition.kind for definition in spec.definitions)
    if hashed:
        yield actions.REORGANIZE_PARTITION
        return
    known = {one.name.lower() for one in table.partitioning.partitions} if table and table.partitioning else set()
    repeated = next((one.name for one in spec.definitions if one.name.lower() in known), "")
    if spec.if_not_exists and repeated:
        yield f"Duplicate partition name {repeated}: no job"
    else:
        yield actions.ADD_TABLE_PARTITION


def last_partition(spec: LastPartition, name: TableName, table: Table | None) -> Codes:
    if spec.verb not in LAST_VERBS:
        raise unsupported("MERGE FIRST PARTITION" if spec.verb.startswith("MERGE") else "SPLIT LAST PARTITION")
    yield LAST_VERBS[spec.verb]


def partition_action(spec: PartitionAction, name: TableName, table: Table | None) -> Codes:
    if spec.verb in UNSUPPORTED_PARTITION_VERBS:
        raise unsupported(f"{spec.verb.lower()} partition")
    if spec.verb not in PARTITION_VERBS:
        raise unsupported(UNKNOWN_SPEC)
    known = {one.name.lower() for one in table.partitioning.partitions} if table and table.partitioning else None
    if spec.if_exists and known is not None and any(one.lower() not in known for one in spec.names):
        yield "Error in list of partitions to DROP: no job"
    else:
        yield PARTITION_VERBS[spec.verb]


def partition_options(spec: PartitionOptions, name: TableName, table: Table | None) -> Codes:
    said = {option.name for option in spec.options}
    if "ATTRIBUTES" in said:
        yield actions.ALTER_TABLE_PARTITION_ATTRIBUTES
    if "PLACEMENT POLICY" in said:
        yield actions.ALTER_TABLE_PARTITION_PLACEMENT

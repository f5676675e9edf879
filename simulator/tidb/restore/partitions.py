"""PARTITION BY and partitions as TiDB writes them back.

One law: HASH and KEY always say how many partitions they have, unless these are written out (TiDB:
pkg/parser/ast/ddl.go, PartitionOptions.Restore and Validate).
"""

from __future__ import annotations

from simulator.tidb.restore.options import restored_options
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.tables import IntervalSyntax, MethodSyntax, PartitionDefinition, PartitionSyntax


def restored_partitioning(partitioning: PartitionSyntax) -> str:
    """PARTITION BY with all that follows it."""
    definitions = partitioning.definitions
    return "".join((
        "PARTITION BY ",
        restored_method(partitioning.method),
        restored_interval(partitioning.interval) if partitioning.interval else "",
        "" if definitions else partition_count(partitioning.method),
        restored_subpartitioning(partitioning) if partitioning.subpartition else "",
        f" ({','.join(map(restored_definition, definitions))})" if definitions else "",
        restored_updates(partitioning),
    ))


def restored_method(method: MethodSyntax) -> str:
    linear = "LINEAR " if method.linear else ""
    algorithm = f" ALGORITHM = {method.algorithm}" if method.algorithm else ""
    if method.kind == "system_time":
        every = f" INTERVAL {method.restored} {method.unit}" if method.unit else ""
        return f"SYSTEM_TIME{every}" + (f" LIMIT {method.limit}" if method.limit else "")
    columns = " COLUMNS" if method.columns and method.kind in ("range", "list") else ""
    return f"{linear}{method.kind.upper()}{algorithm}{columns} ({method.restored})"


def partition_count(method: MethodSyntax) -> str:
    count = method.count or (1 if method.kind in ("hash", "key") else 0)
    return f" PARTITIONS {count}" if count else ""


def restored_subpartitioning(partitioning: PartitionSyntax) -> str:
    """SUBPARTITION BY; how many there are is also said where they are written out."""
    method = partitioning.subpartition
    if not method:
        return ""
    written = len(partitioning.definitions[0].subpartitions) if partitioning.definitions else 0
    count = written or method.count
    return f" SUBPARTITION BY {restored_method(method)}" + (f" SUBPARTITIONS {count}" if count else "")


def restored_interval(interval: IntervalSyntax) -> str:
    every = f"{interval.every.restored} {interval.unit}".rstrip()
    bounds = (("FIRST", interval.first), ("LAST", interval.last))
    ends = "".join(f" {word} PARTITION LESS THAN ({bound.restored})" for word, bound in bounds if bound)
    null = " NULL PARTITION" if interval.null_partition else ""
    return f" INTERVAL ({every}){ends}{null}" + (" MAXVALUE PARTITION" if interval.maxvalue_partition else "")


def restored_updates(partitioning: PartitionSyntax) -> str:
    updates = ",".join(f"{quoted(name)} {options.scope}" for name, options in partitioning.update_indexes)
    return f" UPDATE INDEXES ({updates})" if updates else ""


def restored_definition(definition: PartitionDefinition, word: str = "PARTITION") -> str:
    """One partition with its values, options and subpartitions."""
    options = restored_options(definition.options)
    parts = ",".join(restored_definition(part, "SUBPARTITION") for part in definition.subpartitions)
    return f"{word} {quoted(definition.name)}{restored_values(definition)}{options}" + (f" ({parts})" if parts else "")


def restored_values(definition: PartitionDefinition) -> str:
    if definition.kind in ("less than", "in"):
        return f" VALUES {definition.kind.upper()} {definition.restored}"
    return f" {definition.kind.upper()}" if definition.kind else ""

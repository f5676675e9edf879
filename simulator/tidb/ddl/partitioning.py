"""ALTER TABLE … PARTITION BY, REMOVE PARTITIONING and EXCHANGE PARTITION.

A unique key that is not GLOBAL must contain all partitioning columns (TiDB v8.5: pkg/ddl/partition.go,
checkPartitioningKeysConstraints).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.alter_partitions import MAX_PARTITIONS, build_partition, check_partitions, table_partitioning
from simulator.tidb.ddl.alteration import Alteration, SubJob, SubJobs, TargetTable
from simulator.tidb.ddl.catalog import (
    MAX_NAME_LENGTH,
    existing_column,
    lower_names,
    normalize,
    partition_names,
    partitioning_columns,
)
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.ddl.interval_partitions import expand_interval
from simulator.tidb.ddl.partition_values import check_function_type, check_partition_function, check_types
from simulator.tidb.ddl.session import Session
from simulator.tidb.errors import error_with_text, tidb_error
from simulator.tidb.model.table import Column, Index, Partition, Partitioning, Table, row_id_column
from simulator.tidb.model.types import family

PARTITION_COLUMN_FAMILIES = ("integer", "date", "datetime", "time", "string")
"""Types of columns of RANGE COLUMNS and LIST COLUMNS; KEY allows almost any."""


def partition_by(spec: syntax.PartitionBy, alteration: Alteration) -> SubJobs:
    target = alteration.target
    if target is None:
        yield SubJob(Action.ALTER_TABLE_PARTITIONING)
        return
    table, scopes = target.table, {name.lower(): options for name, options in spec.partitioning.update_indexes}
    partitioning = new_partitioning(spec.partitioning, with_index_scopes(table, scopes), alteration.session)
    partitioning = partitioning and replace(partitioning, implied=False)
    if table.foreign_keys or any(referring_keys(target.catalog, table.schema, table.name)):
        raise tidb_error("schema:1506")

    def apply(before: Table) -> Table:
        return replace(with_index_scopes(before, scopes), partitioning=partitioning)

    yield SubJob(Action.ALTER_TABLE_PARTITIONING, apply)


def new_partitioning(clause: syntax.PartitionClause, table: Table, session: Session) -> Partitioning | None:
    """Return the partitioning of a clause, or None if TiDB ignores it. Raises DdlError (TiDB: buildTablePartitionInfo,
    checkPartitionDefinitionConstraints, checkPartitioningKeysConstraints)."""
    if clause.method.kind == "system_time":
        return None
    if clause.method.kind in ("hash", "key") and clause.subpartition:
        raise tidb_error("ddl:1500")
    if clause.method.expression:
        check_partition_function(clause.method.expression, table)
    columns = clause.method.columns or (key_columns(table) if clause.method.kind == "key" else ())
    for name in columns:
        check_partition_column(name, clause.method.kind, table)
    clause = expand_interval(clause, table, session.zone)
    if max(clause.method.count, len(clause.definitions)) > MAX_PARTITIONS:
        raise tidb_error("ddl:1499")
    names = {column.name.lower(): column.name for column in table.columns}
    partitions = tuple(build_partition(definition, clause.method.kind, session) for definition in clause.definitions)
    if clause.method.kind in ("hash", "key"):
        partitions = partitions or tuple(Partition(f"p{number}") for number in range(clause.method.count or 1))
    stored_names, implied = tuple(names[name.lower()] for name in columns), not clause.method.columns
    partitioning = Partitioning(clause.method.kind, clause.method.expression, stored_names, partitions, implied)
    for partition in partitions:
        check_types(partition, partitioning, table)
        if len(partition.name) > MAX_NAME_LENGTH and clause.method.kind in ("range", "list"):
            raise tidb_error("ddl:1059", partition.name)
    if not partitioning.columns and not partitioning.expression:
        raise error_with_text(
            "ddl:1105",
            "Table partition metadata not correct, neither partition expression or list of partition columns",
        )
    partitioning = check_partitions(partitioning, table)
    if partitioning.expression:
        check_function_type(partitioning.expression, table)
    check_unique_keys(replace(table, partitioning=partitioning), session)
    return partitioning


def key_columns(table: Table) -> tuple[str, ...]:
    """Return the columns of KEY (): the primary key, or the first unique key of NOT NULL columns."""
    filled = {column.name for column in table.columns if column.not_null}
    unique = (tuple(part.name for part in index.columns) for index in table.indexes if index.unique)
    return table.primary_key or next((names for names in unique if filled.issuperset(names)), ())


def with_index_scopes(table: Table, scopes: Mapping[str, syntax.KeyOptions]) -> Table:
    """Return the table with keys made GLOBAL or LOCAL by UPDATE INDEXES."""

    def changed(index: Index) -> Index:
        options = scopes.get(index.name.lower())
        return replace(index, unpartitioned=options.scope == "GLOBAL") if options else index

    return replace(table, indexes=tuple(map(changed, table.indexes)))


def check_unique_keys(table: Table, session: Session) -> None:
    """Raise DdlError for a unique key that lacks a partitioning column."""
    needed = partitioning_columns(table.partitioning)
    for index in table.indexes:
        if index.unique and needed - set(lower_names(part.name for part in index.columns if part.length < 0)):
            if index.primary and table.clustered:
                raise tidb_error("ddl:1503", "CLUSTERED INDEX")
            if not session.release.global_indexes:
                raise tidb_error("ddl:1503", "PRIMARY KEY" if index.primary else "UNIQUE INDEX")
            if not index.unpartitioned:
                raise tidb_error("ddl:8264", index.name)
    row_id = row_id_column(table)
    if row_id is not None and needed - {row_id.lower()}:
        raise tidb_error("ddl:1503", "PRIMARY KEY" if session.release.global_indexes else "CLUSTERED INDEX")


def check_partition_column(name: str, kind: str, table: Table) -> None:
    column = existing_column(table, name, tidb_error("ddl:1488"))
    type = family(column.type)
    of_key = type not in ("json", "vector") and (type != "text" or column.type.name == "tinytext")
    if not (of_key if kind == "key" else type in PARTITION_COLUMN_FAMILIES and column.type.name != "timestamp"):
        raise tidb_error("ddl:1659", name)


def remove_partitioning(spec: syntax.RemovePartitioning, alteration: Alteration) -> SubJobs:
    if alteration.target is not None:
        table_partitioning(alteration.target.table)

    def apply(before: Table) -> Table:
        indexes = tuple(replace(index, unpartitioned=False) for index in before.indexes)
        return replace(before, partitioning=None, indexes=indexes)

    yield SubJob(Action.REMOVE_PARTITIONING, apply)


def exchange(spec: syntax.ExchangePartition, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of EXCHANGE PARTITION. Raises DdlError if the definitions differ."""
    if alteration.target is not None:
        check_exchange(spec, alteration.session.qualified_name(spec.table).schema, alteration.target)
    yield SubJob(Action.EXCHANGE_TABLE_PARTITION)


def check_exchange(spec: syntax.ExchangePartition, schema: str, target: TargetTable) -> None:
    table = target.table
    target.catalog.existing_database(schema)
    other = target.catalog.table(schema, spec.table.name)
    if other is None:
        raise tidb_error("schema:1146", schema, spec.table.name)
    old = table_partitioning(table)
    if other.partitioning is not None:
        raise tidb_error("ddl:1732", other.name)
    if other.foreign_keys:
        raise tidb_error("ddl:1740", other.name)
    if spec.partition.lower() not in partition_names(old):
        raise tidb_error("table:1735", spec.partition.lower(), table.name)
    check_same_definition(table, other)


def check_same_definition(table: Table, other: Table) -> None:
    """Raise DdlError if two definitions differ (TiDB: checkTableDefCompatible)."""
    if other.temporary:
        raise tidb_error("ddl:1733", other.name)
    if comparable_table(table) != comparable_table(other) or len(table.columns) != len(other.columns):
        raise tidb_error("ddl:1736")
    for column, other_column in zip(table.columns, other.columns):
        same_key = (column.name in table.primary_key) == (other_column.name in other.primary_key)
        check_same_column(column, other_column, same_key)
    if len(table.indexes) != len(other.indexes):
        raise tidb_error("ddl:1736")
    theirs = {index.name.lower(): index for index in other.indexes}
    for index in table.indexes:
        check_same_index(index, theirs.get(index.name.lower()))


def comparable_table(table: Table) -> tuple[object, ...]:
    """Return the properties that both tables must share, besides columns and keys."""
    bits = dict(table.options).get("SHARD_ROW_ID_BITS", "0")
    return tuple(column.shard_bits for column in table.columns), table.charset, table.collation, bits, table.clustered


def check_same_column(column: Column, theirs: Column, same_key: bool) -> None:
    if (column.generated == "virtual") != (theirs.generated == "virtual"):
        raise tidb_error("ddl:3106", "Exchanging partitions for non-generated columns")
    if comparable_column(column) != comparable_column(theirs) or not same_key:
        raise tidb_error("ddl:1736")
    if column.id != theirs.id:
        raise tidb_error("ddl:1731", f"column: {column.name}")


def comparable_column(column: Column) -> tuple[object, ...]:
    """Return the properties that both columns must share, besides keys."""
    has_length = family(column.type) in ("string", "text", "bit", "decimal")
    type = column.type if has_length else replace(column.type, length=0)
    expression = normalize(column.generated_expression)
    return column.name.lower(), type, column.not_null, column.auto_increment, expression


def check_same_index(index: Index, theirs: Index | None) -> None:
    if index.unpartitioned:
        raise tidb_error("ddl:1731", f"global index: {index.name}")
    if theirs is None or (index.unique, index.primary) != (theirs.unique, theirs.primary):
        raise tidb_error("ddl:1736")
    ours, others = ([(part.name.lower(), part.length) for part in each.columns] for each in (index, theirs))
    if ours != others:
        raise tidb_error("ddl:1736")
    if index.id != theirs.id:
        raise tidb_error("ddl:1731", f"index: {index.name}")

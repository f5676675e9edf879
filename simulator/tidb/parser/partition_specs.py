"""Reads the specs of ALTER TABLE that are about partitions.

One law: a list of partitions goes on behind every comma.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import read_parenthesised
from simulator.tidb.parser.partitions import read_definition, read_definitions, read_partitioning
from simulator.tidb.syntax.alter import (
    AddPartitions,
    Clause,
    CoalescePartition,
    ExchangePartition,
    IntervalPartitionSpec,
    PartitionAction,
    PartitionBy,
    PartitionOptions,
    RemovePartitioning,
    RemoveTtl,
    ReorganizePartition,
    Spec,
)
from simulator.tidb.syntax.tables import TableOption

LOCAL = ("OPTIMIZE", "REPAIR", "REBUILD")
"""The verbs that NO_WRITE_TO_BINLOG may follow."""


def partition_name(cursor: Cursor) -> str:
    return cursor.name("the name of a partition")


def partition_names(cursor: Cursor) -> tuple[str, ...]:
    return cursor.listed(partition_name)


def all_or_names(cursor: Cursor) -> tuple[str, ...]:
    """The names; nothing for ALL."""
    return () if cursor.accept("ALL") else partition_names(cursor)


def no_write_to_binlog(cursor: Cursor) -> bool:
    """NO_WRITE_TO_BINLOG, which LOCAL is another word for."""
    return cursor.accept("NO_WRITE_TO_BINLOG") or cursor.accept("LOCAL")


def add_partitions(cursor: Cursor) -> AddPartitions:
    """What follows ADD PARTITION: definitions, a number, or nothing."""
    if_not_exists = cursor.accept("IF NOT EXISTS")
    silent = no_write_to_binlog(cursor)
    if cursor.accept("PARTITIONS"):
        count = cursor.integer("the number of partitions")
        return AddPartitions((), count, if_not_exists, silent)
    definitions = read_definitions(cursor) if cursor.word() == "(" else ()
    return AddPartitions(definitions, 0, if_not_exists, silent)


def action(cursor: Cursor) -> PartitionAction:
    """A verb, PARTITION, and names or ALL."""
    verb = cursor.take()
    cursor.expect("PARTITION")
    silent = verb in LOCAL and no_write_to_binlog(cursor)
    return PartitionAction(verb, all_or_names(cursor), no_write_to_binlog=silent)


def tablespace(cursor: Cursor) -> Spec:
    """IMPORT or DISCARD, of partitions or of the table."""
    verb = cursor.take()
    if cursor.accept("TABLESPACE"):
        return Clause(f"{verb} TABLESPACE")
    cursor.expect("PARTITION")
    names = all_or_names(cursor)
    cursor.expect("TABLESPACE")
    return PartitionAction(verb, names)


def coalesce(cursor: Cursor) -> CoalescePartition:
    cursor.take()
    cursor.expect("PARTITION")
    silent = no_write_to_binlog(cursor)
    return CoalescePartition(cursor.integer("the number of partitions"), silent)


def exchange(cursor: Cursor) -> ExchangePartition:
    cursor.take()
    cursor.expect("PARTITION")
    name = partition_name(cursor)
    cursor.expect("WITH TABLE")
    table = cursor.qualified_name()
    validation = not cursor.accept("WITHOUT VALIDATION")
    if validation:
        cursor.accept("WITH VALIDATION")
    return ExchangePartition(name, table, validation)


def interval_end(cursor: Cursor) -> IntervalPartitionSpec:
    """FIRST or LAST PARTITION LESS THAN (…)"""
    verb = cursor.take()
    cursor.expect("PARTITION LESS THAN")
    bound = read_parenthesised(cursor)
    if verb == "LAST":
        return IntervalPartitionSpec(verb, bound, no_write_to_binlog=no_write_to_binlog(cursor))
    return IntervalPartitionSpec(verb, bound, if_exists=cursor.accept("IF EXISTS"))


def interval_change(cursor: Cursor) -> IntervalPartitionSpec:
    """SPLIT MAXVALUE or MERGE FIRST PARTITION LESS THAN (…)"""
    verb = "SPLIT MAXVALUE" if cursor.word() == "SPLIT" else "MERGE FIRST"
    cursor.expect(verb)
    cursor.expect("PARTITION LESS THAN")
    return IntervalPartitionSpec(verb, read_parenthesised(cursor))


def attributes_value(cursor: Cursor) -> str | None:
    """The text behind ATTRIBUTES; None for DEFAULT."""
    cursor.accept("=")
    return None if cursor.accept("DEFAULT") else cursor.string("attributes between quotes, or DEFAULT")


def partition_by(cursor: Cursor) -> PartitionBy:
    cursor.take()
    return PartitionBy(read_partitioning(cursor))


def partition_options(cursor: Cursor) -> PartitionOptions:
    """PARTITION p ATTRIBUTES …, or options of a partition, which may be none."""
    token = cursor.next_token()
    definition = read_definition(cursor)
    if definition.kind or definition.subpartitions:
        cursor.fail("a partition is not defined here. Accepted: its options, or ATTRIBUTES", token)
    if not definition.options and cursor.accept("ATTRIBUTES"):
        value = attributes_value(cursor)
        option = TableOption("ATTRIBUTES", value or "", quoted=value is not None, default=value is None)
        return PartitionOptions(definition.name, (option,))
    return PartitionOptions(definition.name, definition.options)


def remove(cursor: Cursor) -> RemovePartitioning | RemoveTtl:
    cursor.take()
    if cursor.accept("PARTITIONING"):
        return RemovePartitioning()
    if cursor.accept("TTL"):
        return RemoveTtl()
    cursor.unexpected("PARTITIONING or TTL", ("PARTITIONING", "TTL"))


def reorganize(cursor: Cursor) -> ReorganizePartition:
    """REORGANIZE PARTITION of all, or of names INTO definitions."""
    cursor.take()
    cursor.expect("PARTITION")
    silent = no_write_to_binlog(cursor)
    if cursor.at_end():
        return ReorganizePartition((), (), silent)
    names = partition_names(cursor)
    cursor.expect("INTO")
    return ReorganizePartition(names, read_definitions(cursor), silent)

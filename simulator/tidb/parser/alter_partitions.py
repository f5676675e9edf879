"""Reads the specs of ALTER TABLE that are about partitions.

One law: a list of partitions goes on behind every comma.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import read_parenthesised
from simulator.tidb.parser.partitions import read_definition, read_definitions, read_partitioning

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


def add_partitions(cursor: Cursor) -> syntax.AddPartitions:
    """What follows ADD PARTITION: definitions, a number, or nothing."""
    if_not_exists = cursor.accept("IF NOT EXISTS")
    silent = no_write_to_binlog(cursor)
    if cursor.accept("PARTITIONS"):
        count = cursor.integer("the number of partitions")
        return syntax.AddPartitions((), count, if_not_exists, silent)
    definitions = read_definitions(cursor) if cursor.word() == "(" else ()
    return syntax.AddPartitions(definitions, 0, if_not_exists, silent)


def action(cursor: Cursor) -> syntax.PartitionAction:
    """A verb, PARTITION, and names or ALL."""
    verb = cursor.take()
    cursor.expect("PARTITION")
    silent = verb in LOCAL and no_write_to_binlog(cursor)
    return syntax.PartitionAction(verb, all_or_names(cursor), no_write_to_binlog=silent)


def tablespace(cursor: Cursor) -> syntax.Spec:
    """IMPORT or DISCARD, of partitions or of the table."""
    verb = cursor.take()
    if cursor.accept("TABLESPACE"):
        return syntax.Clause(f"{verb} TABLESPACE")
    cursor.expect("PARTITION")
    names = all_or_names(cursor)
    cursor.expect("TABLESPACE")
    return syntax.PartitionAction(verb, names)


def coalesce(cursor: Cursor) -> syntax.CoalescePartition:
    cursor.take()
    cursor.expect("PARTITION")
    silent = no_write_to_binlog(cursor)
    return syntax.CoalescePartition(cursor.integer("the number of partitions"), silent)


def exchange(cursor: Cursor) -> syntax.ExchangePartition:
    cursor.take()
    cursor.expect("PARTITION")
    name = partition_name(cursor)
    cursor.expect("WITH TABLE")
    table = cursor.qualified_name()
    validation = not cursor.accept("WITHOUT VALIDATION")
    if validation:
        cursor.accept("WITH VALIDATION")
    return syntax.ExchangePartition(name, table, validation)


def interval_end(cursor: Cursor) -> syntax.IntervalPartitionSpec:
    """FIRST or LAST PARTITION LESS THAN (…)"""
    verb = cursor.take()
    cursor.expect("PARTITION LESS THAN")
    bound = read_parenthesised(cursor)
    if verb == "LAST":
        return syntax.IntervalPartitionSpec(verb, bound, no_write_to_binlog=no_write_to_binlog(cursor))
    return syntax.IntervalPartitionSpec(verb, bound, if_exists=cursor.accept("IF EXISTS"))


def interval_change(cursor: Cursor) -> syntax.IntervalPartitionSpec:
    """SPLIT MAXVALUE or MERGE FIRST PARTITION LESS THAN (…)"""
    verb = "SPLIT MAXVALUE" if cursor.word() == "SPLIT" else "MERGE FIRST"
    cursor.expect(verb)
    cursor.expect("PARTITION LESS THAN")
    return syntax.IntervalPartitionSpec(verb, read_parenthesised(cursor))


def attributes_value(cursor: Cursor) -> str | None:
    """The text behind ATTRIBUTES; None for DEFAULT."""
    cursor.accept("=")
    return None if cursor.accept("DEFAULT") else cursor.string("attributes between quotes, or DEFAULT")


def partition_by(cursor: Cursor) -> syntax.PartitionBy:
    cursor.take()
    return syntax.PartitionBy(read_partitioning(cursor))


def partition_options(cursor: Cursor) -> syntax.PartitionOptions:
    """PARTITION p ATTRIBUTES …, or options of a partition, which may be none."""
    token = cursor.next_token()
    definition = read_definition(cursor)
    if definition.kind or definition.subpartitions:
        cursor.fail("a partition is not defined here. Accepted: its options, or ATTRIBUTES", token)
    if not definition.options and cursor.accept("ATTRIBUTES"):
        value = attributes_value(cursor)
        option = syntax.TableOption("ATTRIBUTES", value or "", quoted=value is not None, default=value is None)
        return syntax.PartitionOptions(definition.name, (option,))
    return syntax.PartitionOptions(definition.name, definition.options)


def remove(cursor: Cursor) -> syntax.RemovePartitioning | syntax.RemoveTtl:
    cursor.take()
    if cursor.accept("PARTITIONING"):
        return syntax.RemovePartitioning()
    if cursor.accept("TTL"):
        return syntax.RemoveTtl()
    cursor.unexpected("PARTITIONING or TTL", ("PARTITIONING", "TTL"))


def reorganize(cursor: Cursor) -> syntax.ReorganizePartition:
    """REORGANIZE PARTITION of all, or of names INTO definitions."""
    cursor.take()
    cursor.expect("PARTITION")
    silent = no_write_to_binlog(cursor)
    if cursor.at_end():
        return syntax.ReorganizePartition((), (), silent)
    names = partition_names(cursor)
    cursor.expect("INTO")
    return syntax.ReorganizePartition(names, read_definitions(cursor), silent)

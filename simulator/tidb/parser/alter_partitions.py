"""Parse the specs of ALTER TABLE that are about partitions."""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import parse_parenthesised
from simulator.tidb.parser.partitions import parse_partition_definition, parse_partition_definitions, parse_partitioning

LOCAL = ("OPTIMIZE", "REPAIR", "REBUILD")
"""The verbs that accept NO_WRITE_TO_BINLOG."""


def parse_partition_name(cursor: Cursor) -> str:
    return cursor.name("the name of a partition")


def parse_partition_names(cursor: Cursor) -> tuple[str, ...]:
    return cursor.comma_list(parse_partition_name)


def parse_all_or_names(cursor: Cursor) -> tuple[str, ...]:
    """Parse partition names or ALL, for which the result is empty."""
    return () if cursor.accept("ALL") else parse_partition_names(cursor)


def parse_no_write_to_binlog(cursor: Cursor) -> bool:
    """Parse an optional NO_WRITE_TO_BINLOG, or its synonym LOCAL."""
    return cursor.accept("NO_WRITE_TO_BINLOG") or cursor.accept("LOCAL")


def parse_add_partitions(cursor: Cursor) -> syntax.AddPartitions:
    """Parse the rest of ADD PARTITION: definitions, a number, or nothing."""
    if_not_exists = cursor.accept("IF NOT EXISTS")
    silent = parse_no_write_to_binlog(cursor)
    if cursor.accept("PARTITIONS"):
        count = cursor.integer("the number of partitions")
        return syntax.AddPartitions((), count, if_not_exists, silent)
    definitions = parse_partition_definitions(cursor) if cursor.word() == "(" else ()
    return syntax.AddPartitions(definitions, 0, if_not_exists, silent)


def parse_partition_action(cursor: Cursor) -> syntax.PartitionAction:
    """Parse a verb, PARTITION, and names or ALL."""
    verb = cursor.take()
    cursor.expect("PARTITION")
    silent = verb in LOCAL and parse_no_write_to_binlog(cursor)
    return syntax.PartitionAction(verb, parse_all_or_names(cursor), no_write_to_binlog=silent)


def parse_tablespace(cursor: Cursor) -> syntax.Spec:
    """Parse IMPORT or DISCARD of partitions or of the table."""
    verb = cursor.take()
    if cursor.accept("TABLESPACE"):
        return syntax.Clause(f"{verb} TABLESPACE")
    cursor.expect("PARTITION")
    names = parse_all_or_names(cursor)
    cursor.expect("TABLESPACE")
    return syntax.PartitionAction(verb, names)


def parse_coalesce_partition(cursor: Cursor) -> syntax.CoalescePartition:
    cursor.take()
    cursor.expect("PARTITION")
    silent = parse_no_write_to_binlog(cursor)
    return syntax.CoalescePartition(cursor.integer("the number of partitions"), silent)


def parse_exchange_partition(cursor: Cursor) -> syntax.ExchangePartition:
    cursor.take()
    cursor.expect("PARTITION")
    name = parse_partition_name(cursor)
    cursor.expect("WITH TABLE")
    table = cursor.qualified_name()
    validation = not cursor.accept("WITHOUT VALIDATION")
    if validation:
        cursor.accept("WITH VALIDATION")
    return syntax.ExchangePartition(name, table, validation)


def parse_interval_end(cursor: Cursor) -> syntax.IntervalPartitionSpec:
    """Parse `FIRST PARTITION LESS THAN (…)` or `LAST PARTITION LESS THAN (…)`."""
    verb = cursor.take()
    cursor.expect("PARTITION LESS THAN")
    bound = parse_parenthesised(cursor)
    if verb == "LAST":
        return syntax.IntervalPartitionSpec(verb, bound, no_write_to_binlog=parse_no_write_to_binlog(cursor))
    return syntax.IntervalPartitionSpec(verb, bound, if_exists=cursor.accept("IF EXISTS"))


def parse_interval_change(cursor: Cursor) -> syntax.IntervalPartitionSpec:
    """Parse `SPLIT MAXVALUE PARTITION LESS THAN (…)` or `MERGE FIRST PARTITION LESS THAN (…)`."""
    verb = "SPLIT MAXVALUE" if cursor.word() == "SPLIT" else "MERGE FIRST"
    cursor.expect(verb)
    cursor.expect("PARTITION LESS THAN")
    return syntax.IntervalPartitionSpec(verb, parse_parenthesised(cursor))


def parse_attributes_value(cursor: Cursor) -> str | None:
    """Parse the value of ATTRIBUTES, and return None for DEFAULT."""
    cursor.accept("=")
    return None if cursor.accept("DEFAULT") else cursor.string("attributes between quotes, or DEFAULT")


def parse_partition_by(cursor: Cursor) -> syntax.PartitionBy:
    cursor.take()
    return syntax.PartitionBy(parse_partitioning(cursor))


def parse_partition_options_spec(cursor: Cursor) -> syntax.PartitionOptions:
    """Parse `PARTITION p ATTRIBUTES …`, or `PARTITION p` with any number of options."""
    token = cursor.next_token()
    definition = parse_partition_definition(cursor)
    if definition.kind or definition.subpartitions:
        cursor.fail("a partition is not defined here. Accepted: its options, or ATTRIBUTES", token)
    if not definition.options and cursor.accept("ATTRIBUTES"):
        value = parse_attributes_value(cursor)
        option = syntax.TableOption("ATTRIBUTES", value or "", quoted=value is not None, default=value is None)
        return syntax.PartitionOptions(definition.name, (option,))
    return syntax.PartitionOptions(definition.name, definition.options)


def parse_remove(cursor: Cursor) -> syntax.RemovePartitioning | syntax.RemoveTtl:
    cursor.take()
    if cursor.accept("PARTITIONING"):
        return syntax.RemovePartitioning()
    if cursor.accept("TTL"):
        return syntax.RemoveTtl()
    cursor.unexpected("PARTITIONING or TTL", ("PARTITIONING", "TTL"))


def parse_reorganize_partition(cursor: Cursor) -> syntax.ReorganizePartition:
    """Parse REORGANIZE PARTITION of all partitions, or of names INTO definitions."""
    cursor.take()
    cursor.expect("PARTITION")
    silent = parse_no_write_to_binlog(cursor)
    if cursor.at_end():
        return syntax.ReorganizePartition((), (), silent)
    names = parse_partition_names(cursor)
    cursor.expect("INTO")
    return syntax.ReorganizePartition(names, parse_partition_definitions(cursor), silent)

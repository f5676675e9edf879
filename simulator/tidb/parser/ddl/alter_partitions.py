"""Parse the specs of ALTER TABLE that are about partitions."""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl.partitions import parse_partition_definition, parse_partition_definitions
from simulator.tidb.parser.expressions.operators import parse_parenthesised

VERBS = ("TRUNCATE", "CHECK", "OPTIMIZE", "REPAIR", "REBUILD")
LOCAL = VERBS[2:]
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


def parse_partition_action(cursor: Cursor, verb: str) -> syntax.PartitionAction:
    """Parse the rest of `TRUNCATE PARTITION` and the like: names or ALL."""
    cursor.expect("PARTITION")
    silent = verb in LOCAL and parse_no_write_to_binlog(cursor)
    return syntax.PartitionAction(verb, parse_all_or_names(cursor), no_write_to_binlog=silent)


def parse_tablespace(cursor: Cursor, verb: str) -> syntax.Spec:
    """Parse the rest of IMPORT or DISCARD of partitions or of the table."""
    if cursor.accept("TABLESPACE"):
        return syntax.Clause(f"{verb} TABLESPACE")
    (names,) = cursor.sequence("PARTITION", parse_all_or_names, "TABLESPACE")
    return syntax.PartitionAction(verb, names)


def parse_coalesce_partition(cursor: Cursor, _: str) -> syntax.CoalescePartition:
    cursor.expect("PARTITION")
    silent = parse_no_write_to_binlog(cursor)
    return syntax.CoalescePartition(cursor.integer("the number of partitions"), silent)


def parse_exchange_partition(cursor: Cursor, _: str) -> syntax.ExchangePartition:
    (name,) = cursor.sequence("PARTITION", parse_partition_name, "WITH TABLE")
    table = cursor.qualified_name()
    validation = not cursor.accept("WITHOUT VALIDATION")
    if validation:
        cursor.accept("WITH VALIDATION")
    return syntax.ExchangePartition(name, table, validation)


def parse_interval_end(cursor: Cursor, verb: str) -> syntax.IntervalPartitionSpec:
    """Parse the rest of `FIRST PARTITION LESS THAN (…)` or `LAST PARTITION LESS THAN (…)`."""
    start = cursor.last_token().start
    (bound,) = cursor.sequence("PARTITION LESS THAN", parse_parenthesised)
    last = verb == "LAST"
    silent, if_exists = last and parse_no_write_to_binlog(cursor), not last and cursor.accept("IF EXISTS")
    end = len(cursor.sql) if cursor.at_end() else cursor.next_token().start
    return syntax.IntervalPartitionSpec(verb, bound, silent, if_exists, start, end)


def parse_interval_change(cursor: Cursor, verb: str) -> syntax.IntervalPartitionSpec:
    """Parse the rest of `SPLIT MAXVALUE PARTITION LESS THAN (…)` or `MERGE FIRST PARTITION LESS THAN (…)`."""
    which = "MAXVALUE" if verb == "SPLIT" else "FIRST"
    (bound,) = cursor.sequence(which, "PARTITION LESS THAN", parse_parenthesised)
    return syntax.IntervalPartitionSpec(f"{verb} {which}", bound)


def parse_attributes_value(cursor: Cursor) -> str | None:
    """Parse the value of ATTRIBUTES, and return None for DEFAULT."""
    cursor.accept("=")
    return None if cursor.accept("DEFAULT") else cursor.string("attributes between quotes, or DEFAULT")


def parse_partition_options_spec(cursor: Cursor, _: str) -> syntax.PartitionOptions:
    """Parse the rest of `PARTITION p ATTRIBUTES …`, or of `PARTITION p` with any number of options."""
    token = cursor.next_token()
    definition = parse_partition_definition(cursor)
    if definition.kind or definition.subpartitions:
        cursor.fail("a partition is not defined here. Accepted: its options, or ATTRIBUTES", token)
    options = definition.options
    if not options and cursor.accept("ATTRIBUTES"):
        value = parse_attributes_value(cursor)
        options = (syntax.TableOption("ATTRIBUTES", value or "", quoted=value is not None, default=value is None),)
    return syntax.PartitionOptions(definition.name, options)


def parse_remove(cursor: Cursor, _: str) -> syntax.RemovePartitioning | syntax.RemoveTtl:
    is_partitioning = cursor.one_of("PARTITIONING", "TTL") == "PARTITIONING"
    return syntax.RemovePartitioning() if is_partitioning else syntax.RemoveTtl()


def parse_reorganize_partition(cursor: Cursor, _: str) -> syntax.ReorganizePartition:
    """Parse the rest of REORGANIZE PARTITION of all partitions, or of names INTO definitions."""
    cursor.expect("PARTITION")
    silent = parse_no_write_to_binlog(cursor)
    if cursor.at_end():
        return syntax.ReorganizePartition((), (), silent)
    (names,) = cursor.sequence(parse_partition_names, "INTO")
    return syntax.ReorganizePartition(names, parse_partition_definitions(cursor), silent)

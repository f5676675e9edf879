"""Reads the specs on partitions.

One law: a list of partitions goes on behind every comma.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_alter_settings import attributes_value
from simulator.tidb.parser.ddl_names import comma_list, table_name
from simulator.tidb.parser.definitions import read_definition, read_definitions
from simulator.tidb.parser.expressions import read_parenthesised
from simulator.tidb.parser.partitions import read_partitioning
from simulator.tidb.syntax.alter import Clause, RemoveTtl, Spec
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
from simulator.tidb.syntax.tables import TableOption

LOCAL = ("OPTIMIZE", "REPAIR", "REBUILD")
"""The verbs that NO_WRITE_TO_BINLOG may follow."""


def partition_name(parser: TiDBParser) -> str:
    return parser.free_name("the name of a partition")


def partition_names(parser: TiDBParser) -> tuple[str, ...]:
    return comma_list(parser, partition_name)


def all_or_names(parser: TiDBParser) -> tuple[str, ...]:
    """The names; nothing for ALL."""
    return () if parser.accept("ALL") else partition_names(parser)


def no_write_to_binlog(parser: TiDBParser) -> bool:
    """NO_WRITE_TO_BINLOG, which LOCAL is another word for."""
    return parser.accept("NO_WRITE_TO_BINLOG") or parser.accept("LOCAL")


def add_partitions(parser: TiDBParser) -> AddPartitions:
    """What follows ADD PARTITION: definitions, a number, or nothing."""
    at = 0 if parser.at_end() else parser.next_token().start
    if_not_exists = parser.accept("IF NOT EXISTS")
    silent = no_write_to_binlog(parser)
    if parser.accept("PARTITIONS"):
        count = parser.integer("the number of partitions")
        return AddPartitions((), count, if_not_exists, silent, at)
    definitions = read_definitions(parser) if parser.word() == "(" else ()
    return AddPartitions(definitions, 0, if_not_exists, silent, at)


def action(parser: TiDBParser) -> PartitionAction:
    """A verb, PARTITION, and names or ALL."""
    verb = parser.take()
    parser.expect("PARTITION")
    silent = verb in LOCAL and no_write_to_binlog(parser)
    return PartitionAction(verb, all_or_names(parser), no_write_to_binlog=silent)


def tablespace(parser: TiDBParser) -> Spec:
    """IMPORT or DISCARD, of partitions or of the table."""
    verb = parser.take()
    if parser.accept("TABLESPACE"):
        return Clause(f"{verb} TABLESPACE")
    parser.expect("PARTITION")
    names = all_or_names(parser)
    parser.expect("TABLESPACE")
    return PartitionAction(verb, names)


def coalesce(parser: TiDBParser) -> CoalescePartition:
    parser.take()
    parser.expect("PARTITION")
    silent = no_write_to_binlog(parser)
    return CoalescePartition(parser.integer("the number of partitions"), silent)


def exchange(parser: TiDBParser) -> ExchangePartition:
    parser.take()
    parser.expect("PARTITION")
    name = partition_name(parser)
    parser.expect("WITH TABLE")
    table = table_name(parser)
    validation = not parser.accept("WITHOUT VALIDATION")
    if validation:
        parser.accept("WITH VALIDATION")
    return ExchangePartition(name, table, validation)


def interval_end(parser: TiDBParser) -> LastPartition:
    """FIRST or LAST PARTITION LESS THAN (…)"""
    verb = parser.take()
    parser.expect("PARTITION LESS THAN")
    bound = read_parenthesised(parser)
    if verb == "LAST":
        return LastPartition(verb, bound, no_write_to_binlog=no_write_to_binlog(parser))
    return LastPartition(verb, bound, if_exists=parser.accept("IF EXISTS"))


def interval_change(parser: TiDBParser) -> LastPartition:
    """SPLIT MAXVALUE or MERGE FIRST PARTITION LESS THAN (…)"""
    verb = "SPLIT MAXVALUE" if parser.word() == "SPLIT" else "MERGE FIRST"
    parser.expect(verb)
    parser.expect("PARTITION LESS THAN")
    return LastPartition(verb, read_parenthesised(parser))


def partition_by(parser: TiDBParser) -> PartitionBy:
    parser.take()
    return PartitionBy(read_partitioning(parser))


def partition_options(parser: TiDBParser) -> PartitionOptions:
    """PARTITION p ATTRIBUTES …, or options of a partition, which may be none."""
    token = parser.next_token()
    said = read_definition(parser)
    if said.kind or said.subpartitions:
        parser.fail("a partition is not defined here. Accepted: its options, or ATTRIBUTES", token)
    if not said.options and parser.accept("ATTRIBUTES"):
        value = attributes_value(parser)
        option = TableOption("ATTRIBUTES", value or "", quoted=value is not None, default=value is None)
        return PartitionOptions(said.name, (option,))
    return PartitionOptions(said.name, said.options)


def remove(parser: TiDBParser) -> RemovePartitioning | RemoveTtl:
    parser.take()
    if parser.accept("PARTITIONING"):
        return RemovePartitioning()
    if parser.accept("TTL"):
        return RemoveTtl()
    parser.unexpected("PARTITIONING or TTL", ("PARTITIONING", "TTL"))


def reorganize(parser: TiDBParser) -> ReorganizePartition:
    """REORGANIZE PARTITION of all, or of names INTO definitions."""
    parser.take()
    parser.expect("PARTITION")
    at = 0 if parser.at_end() else parser.next_token().start
    silent = no_write_to_binlog(parser)
    if parser.at_end():
        return ReorganizePartition((), (), silent, at)
    names = partition_names(parser)
    parser.expect("INTO")
    return ReorganizePartition(names, read_definitions(parser), silent, at)

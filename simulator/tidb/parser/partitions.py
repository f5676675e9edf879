"""Reads PARTITION BY: every kind TiDB has.

One law: expressions and bounds are kept as SQL text, and as TiDB writes them back.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.definitions import read_definition, read_definitions
from simulator.tidb.parser.expressions import read_expression
from simulator.tidb.parser.partition_checks import check_partitioning
from simulator.tidb.parser.parts import read_column_name
from simulator.tidb.parser.units import UNITS, read_unit
from simulator.tidb.parser.values import read_bit_expression, read_count, read_enclosed_bits, read_one_of
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.definitions import Expression, KeyOptions
from simulator.tidb.syntax.tables import IntervalSyntax, MethodSyntax, PartitionSyntax

__all__ = ["read_definition", "read_definitions", "read_partitioning"]

METHODS = ("HASH", "KEY", "RANGE", "LIST", "SYSTEM_TIME")


def read_partitioning(parser: TiDBParser) -> PartitionSyntax:
    """What follows PARTITION BY; raises SchemaError."""
    at = parser.next_token().start
    method = read_method(parser, METHODS)
    interval = read_interval(parser) if method.kind == "range" and parser.word() == "INTERVAL" else None
    method = counted(parser, method, "PARTITIONS")
    subpartition = None
    if parser.accept("SUBPARTITION BY"):
        subpartition = counted(parser, read_method(parser, METHODS[:2]), "SUBPARTITIONS")
    definitions = read_definitions(parser) if parser.word() == "(" else ()
    updated: tuple[tuple[str, KeyOptions], ...] = ()
    if parser.accept("UPDATE INDEXES"):
        updated = parser.comma_separated(read_updated_index)
    partitioning = PartitionSyntax(method, definitions, at, subpartition, interval, updated)
    check_partitioning(parser, partitioning)
    return partitioning


def counted(parser: TiDBParser, method: MethodSyntax, word: str) -> MethodSyntax:
    """The method with the number of partitions, where the statement gives it."""
    if not parser.accept(word):
        return method
    token, count = parser.next_token(), read_count(parser, f"the number of {word.lower()}")
    if not count:
        parser.fail(f"{word} 0 is not possible; accepted: 1 or more", token)
    return replace(method, count=count)


def read_method(parser: TiDBParser, accepted: tuple[str, ...]) -> MethodSyntax:
    """`RANGE (expression)` and the like."""
    linear = parser.accept("LINEAR")
    kind = parser.word()
    if kind not in accepted or linear and kind not in ("HASH", "KEY"):
        parser.unexpected(f"{', '.join(accepted[:-1])} or {accepted[-1]}", accepted)
    parser.take()
    if kind == "SYSTEM_TIME":
        return system_time(parser)
    if kind == "KEY":
        algorithm = read_algorithm(parser)
        return replace(columns_method(parser, "key"), linear=linear, algorithm=algorithm)
    if kind in ("RANGE", "LIST") and (parser.accept("COLUMNS") or parser.accept("FIELDS")):
        return columns_method(parser, kind.lower())
    expression = read_enclosed_bits(parser)
    return MethodSyntax(kind.lower(), expression.text, expression.restored, linear=linear)


def read_algorithm(parser: TiDBParser) -> int | None:
    """`ALGORITHM = 1`; None where it does not come."""
    if not parser.accept("ALGORITHM"):
        return None
    parser.expect("=")
    token, algorithm = parser.next_token(), read_count(parser)
    if algorithm not in (1, 2):
        parser.fail(f"ALGORITHM = {algorithm} is not possible; accepted: 1, 2", token)
    return algorithm


def columns_method(parser: TiDBParser, kind: str) -> MethodSyntax:
    """`(a, b)`; `()` for KEY, which then takes the primary key."""
    if kind == "key" and parser.accept("( )"):
        return MethodSyntax(kind)
    names = parser.comma_separated(read_column_name)
    restored = ",".join(".".join(map(quoted, (*before.split("."), name))) if before else quoted(name)
                        for before, name in names)
    return MethodSyntax(kind, restored=restored, columns=tuple(name for _, name in names))


def system_time(parser: TiDBParser) -> MethodSyntax:
    """`SYSTEM_TIME [INTERVAL 1 DAY | LIMIT 10]`"""
    if parser.accept("LIMIT"):
        return MethodSyntax("system_time", limit=read_count(parser))
    if not parser.accept("INTERVAL"):
        return MethodSyntax("system_time")
    every = read_expression(parser)
    return MethodSyntax("system_time", every.text, every.restored, unit=read_unit(parser).text)


def read_interval(parser: TiDBParser) -> IntervalSyntax:
    """`INTERVAL (1 MONTH) FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…) NULL PARTITION …`"""
    at = parser.next_token().start
    parser.take()
    parser.expect("(")
    every = read_bit_expression(parser)
    unit = read_unit(parser).text if parser.word().removeprefix("SQL_TSI_") in UNITS else ""
    parser.expect(")")
    first: Expression | None = None
    last: Expression | None = None
    if parser.accept("FIRST PARTITION LESS THAN"):
        first = read_enclosed_bits(parser)
        parser.expect("LAST PARTITION LESS THAN")
        last = read_enclosed_bits(parser)
    null = parser.accept("NULL PARTITION")
    return IntervalSyntax(every, unit, first, last, null, parser.accept("MAXVALUE PARTITION"), at)


def read_updated_index(parser: TiDBParser) -> tuple[str, KeyOptions]:
    """One member of UPDATE INDEXES: `name GLOBAL` or `name LOCAL`."""
    name = parser.free_name("the name of an index")
    return name, KeyOptions(scope=read_one_of(parser, ("GLOBAL", "LOCAL")))

"""Reads PARTITION BY: every kind TiDB has.

One law: expressions and bounds are kept as SQL text, and as TiDB writes them back.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.definitions import read_definition, read_definitions
from simulator.tidb.parser.expressions.operators import read_expression
from simulator.tidb.parser.expressions.times import UNITS, read_unit
from simulator.tidb.parser.partition_checks import check_partitioning
from simulator.tidb.parser.parts import read_column_name
from simulator.tidb.parser.values import read_bit_expression, read_count, read_enclosed_bits, read_one_of
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.definitions import Expression, KeyOptions
from simulator.tidb.syntax.tables import IntervalSyntax, MethodSyntax, PartitionSyntax

__all__ = ["read_definition", "read_definitions", "read_partitioning"]

METHODS = ("HASH", "KEY", "RANGE", "LIST", "SYSTEM_TIME")


def read_partitioning(cursor: Cursor) -> PartitionSyntax:
    """What follows PARTITION BY; raises SchemaError."""
    at = cursor.next_token().start
    method = read_method(cursor, METHODS)
    interval = read_interval(cursor) if method.kind == "range" and cursor.word() == "INTERVAL" else None
    method = counted(cursor, method, "PARTITIONS")
    subpartition = None
    if cursor.accept("SUBPARTITION BY"):
        subpartition = counted(cursor, read_method(cursor, METHODS[:2]), "SUBPARTITIONS")
    definitions = read_definitions(cursor) if cursor.word() == "(" else ()
    updated: tuple[tuple[str, KeyOptions], ...] = ()
    if cursor.accept("UPDATE INDEXES"):
        updated = cursor.comma_separated(read_updated_index)
    partitioning = PartitionSyntax(method, definitions, at, subpartition, interval, updated)
    check_partitioning(cursor, partitioning)
    return partitioning


def counted(cursor: Cursor, method: MethodSyntax, word: str) -> MethodSyntax:
    """The method with the number of partitions, where the statement gives it."""
    if not cursor.accept(word):
        return method
    token, count = cursor.next_token(), read_count(cursor, f"the number of {word.lower()}")
    if not count:
        cursor.fail(f"{word} 0 is not possible; accepted: 1 or more", token)
    return replace(method, count=count)


def read_method(cursor: Cursor, accepted: tuple[str, ...]) -> MethodSyntax:
    """`RANGE (expression)` and the like."""
    linear = cursor.accept("LINEAR")
    kind = cursor.word()
    if kind not in accepted or linear and kind not in ("HASH", "KEY"):
        cursor.unexpected(f"{', '.join(accepted[:-1])} or {accepted[-1]}", accepted)
    cursor.take()
    if kind == "SYSTEM_TIME":
        return system_time(cursor)
    if kind == "KEY":
        algorithm = read_algorithm(cursor)
        return replace(columns_method(cursor, "key"), linear=linear, algorithm=algorithm)
    if kind in ("RANGE", "LIST") and (cursor.accept("COLUMNS") or cursor.accept("FIELDS")):
        return columns_method(cursor, kind.lower())
    expression = read_enclosed_bits(cursor)
    return MethodSyntax(kind.lower(), expression.text, expression.restored, linear=linear)


def read_algorithm(cursor: Cursor) -> int | None:
    """`ALGORITHM = 1`; None where it does not come."""
    if not cursor.accept("ALGORITHM"):
        return None
    cursor.expect("=")
    token, algorithm = cursor.next_token(), read_count(cursor)
    if algorithm not in (1, 2):
        cursor.fail(f"ALGORITHM = {algorithm} is not possible; accepted: 1, 2", token)
    return algorithm


def columns_method(cursor: Cursor, kind: str) -> MethodSyntax:
    """`(a, b)`; `()` for KEY, which then takes the primary key."""
    if kind == "key" and cursor.accept("( )"):
        return MethodSyntax(kind)
    names = cursor.comma_separated(read_column_name)
    restored = ",".join(".".join(map(quoted, (*before.split("."), name))) if before else quoted(name)
                        for before, name in names)
    return MethodSyntax(kind, restored=restored, columns=tuple(name for _, name in names))


def system_time(cursor: Cursor) -> MethodSyntax:
    """`SYSTEM_TIME [INTERVAL 1 DAY | LIMIT 10]`"""
    if cursor.accept("LIMIT"):
        return MethodSyntax("system_time", limit=read_count(cursor))
    if not cursor.accept("INTERVAL"):
        return MethodSyntax("system_time")
    every = read_expression(cursor)
    return MethodSyntax("system_time", every.text, every.restored, unit=read_unit(cursor).text)


def read_interval(cursor: Cursor) -> IntervalSyntax:
    """`INTERVAL (1 MONTH) FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…) NULL PARTITION …`"""
    at = cursor.next_token().start
    cursor.take()
    cursor.expect("(")
    every = read_bit_expression(cursor)
    unit = read_unit(cursor).text if cursor.word().removeprefix("SQL_TSI_") in UNITS else ""
    cursor.expect(")")
    first: Expression | None = None
    last: Expression | None = None
    if cursor.accept("FIRST PARTITION LESS THAN"):
        first = read_enclosed_bits(cursor)
        cursor.expect("LAST PARTITION LESS THAN")
        last = read_enclosed_bits(cursor)
    null = cursor.accept("NULL PARTITION")
    return IntervalSyntax(every, unit, first, last, null, cursor.accept("MAXVALUE PARTITION"), at)


def read_updated_index(cursor: Cursor) -> tuple[str, KeyOptions]:
    """One member of UPDATE INDEXES: `name GLOBAL` or `name LOCAL`."""
    name = cursor.name("the name of an index")
    return name, KeyOptions(scope=read_one_of(cursor, ("GLOBAL", "LOCAL")))

"""Reads PARTITION BY: every kind TiDB has.

One law: expressions and bounds are kept as SQL text.
"""

from __future__ import annotations

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_constraints import skip_value
from simulator.schema.syntax import MethodSyntax, PartitionDefinition, PartitionSyntax

PARTITION_OPTIONS = (
    "ENGINE", "STORAGE", "COMMENT", "DATA", "INDEX", "MAX_ROWS", "MIN_ROWS", "TABLESPACE", "NODEGROUP", "PLACEMENT",
)


def read_partitioning(parser: TiDBParser) -> PartitionSyntax:
    """What follows PARTITION BY; raises SchemaError."""
    at = parser.next_token().start
    kind, expression, columns = method(parser)
    if parser.word() == "INTERVAL":
        parser.fail("INTERVAL partitioning is not expanded here; write its partitions out, as SHOW CREATE TABLE does")
    count = parser.integer("the number of partitions") if parser.accept("PARTITIONS") else 0
    if parser.accept("SUBPARTITION BY"):
        method(parser)
        if parser.accept("SUBPARTITIONS"):
            parser.integer("the number of subpartitions")
    partitions = parser.comma_separated(definition) if parser.word() == "(" else ()
    if parser.accept("UPDATE INDEXES"):
        parser.skip_parenthesised()
    return PartitionSyntax(MethodSyntax(kind, expression, columns=columns, count=count), partitions, at)


def method(parser: TiDBParser) -> tuple[str, str, tuple[str, ...]]:
    """`RANGE (expression)` and the like: kind, expression, columns."""
    parser.accept("LINEAR")
    kind = parser.word().lower()
    if kind not in ("hash", "key", "range", "list"):
        parser.unexpected("HASH, KEY, RANGE or LIST", ("HASH", "KEY", "RANGE", "LIST"))
    parser.take()
    if kind == "key":
        if parser.accept("ALGORITHM"):
            skip_value(parser)
        return kind, "", key_columns(parser)
    if kind in ("range", "list") and parser.accept("COLUMNS"):
        return kind, "", key_columns(parser)
    return kind, parser.skip_parenthesised(), ()


def key_columns(parser: TiDBParser) -> tuple[str, ...]:
    """`(a, b)`; `()` for KEY, which then takes the primary key."""
    if parser.word_after() == ")":
        parser.skip_parenthesised()
        return ()
    return parser.comma_separated(lambda cursor: cursor.name("a column"))


def definition(parser: TiDBParser) -> PartitionDefinition:
    """`PARTITION p VALUES LESS THAN (…) options (SUBPARTITION …)`"""
    parser.expect("PARTITION")
    name = parser.name("the name of a partition")
    values: tuple[tuple[str, ...], ...] = ()
    if parser.accept("VALUES LESS THAN"):
        values = (bounds(parser),)
    elif parser.accept("VALUES IN"):
        values = parser.comma_separated(list_value)
    elif parser.accept("DEFAULT"):
        values = (("DEFAULT",),)
    partition_options(parser)
    if parser.word() == "(":
        parser.skip_parenthesised()
    return PartitionDefinition(name, values)


def bounds(parser: TiDBParser) -> tuple[str, ...]:
    """MAXVALUE, or the bounds in parentheses."""
    return ("MAXVALUE",) if parser.accept("MAXVALUE") else parser.comma_separated(value)


def list_value(parser: TiDBParser) -> tuple[str, ...]:
    """One member of VALUES IN: a value, or a tuple of them in parentheses."""
    return parser.comma_separated(value) if parser.word() == "(" else (value(parser),)


def value(parser: TiDBParser) -> str:
    """SQL text up to the comma or parenthesis that ends it; MAXVALUE, NULL and DEFAULT in upper case."""
    start = parser.next_token()
    if parser.word() in (",", ")"):
        parser.unexpected("a value")
    while parser.word() not in (",", ")") and not parser.at_end():
        if parser.word() == "(":
            parser.skip_parenthesised()
        else:
            parser.literal()
    text = parser.text_since(start)
    return text.upper() if text.upper() in ("MAXVALUE", "NULL", "DEFAULT") else text


def partition_options(parser: TiDBParser) -> None:
    """COMMENT, ENGINE, PLACEMENT POLICY and the rest: they change nothing here."""
    parser.accept("STORAGE")
    while (word := parser.word()) in PARTITION_OPTIONS:
        parser.take()
        if word in ("DATA", "INDEX"):
            parser.expect("DIRECTORY")
        elif word == "PLACEMENT":
            parser.expect("POLICY")
        skip_value(parser)

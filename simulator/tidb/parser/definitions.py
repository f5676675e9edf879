"""Reads the partitions that a statement writes out.

One law: what a partition holds is kept as SQL text, and as TiDB writes it back.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.expressions import read_expression
from simulator.tidb.parser.options import begins_partition_option, read_option
from simulator.tidb.parser.values import read_bit_expression
from simulator.tidb.syntax.definitions import Expression
from simulator.tidb.syntax.tables import PartitionDefinition, TableOption

Row = tuple[Expression, ...]

MAXVALUE = Expression("MAXVALUE", "MAXVALUE")
DEFAULT = Expression("DEFAULT", "DEFAULT")


def read_definitions(parser: TiDBParser) -> tuple[PartitionDefinition, ...]:
    """`(PARTITION p …, PARTITION q …)`; raises SchemaError."""
    return parser.comma_separated(read_definition)


def read_definition(parser: TiDBParser) -> PartitionDefinition:
    """`PARTITION p VALUES LESS THAN (…) options (SUBPARTITION …)`; raises SchemaError."""
    parser.expect("PARTITION")
    name = parser.free_name("the name of a partition")
    kind, rows, restored = read_values(parser)
    options = read_partition_options(parser)
    subpartitions = parser.comma_separated(read_subpartition) if parser.word() == "(" else ()
    return PartitionDefinition(name, tuple(map(texts, rows)), kind, restored, options, subpartitions)


def read_subpartition(parser: TiDBParser) -> PartitionDefinition:
    parser.expect("SUBPARTITION")
    name = parser.free_name("the name of a subpartition")
    return PartitionDefinition(name, options=read_partition_options(parser))


def read_partition_options(parser: TiDBParser) -> tuple[TableOption, ...]:
    options = []
    while begins_partition_option(parser):
        options.append(read_option(parser))
    return tuple(options)


def read_values(parser: TiDBParser) -> tuple[str, tuple[Row, ...], str]:
    """What a partition holds: its kind, its rows of values, and them as TiDB writes them back."""
    if parser.accept("VALUES LESS THAN"):
        row = (MAXVALUE,) if parser.accept("MAXVALUE") else parser.comma_separated(read_bound)
        return "less than", (row,), f"({listed(row)})"
    if parser.accept("VALUES IN"):
        rows = parser.comma_separated(read_list_member)
        if rows == ((DEFAULT,),):
            return "default", rows, ""
        return "in", rows, f"({', '.join(listed(row) if len(row) == 1 else f'({listed(row)})' for row in rows)})"
    if parser.accept("DEFAULT"):
        return "default", ((DEFAULT,),), ""
    kind = next((word for word in ("HISTORY", "CURRENT") if parser.accept(word)), "")
    return kind.lower(), (), ""


def read_bound(parser: TiDBParser) -> Expression:
    return MAXVALUE if parser.accept("MAXVALUE") else read_bit_expression(parser)


def read_list_member(parser: TiDBParser) -> Row:
    """One member of VALUES IN: a value, DEFAULT, MAXVALUE (read, and refused later), or a row in parentheses."""
    if parser.word() == "DEFAULT" and parser.word_after() != "(":
        parser.take()
        return (DEFAULT,)
    if parser.accept("MAXVALUE"):
        return (MAXVALUE,)
    if begins_row(parser):
        parser.accept("ROW")
        return parser.comma_separated(read_expression)
    return (read_bit_expression(parser),)


def begins_row(parser: TiDBParser) -> bool:
    """Whether `(value, value)` comes, and not an expression that begins with a parenthesis."""
    if parser.word() == "ROW":
        return parser.word_after() == "("
    closing = parser.closing_ahead(0) if parser.word() == "(" else -1
    if parser.word_ahead(closing + 1) not in (",", ")"):
        return False
    depth = 0
    for word in map(parser.word_ahead, range(closing)):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and depth == 1:
            return True
    return False


def listed(row: Row) -> str:
    return ", ".join(value.restored for value in row)


def texts(row: Row) -> tuple[str, ...]:
    """The values as SQL text; NULL in capitals."""
    return tuple("NULL" if value.restored == "NULL" else value.text for value in row)

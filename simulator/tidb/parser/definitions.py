"""Reads the partitions that a statement writes out.

One law: what a partition holds is kept as SQL text, and as TiDB writes it back.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import read_expression
from simulator.tidb.parser.options import begins_partition_option, read_option
from simulator.tidb.parser.values import read_bit_expression
from simulator.tidb.syntax.definitions import Expression
from simulator.tidb.syntax.tables import PartitionDefinition, TableOption

Row = tuple[Expression, ...]

MAXVALUE = Expression("MAXVALUE", "MAXVALUE")
DEFAULT = Expression("DEFAULT", "DEFAULT")


def read_definitions(cursor: Cursor) -> tuple[PartitionDefinition, ...]:
    """`(PARTITION p …, PARTITION q …)`; raises SchemaError."""
    return cursor.comma_separated(read_definition)


def read_definition(cursor: Cursor) -> PartitionDefinition:
    """`PARTITION p VALUES LESS THAN (…) options (SUBPARTITION …)`; raises SchemaError."""
    cursor.expect("PARTITION")
    name = cursor.name("the name of a partition")
    kind, rows, restored = read_values(cursor)
    options = read_partition_options(cursor)
    subpartitions = cursor.comma_separated(read_subpartition) if cursor.word() == "(" else ()
    return PartitionDefinition(name, tuple(map(texts, rows)), kind, restored, options, subpartitions)


def read_subpartition(cursor: Cursor) -> PartitionDefinition:
    cursor.expect("SUBPARTITION")
    name = cursor.name("the name of a subpartition")
    return PartitionDefinition(name, options=read_partition_options(cursor))


def read_partition_options(cursor: Cursor) -> tuple[TableOption, ...]:
    options = []
    while begins_partition_option(cursor):
        options.append(read_option(cursor))
    return tuple(options)


def read_values(cursor: Cursor) -> tuple[str, tuple[Row, ...], str]:
    """What a partition holds: its kind, its rows of values, and them as TiDB writes them back."""
    if cursor.accept("VALUES LESS THAN"):
        row = (MAXVALUE,) if cursor.accept("MAXVALUE") else cursor.comma_separated(read_bound)
        return "less than", (row,), f"({listed(row)})"
    if cursor.accept("VALUES IN"):
        rows = cursor.comma_separated(read_list_member)
        if rows == ((DEFAULT,),):
            return "default", rows, ""
        return "in", rows, f"({', '.join(listed(row) if len(row) == 1 else f'({listed(row)})' for row in rows)})"
    if cursor.accept("DEFAULT"):
        return "default", ((DEFAULT,),), ""
    kind = next((word for word in ("HISTORY", "CURRENT") if cursor.accept(word)), "")
    return kind.lower(), (), ""


def read_bound(cursor: Cursor) -> Expression:
    return MAXVALUE if cursor.accept("MAXVALUE") else read_bit_expression(cursor)


def read_list_member(cursor: Cursor) -> Row:
    """One member of VALUES IN: a value, DEFAULT, MAXVALUE (read, and refused later), or a row in parentheses."""
    if cursor.word() == "DEFAULT" and cursor.word_after() != "(":
        cursor.take()
        return (DEFAULT,)
    if cursor.accept("MAXVALUE"):
        return (MAXVALUE,)
    if begins_row(cursor):
        cursor.accept("ROW")
        return cursor.comma_separated(read_expression)
    return (read_bit_expression(cursor),)


def begins_row(cursor: Cursor) -> bool:
    """Whether `(value, value)` comes, and not an expression that begins with a parenthesis."""
    if cursor.word() == "ROW":
        return cursor.word_after() == "("
    closing = cursor.closing_ahead(0) if cursor.word() == "(" else -1
    if cursor.word_ahead(closing + 1) not in (",", ")"):
        return False
    depth = 0
    for word in map(cursor.word_ahead, range(closing)):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and depth == 1:
            return True
    return False


def listed(row: Row) -> str:
    return ", ".join(value.restored for value in row)


def texts(row: Row) -> tuple[str, ...]:
    """The values as SQL text; NULL in capitals."""
    return tuple("NULL" if value.restored == "NULL" else value.text for value in row)

"""Reads what follows ALTER COLUMN … SET DEFAULT.

One law: a literal, or an expression in parentheses; parentheses around a literal count for nothing (TiDB:
pkg/parser/parser.y, AlterTableSpec).
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import read_expression
from simulator.tidb.parser.values import begins_literal, read_signed
from simulator.tidb.syntax.definitions import DefaultSyntax


def read_default(cursor: Cursor) -> DefaultSyntax:
    if not cursor.accept("("):
        if not begins_literal(cursor) and cursor.word() not in ("-", "+"):
            cursor.unexpected("a literal, or an expression in parentheses")
        return read_signed(cursor)
    if begins_literal(cursor) and cursor.word_after() == ")":
        found = read_signed(cursor)
    else:
        expression = read_expression(cursor)
        found = DefaultSyntax("expression", expression.text, expression.restored)
    cursor.expect(")")
    return found

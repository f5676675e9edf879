"""Reads what follows ALTER COLUMN … SET DEFAULT.

One law: a literal, or an expression in parentheses; parentheses around a literal count for nothing (TiDB:
pkg/parser/parser.y, AlterTableSpec).
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.expressions import read_expression
from simulator.tidb.parser.values import begins_literal, read_signed
from simulator.tidb.syntax.definitions import DefaultSyntax


def read_default(parser: TiDBParser) -> DefaultSyntax:
    if not parser.accept("("):
        if not begins_literal(parser) and parser.word() not in ("-", "+"):
            parser.unexpected("a literal, or an expression in parentheses")
        return read_signed(parser)
    if begins_literal(parser) and parser.word_after() == ")":
        found = read_signed(parser)
    else:
        expression = read_expression(parser)
        found = DefaultSyntax("expression", expression.text, expression.restored)
    parser.expect(")")
    return found

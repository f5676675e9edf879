"""Reads what follows ALTER COLUMN … SET DEFAULT.

One law: a literal, or an expression in parentheses; parentheses around a literal count for nothing (TiDB:
pkg/parser/parser.y, AlterTableSpec).
"""

from __future__ import annotations

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_columns import read_literal_default
from simulator.schema.read_expressions import read_expression
from simulator.schema.syntax import DefaultSyntax

LITERALS = ("string", "number", "hex", "bit", "introducer")


def read_default(parser: TiDBParser) -> DefaultSyntax:
    if not parser.accept("("):
        if not is_literal(parser) and parser.word() not in ("-", "+"):
            parser.unexpected("a literal, or an expression in parentheses")
        return read_literal_default(parser)
    if is_literal(parser) and parser.word_after() == ")":
        found = read_literal_default(parser)
    else:
        expression = read_expression(parser)
        found = DefaultSyntax("expression", expression.text, expression.restored)
    parser.expect(")")
    return found


def is_literal(parser: TiDBParser) -> bool:
    return parser.kind() in LITERALS or parser.word() in ("NULL", "TRUE", "FALSE")

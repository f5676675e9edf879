"""Reads one part of a key: a column, a prefix of it, or an expression.

One law: a part knows nothing of its key.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.schema.cursor import TiDBParser
from simulator.schema.syntax import KeyPart


def read_part(parser: TiDBParser) -> KeyPart:
    """`column [(prefix length)] [ASC | DESC]`, or an expression in parentheses."""
    at = parser.next_token().start
    if parser.word() == "(":
        text = parser.skip_parenthesised()
        part = KeyPart("", expression=text, at=at, restored=text)
    else:
        column = parser.name("a column or an expression in parentheses")
        length = parser.comma_separated(lambda cursor: cursor.integer())[0] if parser.word() == "(" else -1
        part = KeyPart(column, length, at=at)
    if parser.accept("DESC"):
        return replace(part, descending=True)
    parser.accept("ASC")
    return part

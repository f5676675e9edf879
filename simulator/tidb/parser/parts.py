"""Reads one part of a key: a column, a prefix of it, or an expression.

One law: a part knows nothing of its key.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.values import read_count, read_enclosed
from simulator.tidb.syntax.definitions import KeyPart


def read_part(parser: TiDBParser) -> KeyPart:
    """`column [(prefix length)] [ASC | DESC]`, or an expression in parentheses."""
    at = parser.next_token().start
    if parser.word() == "(":
        expression = read_enclosed(parser)
        return KeyPart("", expression=expression.text, at=at, restored=expression.restored, descending=descends(parser))
    qualifier, column = read_column_name(parser, "a column or an expression in parentheses")
    length = -1
    if parser.accept("("):
        length = read_count(parser, "a prefix length")
        parser.expect(")")
    return KeyPart(column, length, at=at, qualifier=qualifier, descending=descends(parser))


def descends(parser: TiDBParser) -> bool:
    return parser.accept("DESC") or parser.accept("ASC") and False


def read_column_name(parser: TiDBParser, what: str = "a column") -> tuple[str, str]:
    """`c`, `t.c` or `d.t.c`: what stands before the last dot, and the column's own name."""
    names = [parser.free_name(what)]
    while len(names) < 3 and parser.accept("."):
        names.append(parser.name(what))
    return ".".join(names[:-1]), names[-1]

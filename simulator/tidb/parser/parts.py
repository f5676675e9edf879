"""Reads one part of a key: a column, a prefix of it, or an expression.

One law: a part knows nothing of its key.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.values import read_count, read_enclosed
from simulator.tidb.syntax.definitions import KeyPart


def read_part(cursor: Cursor) -> KeyPart:
    """`column [(prefix length)] [ASC | DESC]`, or an expression in parentheses."""
    at = cursor.next_token().start
    if cursor.word() == "(":
        expression = read_enclosed(cursor)
        return KeyPart("", expression=expression.text, at=at, restored=expression.restored, descending=descends(cursor))
    qualifier, column = read_column_name(cursor, "a column or an expression in parentheses")
    length = -1
    if cursor.accept("("):
        length = read_count(cursor, "a prefix length")
        cursor.expect(")")
    return KeyPart(column, length, at=at, qualifier=qualifier, descending=descends(cursor))


def descends(cursor: Cursor) -> bool:
    return cursor.accept("DESC") or cursor.accept("ASC") and False


def read_column_name(cursor: Cursor, what: str = "a column") -> tuple[str, str]:
    """`c`, `t.c` or `d.t.c`: what stands before the last dot, and the column's own name."""
    names = [cursor.name(what)]
    while len(names) < 3 and cursor.accept("."):
        names.append(cursor.name(what))
    return ".".join(names[:-1]), names[-1]

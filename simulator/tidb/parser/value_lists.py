"""Long VALUES lists of plain literals, read without tokens, which take twenty times the memory of their text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulator.tidb.syntax.expressions import Literal, Node, Unary

LEAST = 1 << 14
"""Characters of a statement that may have a long list."""

_SPACE = r"[ \t\r\n]*"
_VALUE = r"(?:NULL|-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?|'[^'\\]*')"
HEAD = re.compile(
    rf"{_SPACE}(?:INSERT|REPLACE)\b[^'\"#;/\-()]*(?:\([^'\"#;/\-()]*\){_SPACE})?VALUES?{_SPACE}(?=\()", re.I
)
ROW = re.compile(rf"\({_SPACE}{_VALUE}(?:{_SPACE},{_SPACE}{_VALUE})*{_SPACE}\)", re.I)
COMMA = re.compile(rf"{_SPACE},{_SPACE}")
VALUE = re.compile(_VALUE, re.I)


def read_rows(text: str) -> tuple[str, Sequence[tuple[Node, ...]]] | None:
    """Return a statement with the first of its rows only, and all rows; None if it has no list of several rows, or one
    with anything but plain literals."""
    head = HEAD.match(text)
    if head is None:
        return None
    rows, place, known = list[tuple[Node, ...]](), head.end(), dict[str, Node]()
    first = place
    while True:
        row = ROW.match(text, place)
        if row is None:
            return None
        rows.append(tuple([known.get(value) or _literal(value, known) for value in VALUE.findall(row[0])]))
        place = row.end()
        if len(rows) == 1:
            first = place
        comma = COMMA.match(text, place)
        if comma is None:
            return (text[:first] + text[place:], rows) if len(rows) > 1 else None
        place = comma.end()


def _literal(text: str, known: dict[str, Node]) -> Node:
    """Return a literal; short ones are shared."""
    node: Node
    if text[0] == "'":
        node = Literal("string", text[1:-1], "utf8mb4")
    elif text[0] == "-":
        node = Unary("-", _literal(text[1:], known))
    elif text[0] in "nN":
        node = Literal("null", "NULL")
    else:
        node = Literal("decimal" if "." in text else "integer", text)
    if len(text) < 8:
        known[text] = node
    return node

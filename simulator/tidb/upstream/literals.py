"""Literals of VALUES as raw values, without any evaluation.

One law: a literal gives what `casts.raw` makes of its value for the column, or nothing where that takes computing.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family
from simulator.tidb.syntax.expressions import Literal, Node, Parenthesised, Unary
from simulator.tidb.values import spellings

Raw = bytes | None

NUMBERS = ("integer", "decimal", "float", "boolean")
COUNTS = ("integer", "decimal", "float", "year", "bit")
"""Families of types that a hexadecimal literal gives a number."""


class Unknown(Exception):
    """What is no literal, or one that has to be computed."""


def raw_literal(node: Node, column: Column) -> Raw:
    """What a literal gives a column; None for NULL. Raises Unknown."""
    sign = ""
    while isinstance(node, (Parenthesised, Unary)):
        if isinstance(node, Unary):
            if node.operator not in ("-", "+") or sign and node.operator == "-":
                raise Unknown
            sign = "-" if node.operator == "-" else sign
            node = node.operand
            if not isinstance(node, Literal) or node.kind not in ("integer", "decimal", "float"):
                raise Unknown
        else:
            node = node.inner
    if not isinstance(node, Literal):
        raise Unknown
    if node.kind == "null":
        return None
    kind = family(column.type)
    if node.kind == "string":
        data = node.text.encode()
        return b"x" + data if kind == "bit" else data
    if node.kind in NUMBERS:
        return _number(sign + node.text, node.kind, kind, column)
    if node.kind in ("hex", "bit"):
        return _bits(node, kind)
    if kind in COUNTS or kind == "json":
        raise Unknown
    return node.text.encode()


def _number(shown: str, kind: str, target: str, column: Column) -> Raw:
    if kind == "boolean":
        shown = shown.lower() if target == "json" else str(int(shown == "TRUE"))
    if target in ("enum", "set"):
        return _member(shown, kind, column)
    if kind == "float":
        shown = _of_float(shown, target)
    if target == "bit":
        return b"n" + _whole(shown).encode() if kind == "decimal" else b"n" + shown.encode()
    if target in ("date", "datetime"):
        return spellings.number(shown).encode() if not shown.startswith("-") else shown.encode()
    return shown.encode()


def _of_float(shown: str, target: str) -> str:
    """A double as a column of a family takes it: whole, a half to the even number; as text without an exponent."""
    number = float(shown)
    if target in ("integer", "year", "bit"):
        return str(round(number)) if abs(number) < 1e300 else shown
    return f"{Decimal(repr(number)):f}".removesuffix(".0")


def _whole(shown: str) -> str:
    """To the nearest, a half away from zero."""
    return str(Decimal(shown).quantize(Decimal(1), ROUND_HALF_UP))


def _member(shown: str, kind: str, column: Column) -> Raw:
    """The member of an ENUM or the members of a SET that a number means."""
    if kind not in ("integer", "boolean"):
        raise Unknown
    members, number = column.type.elements, int(shown)
    if column.type.name == "enum":
        return members[number - 1].encode() if 0 < number <= len(members) else shown.encode()
    if 0 <= number < 1 << len(members):
        return ",".join(member for place, member in enumerate(members) if number >> place & 1).encode()
    return shown.encode()


def _bits(node: Literal, target: str) -> Raw:
    """A hexadecimal or bit literal: a number or bytes, as the column asks for."""
    if node.kind == "bit":
        size, number = (len(node.text) + 7) // 8, int(node.text or "0", 2)
    else:
        size, number = (len(node.text) + 1) // 2, int(node.text or "0", 16)
    if target in COUNTS:
        shown = str(min(number, 2 ** 64 - 1)).encode()
        return b"n" + shown if target == "bit" else shown
    return number.to_bytes(size, "big")

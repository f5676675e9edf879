"""The values of literals."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from simulator.tidb.datums.kinds import Datum
from simulator.tidb.syntax.expressions import Literal, Node, Parenthesised, Unary

MAX_DIGITS, MAX_SCALE = 65, 30
"""Limits of a decimal literal."""

_TIMES = {
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
    "time": re.compile(r"-?\d{2,3}:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
}
"""Time literals that are written as TiDB prints them."""


class NotSimple(Exception):
    """The value or condition has to be computed by the evaluator of expressions."""


def literal_datum(node: Node) -> Datum | None:
    """Return the value of a literal, or of a number with a sign; None for NULL. Raises NotSimple."""
    sign = ""
    while isinstance(node, (Parenthesised, Unary)):
        if isinstance(node, Unary):
            if node.operator not in ("-", "+") or sign and node.operator == "-":
                raise NotSimple
            sign = "-" if node.operator == "-" else sign
            node = node.operand
            if not isinstance(node, Literal) or node.kind not in ("integer", "decimal", "float"):
                raise NotSimple
        else:
            node = node.inner
    if not isinstance(node, Literal):
        raise NotSimple
    if node.kind == "null":
        return None
    if node.kind == "string":
        if node.charset not in ("", "utf8mb4", "utf8", "binary"):
            raise NotSimple
        return Datum("bytes" if node.charset == "binary" else "string", node.text.encode())
    if node.kind == "boolean":
        return Datum("int", b"1" if node.text == "TRUE" else b"0")
    if node.kind in ("hex", "bit"):
        return Datum("literal", _literal_bytes(node))
    if node.kind in _TIMES:
        if not _TIMES[node.kind].fullmatch(node.text):
            raise NotSimple
        return Datum("datetime" if node.kind == "timestamp" else node.kind, node.text.encode())
    return _number_datum(sign + node.text, node.kind)


def _number_datum(text: str, kind: str) -> Datum:
    if kind == "float":
        number = float(text)
        if math.isinf(number):
            raise NotSimple
        return Datum("double", repr(number).encode())
    if kind == "integer" and -(2**63) <= int(text) < 2**64:
        return Datum("int" if int(text) < 2**63 else "uint", str(int(text)).encode())
    whole, _, fraction = text.lstrip("+-").partition(".")
    if len(whole) + len(fraction) > MAX_DIGITS or len(fraction) > MAX_SCALE:
        raise NotSimple
    value = Decimal(text)
    return Datum("decimal", f"{value if value else abs(value):f}".encode())


def _literal_bytes(node: Literal) -> bytes:
    base, digits_per_byte = (2, 8) if node.kind == "bit" else (16, 2)
    size = (len(node.text) + digits_per_byte - 1) // digits_per_byte
    return int(node.text or "0", base).to_bytes(size, "big")

"""Parse literals: strings, numbers, hexadecimal and bit literals, with the values of TiDB's lexer."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from sqlglot.tokens import TokenType

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import MAX_UNSIGNED, Cursor
from simulator.tidb.syntax.expressions import Literal, Node

INTRODUCERS = ("utf8", "utf8mb4", "ascii", "latin1", "binary")
"""The charsets that TiDB accepts as `_charset'…'` (pkg/parser/charset/charset.go, GetDefaultCollationLegacy)."""


def _parse_string(cursor: Cursor) -> Node:
    """Parse a string. Adjacent strings are one."""
    if cursor.next_token().token_type is TokenType.NATIONAL_STRING:
        return Literal("string", cursor.literal(), "utf8", True)
    text = cursor.literal()
    while cursor.kind() == "string" and cursor.next_token().token_type is TokenType.STRING:
        text += cursor.literal()
    return Literal("string", text, cursor.charset)


def _parse_introduced(cursor: Cursor) -> Node:
    """Parse `_charset'…'` or `_charset x'…'`."""
    charset = cursor.literal()[1:]
    if charset.lower() not in INTRODUCERS:
        raise SchemaError(f"Unsupported character introducer: '{charset.lower()}'", number=1115)
    if cursor.kind() == "string":
        return Literal("string", cursor.literal(), charset.lower(), True)
    if cursor.kind() not in ("hex", "bit"):
        cursor.unexpected("a string")
    return LITERALS[cursor.kind()](cursor)


def _parse_number(cursor: Cursor) -> Node:
    at = cursor.next_token()
    text = cursor.literal().lower()
    if not set(text) <= set("0123456789.e+-") or text.endswith("e") or not text[0].isdigit() and text[0] != ".":
        cursor.fail(f"{text!r} is not a number", at)
    return number_literal(text)


def number_literal(text: str) -> Literal:
    """Return a number as TiDB keeps it: an integer of up to 64 bits, else a decimal, or a float with an exponent."""
    if "e" in text:
        value = float(text)
        if math.isinf(value):
            raise SchemaError(f"Illegal double '{text}' value found during parsing", number=1367)
        return float_literal(value)
    whole, point, fraction = text.partition(".")
    whole = whole.lstrip("0") or "0"
    if not point and len(whole) <= 20 and int(whole) <= MAX_UNSIGNED:
        return Literal("integer", whole)
    return Literal("decimal", f"{whole}.{fraction}" if fraction else whole)


def float_literal(value: float) -> Literal:
    digits = len(Decimal(repr(value)).normalize().as_tuple().digits)
    return Literal("float", f"{value:.{digits - 1}e}")


def parse_fraction(cursor: Cursor) -> Node:
    """Parse `.5`, which the tokenizer splits into a dot and a number."""
    touching = cursor.touches_next()
    cursor.take()
    if not touching or cursor.kind() != "number":
        cursor.unexpected("an expression")
    text = cursor.literal().lower()
    if "." in text:
        cursor.unexpected("an operator")
    return number_literal(f".{text}")


def _parse_hex(cursor: Cursor) -> Node:
    at, written = cursor.next_token(), cursor.written()
    digits = cursor.literal().lower()
    if written.startswith("0X") or not set(digits) <= set("0123456789abcdef"):
        cursor.fail("this is not a hexadecimal literal", at)
    if len(digits) % 2 and not written.startswith("0x"):
        cursor.fail("a hexadecimal literal takes an even number of digits", at)
    return Literal("hex", "0" * (len(digits) % 2) + digits)


def _parse_bit(cursor: Cursor) -> Node:
    at, written = cursor.next_token(), cursor.written()
    digits = cursor.literal()
    if written.startswith("0B") or not set(digits) <= set("01"):
        cursor.fail("this is not a bit literal", at)
    return Literal("bit", digits and (digits.lstrip("0") or "0"))


LITERALS: dict[str, Callable[[Cursor], Node]] = {
    "string": _parse_string,
    "introducer": _parse_introduced,
    "number": _parse_number,
    "hex": _parse_hex,
    "bit": _parse_bit,
}
"""By the kind of the next token."""

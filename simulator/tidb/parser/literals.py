"""Literals from a cursor: strings, numbers, hexadecimal and bit literals.

One law: a literal keeps its value as TiDB's lexer sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from sqlglot import TokenType

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.syntax.expressions import Literal, Node

INTRODUCERS = ("utf8", "utf8mb4", "ascii", "latin1", "binary")
"""The charsets whose `_charset'…'` TiDB takes (pkg/parser/charset/charset.go, GetDefaultCollationLegacy)."""

MAX_UNSIGNED = 2 ** 64 - 1


def _string(parser: TiDBParser) -> Node:
    """A string; strings that follow each other are one."""
    if parser.next_token().token_type is TokenType.NATIONAL_STRING:
        return Literal("string", parser.literal(), "utf8")
    text = parser.literal()
    while parser.kind() == "string" and parser.next_token().token_type is TokenType.STRING:
        text += parser.literal()
    return Literal("string", text, parser.charset)


def _introduced(parser: TiDBParser) -> Node:
    """`_charset'…'`, `_charset x'…'`"""
    at = parser.next_token()
    charset = parser.literal()[1:]
    if charset.lower() not in INTRODUCERS:
        parser.fail(f"'_{charset}' is no introducer that TiDB takes: {', '.join(INTRODUCERS)}", at)
    if parser.kind() == "string":
        return Literal("string", parser.literal(), charset.lower())
    if parser.kind() not in ("hex", "bit"):
        parser.unexpected("a string")
    return LITERALS[parser.kind()](parser)


def _number(parser: TiDBParser) -> Node:
    at = parser.next_token()
    text = parser.literal().lower()
    if not set(text) <= set("0123456789.e+-") or text.endswith("e") or not text[0].isdigit() and text[0] != ".":
        parser.fail(f"{text!r} is not a number", at)
    return number(parser, text)


def number(parser: TiDBParser, text: str) -> Literal:
    """A number as TiDB keeps it: whole if 64 bits hold it, else a decimal; a float if it has an exponent."""
    if "e" in text:
        value = float(text)
        if math.isinf(value):
            parser.fail(f"the number {text} is out of the range of DOUBLE")
        digits = len(Decimal(repr(value)).normalize().as_tuple().digits)
        return Literal("float", f"{value:.{digits - 1}e}")
    whole, point, fraction = text.partition(".")
    whole = whole.lstrip("0") or "0"
    if not point and len(whole) <= 20 and int(whole) <= MAX_UNSIGNED:
        return Literal("integer", whole)
    return Literal("decimal", f"{whole}.{fraction}" if fraction else whole)


def read_fraction(parser: TiDBParser) -> Node:
    """`.5`, which the tokenizer gives as a dot and a number."""
    touching = parser.touches_next()
    parser.take()
    if not touching or parser.kind() != "number":
        parser.unexpected("an expression")
    text = parser.literal().lower()
    if "." in text:
        parser.unexpected("an operator")
    return number(parser, f".{text}")


def _hex(parser: TiDBParser) -> Node:
    at, written = parser.next_token(), parser.written()
    digits = parser.literal().lower()
    if written.startswith("0X") or not set(digits) <= set("0123456789abcdef"):
        parser.fail("this is not a hexadecimal literal", at)
    if len(digits) % 2 and not written.startswith("0x"):
        parser.fail("a hexadecimal literal takes an even number of digits", at)
    return Literal("hex", "0" * (len(digits) % 2) + digits)


def _bit(parser: TiDBParser) -> Node:
    at, written = parser.next_token(), parser.written()
    digits = parser.literal()
    if written.startswith("0B") or not set(digits) <= set("01"):
        parser.fail("this is not a bit literal", at)
    return Literal("bit", digits and (digits.lstrip("0") or "0"))


LITERALS: dict[str, Callable[[TiDBParser], Node]] = {
    "string": _string,
    "introducer": _introduced,
    "number": _number,
    "hex": _hex,
    "bit": _bit,
}
"""By what the cursor says comes next."""

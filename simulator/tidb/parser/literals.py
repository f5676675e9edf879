"""Parse literals with the values of TiDB's lexer, units of time, and time functions with a grammar of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from sqlglot.tokens import TokenType

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import MAX_UNSIGNED, Cursor
from simulator.tidb.syntax.expressions import Call, Literal, Node, Word

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


COMPOUND = tuple(
    """
    SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND
    DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH
    """.split()
)
UNITS = frozenset(("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *COMPOUND))


def parse_unit(cursor: Cursor) -> Word:
    """Parse a unit of time."""
    spelled = cursor.word()
    word = spelled.removeprefix("SQL_TSI_")
    if word not in UNITS or word != spelled and word in ("MICROSECOND", *COMPOUND):
        cursor.unexpected("a unit of time", UNITS)
    cursor.take()
    return Word(word)


def _parse_optional_parentheses(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `CURRENT_DATE` or `CURRENT_DATE()`."""
    cursor.accept("( )")
    return Call(name)


def _parse_with_precision(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `CURRENT_TIMESTAMP`, `NOW()` or `NOW(6)`."""
    if not cursor.accept("(") or cursor.accept(")"):
        return Call(name)
    digits = cursor.integer("a number of digits or ')'")
    cursor.expect(")")
    return Call(name, (Literal("integer", str(digits)),))


def _parse_date_arithmetic(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `DATE_ADD(x, INTERVAL 1 DAY)` or `ADDDATE(x, 1)`, which adds days."""
    cursor.expect("(")
    time = cursor.grammar.expression(cursor)
    cursor.expect(",")
    unit = Word("DAY")
    if cursor.word() == "INTERVAL" and (cursor.word_after() != "(" or name.startswith("DATE_")):
        cursor.take()
        amount = cursor.grammar.expression(cursor)
        unit = parse_unit(cursor)
    elif name.startswith("DATE_"):
        cursor.unexpected("'INTERVAL'")
    else:
        amount = cursor.grammar.expression(cursor)
    cursor.expect(")")
    return Call(name, (time, amount, unit))


def _parse_extract(cursor: Cursor, name: str) -> Node:
    return Call(name, cursor.sequence("(", parse_unit, "FROM", cursor.grammar.expression, ")"))


def _parse_timestamp_arithmetic(cursor: Cursor, name: str) -> Node:
    """Parse the rest of `TIMESTAMPADD(DAY, 1, x)`."""
    cursor.expect("(")
    at = cursor.next_token()
    unit = parse_unit(cursor)
    if "_" in unit.text:
        cursor.fail(f"{name} takes no unit {unit.text}", at)
    expression = cursor.grammar.expression
    return Call(name, (unit, *cursor.sequence(",", expression, ",", expression, ")")))


def _parse_get_format(cursor: Cursor, name: str) -> Node:
    cursor.expect("(")
    kind = cursor.one_of("DATE", "DATETIME", "TIME", "TIMESTAMP")
    (region,) = cursor.sequence(",", cursor.grammar.expression, ")")
    return Call(name, (Word("DATETIME" if kind == "TIMESTAMP" else kind), region))


WITHOUT_PRECISION = ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")
WITH_PRECISION = ("CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP")

TIME_FORMS: dict[str, Callable[[Cursor, str], Node]] = {
    **dict.fromkeys(WITHOUT_PRECISION, _parse_optional_parentheses),
    **dict.fromkeys((*WITH_PRECISION, "CURTIME", "SYSDATE"), _parse_with_precision),
    **dict.fromkeys(("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB"), _parse_date_arithmetic),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), _parse_timestamp_arithmetic),
    "CURDATE": lambda cursor, name: Call(name, cursor.sequence("( )")),
    "EXTRACT": _parse_extract,
    "GET_FORMAT": _parse_get_format,
}
"""By the name of the function."""

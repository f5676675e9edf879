"""CAST, and the conversion of a value to the type of a column: as a value of that type, or as the datum that it takes.

A value that does not fit is NULL, or truncated as MySQL does, with a problem. Datums: see `tidb.datums`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
from msgspec.structs import replace

from simulator.tidb.datums import Datum, Mode
from simulator.tidb.datums.cast import cast_value
from simulator.tidb.errors import MAX_ALLOWED_PACKET, packet_overflow
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.comparisons import as_duration, as_moment
from simulator.tidb.expressions.conversions import (
    as_decimal,
    as_number,
    as_real,
    as_text,
    converted,
    integer_value,
    rounded_moment,
    with_shown_digits,
)
from simulator.tidb.expressions.expression import (
    CONNECTION_COLLATION,
    INTEGER_KINDS,
    MAX_DIGITS,
    MAX_SCALE,
    MOMENT_KINDS,
    NULL_VALUE,
    TRUNCATED,
    WARNED,
    Context,
    Evaluate,
    Expression,
    Row,
    apply,
    apply_in_context,
    call_in_context,
    null,
    real,
)
from simulator.tidb.expressions.json_documents import as_document, unquote_json
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.expressions.numbers import json_to_decimal, real_text, text_to_decimal
from simulator.tidb.expressions.texts import as_bytes
from simulator.tidb.functions.time_conversions import cast_number, cast_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import CHARSETS, INTEGER_BITS, bounds
from simulator.tidb.syntax.definitions import literal_bytes
from simulator.tidb.syntax.expressions import Literal, Node, Parenthesised, Unary
from simulator.tidb.values.durations import round_micros


def cast(value: Expression, type: str) -> Expression:
    """Return `CAST(value AS type)`; the type is spelled as TiDB restores it."""
    if value.kind == "null":
        return null()
    name, _, rest = type.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(", ")] if rest else []
    if name in ("UNSIGNED", "SIGNED"):
        number = integer_value(value, "uint" if name == "UNSIGNED" else "int")
        return replace(number, is_year=False, is_column=False, column_type=None)
    if name == "DECIMAL":
        digits, scale = (*sizes, 0, 0)[:2] if sizes else (10, 0)
        return _decimal(value, min(digits or 10, MAX_DIGITS), min(scale, MAX_SCALE))
    if name == "FLOAT":
        # What a client is sent is a FLOAT; the value itself stays a double (pkg/expression/builtin_cast.go).
        single = apply(_single, as_real(value))
        return Expression(as_real(value), "real", text=apply(lambda each: real_text(float(str(each))), single))
    if name == "DOUBLE":
        return real(as_real(value))
    if name == "DATE":
        moment = value.evaluate if value.kind in MOMENT_KINDS else _moment(value, 0)
        return Expression(apply(lambda each: f"{each[:10]} 00:00:00.000000", moment), "date")
    digits = sizes[0] if sizes else 0
    if name == "DATETIME":
        return Expression(_moment(value, digits), "datetime", scale=digits)
    if name == "TIME":
        rounded = round_micros if value.kind == "time" else _round_parsed
        return Expression(apply(lambda micros: rounded(micros, digits), as_duration(value)), "time", scale=digits)
    return _text(value, name.partition(" ")[0], sizes, type.partition(" CHARSET ")[2])


def _moment(value: Expression, digits: int) -> Evaluate:
    """Return a value as a moment, rounded to `digits` of a second."""
    if value.kind in MOMENT_KINDS:
        return rounded_moment(value, digits)
    if value.kind in INTEGER_KINDS:
        return as_moment(value)
    is_number = value.kind in ("decimal", "real")
    text = apply(real_text, value.evaluate) if value.kind == "real" else as_text(value)

    def compute(context: Context, each: str) -> str:
        if is_number:
            return cast_number(each, digits, context.zone, context.zeros)
        zeros = context.zeros.replace("p", "") + ("p" if context.zero_parts else "")
        return cast_text(each, digits, context.zone, zeros)

    return converted(value, call_in_context(compute, unquote_json(value) if value.kind == "json" else text))


def _single(number: float) -> np.float32 | None:
    """Return a double as a FLOAT; NULL if it is too large."""
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return single if np.isfinite(single) else None


def _decimal(value: Expression, digits: int, scale: int) -> Expression:
    """Cast to DECIMAL, limited to its range."""
    most = Decimal(10**digits - 1).scaleb(-scale, numbers.EXACT)

    def limited(context: Context, number: Decimal) -> Decimal:
        rounded = numbers.quantize(number, scale)
        if -most <= rounded <= most:
            if rounded and rounded != number:
                context.problem(WARNED, f"1292 Truncated incorrect DECIMAL value: '{numbers.decimal_text(number)}'")
            return rounded
        context.problem(TRUNCATED, f"1690 DECIMAL value is out of range in '({digits}, {scale})'")
        return most if rounded > 0 else -most

    return Expression(apply_in_context(limited, _as_decimal(value)), "decimal", scale=scale, digits=digits)


def _as_decimal(value: Expression) -> Evaluate:
    if value.kind == "string" and value.number is None:
        return converted(value, apply_in_context(text_to_decimal, value.evaluate))
    if value.kind == "json":
        return converted(value, apply_in_context(json_to_decimal, value.evaluate))
    number = as_number(value)
    return apply(Decimal, as_text(number)) if number.kind == "real" else as_decimal(number).evaluate


def _round_parsed(micros: int, digits: int) -> int:
    """Round a TIME as its text is parsed, half away from zero (tidb pkg/types/time.go, matchDuration)."""
    size = round_micros(abs(micros), digits)
    return -size if micros < 0 else size


def _text(value: Expression, name: str, sizes: list[int], charset: str) -> Expression:
    """Cast to CHAR, BINARY, JSON or YEAR."""
    if name == "JSON":
        return Expression(as_document(value if value.shown_scale is None else with_shown_digits(value)), "json")
    if name == "YEAR":
        return replace(integer_value(value), is_year=True)
    is_binary = name == "BINARY"
    text = as_bytes(value) if is_binary and not value.is_binary else as_text(value)
    if sizes:
        text = _cut(text, sizes[0], is_binary)
    if is_binary:
        return Expression(text, "string", "binary", 2, is_binary=True)
    return Expression(text, "string", CHARSETS[charset.lower()][0] if charset else CONNECTION_COLLATION, 2)


def _cut(text: Evaluate, most: int, is_binary: bool) -> Evaluate:
    """Return a text of at most, bytes of exactly, so many characters."""

    def cut(context: Context, each: str) -> str | None:
        if is_binary and most > MAX_ALLOWED_PACKET:
            context.problem(TRUNCATED, f"1301 {packet_overflow('cast_as_binary')}")
            return None
        if len(each) > most:
            context.problem(TRUNCATED, f"1406 Data Too Long, field len {most}, data len {len(each)}")
        return each[:most].ljust(most, "\0") if is_binary else each[:most]

    return apply_in_context(cut, text)


_TIMES = {
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
    "time": re.compile(r"-?\d{2,3}:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
}
"""Time literals that are written as TiDB prints them."""


def datum_of(value: Expression, column: Column) -> Evaluate:
    """Return an expression as a datum for a column, None for NULL. Only a decimal column takes all digits of a quotient."""
    if value.shown_scale is not None and column.type.name != "decimal":
        value = with_shown_digits(value)
    if value.kind == "null":
        return NULL_VALUE
    type = value.column_type
    if type is not None and type.name in ("enum", "set") and value.number is not None:
        kind = type.name
        return apply(lambda number, text: Datum(kind, b"%d:%s" % (number, text.encode())), value.number, value.evaluate)
    if type is not None and type.name == "bit":
        size = (max(type.length, 1) + 7) // 8
        return apply(lambda number: Datum("bit", number.to_bytes(size, "big")), value.evaluate)
    if value.kind == "json" and column.type.name == "json":
        return apply(lambda text: Datum("json", text.encode("utf-8", "surrogatepass")), value.evaluate)
    kind, part, encode = _form(value)
    return apply(lambda each: Datum(kind, encode(each)), part)


LENIENT = Mode(frozenset())


def column_cell(value: Expression, column: Column) -> Evaluate:
    """Return the cell of a value in a column. A value that does not fit is clipped, since rows were checked before."""
    evaluate = datum_of(value, column)

    def cell(row: Row, context: Context) -> bytes | None:
        datum = evaluate(row, context)
        return None if datum is None else cast_value(column.type, column.name, datum, LENIENT)[0]

    return cell


def cast_to_column(value: Expression, column: Column) -> Expression:
    """Return a value as if it were written to a column and read again."""
    result = column_value(column, column_cell(value, column))
    same = value.kind == result.kind and value.is_binary == result.is_binary and result.number is None
    if same and (value.kind in ("string", "json") or column.type.name in ("bigint", "double")):
        return replace(result, evaluate=value.evaluate, text=None)
    if same and column.type.name in INTEGER_BITS:
        low, high = bounds(column.type)
        return replace(result, evaluate=apply(lambda each: min(max(each, low), high), value.evaluate), text=None)
    return result


def _form(value: Expression) -> tuple[str, Evaluate, Callable[..., bytes]]:
    """Return the kind of a value's datum, and how its body is made of a part of the value."""
    kind, type = value.kind, value.column_type
    if kind in INTEGER_KINDS:
        is_unsigned = kind == "uint" or type is not None and type.unsigned
        return "uint" if is_unsigned else "int", value.evaluate, lambda number: b"%d" % number
    if kind == "real":
        if type is not None and type.name == "float":
            return "float", as_text(value), str.encode
        return "double", value.evaluate, lambda number: repr(number).encode()
    if kind == "decimal":
        return "decimal", value.evaluate, lambda number: numbers.decimal_text(number).encode()
    if kind in ("date", "time", "json"):
        return kind, as_text(value), str.encode
    if kind == "datetime":
        is_timestamp = type is not None and type.name == "timestamp"
        return "timestamp" if is_timestamp else "datetime", as_text(value), str.encode
    if value.is_binary:
        return "bytes" if value.number is None else "literal", value.evaluate, lambda text: text.encode("latin-1")
    is_gbk = value.collation.startswith("gbk")
    return "gbk" if is_gbk else "string", as_text(value), lambda text: text.encode("utf-8", "surrogatepass")


class NotLiteral(Exception):
    """The value has to be computed as an expression."""


def literal_datum(node: Node) -> Datum | None:
    """Return the value of a literal, or of a number with a sign; None for NULL. Raises NotLiteral."""
    sign = ""
    while isinstance(node, (Parenthesised, Unary)):
        if isinstance(node, Unary):
            if node.operator not in ("-", "+") or sign and node.operator == "-":
                raise NotLiteral
            sign = "-" if node.operator == "-" else sign
            node = node.operand
            if not isinstance(node, Literal) or node.kind not in ("integer", "decimal", "float"):
                raise NotLiteral
        else:
            node = node.inner
    if not isinstance(node, Literal):
        raise NotLiteral
    if node.kind == "null":
        return None
    if node.kind == "string":
        if node.charset not in ("", "utf8mb4", "utf8", "binary"):
            raise NotLiteral
        if node.charset == "binary":
            return Datum("bytes", node.text.encode("utf-8", "surrogateescape"))
        return Datum("string", node.text.encode("utf-8", "surrogatepass"))
    if node.kind == "boolean":
        return Datum("int", b"1" if node.text == "TRUE" else b"0")
    if node.kind in ("hex", "bit"):
        return Datum("literal", literal_bytes(node.kind, node.text))
    if node.kind in _TIMES:
        if not _TIMES[node.kind].fullmatch(node.text):
            raise NotLiteral
        return Datum("datetime" if node.kind == "timestamp" else node.kind, node.text.encode())
    return _number_datum(sign + node.text, node.kind)


def _number_datum(text: str, kind: str) -> Datum:
    if kind == "float":
        number = float(text)
        if math.isinf(number):
            raise NotLiteral
        return Datum("double", repr(number).encode())
    if kind == "integer" and -(2**63) <= int(text) < 2**64:
        return Datum("int" if int(text) < 2**63 else "uint", b"%d" % int(text))
    whole, _, fraction = text.lstrip("+-").partition(".")
    if len(whole) + len(fraction) > MAX_DIGITS or len(fraction) > MAX_SCALE:
        raise NotLiteral
    value = Decimal(text)
    return Datum("decimal", numbers.decimal_text(value if value else abs(value)).encode())

"""CAST, and the conversion of a value to the type of a column.

A value that does not fit is NULL, or truncated as MySQL does, with a problem.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from simulator.tidb.expressions import decimals
from simulator.tidb.expressions.comparisons import as_duration, as_moment
from simulator.tidb.expressions.conversions import (
    as_decimal,
    as_number,
    as_real,
    as_text,
    converted,
    integer_value,
    with_shown_digits,
)
from simulator.tidb.expressions.expression import (
    CONNECTION_COLLATION,
    MAX_DIGITS,
    MAX_SCALE,
    TRUNCATED,
    WARNED,
    Context,
    Evaluate,
    Expression,
    apply,
    apply_in_context,
    null,
    real,
    replace,
)
from simulator.tidb.expressions.json_documents import as_document
from simulator.tidb.expressions.moments import round_duration, round_moment
from simulator.tidb.expressions.numbers import json_to_decimal, real_text, text_to_decimal
from simulator.tidb.expressions.texts import as_bytes
from simulator.tidb.functions.problems import MAX_ALLOWED_PACKET, packet_overflow
from simulator.tidb.model.types import CHARSETS


def cast(value: Expression, type: str) -> Expression:
    """Return `CAST(value AS type)`; the type is spelled as TiDB restores it."""
    if value.kind == "null":
        return null()
    name, _, rest = type.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(", ")] if rest else []
    if name in ("UNSIGNED", "SIGNED"):
        return replace(integer_value(value, "uint" if name == "UNSIGNED" else "int"), is_year=False)
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
        return Expression(apply(lambda moment: f"{moment[:10]} 00:00:00.000000", as_moment(value)), "date")
    digits = sizes[0] if sizes else 0
    if name == "DATETIME":
        return Expression(
            apply(lambda moment: round_moment(moment, digits), as_moment(value)), "datetime", scale=digits
        )
    if name == "TIME":
        return Expression(
            apply(lambda micros: round_duration(micros, digits), as_duration(value)), "time", scale=digits
        )
    return _text(value, name.partition(" ")[0], sizes, type.partition(" CHARSET ")[2])


def _single(number: float) -> np.float32 | None:
    """Return a double as a FLOAT; NULL if it is too large."""
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return single if np.isfinite(single) else None


def _decimal(value: Expression, digits: int, scale: int) -> Expression:
    """Cast to DECIMAL, limited to its range."""
    most = Decimal(10**digits - 1).scaleb(-scale, decimals.EXACT)

    def limited(context: Context, number: Decimal) -> Decimal:
        rounded = decimals.quantize(number, scale)
        if -most <= rounded <= most:
            if rounded and rounded != number:
                context.problem(WARNED, f"1292 Truncated incorrect DECIMAL value: '{decimals.text(number)}'")
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

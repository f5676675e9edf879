"""Decimals, and implicit conversions of text, JSON and numbers to numbers.

TiDB's decimals have up to 81 digits before the point and 30 behind it (tidb pkg/types/mydecimal.go). Text and JSON are
read by `datums.numbers`, as for columns; here their problems are noted (pkg/expression/builtin_cast.go).
"""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import TypeVar

from simulator.tidb.datums import TRUNCATED as DATA_TRUNCATED
from simulator.tidb.datums import CastProblem, truncated_value
from simulator.tidb.datums.numbers import (
    SPACE,
    IntegerRange,
    json_decimal,
    json_float,
    json_integer,
    text_decimal,
    text_float,
    text_integer,
)
from simulator.tidb.expressions.expression import TRUNCATED, WARNED, Context
from simulator.tidb.model.types import BIGINT, UNSIGNED_BIGINT
from simulator.tidb.values.documents import load

EXACT = decimal.Context(prec=700)
"""More digits than a double has before and behind its point."""

WORD, WORDS = 9, 9
"""Digits of a word of TiDB's decimals, and the words of the longest one."""

MOST = Decimal(10) ** (WORD * WORDS)
"""The first number that is too large."""


@lru_cache(128)
def _unit(scale: int) -> Decimal:
    return Decimal(1).scaleb(-scale)


def quantize(number: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """Return a number with `scale` digits behind the point (before it, if negative); no zero is negative."""
    try:
        result = number.quantize(_unit(scale), rounding, EXACT)
    except InvalidOperation:
        return number
    return result if result else result.copy_abs()


def truncate(number: Decimal, scale: int) -> Decimal:
    """Return a number without the digits behind `scale`."""
    return quantize(number, scale, ROUND_DOWN)


def fitted(number: Decimal) -> Decimal | None:
    """Return a number without the digits behind the point that do not fit into TiDB's nine words of nine digits; None if
    those before it do not (tidb pkg/types/mydecimal.go, FromString)."""
    whole = max(number.adjusted() + 1, 0) if number else 0
    if whole > WORD * WORDS:
        return None
    most = (WORDS - -(-whole // WORD)) * WORD
    return number if -int(number.as_tuple().exponent) <= most else truncate(number, most)


def real_to_decimal(number: float) -> Decimal:
    """Return the decimal that a double is printed as, at most the largest one (tidb pkg/types/mydecimal.go,
    FromFloat64)."""
    found = fitted(Decimal(repr(number)))
    return (MOST - 1).copy_sign(Decimal(number)) if found is None else found


def decimal_text(number: Decimal) -> str:
    return f"{number:f}"


BOUNDS = {"int": (-(2**63), 2**63 - 1), "uint": (0, 2**64 - 1)}
INTEGERS = {"int": IntegerRange(*BOUNDS["int"], BIGINT), "uint": IntegerRange(*BOUNDS["uint"], UNSIGNED_BIGINT)}
NAMES = {"int": "BIGINT", "uint": "BIGINT UNSIGNED"}
Number = TypeVar("Number")


def noted(context: Context, converted: tuple[Number, CastProblem | None]) -> Number:
    """Return what a text or JSON was converted to, with its problem noted."""
    number, problem = converted
    if problem:
        context.problem(TRUNCATED, f"{problem.number} {problem.text}")
    return number


def exact(prefix: str) -> Decimal:
    """Return what `float_prefix` found as a decimal; an exponent beyond those of doubles is limited."""
    digits, _, exponent = prefix.lower().partition("e")
    return Decimal(digits).scaleb(min(max(int(exponent or 0), -400), 400), EXACT)


def text_to_real(context: Context, text: str) -> float:
    """Return the number that a text begins with, limited to the largest double; 0 for the empty text."""
    return noted(context, text_float(text, function=True))


def text_to_decimal(context: Context, text: str) -> Decimal:
    """Return the number that a text begins with, else 0."""
    text = text.strip(SPACE)
    number, problem = text_decimal(text)
    return noted(context, (number, truncated_value("DECIMAL", text) if problem is DATA_TRUNCATED else problem))


def text_to_integer(context: Context, text: str, kind: str) -> int:
    """Return the integer that a text begins with, as 64 bits of `kind` (builtinCastStringAsIntSig)."""
    text = text.strip(SPACE)
    negative = len(text) > 1 and text[0] == "-"
    number, problem = text_integer(text, True, unsigned=not negative, function=True)
    if problem and problem.name == "overflow":
        context.problem(TRUNCATED, f"1690 {problem.text}", f"1292 {truncated_value('INTEGER', text).text}")
    else:
        noted(context, (number, problem))
        if kind == "int" and number >= 2**63:
            context.problem(
                WARNED, "1105 Cast to signed converted positive out-of-range integer to its negative complement"
            )
        if kind == "uint" and negative:
            context.problem(WARNED, "1105 Cast to unsigned converted negative integer to its positive complement")
    return bits(number, kind)


def bits(number: int, kind: str) -> int:
    """Return the 64 bits of a number as a number of the kind."""
    if kind == "int":
        return number - 2**64 if number >= 2**63 else number
    return number + 2**64 if number < 0 else number


def real_to_integer(context: Context, number: float, kind: str) -> int:
    """Round half to even. A negative number keeps its bits as `uint`."""
    low, high = BOUNDS[kind]
    near = round(number) if math.isfinite(number) else (2**65 if number > 0 else -(2**65))
    if near < low or near > high:
        shown = repr(number).removesuffix(".0")
        context.problem(TRUNCATED, f"1690 constant {shown} overflows bigint")
        if kind == "uint" and near < 0:
            return bits(max(near, -(2**63)), "uint")
    return min(max(near, low), high)


def decimal_to_integer(context: Context, number: Decimal, kind: str) -> int:
    """Round half away from zero, and limit to the range of a kind."""
    low, high = BOUNDS[kind]
    near = int(number.to_integral_value(ROUND_HALF_UP))
    if not low <= near <= high:
        context.problem(TRUNCATED, f"1690 {NAMES[kind]} value is out of range in '{decimal_text(number)}'")
    return min(max(near, low), high)


def json_to_real(context: Context, document: str) -> float:
    """Return a JSON number or string as a double; true is 1, other values are 0."""
    return noted(context, json_float(load(document)))


def json_to_decimal(context: Context, document: str) -> Decimal:
    """Return a JSON number or string as a decimal; true is 1, other values are 0."""
    return noted(context, json_decimal(load(document)))


def json_to_integer(context: Context, document: str, kind: str) -> int:
    """Return a JSON number or string as 64 bits of `kind`; true is 1, other values are 0."""
    value, whole = load(document), INTEGERS[kind]
    if type(value) is float or type(value) is int and not whole.low <= value <= whole.high:
        return real_to_integer(context, float(value), kind)
    return bits(noted(context, json_integer(value, whole, True)), kind)


def real_text(number: float) -> str:
    """Return a double with all its digits and no exponent (Go's FormatFloat 'f', pkg/expression/builtin_cast.go)."""
    shown = repr(number)
    if "e" in shown:
        shown = f"{Decimal(shown):f}"
    return shown[:-2] if shown.endswith(".0") else shown

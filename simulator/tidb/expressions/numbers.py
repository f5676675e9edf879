"""Decimals, and implicit conversions of text, JSON and numbers to numbers.

TiDB's decimals have up to 81 digits before the point and 30 behind it (tidb pkg/types/mydecimal.go). Sources of
conversions: pkg/types/convert.go (StrToFloat, StrToInt, ConvertJSONToInt, ConvertFloatToInt),
pkg/expression/builtin_cast.go.
"""

from __future__ import annotations

import decimal
import json
import math
import re
import sys
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache

from simulator.tidb.expressions.expression import MAX_SHOWN, TRUNCATED, WARNED, Context

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


NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
INTEGER = re.compile(r"[+-]?[0-9]*")
MAX_DOUBLE = sys.float_info.max
BOUNDS = {"int": (-(2**63), 2**63 - 1), "uint": (0, 2**64 - 1)}
NAMES = {"int": "BIGINT", "uint": "BIGINT UNSIGNED"}
DIGITS = 19
"""Digits of a text that is an integer for certain."""


def leading_number(text: str) -> str:
    """Return the number that a text begins with; `0` where it begins with none."""
    match = NUMBER.match(text)
    return match[1] if match else "0"


def incorrect(context: Context, type: str, text: str) -> None:
    context.problem(TRUNCATED, f"1292 Truncated incorrect {type} value: '{text[:MAX_SHOWN]}'")


def text_to_real(context: Context, text: str, may_be_empty: bool = True) -> float:
    """Return the number that a text begins with, limited to the largest double, or 0."""
    match = NUMBER.match(text)
    number = float(match[1]) if match else 0.0
    if match is None or match.end() != len(text) or math.isinf(number):
        trimmed = text.strip()
        whole = match is not None and match.end() == len(text.rstrip())
        if math.isinf(number) or not whole and not (may_be_empty and not trimmed):
            incorrect(context, "DOUBLE", trimmed)
    return max(min(number, MAX_DOUBLE), -MAX_DOUBLE)


def text_to_decimal(context: Context, text: str) -> Decimal:
    """Return the number that a text begins with, else 0."""
    match = NUMBER.match(text)
    trimmed = text.strip()
    if match is None or match[1] != trimmed:
        incorrect(context, "DECIMAL", trimmed)
    return Decimal(match[1]) if match else Decimal(0)


def text_to_integer(context: Context, text: str, kind: str) -> int:
    """Return the integer that a text begins with, as 64 bits of `kind`."""
    trimmed = text.strip()
    match = INTEGER.match(trimmed)
    digits = match[0] if match else ""
    number = int(digits) if digits not in ("", "+", "-") else 0
    if digits != trimmed or digits in ("", "+", "-"):
        incorrect(context, "INTEGER", trimmed)
    bounded = min(max(number, -(2**63)), 2**64 - 1)
    if bounded != number:
        context.problem(TRUNCATED, f"1690 BIGINT UNSIGNED value is out of range in '{digits[:MAX_SHOWN]}'")
    if kind == "int" and bounded >= 2**63:
        context.problem(
            WARNED, "1105 Cast to signed converted positive out-of-range integer to its negative complement"
        )
    if kind == "uint" and bounded < 0:
        context.problem(WARNED, "1105 Cast to unsigned converted negative integer to its positive complement")
    return bits(bounded, kind)


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
    head = document[:1]
    if head == '"':
        return text_to_real(context, json.loads(document), False)
    if head in "tfn[{":
        if head in "n[{":
            incorrect(context, "FLOAT", document)
        return float(head == "t")
    return float(document)


def json_to_decimal(context: Context, document: str) -> Decimal:
    """Return a JSON number or string as a decimal."""
    if document[:1] == '"':
        return text_to_decimal(context, json.loads(document))
    return Decimal(document) if document.lstrip("-").isdecimal() else Decimal(repr(json_to_real(context, document)))


def json_to_integer(context: Context, document: str, kind: str) -> int:
    head = document[:1]
    if head == '"':
        return real_to_integer(context, text_to_real(context, json.loads(document), False), kind)
    if head in "tfn[{":
        if head in "n[{":
            incorrect(context, "INTEGER", document)
        return int(head == "t")
    if document.lstrip("-").isdecimal():
        low, high = BOUNDS[kind]
        number = int(document)
        if low <= number <= high:
            return number
    return real_to_integer(context, float(document), kind)


def real_text(number: float) -> str:
    """Return a double with all its digits and no exponent (Go's FormatFloat 'f', pkg/expression/builtin_cast.go)."""
    shown = repr(number)
    if "e" in shown:
        shown = f"{Decimal(shown):f}"
    return shown[:-2] if shown.endswith(".0") else shown

"""Cast datums to DECIMAL: up to nine words of nine digits (tidb pkg/types/mydecimal.go)."""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Decimal

from simulator.tidb.datums.kinds import Datum, float_value, number_of_members
from simulator.tidb.datums.numbers import LEAST, MOST, SPACE, WIDE, go_float, literal_number, time_number
from simulator.tidb.datums.problems import TRUNCATED, CastProblem, overflow, truncated_value
from simulator.tidb.model.types import ColumnType

WORDS, DIGITS = 9, 9
TOO_LARGE = overflow("%s", "%s")

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?", re.ASCII)
_EXPONENT = re.compile(r"([+-]?)([0-9]*)", re.ASCII)
_LARGEST = Decimal("9" * WORDS * DIGITS)


def cast_decimal(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str | None, CastProblem | None]:
    """Cast a datum to DECIMAL (pkg/types/datum.go, convertToMysqlDecimal)."""
    number, problem = _number(datum, lenient)
    if number is None:
        return None, problem
    scale = max(type.decimal, 0)
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, WIDE)
    if rounded and rounded.adjusted() >= type.length - scale:
        most = Decimal(10**type.length - 1).scaleb(-scale, WIDE)
        rounded, problem = most.copy_sign(rounded), problem or overflow("DECIMAL", f"({type.length}, {scale})")
    if rounded < 0 and type.unsigned:
        rounded, problem = rounded * 0, problem or overflow("DECIMAL", f"({type.length}, {scale})")
    return f"{rounded if rounded else abs(rounded):f}", problem


def rounded_value(datum: Datum, text: str) -> str:
    """Return a value that became another one when it was rounded to a DECIMAL; empty if it did not, or is an integer."""
    digits = len(text.partition(".")[2])
    if datum.kind in ("int", "uint") or datum.kind == "decimal" and len(datum.body.partition(b".")[2]) <= digits:
        return ""
    number, problem = _number(datum, True)
    return "" if number is None or problem is not None or number == Decimal(text) else f"{number:f}"


def _number(datum: Datum, lenient: bool) -> tuple[Decimal | None, CastProblem | None]:
    kind = datum.kind
    if kind in ("int", "uint", "decimal"):
        return Decimal(datum.body.decode()), None
    if kind in ("double", "float"):
        return text_decimal(go_float(float_value(datum)))
    if kind in ("enum", "set"):
        return text_decimal(go_float(float(number_of_members(datum))))
    if kind in ("literal", "bit"):
        bits, problem = literal_number(datum.body)
        return Decimal(bits), problem
    if kind in ("time", "date", "datetime", "timestamp"):
        return Decimal(time_number(datum)), None
    if kind == "json":
        number, problem = _of_json(datum.body.decode())
        return (None if problem and not lenient else number), problem
    return text_decimal(datum.body.decode("utf-8", "replace"))


def _of_json(shown: str) -> tuple[Decimal, CastProblem | None]:
    """Convert JSON (pkg/types/convert.go, ConvertJSONToDecimal)."""
    value = json.loads(shown)
    if value is None or isinstance(value, (list, dict)):
        return Decimal(0), truncated_value("DECIMAL", shown)
    if isinstance(value, str):
        return text_decimal(value)
    return text_decimal(go_float(value)) if isinstance(value, float) else (Decimal(int(value)), None)


def text_decimal(text: str) -> tuple[Decimal, CastProblem | None]:
    """Convert the number at the start of a text (FromString)."""
    text = text.lstrip(" \t")
    match = _NUMBER.match(text)
    assert match is not None
    sign, whole, fraction = match[1], match[2], match[3] or ""
    if not whole and not fraction:
        return Decimal(0), truncated_value("DECIMAL", text[len(sign) :])
    problem = None
    if _words(len(whole)) + _words(len(fraction)) > WORDS:
        if _words(len(whole)) > WORDS:
            whole, fraction, problem = whole[-WORDS * DIGITS :], "", TOO_LARGE
        else:
            fraction, problem = fraction[: (WORDS - _words(len(whole))) * DIGITS], TRUNCATED
    number = Decimal(f"{sign}{whole or 0}.{fraction}0")
    rest = text[match.end() :]
    if rest[:1] in ("e", "E") and rest:
        return _shifted(number, rest[1:], problem)
    return number, TRUNCATED if rest.strip(SPACE) else problem


def _words(digits: int) -> int:
    return -(-digits // DIGITS)


def _shifted(number: Decimal, shown: str, problem: CastProblem | None) -> tuple[Decimal, CastProblem | None]:
    """Apply the exponent (Shift)."""
    shown = shown.strip(SPACE)
    match = _EXPONENT.match(shown)
    assert match is not None
    if not match[2] or match.end() < len(shown):
        problem = TRUNCATED
    power = min(max(int((match[1] + match[2][:25]) if match[2] else 0), LEAST), MOST)
    if power > (2**31 - 1) // 2:
        return _LARGEST.copy_sign(number), TOO_LARGE
    if power < -(2**31 // 2):
        return Decimal(0), TRUNCATED
    if not number or not power or problem is TOO_LARGE:
        return number, problem
    digits = number.normalize(WIDE)
    low = int(digits.as_tuple().exponent) + power
    high = digits.adjusted() + power
    whole, behind = max(high + 1, 0), max(-low, 0)
    lack = _words(whole) + _words(behind) - WORDS
    if lack > 0 and _words(behind) < lack:
        return _LARGEST.copy_sign(number), TOO_LARGE
    if lack <= 0:
        return digits.scaleb(power, WIDE), problem
    digits_left = (_words(behind) - lack) * DIGITS
    if high < -digits_left - 1:
        return Decimal(0), TRUNCATED
    return digits.scaleb(power, WIDE).quantize(Decimal(1).scaleb(-digits_left), ROUND_HALF_UP, WIDE), TRUNCATED

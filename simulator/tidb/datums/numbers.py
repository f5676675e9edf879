"""Cast datums to integers, and parse the numbers at the start of texts (tidb pkg/types/convert.go)."""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Context, Decimal

from simulator.tidb.datums.kinds import Datum, float_value, number_of_members
from simulator.tidb.datums.problems import CastProblem, overflow, overflows, truncated_value
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.durations import clock_number, round_duration
from simulator.tidb.values.moments import moment_number, parse_stored_moment

SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""The characters that Go's TrimSpace removes."""

WIDE = Context(prec=400)
MOST, LEAST = 2**63 - 1, -(2**63)
MOST_UNSIGNED = 2**64 - 1

_PREFIX = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def float_prefix(text: str) -> tuple[str, CastProblem | None]:
    """Return the number at the start of a text (getValidFloatPrefix)."""
    match = _PREFIX.match(text)
    prefix = match[0] if match else "0"
    rest = text[len(prefix) :] if match else text or " "
    if not rest or match and rest[0] == "\0":
        return prefix, None
    return prefix, truncated_value("DOUBLE", text)


def _integer_prefix(text: str, lenient: bool) -> tuple[str, CastProblem | None]:
    """Return the integer at the start of a text (getValidIntPrefix). In strict mode it stays unrounded with a problem."""
    prefix, problem = float_prefix(text)
    if problem and not lenient:
        return prefix, problem
    whole, cut = _rounded(prefix, text)
    return whole, problem or cut


def _rounded(prefix: str, text: str) -> tuple[str, CastProblem | None]:
    """Round the text of a number to an integer, half away from zero (floatStrToIntStr)."""
    if _INTEGER.fullmatch(prefix):
        return prefix, None
    head, _, exponent = prefix.lower().partition("e")
    digits = head.partition(".")[0]
    if exponent:
        power = int(exponent)
        if abs(power) >= 2**63 or power >= 0 and len(digits) + power > 21:
            edge = str(LEAST) if head.startswith("-") else str(MOST_UNSIGNED)
            return edge, overflow("BIGINT", text)
        if power < -400:
            return "0", None
    number = Decimal(prefix).quantize(Decimal(1), ROUND_HALF_UP, WIDE)
    return f"{number if number else abs(number):f}", None


def text_integer(text: str, lenient: bool, unsigned: bool = False) -> tuple[int, CastProblem | None]:
    """Convert the start of a text to an integer of 64 bits (StrToInt, StrToUint)."""
    prefix, problem = _integer_prefix(text.strip(SPACE), lenient)
    low, high, name = (0, MOST_UNSIGNED, "BIGINT UNSIGNED") if unsigned else (LEAST, MOST, "BIGINT")
    number = int(prefix) if _INTEGER.fullmatch(prefix) else None
    if number is None or not low <= number <= high:
        return min(max(number or 0, low), high), overflow(name, prefix)
    return number, problem


def literal_number(body: bytes) -> tuple[int, CastProblem | None]:
    """Convert a hexadecimal or bit literal to an integer (pkg/types/binary_literal.go, ToInt)."""
    if len(body.lstrip(b"\0")) > 8:
        return MOST_UNSIGNED, truncated_value("BINARY", f"0x{body.hex()}")
    return int.from_bytes(body, "big"), None


def signed(datum: Datum, low: int, high: int, type: ColumnType, lenient: bool) -> tuple[int, CastProblem | None]:
    """Cast a datum to a signed integer between two bounds (pkg/types/datum.go, toSignedInteger)."""
    kind, problem = datum.kind, None
    if kind in ("double", "float"):
        return _within_float(float_value(datum), low, high, type)
    if kind in ("enum", "set"):
        return _within_float(float(number_of_members(datum)), low, high, type)
    if kind == "json":
        return json_integer(datum, False, low, high, type, lenient)
    if kind in ("int", "uint"):
        number = int(datum.body)
    elif kind in ("literal", "bit"):
        number, problem = literal_number(datum.body)
        if problem and not lenient:
            return 0, problem
    elif kind == "decimal":
        number = int(Decimal(datum.body.decode()).quantize(Decimal(1), ROUND_HALF_UP, WIDE))
        if not LEAST <= number <= MOST:
            number, problem = min(max(number, LEAST), MOST), overflow("%s", "%s")
    elif kind == "time":
        number = int(clock_number(round_duration(datum.body.decode(), 0)))
    elif kind in ("date", "datetime", "timestamp"):
        moment = parse_stored_moment(datum.body.decode()).rounded(0)
        if moment is None:
            return 0, truncated_value("time", datum.body.decode())
        number = int(moment_number(moment, kind == "date"))
    else:
        number, problem = text_integer(datum.body.decode("utf-8", "replace"), lenient)
    if low <= number <= high:
        return number, problem
    return (low if number < low else high), problem or overflows(number, type)


def unsigned(datum: Datum, high: int, type: ColumnType, lenient: bool) -> tuple[int, CastProblem | None]:
    """Cast a datum to an unsigned integer (convertToUint)."""
    kind, problem = datum.kind, None
    if kind in ("double", "float"):
        return _unsigned_float(float_value(datum), high, type)
    if kind in ("enum", "set"):
        return _unsigned_float(float(number_of_members(datum)), high, type)
    if kind == "json":
        return json_integer(datum, True, 0, high, type, lenient)
    if kind in ("int", "uint"):
        number = int(datum.body)
    elif kind in ("literal", "bit"):
        number, problem = literal_number(datum.body)
        if problem and not lenient:
            return number, problem
    elif kind == "decimal":
        return _unsigned_decimal(datum.body.decode(), high, type)
    elif kind in ("time", "date", "datetime", "timestamp"):
        number_text = f"{Decimal(time_number(datum)).quantize(Decimal(1), ROUND_HALF_UP, WIDE):f}"
        if kind == "time":
            return _unsigned_decimal(number_text, high, type)
        number = int(number_text)
    else:
        number, problem = text_integer(datum.body.decode("utf-8", "replace"), lenient, unsigned=True)
        return (high, overflows(number, type)) if number > high else (number, problem)
    if number < 0:
        return 0, problem or overflows(number, type)
    return (high, problem or overflows(number, type)) if number > high else (number, problem)


def _within_float(number: float, low: int, high: int, type: ColumnType) -> tuple[int, CastProblem | None]:
    """Convert a float to a signed integer, half to even (ConvertFloatToInt)."""
    number = _even(number)
    if number < float(low):
        return low, overflows(go_float(number), type)
    if number >= float(high):
        return high, None if number == float(high) else overflows(go_float(number), type)
    return int(number), None


def _unsigned_float(number: float, high: int, type: ColumnType) -> tuple[int, CastProblem | None]:
    number = _even(number)
    if number < 0:
        return 0, overflows(go_float(number), type)
    return (int(number), None) if number <= high and number < 2.0**64 else (high, overflows(go_float(number), type))


def _even(number: float) -> float:
    return float(round(number)) if abs(number) < 2.0**53 else number


def go_float(number: float) -> str:
    """Print a double as Go's %v."""
    if number and not 1e-4 <= abs(number) < 1e21:
        mantissa, _, exponent = repr(number).partition("e")
        return f"{mantissa.removesuffix('.0')}e{exponent}"
    return f"{Decimal(repr(number)):f}".removesuffix(".0")


def time_number(datum: Datum) -> str:
    """Return a time, or a date with or without a time, as a number (ToNumber)."""
    text = datum.body.decode()
    return (
        clock_number(text) if datum.kind == "time" else moment_number(parse_stored_moment(text), datum.kind == "date")
    )


def _unsigned_decimal(shown: str, high: int, type: ColumnType) -> tuple[int, CastProblem | None]:
    """Convert a decimal to an unsigned integer. A negative one is too small (convertDecimalStrToUint)."""
    if shown.startswith("-"):
        return 0, overflows(shown, type)
    number = int(Decimal(shown).quantize(Decimal(1), ROUND_HALF_UP, WIDE))
    return (high, overflows(shown, type)) if number > high else (number, None)


def json_integer(
    datum: Datum, is_unsigned: bool, low: int, high: int, type: ColumnType, lenient: bool
) -> tuple[int, CastProblem | None]:
    """Convert JSON to an integer (ConvertJSONToInt)."""
    shown = datum.body.decode()
    value = json.loads(shown)
    if value is None or isinstance(value, (list, dict)):
        return 0, truncated_value("INTEGER", shown)
    if isinstance(value, bool):
        return int(value), None
    if isinstance(value, str):
        return text_integer(value, lenient, unsigned=len(value) < 2 or value[0] != "-")
    if isinstance(value, float):
        return _unsigned_float(value, high, type) if is_unsigned else _within_float(value, low, high, type)
    if low <= value <= high:
        return value, None
    return (low if value < low else high), overflows(value, type)

"""Casts of datums to numbers: integers, DECIMAL, FLOAT and DOUBLE.

Sources: tidb pkg/types/convert.go (integers, and the number at the start of a text), mydecimal.go (nine words of nine
digits at most), datum.go convertToFloat.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import NamedTuple

import numpy as np

from simulator.tidb.datums import (
    TRUNCATED,
    CastProblem,
    Datum,
    float_value,
    number_of_members,
    overflow,
    overflows,
    truncated_value,
)
from simulator.tidb.model.types import BIGINT, ColumnType
from simulator.tidb.values.documents import Document, TypedScalar, load, print_document
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


def _integer_prefix(text: str, lenient: bool, function: bool) -> tuple[str, CastProblem | None]:
    """Return the integer at the start of a text (getValidIntPrefix): of a column the number, rounded unless a problem is an
    error; of a function the digits."""
    if function:
        match = _INTEGER.match(text)
        return (match[0] if match else "0"), None if match and match[0] == text else truncated_value("INTEGER", text)
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


def text_integer(
    text: str, lenient: bool, unsigned: bool = False, function: bool = False
) -> tuple[int, CastProblem | None]:
    """Convert the start of a text to an integer of 64 bits (StrToInt, StrToUint), for a column or a function."""
    prefix, problem = _integer_prefix(text.strip(SPACE), lenient, function)
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


class IntegerRange(NamedTuple):
    """The integers that a datum may become; from 0 on, they are unsigned."""

    low: int
    high: int
    type: ColumnType
    """Named in the problem of a number that is out of range."""

    def nearest(self, number: int, problem: CastProblem | None = None) -> tuple[int, CastProblem | None]:
        """Return the nearest integer of the range, and the problem of the number or that it is out of range."""
        if self.low <= number <= self.high:
            return number, problem
        return (self.low if number < self.low else self.high), problem or overflows(number, self.type)


BIGINTS = IntegerRange(LEAST, MOST, BIGINT)


def cast_integer(datum: Datum, into: IntegerRange, lenient: bool) -> tuple[int, CastProblem | None]:
    """Cast a datum to an integer (pkg/types/datum.go, toSignedInteger, convertToUint)."""
    kind, is_signed = datum.kind, into.low < 0
    if kind in ("double", "float"):
        return _of_float(float_value(datum), into)
    if kind in ("enum", "set"):
        return _of_float(float(number_of_members(datum)), into)
    if kind == "json":
        return json_integer(load(datum.body.decode()), into, lenient)
    if kind in ("int", "uint"):
        return into.nearest(int(datum.body))
    if kind in ("literal", "bit"):
        number, problem = literal_number(datum.body)
        if problem and not lenient:
            return 0 if is_signed else number, problem
        return into.nearest(number, problem)
    if kind == "decimal":
        return (_signed_decimal if is_signed else _unsigned_decimal)(datum.body.decode(), into)
    if kind in ("time", "date", "datetime", "timestamp"):
        return (_signed_time if is_signed else _unsigned_time)(datum, into)
    number, problem = text_integer(datum.body.decode("utf-8", "replace"), lenient, not is_signed)
    return into.nearest(number, None if number > into.high and not is_signed else problem)


def _of_float(number: float, into: IntegerRange) -> tuple[int, CastProblem | None]:
    """Convert a float to an integer, half to even (ConvertFloatToInt, ConvertFloatToUint)."""
    number = float(round(number)) if abs(number) < 2.0**53 else number
    if number < into.low:
        return into.low, overflows(go_float(number), into.type)
    if into.low and number >= float(into.high):
        return into.high, None if number == float(into.high) else overflows(go_float(number), into.type)
    if number <= into.high and number < 2.0**64:
        return int(number), None
    return into.high, overflows(go_float(number), into.type)


def _signed_decimal(shown: str, into: IntegerRange) -> tuple[int, CastProblem | None]:
    number = _whole(shown)
    nearest = min(max(number, LEAST), MOST)
    return into.nearest(nearest, None if nearest == number else TOO_LARGE)


def _unsigned_decimal(shown: str, into: IntegerRange) -> tuple[int, CastProblem | None]:
    """Convert a decimal to an unsigned integer. A negative one is too small (convertDecimalStrToUint)."""
    if shown.startswith("-"):
        return 0, overflows(shown, into.type)
    number = _whole(shown)
    return into.nearest(number, overflows(shown, into.type) if number > into.high else None)


def _whole(shown: str) -> int:
    return int(Decimal(shown).quantize(Decimal(1), ROUND_HALF_UP, WIDE))


def _signed_time(datum: Datum, into: IntegerRange) -> tuple[int, CastProblem | None]:
    text = datum.body.decode()
    if datum.kind == "time":
        return into.nearest(int(clock_number(round_duration(text, 0))))
    moment = parse_stored_moment(text).rounded(0)
    if moment is None:
        return 0, truncated_value("time", text)
    return into.nearest(int(moment_number(moment, datum.kind == "date")))


def _unsigned_time(datum: Datum, into: IntegerRange) -> tuple[int, CastProblem | None]:
    shown = f"{Decimal(time_number(datum)).quantize(Decimal(1), ROUND_HALF_UP, WIDE):f}"
    return _unsigned_decimal(shown, into) if datum.kind == "time" else into.nearest(int(shown))


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


def _json_number(document: Document) -> int | float | None:
    """Return a number of JSON, or 1 for true and 0 for false; None for what is none, be it a text of a number."""
    if isinstance(document, TypedScalar):
        return int(document.text) if document.type == "UNSIGNED INTEGER" else None
    return document if isinstance(document, (int, float)) else None


def json_integer(document: Document, into: IntegerRange, lenient: bool) -> tuple[int, CastProblem | None]:
    """Convert JSON to an integer (ConvertJSONToInt)."""
    if isinstance(document, str):
        return text_integer(document, lenient, unsigned=len(document) < 2 or document[0] != "-")
    number = _json_number(document)
    if number is None:
        return 0, truncated_value("INTEGER", print_document(document))
    return _of_float(number, into) if isinstance(number, float) else into.nearest(int(number))


WORDS, DIGITS = 9, 9
TOO_LARGE = overflow("%s", "%s")

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?", re.ASCII)
_EXPONENT = re.compile(r"([+-]?)([0-9]*)", re.ASCII)
_LARGEST = Decimal("9" * WORDS * DIGITS)


def cast_decimal(type: ColumnType, datum: Datum, lenient: bool) -> tuple[str | None, CastProblem | None]:
    """Cast a datum to DECIMAL (pkg/types/datum.go, convertToMysqlDecimal)."""
    number, problem = _decimal(datum, lenient)
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
    number, problem = _decimal(datum, True)
    return "" if number is None or problem is not None or number == Decimal(text) else f"{number:f}"


def _decimal(datum: Datum, lenient: bool) -> tuple[Decimal | None, CastProblem | None]:
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
        number, problem = json_decimal(load(datum.body.decode()))
        return (None if problem and not lenient else number), problem
    return text_decimal(datum.body.decode("utf-8", "replace"))


def json_decimal(document: Document) -> tuple[Decimal, CastProblem | None]:
    """Convert JSON (pkg/types/convert.go, ConvertJSONToDecimal)."""
    if isinstance(document, str):
        return text_decimal(document)
    number = _json_number(document)
    if number is None:
        return Decimal(0), truncated_value("DECIMAL", print_document(document))
    return text_decimal(go_float(number)) if isinstance(number, float) else (Decimal(int(number)), None)


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


LARGEST = 1.7976931348623157e308
LARGEST_FLOAT = 3.4028234663852886e38


def cast_float(type: ColumnType, datum: Datum) -> tuple[str, CastProblem | None]:
    """Cast a datum to FLOAT or DOUBLE. Storage has no -0 (pkg/util/codec/float.go)."""
    number, problem = _float(datum)
    number, wrong = _produced(number, type)
    return float_text(number + 0.0, type.name == "float"), problem or wrong


def _float(datum: Datum) -> tuple[float, CastProblem | None]:
    kind = datum.kind
    if kind in ("double", "float"):
        return float_value(datum), None
    if kind in ("int", "uint", "decimal"):
        return float(datum.body), None
    if kind in ("enum", "set"):
        return float(number_of_members(datum)), None
    if kind in ("literal", "bit"):
        number, problem = literal_number(datum.body)
        return float(number), problem
    if kind in ("time", "date", "datetime", "timestamp"):
        return float(time_number(datum)), None
    if kind == "json":
        return json_float(load(datum.body.decode()))
    return text_float(datum.body.decode("utf-8", "replace"))


def json_float(document: Document) -> tuple[float, CastProblem | None]:
    """Convert JSON (pkg/types/convert.go, ConvertJSONToFloat)."""
    if isinstance(document, str):
        return text_float(document)
    number = _json_number(document)
    return (0.0, truncated_value("FLOAT", print_document(document))) if number is None else (float(number), None)


def text_float(text: str, function: bool = False) -> tuple[float, CastProblem | None]:
    """Convert the number at the start of a text, limited to the range (StrToFloat). For a function no text is 0."""
    text = text.strip(SPACE)
    if function and not text:
        return 0.0, None
    prefix, problem = float_prefix(text)
    number = float(prefix)
    if math.isinf(number):
        return math.copysign(LARGEST, number), truncated_value("DOUBLE", text)
    return number, problem


def _produced(number: float, type: ColumnType) -> tuple[float, CastProblem | None]:
    """Limit a number to the type's range (ProduceFloatWithSpecifiedTp)."""
    problem = None
    if math.isinf(number):
        return number, overflows("+Inf" if number > 0 else "-Inf", type)
    if type.length >= 0 and type.decimal >= 0:
        number, problem = _fixed(number, type)
    if type.unsigned and number < 0:
        return 0.0, overflows(go_float(number), type)
    if problem is None and type.name == "float" and abs(number) > LARGEST_FLOAT:
        return math.copysign(LARGEST_FLOAT, number), overflows(go_float(number), type)
    return number, problem


def _fixed(number: float, type: ColumnType) -> tuple[float, CastProblem | None]:
    """Round for FLOAT(M,D), half to even (pkg/types/helper.go, TruncateFloat)."""
    shift = float(f"1e{type.decimal}")
    moved = number * shift
    if not math.isinf(moved):
        number = float(np.rint(moved)) / shift
    most = float(f"1e{type.length - type.decimal}") - float(f"1e-{type.decimal}")
    if abs(number) > most:
        return math.copysign(most, number), overflow("DOUBLE", "")
    return number, None


def float_text(number: float, single: bool) -> str:
    """Print a float as a MySQL client: with the fewest digits, and an exponent below 1e-15 and from 1e15 on."""
    value = np.float32(number) if single else np.float64(number)
    if not value:
        return "-0" if math.copysign(1, number) < 0 else "0"
    if 1e-15 <= abs(float(value)) < 1e15:
        return np.format_float_positional(value, unique=True, trim="-")
    mantissa, exponent = np.format_float_scientific(value, unique=True, trim="-").split("e")
    return f"{mantissa}e{int(exponent)}"

"""Conversions of expressions to numbers, text, conditions, moments (DATE, DATETIME) and durations (TIME).

A moment is text `YYYY-MM-DD hh:mm:ss.ffffff`, which sorts by time and can hold zero dates. A duration is a number of
microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from simulator.tidb.errors import not_simulated
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.expression import (
    ALWAYS,
    MAX_SHOWN,
    MOMENT_KINDS,
    NULL_VALUE,
    NUMERIC_KINDS,
    TRUNCATED,
    Context,
    Evaluate,
    Expression,
    Row,
    apply,
    apply_in_context,
    decimal,
    integer,
    once,
)
from simulator.tidb.expressions.numbers import (
    bits,
    decimal_to_integer,
    json_to_integer,
    json_to_real,
    real_text,
    real_to_integer,
    text_to_integer,
    text_to_real,
)
from simulator.tidb.functions.time_conversions import parse_text as moment_of_text
from simulator.tidb.values import durations
from simulator.tidb.values.documents import print_dumped
from simulator.tidb.values.durations import duration_text, round_micros
from simulator.tidb.values.moments import parse_stored_moment


def converted(value: Expression, evaluate: Evaluate) -> Evaluate:
    """Return the conversion of an expression, which is made once in a statement if the expression is constant."""
    return once(evaluate) if value.is_constant else evaluate


def as_number(value: Expression) -> Expression:
    if value.kind == "bool":
        return replace(integer(apply(int, value.evaluate)), constant=value.constant, is_constant=value.is_constant)
    if value.kind in NUMERIC_KINDS:
        return value
    number = _number(value)
    return replace(number, evaluate=converted(value, number.evaluate), is_constant=value.is_constant)


def _number(value: Expression) -> Expression:
    if value.kind == "null":
        return integer(NULL_VALUE)
    if value.number is not None:
        return integer(value.number, "uint")
    if value.kind in MOMENT_KINDS:
        kind, scale = value.kind, value.scale
        if not scale:
            return integer(apply(lambda moment: int(moment_number(moment, kind).partition(".")[0]), value.evaluate))
        digits = scale - 6 or None
        return decimal(
            apply(lambda moment: Decimal(moment_number(moment, kind)[:digits]), value.evaluate), scale, 14 + scale
        )
    if value.kind == "time":
        scale = value.scale
        if not scale:
            return integer(apply(lambda micros: int(clock_number(micros) / 10**6), value.evaluate))
        return decimal(
            apply(lambda micros: numbers.quantize(Decimal(clock_number(micros)).scaleb(-6), scale), value.evaluate),
            scale,
            7 + scale,
        )
    convert = json_to_real if value.kind == "json" else text_to_real
    return Expression(apply_in_context(convert, value.evaluate), "real")


def as_real(value: Expression) -> Evaluate:
    number = as_number(value)
    return number.evaluate if number.kind == "real" else apply(float, number.evaluate)


def as_decimal(value: Expression) -> Expression:
    """Return an exact number as a decimal; a double by the digits that it is printed with."""
    number = as_number(value)
    if number.kind == "decimal":
        return number
    convert = numbers.real_to_decimal if number.kind == "real" else Decimal
    digits = {"int": 19, "uint": 20}.get(number.kind, 0)
    return replace(number, evaluate=apply(convert, number.evaluate), kind="decimal", scale=0, digits=digits)


def as_integer(value: Expression) -> Evaluate:
    """Return the value as a signed integer; see `integer_value`."""
    return integer_value(value, "int").evaluate


def integer_value(value: Expression, kind: str = "int") -> Expression:
    """Return the value as a 64-bit integer, `int` or `uint`, as CAST and arguments of functions convert it.

    Doubles are rounded half to even, decimals half away from zero. Text gives the digits that it begins with.
    """
    if value.kind == "null":
        return integer(NULL_VALUE, kind)
    if value.scale and value.kind in ("datetime", "time"):
        near = apply(lambda micros: round_micros(micros, 0), value.evaluate)
        value = replace(
            value, evaluate=rounded_moment(value, 0) if value.kind == "datetime" else near, scale=0, text=None
        )
    if value.kind == "json" or value.kind == "string" and value.number is None:
        convert = json_to_integer if value.kind == "json" else text_to_integer
        return _whole(value, lambda context, text: convert(context, text, kind), value.evaluate, kind)
    number = as_number(value)
    if number.kind == kind:
        return number
    if number.kind in ("int", "uint"):
        return _whole(value, lambda context, whole: bits(whole, kind), number.evaluate, kind)
    cut: Callable[..., int] = real_to_integer if number.kind == "real" else decimal_to_integer
    return _whole(value, lambda context, each: cut(context, each, kind), number.evaluate, kind)


def _whole(value: Expression, convert: Callable[[Context, Any], int], evaluate: Evaluate, kind: str) -> Expression:
    return replace(integer(converted(value, apply_in_context(convert, evaluate)), kind), is_constant=value.is_constant)


def as_int32(value: Expression) -> Evaluate:
    """Return the value limited to 32 bits, as functions of text take positions and lengths."""
    return apply(lambda number: max(min(number, 2**31 - 1), -(2**31)), as_integer(value))


def signed_bits(value: Expression) -> Evaluate:
    """Return the 64 bits of a whole number as a signed number."""
    number = as_number(value)
    return apply(lambda whole: bits(whole, "int"), number.evaluate) if number.kind == "uint" else as_integer(value)


def as_boolean(value: Expression) -> Evaluate:
    """Return the value as a condition: True, False or None."""
    if value.kind == "bool":
        return value.evaluate
    return NULL_VALUE if value.kind == "null" else apply(bool, as_number(value).evaluate)


def is_true(condition: Evaluate) -> Evaluate:
    """Return whether a condition is true, not false or unknown."""
    return lambda row, context: condition(row, context) is True


def negated(condition: Evaluate) -> Evaluate:
    """Return NOT of a condition."""

    def evaluate(row: Row, context: Context) -> bool | None:
        value = condition(row, context)
        return None if value is None else not value

    return evaluate


def junction(operator: str, parts: Sequence[Evaluate]) -> Evaluate:
    """Return AND or OR of conditions. Those behind one that decides are not evaluated."""
    if len(parts) == 1:
        return parts[0]
    decides = operator == "OR"

    def evaluate(row: Row, context: Context) -> bool | None:
        result: bool | None = not decides
        for part in parts:
            value: bool | None = part(row, context)
            if value is decides:
                return value
            if value is None:
                result = None
        return result

    return evaluate


def as_text(value: Expression) -> Evaluate:
    """Return the value as TiDB prints it."""
    if value.text is not None:
        return value.text
    if value.kind in ("string", "word", "null"):
        return value.evaluate
    return apply(_printer(value), value.evaluate)


def _printer(value: Expression) -> Callable[[Any], str]:
    scale = value.scale
    match value.kind:
        case "json":
            return print_dumped
        case "date":
            return lambda moment: str(moment[:10])
        case "datetime":
            return lambda moment: moment_text(moment, scale)
        case "time":
            return lambda micros: duration_text(micros, scale or None)
        case "real":
            return real_text
        case "bool":
            return lambda condition: "1" if condition else "0"
        case "decimal":
            return numbers.decimal_text
    return (lambda year: str(year) if year else "0000") if value.is_year else str


def with_shown_digits(value: Expression) -> Expression:
    """Return a decimal, or the text of a double, with the digits that a client is shown (tidb pkg/types/mydecimal.go,
    String)."""
    digits = value.digits_shown
    if value.kind == "real":
        return replace(value, text=apply(lambda number: f"{number:.{digits}f}", value.evaluate), shown_scale=None)
    return decimal(apply(lambda number: numbers.quantize(number, digits), value.evaluate), digits, value.digits)


MOMENT = "0000-00-00 00:00:00.000000"
SECOND = 10**6


def parse_printed_moment(shown: str) -> str:
    """Parse the text that TiDB prints of a date or datetime."""
    return shown + MOMENT[len(shown) :]


@lru_cache(1 << 12)
def duration_of_text(text: str) -> int | None:
    """Parse a TIME in any spelling of MySQL, limited to the longest TIME; None for other text."""
    return durations.duration(text, 6, cut=True)


def parse_moment(context: Context, text: str) -> str | None:
    """Parse a moment in any spelling of MySQL; other text is NULL, with a problem."""
    moment = moment_of_text(text)
    if moment is None:
        context.problem(TRUNCATED, f"1292 Incorrect datetime value: '{text[:MAX_SHOWN]}'")
    return moment


def parse_duration(context: Context, text: str) -> int | None:
    """Parse a TIME in any spelling of MySQL; other text is NULL, with a problem."""
    duration = duration_of_text(text)
    if duration is None:
        context.problem(TRUNCATED, f"1292 Truncated incorrect time value: '{text[:MAX_SHOWN]}'")
    return duration


def moment_number(moment: str, kind: str) -> str:
    """Return `YYYYMMDD` of a date or `YYYYMMDDhhmmss.ffffff` of a datetime."""
    if kind == "date":
        return moment[:4] + moment[5:7] + moment[8:10]
    return moment[:4] + moment[5:7] + moment[8:10] + moment[11:13] + moment[14:16] + moment[17:]


def as_datetime(moment: str) -> datetime | None:
    """Return a moment as a datetime; None for a date with a zero part or outside of the calendar."""
    try:
        return datetime.fromisoformat(moment)
    except ValueError:
        return None


def of_datetime(moment: datetime) -> str:
    return f"{moment.isoformat(' ', 'microseconds')[:26]}"


def rounded_moment(value: Expression, digits: int) -> Evaluate:
    """Return a moment rounded to `digits` of a second; one without a next second is an error of the statement."""

    def rounded(context: Context, moment: str) -> str:
        if moment.endswith("000000"):
            return moment
        found = parse_stored_moment(moment).rounded(digits)
        if found is None:
            context.problem(ALWAYS, f"1292 Incorrect time value: '{moment_text(moment, value.scale)}'")
            return moment
        if found.year > 9999:
            raise not_simulated(f"{moment_text(moment, value.scale)} is not rounded to a year of five digits")
        return found._replace(digits=6).text()

    return value.evaluate if digits >= 6 else apply_in_context(rounded, value.evaluate)


def clock_number(duration: int) -> int:
    """Return the number `hhmmss`, followed by six digits of its fraction."""
    seconds, micros = divmod(abs(duration), SECOND)
    number = (seconds // 3600 * 10000 + seconds // 60 % 60 * 100 + seconds % 60) * SECOND + micros
    return -number if duration < 0 else number


def moment_text(moment: str, digits: int = 0) -> str:
    """Return the text of a moment with `digits` of a second; without them its fraction without trailing zeros."""
    if digits:
        return moment[: 20 + digits]
    fraction = moment[19:].rstrip("0")
    return moment[:19] if fraction == "." else moment[:19] + fraction

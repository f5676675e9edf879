"""MySQL's functions that give dates and times: sums and differences of them, and of numbers, texts and time zones.

The arguments and results of all functions of dates and times are here, too. `tidb.functions` computes most of them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from simulator.tidb.errors import FunctionProblem, truncated_value
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.conversions import as_decimal, as_number, as_real, as_text, signed_bits
from simulator.tidb.expressions.expression import (
    MOMENT_KINDS,
    NULL_VALUE,
    NUMERIC_KINDS,
    Context,
    Evaluate,
    Expression,
    Function,
    apply,
    call,
    call_in_context,
    call_with_nulls,
    fixed,
    integer,
    null,
    string,
    value_for_errors,
)
from simulator.tidb.functions import intervals, time_conversions, time_formats
from simulator.tidb.functions.intervals import is_clock_unit
from simulator.tidb.functions.time_conversions import MAX_HOURS, SECOND, day_number, from_day_number, moment_text
from simulator.tidb.values.durations import LONGEST, duration_micros
from simulator.tidb.values.moments import in_century


def moment_argument(value: Expression, zeros: str | None = None) -> Evaluate:
    """Return a value as a moment, `YYYY-MM-DD hh:mm:ss.ffffff`. `zeros` replaces those that the statement allows."""
    if value.kind in MOMENT_KINDS:
        return value.evaluate
    if value.kind == "null":
        return NULL_VALUE
    if value.kind == "time":
        return call_in_context(
            lambda context, micros: time_conversions.moment_of_duration(micros, context.today), value.evaluate
        )
    if value.is_year:
        return apply(time_conversions.moment_of_year, value.evaluate)
    if value.kind in NUMERIC_KINDS:
        return call(time_conversions.moment_of_number, number_text(value))

    def parse(context: Context, text: str) -> str:
        allowed = ("z" if "z" in context.zeros else "") + ("p" if context.zero_parts else "")
        return time_conversions.moment_of_text(text, context.zone, allowed if zeros is None else zeros)

    return call_in_context(parse, as_text(value))


def duration_argument(value: Expression) -> Evaluate:
    """Return a value as the microseconds of a duration."""
    if value.kind in ("time", "null"):
        return value.evaluate
    if value.kind in MOMENT_KINDS:
        return apply(lambda moment: duration_micros(moment[11:]), value.evaluate)
    text = number_text(value) if value.kind in NUMERIC_KINDS else as_text(value)
    return call(time_conversions.duration_of_text, text)


def number_text(value: Expression) -> Evaluate:
    return fixed(value.constant) if value.constant is not None and "e" not in value.constant else as_text(value)


def kind_of_moment(value: Expression) -> str:
    """Return `date` or `datetime`, by which errors show a moment."""
    return "date" if value.kind == "date" else "datetime"


def fraction_digits(value: Expression) -> int:
    """Return a value's digits of a second; 6 for text that is no literal (getExpressionFsp)."""
    if value.constant is not None:
        return min(len(value.constant.rpartition(".")[2]), 6) if "." in value.constant else 0
    return value.scale if value.kind in (*MOMENT_KINDS, "time") else number_digits(value)


def number_digits(value: Expression) -> int:
    """Return the digits of a second that a number has; 6 for doubles and other types."""
    if value.kind in ("bool", "int", "uint", "null"):
        return 0
    return min(value.scale, 6) if value.kind == "decimal" else 6


def moment_value(evaluate: Evaluate, digits: int) -> Expression:
    return Expression(evaluate, "datetime", scale=digits)


def date_value(evaluate: Evaluate) -> Expression:
    return Expression(evaluate, "date")


def time_value(evaluate: Evaluate, digits: int) -> Expression:
    return Expression(evaluate, "time", scale=digits)


# -- sums and differences ----------------------------------------------------------------------------------------------


def _date_add(sign: int) -> Callable[[Expression, Expression, Expression], Expression]:
    """Return DATE_ADD or DATE_SUB; the first argument decides the type of the result (addSubDateFunctionClass)."""

    def compute(base: Expression, amount: Expression, unit: Expression) -> Expression:
        name = unit.constant or ""
        if "null" in (base.kind, amount.kind):
            return null()
        kind, shown = _amount_kind_and_text(amount)
        digits = _digits_added(base, amount, name)
        if base.kind == "time" and (is_clock_unit(name) and not name.startswith("DAY_") or name == "DAY_MICROSECOND"):
            return time_value(
                call(lambda start, by: intervals.duration_add(sign, name, start, kind, by), base.evaluate, shown),
                digits,
            )
        if base.kind in (*MOMENT_KINDS, "time"):
            base_kind, start = kind_of_moment(base), moment_argument(base)
        elif base.kind in NUMERIC_KINDS:
            base_kind, start = "number", number_text(base)
        else:
            base_kind, start = "string", as_text(base)
        added = intervals.MomentAddition(sign, name, digits, base_kind, kind)
        result = call_with_nulls(added, lambda row, context: context.zone, start, shown)
        if base_kind in ("string", "number"):
            return string(result)
        return date_value(result) if base_kind == "date" and not is_clock_unit(name) else moment_value(result, digits)

    return compute


def _amount_kind_and_text(value: Expression) -> tuple[str, Evaluate]:
    """Return how an amount is parsed (`string`, `decimal` or `int`), and its text."""
    if value.kind in ("string", "json", "word"):
        return "string", as_text(value)
    if value.kind in ("decimal", "real"):
        return "decimal", as_text(value)
    return "int", apply(str, signed_bits(value))


def _digits_added(base: Expression, amount: Expression, unit: str) -> int:
    if unit.endswith("MICROSECOND"):
        return 6
    more = 0
    if unit == "SECOND":
        more = 0 if amount.kind in (*MOMENT_KINDS, "time", "word") else number_digits(amount)
    return max(fraction_digits(base) if base.kind in (*MOMENT_KINDS, "time") else 0, more)


def _timestamp_add(unit: Expression, amount: Expression, base: Expression) -> Expression:
    name, is_day = unit.constant or "", base.kind == "date"
    return string(
        call(
            lambda number, start: intervals.timestamp_add(name, number, start, is_day),
            as_real(amount),
            moment_argument(base),
        )
    )


def _timestamp_difference(unit: Expression, start: Expression, end: Expression) -> Expression:
    name = unit.constant or ""
    return integer(
        call(
            lambda first, last: intervals.timestampdiff(name, first, last), moment_argument(start), moment_argument(end)
        )
    )


def _add_time(sign: int) -> Callable[[Expression, Expression], Expression]:

    def added(base: Expression, amount: Expression) -> Expression:
        if amount.kind == "datetime" or base.kind == "null":
            return null() if base.kind != "string" else string(NULL_VALUE)
        kind = "time" if amount.kind == "time" else "string"
        by = amount.evaluate if kind == "time" else as_text(amount)
        digits = max(fraction_digits(base), fraction_digits(amount))
        if base.kind == "datetime":
            return moment_value(_sum_of(intervals.add_to_moment, sign, base.evaluate, kind, by), digits)
        if base.kind == "time":
            return time_value(_sum_of(intervals.add_to_duration, sign, base.evaluate, kind, by), digits)
        if base.kind == "date":
            shown = fraction_digits(amount)
            return string(call(lambda start, more: intervals.add_date_time(sign, kind, more, shown), base.evaluate, by))
        if kind == "string" and amount.kind not in ("string", "null", *NUMERIC_KINDS):
            return string(NULL_VALUE)
        return string(call(lambda start, more: intervals.add_to_text(sign, start, more), as_text(base), by))

    return added


def _sum_of(compute: Callable[..., object], sign: int, start: Evaluate, kind: str, by: Evaluate) -> Evaluate:
    return call_with_nulls(lambda first, more: compute(sign, first, kind, more), start, by)


def _time_difference(first: Expression, second: Expression) -> Expression:
    kinds = [value.kind if value.kind in (*MOMENT_KINDS, "time") else "string" for value in (first, second)]
    sides = [
        as_text(value) if kind == "string" else value.evaluate
        for kind, value in zip(kinds, (first, second), strict=True)
    ]
    return time_value(
        call(lambda one, other: intervals.timediff(kinds[0], one, kinds[1], other), *sides),
        max(fraction_digits(first), fraction_digits(second)),
    )


def _timestamp(value: Expression, clock: Expression | None = None) -> Expression:
    """Return TIMESTAMP of one value, or of a moment and a time."""
    keeps = value.kind in MOMENT_KINDS or value.kind in NUMERIC_KINDS and not value.is_year
    result = moment_argument(value if keeps else string(as_text(value)), "zp")
    digits = fraction_digits(value)
    if clock is None:
        return moment_value(result, digits)
    digits = max(digits, fraction_digits(clock))
    start = apply(lambda moment: None if moment.startswith("0000") else moment, result)
    kind, by = ("time", duration_argument(clock)) if clock.kind == "time" else ("clock", as_text(clock))
    return moment_value(_sum_of(intervals.add_to_moment, 1, start, kind, by), digits)


# -- of numbers, texts and time zones ----------------------------------------------------------------------------------


def from_days(number: int) -> str | None:
    result = from_day_number(max(number, 0))
    return None if result is None else moment_text(result)


def makedate(year: int, day: int) -> str | None:
    if day <= 0 or not 0 <= year <= 9999:
        return None
    result = from_day_number(min(day_number(in_century(year), 1, 1) + day - 1, 10**9))
    return None if result is None or not result.year else moment_text(result)


def maketime(hours: int, minutes: int, seconds: float, digits: int) -> int | None:
    if not 0 <= minutes < 60 or not 0 <= seconds < 60:
        return None
    if abs(hours) > MAX_HOURS or abs(hours) == MAX_HOURS and minutes == 59 and seconds > 59:
        return LONGEST if hours > 0 else -LONGEST
    size = (abs(hours) * 3600 + minutes * 60) * SECOND + _round_seconds(seconds, digits)
    return -size if hours < 0 else size


def _round_seconds(seconds: float, digits: int) -> int:
    """Return the microseconds of a number of seconds, rounded to `digits` of a second."""
    unit: int = 10 ** (6 - digits)
    return (int(round(seconds * 10**7)) + 5 * unit) // (10 * unit) * unit


def sec_to_time(number: float, digits: int) -> int:
    seconds = abs(number)
    sign = -1 if number < 0 else 1
    if int(seconds) // 3600 > MAX_HOURS:
        shown = f"{seconds:.20f}".rstrip("0").rstrip(".")
        raise truncated_value("time", shown, sign * LONGEST)
    return sign * _round_seconds(seconds, digits)


def _period_months(period: int, function: str) -> int:
    if period < 0 or period % 100 == 0 or period % 100 > 12:
        raise FunctionProblem(1210, f"Incorrect arguments to {function}")
    year, month = divmod(period, 100)
    return in_century(year) * 12 + month - 1


def period_add(period: int, months: int) -> int:
    total = (_period_months(period, "period_add") + months) % 2**64
    if not total:
        return 0
    year, month = divmod(total, 12)
    result = in_century(year) * 100 + month + 1
    return (result + 2**63) % 2**64 - 2**63


def period_diff(first: int, second: int) -> int:
    return _period_months(first, "period_diff") - _period_months(second, "period_diff")


def _unix_timestamp(value: Expression) -> Expression:
    """Return UNIX_TIMESTAMP: an integer for a moment without a fraction, else a decimal. An error is 0 or NULL
    (builtin_time.go, builtinUnixTimestampIntSig, builtinUnixTimestampDecSig)."""
    digits = fraction_digits(value)
    if value.kind == "null":
        return null()
    micros = call_in_context(
        lambda context, moment: time_conversions.unix_timestamp(moment, context.zone), moment_argument(value)
    )
    micros = value_for_errors(micros, None if digits else 0)
    if not digits:
        return integer(apply(lambda each: each // SECOND, micros))
    number = apply(lambda each: Decimal(each // 10 ** (6 - digits)).scaleb(-digits) if each else Decimal(0), micros)
    return Expression(number, "decimal", scale=digits)


def _from_unixtime(value: Expression, form: Expression | None = None) -> Expression:
    number = as_number(value)
    moment = call_in_context(
        lambda context, seconds: time_conversions.from_unixtime(
            int(numbers.quantize(seconds, 6).scaleb(6, numbers.EXACT)), context.zone
        ),
        as_decimal(number).evaluate,
    )
    if form is not None:
        return string(call(time_formats.date_format, moment, as_text(form)))
    digits = 6 if value.kind in ("string", "real", "json") else min(number.scale, 6) if number.kind == "decimal" else 0
    return moment_value(moment, digits)


def _convert_tz(value: Expression, source: Expression, target: Expression) -> Expression:
    if "null" in (value.kind, source.kind, target.kind):
        return null()
    result = call(time_conversions.convert_tz, moment_argument(value), as_text(source), as_text(target))
    return moment_value(result, fraction_digits(value))


def _make_time(hour: Expression, minute: Expression, second: Expression) -> Expression:
    digits = number_digits(second)
    parts = (signed_bits(hour), signed_bits(minute), as_real(second))
    return time_value(call(lambda hours, minutes, seconds: maketime(hours, minutes, seconds, digits), *parts), digits)


def _sec_to_time(value: Expression) -> Expression:
    digits = number_digits(value)
    return time_value(call(lambda seconds: sec_to_time(seconds, digits), as_real(value)), digits)


def _time_to_sec(value: Expression) -> Expression:
    def seconds(micros: int) -> int:
        return micros // SECOND if micros >= 0 else -(-micros // SECOND)

    return integer(apply(seconds, duration_argument(value)))


def _str_to_date(value: Expression, form: Expression) -> Expression:
    kind = time_formats.result_kind(form.constant) if form.constant is not None else "datetime"
    digits = 6 if form.constant is None or "%f" in form.constant else 0
    result = call_in_context(
        lambda context, text, pattern: time_formats.str_to_date(text, pattern, kind, "z" in context.zeros),
        as_text(value),
        as_text(form),
    )
    if kind == "time":
        return time_value(result, digits)
    return date_value(result) if kind == "date" else moment_value(result, digits)


def _of_integers(compute: Callable[..., Any], gives: Callable[[Evaluate], Expression]) -> Callable[..., Expression]:
    return lambda *values: gives(call(compute, *map(signed_bits, values)))


INTERVAL_FUNCTIONS: dict[str, Function] = {
    **{name: Function(3, 3, _date_add(1), (2,)) for name in ("DATE_ADD", "ADDDATE")},
    **{name: Function(3, 3, _date_add(-1), (2,)) for name in ("DATE_SUB", "SUBDATE")},
    "ADDTIME": Function(2, 2, _add_time(1)),
    "SUBTIME": Function(2, 2, _add_time(-1)),
    "TIMEDIFF": Function(2, 2, _time_difference),
    "TIMESTAMP": Function(1, 2, _timestamp),
    "TIMESTAMPDIFF": Function(3, 3, _timestamp_difference, (0,)),
    "TIMESTAMPADD": Function(3, 3, _timestamp_add, (0,)),
    "TIME_TO_SEC": Function(1, 1, _time_to_sec),
    "SEC_TO_TIME": Function(1, 1, _sec_to_time),
    "MAKEDATE": Function(2, 2, _of_integers(makedate, date_value)),
    "MAKETIME": Function(3, 3, _make_time),
    "FROM_DAYS": Function(1, 1, _of_integers(from_days, date_value)),
    "PERIOD_ADD": Function(2, 2, _of_integers(period_add, integer)),
    "PERIOD_DIFF": Function(2, 2, _of_integers(period_diff, integer)),
    "UNIX_TIMESTAMP": Function(1, 1, _unix_timestamp),
    "FROM_UNIXTIME": Function(1, 2, _from_unixtime),
    "STR_TO_DATE": Function(2, 2, _str_to_date),
    "CONVERT_TZ": Function(3, 3, _convert_tz),
}
"""By TiDB's names."""

"""MySQL's functions that add to and subtract from dates and times; arguments and results of all functions of them."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.conversions import as_real, as_text, signed_bits
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
)
from simulator.tidb.functions import intervals, time_conversions
from simulator.tidb.functions.intervals import is_clock_unit
from simulator.tidb.values.durations import duration_micros


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
    """Return ADDTIME or SUBTIME."""

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
        return string(call(lambda start, more: intervals.add_to_text(sign, start, kind, more), as_text(base), by))

    return added


def _sum_of(compute: Callable[..., object], sign: int, start: Evaluate, kind: str, by: Evaluate) -> Evaluate:
    return call_with_nulls(lambda first, more: compute(sign, first, kind, more), start, by)


def _time_difference(first: Expression, second: Expression) -> Expression:
    """Return TIMEDIFF."""
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


INTERVAL_FUNCTIONS: dict[str, Function] = {
    **{name: Function(3, 3, _date_add(1), (2,)) for name in ("DATE_ADD", "ADDDATE")},
    **{name: Function(3, 3, _date_add(-1), (2,)) for name in ("DATE_SUB", "SUBDATE")},
    "ADDTIME": Function(2, 2, _add_time(1)),
    "SUBTIME": Function(2, 2, _add_time(-1)),
    "TIMEDIFF": Function(2, 2, _time_difference),
    "TIMESTAMP": Function(1, 2, _timestamp),
    "TIMESTAMPDIFF": Function(3, 3, _timestamp_difference, (0,)),
    "TIMESTAMPADD": Function(3, 3, _timestamp_add, (0,)),
}
"""By TiDB's names."""


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

"""MySQL's functions that add to and subtract from dates and times."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.expressions.sql.graph import Sql, sql, text, when
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values import times
from simulator.tidb.expressions.values.context import EvaluationContext
from simulator.tidb.expressions.values.value import (
    MOMENT_KINDS,
    NUMERIC_KINDS,
    Value,
    as_real,
    as_text,
    bits_text,
    integer_from_text,
    null,
    string,
)
from simulator.tidb.functions.intervals import is_clock_unit


def date_add(sign: int) -> Callable[[EvaluationContext, Value, Value, Value], Value]:
    """Return DATE_ADD or DATE_SUB; the first argument decides the type of the result (addSubDateFunctionClass)."""

    def added(context: EvaluationContext, base: Value, amount: Value, unit: Value) -> Value:
        name = unit.constant or ""
        if "null" in (base.kind, amount.kind):
            return null()
        kind, shown = _amount_kind_and_text(amount)
        digits = _digits_added(base, amount, name)
        if base.kind == "time" and (is_clock_unit(name) and not name.startswith("DAY_") or name == "DAY_MICROSECOND"):
            result = python_call(
                "duration_add", text(str(sign)), text(name), times.duration_argument(base), text(kind), shown
            )
            return times.time_value(result, digits)
        if base.kind in (*MOMENT_KINDS, "time"):
            base_kind, start = "date" if base.kind == "date" else "datetime", times.moment_argument(context, base)
        elif base.kind in NUMERIC_KINDS:
            base_kind, start = "number", times.number_text(base)
        else:
            base_kind, start = "string", as_text(base)
        result = python_call(
            "date_add",
            text(str(sign)),
            text(name),
            text(context.zone),
            text(str(digits)),
            text(base_kind),
            start,
            text(kind),
            shown,
        )
        if base_kind in ("string", "number"):
            return string(result)
        return (
            times.date_value(result)
            if base_kind == "date" and not is_clock_unit(name)
            else times.moment_value(result, digits)
        )

    return added


def _amount_kind_and_text(value: Value) -> tuple[str, Sql]:
    """Return how an amount is parsed (`string`, `decimal` or `int`), and its text."""
    if value.kind in ("string", "json", "word"):
        return "string", as_text(value)
    if value.kind in ("decimal", "wide", "real"):
        return "decimal", as_text(value)
    return "int", bits_text(value)


def _digits_added(base: Value, amount: Value, unit: str) -> int:
    if unit.endswith("MICROSECOND"):
        return 6
    more = 0
    if unit == "SECOND":
        more = 0 if amount.kind in (*MOMENT_KINDS, "time", "word") else times.number_digits(amount)
    return max(times.fraction_digits(base) if base.kind in ("date", "datetime", "time") else 0, more)


def timestamp_add(context: EvaluationContext, unit: Value, amount: Value, base: Value) -> Value:
    result = python_call(
        "timestamp_add",
        text(unit.constant or ""),
        sql("{}::VARCHAR", as_real(amount)),
        times.moment_argument(context, base),
        text("d" if base.kind == "date" else ""),
    )
    return string(result)


def timestamp_difference(context: EvaluationContext, unit: Value, start: Value, end: Value) -> Value:
    return integer_from_text(
        python_call(
            "timestampdiff",
            text(unit.constant or ""),
            times.moment_argument(context, start),
            times.moment_argument(context, end),
        )
    )


def add_time(sign: int) -> Callable[[Value, Value], Value]:
    """Return ADDTIME or SUBTIME."""

    def added(base: Value, amount: Value) -> Value:
        if amount.kind == "datetime" or base.kind == "null":
            return null() if base.kind != "string" else string(sql("NULL::VARCHAR"))
        way = text(str(sign))
        kind, by = ("time", times.duration_argument(amount)) if amount.kind == "time" else ("string", as_text(amount))
        digits = max(times.fraction_digits(base), times.fraction_digits(amount))
        if base.kind == "datetime":
            return times.moment_value(python_call("add_to_moment", way, base.sql, text(kind), by), digits)
        if base.kind == "time":
            return times.time_value(
                python_call("add_to_duration", way, times.duration_argument(base), text(kind), by), digits
            )
        if base.kind == "date":
            shown = python_call("add_date_time", way, text(kind), by, text(str(times.fraction_digits(amount))))
            return string(when(sql("{} IS NOT NULL", base.sql), shown))
        if kind == "string" and amount.kind not in ("string", "null") and amount.kind not in NUMERIC_KINDS:
            return string(sql("NULL::VARCHAR"))
        return string(python_call("add_to_text", way, as_text(base), text(kind), by))

    return added


def time_difference(first: Value, second: Value) -> Value:
    """Return TIMEDIFF."""
    sides = []
    for value in (first, second):
        is_moment = value.kind in ("date", "datetime")
        kind = value.kind if is_moment or value.kind == "time" else "string"
        sides += [
            text(kind),
            value.sql if is_moment else times.duration_argument(value) if kind == "time" else as_text(value),
        ]
    return times.time_value(
        python_call("timediff", *sides), max(times.fraction_digits(first), times.fraction_digits(second))
    )


def timestamp(context: EvaluationContext, value: Value, clock: Value | None = None) -> Value:
    """Return TIMESTAMP of one value, or of a moment and a time."""
    shown = (
        value
        if value.kind in ("date", "datetime") or value.kind in NUMERIC_KINDS and not value.is_year
        else (string(as_text(value)))
    )
    result, digits = times.moment_argument(context._replace(zeros="zp"), shown), times.fraction_digits(value)
    if clock is None:
        return times.moment_value(result, digits)
    digits = max(digits, times.fraction_digits(clock))
    start = when(sql("{} NOT LIKE '0000%'", result), result)
    by = ("time", times.duration_argument(clock)) if clock.kind == "time" else ("clock", as_text(clock))
    return times.moment_value(python_call("add_to_moment", text("1"), start, text(by[0]), by[1]), digits)

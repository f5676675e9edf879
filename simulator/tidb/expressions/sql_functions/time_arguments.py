"""Arguments and results of functions of dates and times."""

from __future__ import annotations

from simulator.tidb.expressions.calls import call, call_in_context
from simulator.tidb.expressions.context import Context
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import (
    MOMENT_KINDS,
    NULL_VALUE,
    NUMERIC_KINDS,
    Evaluate,
    Expression,
    apply,
    fixed,
)
from simulator.tidb.functions import time_conversions
from simulator.tidb.values.durations import duration_micros


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

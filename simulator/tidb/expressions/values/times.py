"""Arguments and results of time functions."""

from __future__ import annotations

from simulator.tidb.expressions.sql.graph import Sql, sql, text
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.context import EvaluationContext
from simulator.tidb.expressions.values.value import NUMERIC_KINDS, Value, as_text
from simulator.tidb.functions.intervals import COMPOUND_UNITS

DATE_PARTS = {"YEAR": (1, 4), "MONTH": (6, 2), "DAY": (9, 2)}
"""First character and length of a part in the text of a moment."""


CLOCK_UNITS = {"HOUR": 3600 * 10**6, "MINUTE": 60 * 10**6, "SECOND": 10**6, "MICROSECOND": 1}


UNITS = (*CLOCK_UNITS, "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *COMPOUND_UNITS)


def moment_argument(context: EvaluationContext, value: Value) -> Sql:
    """Return a value as a moment, `YYYY-MM-DD hh:mm:ss.ffffff`."""
    if value.kind in ("date", "datetime"):
        return value.sql
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if value.kind == "time":
        return python_call("moment_of_duration", sql("{}::VARCHAR", value.sql), text(context.today))
    if value.is_year:
        return python_call("moment_of_year", sql("{}::VARCHAR", value.sql))
    if value.kind in NUMERIC_KINDS:
        return python_call("moment_of_number", number_text(value))
    return python_call("moment_of_text", as_text(value), text(context.zone), text(context.zeros))


def number_text(value: Value) -> Sql:
    return text(value.constant) if value.constant is not None and "e" not in value.constant else as_text(value)


def duration_argument(value: Value) -> Sql:
    """Return a value as microseconds of a duration, as text."""
    if value.kind == "time":
        return sql("{}::VARCHAR", value.sql)
    if value.kind == "null":
        return sql("NULL::VARCHAR")
    if value.kind in ("date", "datetime"):
        return python_call("duration_of_text", sql("substring({}, 12)", value.sql))
    return python_call("duration_of_text", number_text(value) if value.kind in NUMERIC_KINDS else as_text(value))


def fraction_digits(value: Value) -> int:
    """Return a value's digits of a second; 6 for text that is no literal (getExpressionFsp)."""
    if value.constant is not None:
        return min(len(value.constant.rpartition(".")[2]), 6) if "." in value.constant else 0
    if value.kind in ("date", "datetime", "time"):
        return value.scale
    return number_digits(value)


def number_digits(value: Value) -> int:
    """Return the digits of a second that a number has; 6 for doubles and other types."""
    if value.kind in ("bool", "int", "uint", "null"):
        return 0
    return min(value.scale, 6) if value.kind in ("decimal", "wide") else 6


def moment_value(expression: Sql, digits: int) -> Value:
    return Value(expression, "datetime", scale=digits)


def date_value(expression: Sql) -> Value:
    return Value(expression, "date")


def time_value(micros: Sql, digits: int) -> Value:
    return Value(sql("{}::BIGINT", micros), "time", scale=digits)

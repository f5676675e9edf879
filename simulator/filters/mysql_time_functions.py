"""Functions of MySQL on dates and times, on Spark.

One law: parts of a moment are read from its text, so that zero dates have them; sums need a date that exists.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_branches import Function
from simulator.filters.mysql_comparisons import as_duration, as_moment
from simulator.filters.mysql_moments import from_timestamp, timestamp
from simulator.filters.mysql_values import Value, as_integer, as_real, integer, string

PARTS = {"YEAR": (1, 4), "MONTH": (6, 2), "DAY": (9, 2), "HOUR": (12, 2), "MINUTE": (15, 2), "SECOND": (18, 2),
         "MICROSECOND": (21, 6)}
"""First character and length in the text of a moment."""

MICROS = {"MICROSECOND": 1, "SECOND": 10 ** 6, "MINUTE": 60 * 10 ** 6, "HOUR": 3600 * 10 ** 6, "DAY": 86400 * 10 ** 6,
          "WEEK": 7 * 86400 * 10 ** 6}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS = (*MICROS, *MONTHS)
"""The units that need no text to be taken apart."""


def _part(name: str) -> Callable[[Value], Value]:
    start, length = PARTS[name]

    def part(value: Value) -> Value:
        if value.kind == "time":
            return _time_part(name, value)
        return integer(F.substring(as_moment(value), start, length))

    return part


def _time_part(name: str, value: Value) -> Value:
    size = F.abs(as_duration(value))
    if name == "HOUR":
        return integer(F.floor(size / MICROS["HOUR"]))
    unit, over = MICROS[name], {"MINUTE": 60, "SECOND": 60, "MICROSECOND": 10 ** 6}.get(name, 1)
    return integer(F.floor(size / unit) % over)


def _of_day(function: Callable[[Column], Column], plus: int = 0) -> Callable[[Value], Value]:
    return lambda value: integer(function(timestamp(as_moment(value))) + plus)


def _date(value: Value) -> Value:
    return Value(F.concat(F.substring(as_moment(value), 1, 10), F.lit(" 00:00:00.000000")), "date")


def _moment(value: Value) -> Value:
    return Value(as_moment(value), "datetime")


def _added(sign: int) -> Callable[[Value, Value, Value], Value]:
    """DATE_ADD, DATE_SUB: a date stays one if whole days are added."""
    def added(time: Value, amount: Value, unit: Value) -> Value:
        name = unit.constant or ""
        start = timestamp(as_moment(time))
        if name in MONTHS:
            found = F.timestamp_add("MONTH", (as_integer(amount) * (sign * MONTHS[name])).cast("int"), start)
        else:
            micros = F.round(as_real(amount) * (sign * MICROS[name])).cast("bigint")
            found = F.timestamp_add("MICROSECOND", micros, start)
        whole = name in (*MONTHS, "DAY", "WEEK") and time.kind == "date"
        return Value(from_timestamp(found), "date" if whole else "datetime")

    return added


def _extract(unit: Value, value: Value) -> Value:
    if unit.constant in PARTS:
        return _part(unit.constant)(value)
    return _of_day(F.quarter if unit.constant == "QUARTER" else F.weekofyear)(value)


def _difference(unit: Value, first: Value, second: Value) -> Value:
    """TIMESTAMPDIFF: whole units between two moments."""
    start, end = timestamp(as_moment(first)), timestamp(as_moment(second))
    if unit.constant in MONTHS:
        return integer(F.timestamp_diff("MONTH", start, end) / MONTHS[unit.constant])
    return integer(F.timestamp_diff("MICROSECOND", start, end) / MICROS[unit.constant or "DAY"])


def _days(value: Value) -> Column:
    return F.datediff(timestamp(as_moment(value)).cast("date"), F.lit("1970-01-01").cast("date"))


def _seconds(value: Value) -> Column:
    """Seconds since 1970 with their fraction, the time zone UTC."""
    return F.unix_micros(timestamp(as_moment(value)).cast("timestamp")).cast("decimal(20,0)") / 1_000_000


def _last_day(value: Value) -> Value:
    return Value(from_timestamp(F.last_day(timestamp(as_moment(value))).cast("timestamp_ntz")), "date")


def _name(pattern: str) -> Callable[[Value], Value]:
    return lambda value: string(F.date_format(timestamp(as_moment(value)), pattern))


TIME_FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, 1, _part(name)) for name in PARTS},
    "DAYOFMONTH": Function(1, 1, _part("DAY")),
    "DATE": Function(1, 1, _date),
    "TIMESTAMP": Function(1, 1, _moment),
    "TIME": Function(1, 1, lambda value: Value(as_duration(value), "time")),
    "QUARTER": Function(1, 1, _of_day(F.quarter)),
    "DAYOFWEEK": Function(1, 1, _of_day(F.dayofweek)),
    "DAYOFYEAR": Function(1, 1, _of_day(F.dayofyear)),
    "WEEKDAY": Function(1, 1, _of_day(F.weekday)),
    "WEEKOFYEAR": Function(1, 1, _of_day(F.weekofyear)),
    "DAYNAME": Function(1, 1, _name("EEEE")),
    "MONTHNAME": Function(1, 1, _name("MMMM")),
    "LAST_DAY": Function(1, 1, _last_day),
    "DATEDIFF": Function(2, 2, lambda end, start: integer(_days(end) - _days(start))),
    "TO_DAYS": Function(1, 1, lambda value: integer(_days(value) + 719528)),
    "TO_SECONDS": Function(1, 1, lambda value: integer(F.floor(_seconds(value)) + 62167219200)),
    "TIME_TO_SEC": Function(1, 1, lambda value: integer(as_duration(value) / 1_000_000)),
    "UNIX_TIMESTAMP": Function(1, 1, lambda value: Value(_seconds(value), "decimal")),
    "DATE_ADD": Function(3, 3, _added(1), (2,)),
    "ADDDATE": Function(3, 3, _added(1), (2,)),
    "DATE_SUB": Function(3, 3, _added(-1), (2,)),
    "SUBDATE": Function(3, 3, _added(-1), (2,)),
    "EXTRACT": Function(2, 2, _extract, (0,)),
    "TIMESTAMPDIFF": Function(3, 3, _difference, (0,)),
    "TIMESTAMPADD": Function(3, 3, lambda unit, amount, time: _added(1)(time, amount, unit), (0,)),
}
"""By TiDB's names."""

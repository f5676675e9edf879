"""MySQL's functions of dates and times: their parts, days and weeks, and formats (TiDB: pkg/expression/builtin_time.go).

Parts of a moment are read from its text, so zero dates have them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from simulator.tidb.errors import incorrect_value, truncated_value
from simulator.tidb.expressions.conversions import as_text, signed_bits
from simulator.tidb.expressions.expression import (
    MOMENT_KINDS,
    Context,
    Evaluate,
    Expression,
    Function,
    apply,
    apply_in_context,
    call,
    call_in_context,
    call_with_nulls,
    fixed,
    integer,
    string,
    value_for_errors,
)
from simulator.tidb.expressions.interval_functions import (
    INTERVAL_FUNCTIONS,
    date_value,
    duration_argument,
    fraction_digits,
    kind_of_moment,
    moment_argument,
    time_value,
)
from simulator.tidb.functions import time_formats
from simulator.tidb.functions.intervals import DURATION, is_clock_unit, leading_duration
from simulator.tidb.functions.time_conversions import (
    MONTHS,
    SECOND,
    WEEKDAYS,
    check_date,
    clock_fields,
    day_of_year,
    days_of,
    has_zero,
    incorrect_moment,
    moment_text,
    month_length,
    week_number,
    weekday_of,
)
from simulator.tidb.values import durations
from simulator.tidb.values.moments import CoreTime, parse_stored_moment

Compute = Callable[[Expression], Expression]

DATE_PARTS = {"YEAR": slice(4), "MONTH": slice(5, 7), "DAY": slice(8, 10), "DAYOFMONTH": slice(8, 10)}
"""Where the text of a moment has a part."""

CLOCK_UNITS = {"HOUR": 3600 * SECOND, "MINUTE": 60 * SECOND, "SECOND": SECOND, "MICROSECOND": 1}

NO_DATE = "0000-00-00"


# -- parts -------------------------------------------------------------------------------------------------------------


def _part(place: slice) -> Compute:
    return lambda value: integer(apply(lambda moment: int(moment[place]), moment_argument(value)))


def _quarter(value: Expression) -> Expression:
    return integer(apply(lambda moment: (int(moment[5:7]) + 2) // 3, moment_argument(value)))


def _clock_part(name: str) -> Compute:
    """Return HOUR, MINUTE, SECOND or MICROSECOND; NULL for an error (builtin_time.go, builtinHourSig)."""
    unit, over = CLOCK_UNITS[name], {"MINUTE": 60, "SECOND": 60, "MICROSECOND": SECOND}.get(name, 10**9)
    return lambda value: integer(
        apply(lambda micros: abs(micros) // unit % over, value_for_errors(duration_argument(value)))
    )


def _extract(unit: Expression, value: Expression) -> Expression:
    """Return EXTRACT. Units of the clock are taken from a duration, units with a day from a moment."""
    name = unit.constant or ""
    if not is_clock_unit(name) or name.startswith("DAY_") and value.kind in MOMENT_KINDS:
        compute, argument = part_of_moment, moment_argument(value)
    elif name.startswith("DAY_") and value.kind != "time":
        compute, argument = extract_day, as_text(value)
    else:
        is_text = value.kind in ("string", "json")
        argument = call(time_of_text, as_text(value)) if is_text else duration_argument(value)
        return integer(call(lambda micros: part_of_duration(name, micros), argument))
    return integer(call(lambda text: compute(name, text), argument))


def part_of_moment(unit: str, text: str) -> int:
    """Return EXTRACT of a unit with a day."""
    year, month, day, hour, minute, second, part, _ = result = parse_stored_moment(text)
    parts = {
        "DAY": day,
        "MONTH": month,
        "YEAR": year,
        "QUARTER": (month + 2) // 3,
        "YEAR_MONTH": year * 100 + month,
        "DAY_HOUR": day * 100 + hour,
        "DAY_MINUTE": day * 10000 + hour * 100 + minute,
        "DAY_SECOND": day * 10**6 + hour * 10000 + minute * 100 + second,
        "DAY_MICROSECOND": (day * 10**6 + hour * 10000 + minute * 100 + second) * SECOND + part,
    }
    if unit == "WEEK":
        return 0 if has_zero(result) else week_number(result, 0)[1]
    return parts[unit]


def part_of_duration(unit: str, micros: int) -> int:
    """Return EXTRACT of a unit of the clock."""
    fields = dict(zip(("HOUR", "MINUTE", "SECOND", "MICROSECOND"), clock_fields(abs(micros)), strict=True))
    first, _, last = unit.removeprefix("DAY_").partition("_")
    if unit.startswith("DAY_"):
        first, last = "HOUR", first
    names = list(fields)
    result = 0
    for name in names[names.index(first) : names.index(last or first) + 1]:
        result = result * (1 if name == first else SECOND if name == "MICROSECOND" else 100) + fields[name]
    return -result if micros < 0 else result


def extract_day(unit: str, text: str) -> int:
    """Return EXTRACT of a unit of the clock with a day from a text, which is a duration or a moment."""
    if DURATION.fullmatch(text):
        return part_of_duration(unit, leading_duration(text)[0])
    result = durations.moment(text, 6)
    if result is None:
        raise incorrect_value(text)
    return part_of_moment(unit, result)


def time_of_text(text: str) -> int:
    """Return TIME of a text, whose rest is ignored with a problem."""
    result, whole = leading_duration(text)
    if not whole:
        raise truncated_value("time", text, result)
    return result


# -- days and weeks ----------------------------------------------------------------------------------------------------


def _date(value: Expression) -> Expression:
    """Return DATE; NULL for a zero date where the sql_mode forbids it."""

    def day(context: Context, moment: str) -> str | None:
        if "z" not in context.zeros and moment.startswith(NO_DATE):
            return None
        return f"{moment[:10]} 00:00:00.000000"

    return date_value(apply_in_context(day, moment_argument(value)))


def _time(value: Expression) -> Expression:
    if value.kind in ("time", "null"):
        return value
    clock = duration_argument(value) if value.kind == "datetime" else call(time_of_text, as_text(value))
    return time_value(clock, fraction_digits(value))


def _of_day(compute: Callable[[CoreTime], Any], gives: Callable[[Evaluate], Expression] = integer) -> Compute:
    """Return a function of a date, which needs a month and a day."""

    def called(value: Expression) -> Expression:
        kind = kind_of_moment(value)
        return gives(call(lambda text: compute(check_date(parse_stored_moment(text), kind)), moment_argument(value)))

    return called


def _weekday(moment: CoreTime) -> int:
    return (weekday_of(moment) + 6) % 7


def _last_day(value: Expression) -> Expression:
    kind = kind_of_moment(value)

    def last(context: Context, text: str) -> str:
        day = parse_stored_moment(text)
        if not day.month or not day.day and "z" not in context.zeros:
            raise incorrect_moment(day, kind)
        return moment_text(CoreTime(day.year, day.month, month_length(day.year, day.month)))

    return date_value(call_in_context(last, moment_argument(value)))


def _date_difference(end: Expression, start: Expression) -> Expression:
    def days(last: str, first: str) -> int:
        return days_of(check_date(parse_stored_moment(last))) - days_of(check_date(parse_stored_moment(first)))

    return integer(call(days, moment_argument(end), moment_argument(start)))


def _week(value: Expression, mode: Expression | None = None) -> Expression:
    """Return WEEK, whose mode is default_week_format unless it is given."""
    kind, moment = kind_of_moment(value), moment_argument(value)

    def week(text: str, way: int) -> int:
        return week_number(check_date(parse_stored_moment(text), kind), way)[1]

    if mode is not None:
        return integer(call(week, moment, signed_bits(mode)))
    return integer(
        call_in_context(lambda context, text: week(text, int(context.variable("default_week_format"))), moment)
    )


def _yearweek(value: Expression, mode: Expression | None = None) -> Expression:
    kind = kind_of_moment(value)

    def yearweek(text: str | None, way: int | None) -> int | None:
        if text is None:
            return None
        year, number = week_number(check_date(parse_stored_moment(text), kind), way or 0, True)
        return year * 100 + number if year * 100 + number >= 0 else 2**32 - 1

    return integer(call_with_nulls(yearweek, moment_argument(value), fixed(0) if mode is None else signed_bits(mode)))


def _dayname(value: Expression) -> Expression:
    """Return DAYNAME, which is a number from 0 for Monday where a number is wanted (builtinDayNameSig)."""
    name = _of_day(lambda moment: WEEKDAYS[weekday_of(moment)], string)(value)
    number = _of_day(_weekday)(value)
    return name if name.kind == "null" else replace(name, number=number.evaluate)


def _monthname(value: Expression) -> Expression:
    return string(apply(lambda moment: ("", *MONTHS)[int(moment[5:7])] or None, moment_argument(value)))


GET_FORMATS = {
    "DATE": {"USA": "%m.%d.%Y", "JIS": "%Y-%m-%d", "ISO": "%Y-%m-%d", "EUR": "%d.%m.%Y", "INTERNAL": "%Y%m%d"},
    "DATETIME": {
        "USA": "%Y-%m-%d %H.%i.%s",
        "JIS": "%Y-%m-%d %H:%i:%s",
        "ISO": "%Y-%m-%d %H:%i:%s",
        "EUR": "%Y-%m-%d %H.%i.%s",
        "INTERNAL": "%Y%m%d%H%i%s",
    },
    "TIME": {"USA": "%h:%i:%s %p", "JIS": "%H:%i:%s", "ISO": "%H:%i:%s", "EUR": "%H.%i.%s", "INTERNAL": "%H%i%s"},
}


def _get_format(kind: Expression, region: Expression) -> Expression:
    formats = GET_FORMATS[kind.constant or ""]
    return string(apply(lambda where: formats.get(where, ""), as_text(region)))


TIME_FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, 1, _part(place)) for name, place in DATE_PARTS.items()},
    **{name: Function(1, 1, _clock_part(name)) for name in CLOCK_UNITS},
    "DATE": Function(1, 1, _date),
    "TIME": Function(1, 1, _time),
    "QUARTER": Function(1, 1, _quarter),
    "DAYOFWEEK": Function(1, 1, _of_day(lambda moment: weekday_of(moment) + 1)),
    "DAYOFYEAR": Function(1, 1, _of_day(day_of_year)),
    "WEEKDAY": Function(1, 1, _of_day(_weekday)),
    "WEEKOFYEAR": Function(1, 1, _of_day(lambda moment: week_number(moment, 3)[1])),
    "TO_DAYS": Function(1, 1, _of_day(days_of)),
    "TO_SECONDS": Function(1, 1, _of_day(lambda moment: days_of(moment) * 86400 + moment.clock // SECOND)),
    "DAYNAME": Function(1, 1, _dayname),
    "MONTHNAME": Function(1, 1, _monthname),
    "LAST_DAY": Function(1, 1, _last_day),
    "DATEDIFF": Function(2, 2, _date_difference),
    "WEEK": Function(1, 2, _week),
    "YEARWEEK": Function(1, 2, _yearweek),
    "DATE_FORMAT": Function(
        2, 2, lambda value, form: string(call(time_formats.date_format, moment_argument(value), as_text(form)))
    ),
    "TIME_FORMAT": Function(
        2, 2, lambda value, form: string(call(time_formats.time_format, duration_argument(value), as_text(form)))
    ),
    "GET_FORMAT": Function(2, 2, _get_format, (0,)),
    "EXTRACT": Function(2, 2, _extract, (0,)),
    **INTERVAL_FUNCTIONS,
}
"""By TiDB's names."""

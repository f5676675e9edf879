"""Functions of moments and durations (TiDB: pkg/expression/builtin_time.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simulator.tidb.errors import FunctionProblem, incorrect_value, truncated_value
from simulator.tidb.functions import time_conversions
from simulator.tidb.functions.intervals import DURATION, leading_duration
from simulator.tidb.functions.time_conversions import CalendarMoment
from simulator.tidb.values import durations

Result = TypeVar("Result", int, str)


def _date_function(compute: Callable[[CalendarMoment], Result]) -> Callable[[str, str], Result]:
    return lambda kind, text: compute(time_conversions.check_date(time_conversions.parse_moment(text), kind))


dayofweek = _date_function(lambda moment: time_conversions.weekday(moment) + 1)
weekday = _date_function(lambda moment: (time_conversions.weekday(moment) + 6) % 7)
dayofyear = _date_function(
    lambda moment: time_conversions.days(moment) - time_conversions.day_number(moment.year, 1, 1) + 1
)
weekofyear = _date_function(lambda moment: time_conversions.week_number(moment, 3)[1])
dayname = _date_function(lambda moment: time_conversions.WEEKDAYS[time_conversions.weekday(moment)])
to_days = _date_function(time_conversions.days)
to_seconds = _date_function(
    lambda moment: time_conversions.days(moment) * 86400 + moment.micros // time_conversions.SECOND
)


def monthname(kind: str, text: str) -> str | None:
    moment = time_conversions.parse_moment(text)
    return time_conversions.MONTHS[moment.month - 1] if moment.month else None


def time_of_text(text: str) -> int:
    """Return TIME of a text, whose rest is ignored with a problem."""
    result, whole = leading_duration(text)
    if not whole:
        raise truncated_value("time", text, result)
    return result


def datediff(end: str, start: str) -> int:
    last, first = time_conversions.parse_moment(end), time_conversions.parse_moment(start)
    return time_conversions.days(time_conversions.check_date(last)) - time_conversions.days(
        time_conversions.check_date(first)
    )


def week(kind: str, text: str, mode: int) -> int:
    return time_conversions.week_number(time_conversions.check_date(time_conversions.parse_moment(text), kind), mode)[1]


def yearweek(kind: str, text: str | None, mode: int | None) -> int | None:
    if text is None:
        return None
    moment = time_conversions.check_date(time_conversions.parse_moment(text), kind)
    year, number = time_conversions.week_number(moment, mode or 0, True)
    return year * 100 + number if year * 100 + number >= 0 else 2**32 - 1


def from_days(number: int) -> str | None:
    result = time_conversions.from_day_number(max(number, 0))
    return None if result is None else time_conversions.moment_text(result)


def makedate(year: int, day: int) -> str | None:
    if day <= 0 or not 0 <= year <= 9999:
        return None
    result = time_conversions.from_day_number(min(time_conversions.day_number(_full_year(year), 1, 1) + day - 1, 10**9))
    return None if result is None or not result.year else time_conversions.moment_text(result)


def maketime(hours: int, minutes: int, seconds: float, digits: int) -> int | None:
    if not 0 <= minutes < 60 or not 0 <= seconds < 60:
        return None
    if (
        abs(hours) > time_conversions.MAX_HOURS
        or abs(hours) == time_conversions.MAX_HOURS
        and minutes == 59
        and seconds > 59
    ):
        return time_conversions.MAX_DURATION if hours > 0 else -time_conversions.MAX_DURATION
    size = (abs(hours) * 3600 + minutes * 60) * time_conversions.SECOND + _round_seconds(seconds, digits)
    return -size if hours < 0 else size


def _round_seconds(seconds: float, digits: int) -> int:
    """Return the microseconds of a number of seconds, rounded to `digits` of a second."""
    unit: int = 10 ** (6 - digits)
    return (int(round(seconds * 10**7)) + 5 * unit) // (10 * unit) * unit


def sec_to_time(number: float, digits: int) -> int:
    seconds = abs(number)
    sign = -1 if number < 0 else 1
    if int(seconds) // 3600 > time_conversions.MAX_HOURS:
        shown = f"{seconds:.20f}".rstrip("0").rstrip(".")
        raise truncated_value("time", shown, sign * time_conversions.MAX_DURATION)
    return sign * _round_seconds(seconds, digits)


# -- parts -------------------------------------------------------------------------------------------------------------


def part_of_moment(unit: str, text: str) -> int:
    """Return EXTRACT of a unit with a day."""
    year, month, day, micros = result = time_conversions.parse_moment(text)
    hour, minute, second, part = time_conversions.clock_fields(micros)
    parts = {
        "DAY": day,
        "MONTH": month,
        "YEAR": year,
        "QUARTER": (month + 2) // 3,
        "YEAR_MONTH": year * 100 + month,
        "DAY_HOUR": day * 100 + hour,
        "DAY_MINUTE": day * 10000 + hour * 100 + minute,
        "DAY_SECOND": day * 10**6 + hour * 10000 + minute * 100 + second,
        "DAY_MICROSECOND": (day * 10**6 + hour * 10000 + minute * 100 + second) * time_conversions.SECOND + part,
    }
    if unit == "WEEK":
        return 0 if time_conversions.has_zero(result) else time_conversions.week_number(result, 0)[1]
    return parts[unit]


def part_of_duration(unit: str, micros: int) -> int:
    """Return EXTRACT of a unit of the clock."""
    fields = dict(
        zip(("HOUR", "MINUTE", "SECOND", "MICROSECOND"), time_conversions.clock_fields(abs(micros)), strict=True)
    )
    first, _, last = unit.removeprefix("DAY_").partition("_")
    if unit.startswith("DAY_"):
        first, last = "HOUR", first
    names = list(fields)
    result = 0
    for name in names[names.index(first) : names.index(last or first) + 1]:
        result = (
            result * (1 if name == first else time_conversions.SECOND if name == "MICROSECOND" else 100) + fields[name]
        )
    return -result if micros < 0 else result


# -- the rest ----------------------------------------------------------------------------------------------------------


def _full_year(year: int) -> int:
    return year + (2000 if year < 70 else 1900 if year < 100 else 0)


def _period_months(period: int, function: str) -> int:
    if period < 0 or period % 100 == 0 or period % 100 > 12:
        raise FunctionProblem(1210, f"Incorrect arguments to {function}")
    year, month = divmod(period, 100)
    return _full_year(year) * 12 + month - 1


def period_add(period: int, months: int) -> int:
    total = (_period_months(period, "period_add") + months) % 2**64
    if not total:
        return 0
    year, month = divmod(total, 12)
    result = _full_year(year) * 100 + month + 1
    return (result + 2**63) % 2**64 - 2**63


def period_diff(first: int, second: int) -> int:
    return _period_months(first, "period_diff") - _period_months(second, "period_diff")


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


def get_format(kind: str, region: str) -> str:
    return GET_FORMATS[kind].get(region, "")


def last_day(kind: str, text: str, zeros: bool) -> str:
    result = time_conversions.parse_moment(text)
    if not result.month or not result.day and not zeros:
        raise time_conversions.incorrect_moment(result, kind)
    return time_conversions.moment_text(
        CalendarMoment(result.year, result.month, time_conversions.month_length(result.year, result.month))
    )


def extract_day(unit: str, text: str) -> int:
    """Return EXTRACT of a unit of the clock with a day from a text, which is a duration or a moment."""
    if DURATION.fullmatch(text):
        return part_of_duration(unit, leading_duration(text)[0])
    result = durations.moment(text, 6)
    if result is None:
        raise incorrect_value(text)
    return part_of_moment(unit, result)

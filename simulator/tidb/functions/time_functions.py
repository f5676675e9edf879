"""Functions of moments and durations (TiDB: pkg/expression/builtin_time.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simulator.tidb.errors import FunctionProblem, incorrect_value, truncated_value
from simulator.tidb.functions.intervals import DURATION, leading_duration
from simulator.tidb.functions.time_conversions import (
    MAX_HOURS,
    MONTHS,
    SECOND,
    WEEKDAYS,
    CalendarMoment,
    check_date,
    clock_fields,
    day_number,
    day_of_year,
    days_of,
    from_day_number,
    has_zero,
    incorrect_moment,
    moment_text,
    month_length,
    parse_moment,
    week_number,
    weekday_of,
)
from simulator.tidb.values import durations
from simulator.tidb.values.durations import LONGEST
from simulator.tidb.values.moments import in_century

Result = TypeVar("Result", int, str)


def _date_function(compute: Callable[[CalendarMoment], Result]) -> Callable[[str, str], Result]:
    return lambda kind, text: compute(check_date(parse_moment(text), kind))


dayofweek = _date_function(lambda moment: weekday_of(moment) + 1)
weekday = _date_function(lambda moment: (weekday_of(moment) + 6) % 7)
dayofyear = _date_function(day_of_year)
weekofyear = _date_function(lambda moment: week_number(moment, 3)[1])
dayname = _date_function(lambda moment: WEEKDAYS[weekday_of(moment)])
to_days = _date_function(days_of)
to_seconds = _date_function(lambda moment: days_of(moment) * 86400 + moment.micros // SECOND)


def monthname(kind: str, text: str) -> str | None:
    moment = parse_moment(text)
    return MONTHS[moment.month - 1] if moment.month else None


def time_of_text(text: str) -> int:
    """Return TIME of a text, whose rest is ignored with a problem."""
    result, whole = leading_duration(text)
    if not whole:
        raise truncated_value("time", text, result)
    return result


def datediff(end: str, start: str) -> int:
    last, first = parse_moment(end), parse_moment(start)
    return days_of(check_date(last)) - days_of(check_date(first))


def week(kind: str, text: str, mode: int) -> int:
    return week_number(check_date(parse_moment(text), kind), mode)[1]


def yearweek(kind: str, text: str | None, mode: int | None) -> int | None:
    if text is None:
        return None
    moment = check_date(parse_moment(text), kind)
    year, number = week_number(moment, mode or 0, True)
    return year * 100 + number if year * 100 + number >= 0 else 2**32 - 1


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


# -- parts -------------------------------------------------------------------------------------------------------------


def part_of_moment(unit: str, text: str) -> int:
    """Return EXTRACT of a unit with a day."""
    year, month, day, micros = result = parse_moment(text)
    hour, minute, second, part = clock_fields(micros)
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


# -- the rest ----------------------------------------------------------------------------------------------------------


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
    result = parse_moment(text)
    if not result.month or not result.day and not zeros:
        raise incorrect_moment(result, kind)
    return moment_text(CalendarMoment(result.year, result.month, month_length(result.year, result.month)))


def extract_day(unit: str, text: str) -> int:
    """Return EXTRACT of a unit of the clock with a day from a text, which is a duration or a moment."""
    if DURATION.fullmatch(text):
        return part_of_duration(unit, leading_duration(text)[0])
    result = durations.moment(text, 6)
    if result is None:
        raise incorrect_value(text)
    return part_of_moment(unit, result)

"""Functions of moments and durations (TiDB: pkg/expression/builtin_time.go)."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.functions.calendar import (
    MAX_DURATION,
    MAX_HOURS,
    MONTHS,
    SECOND,
    WEEKDAYS,
    CalendarMoment,
    date_text,
    day_number,
    from_day_number,
    has_zero,
    incorrect_value,
    moment_text,
    month_length,
    parse_moment,
    week_number,
    weekday,
)
from simulator.tidb.functions.problems import FunctionProblem
from simulator.tidb.functions.strict import Text, strict
from simulator.tidb.functions.time_arithmetic import (
    DURATION,
    add_date_time,
    add_to_duration,
    add_to_moment,
    add_to_text,
    days,
    leading_duration,
    timediff,
    timestamp_diff,
)
from simulator.tidb.values import spellings


def _incorrect_moment(moment: CalendarMoment, kind: str) -> FunctionProblem:
    return incorrect_value(date_text(moment) if kind == "date" else moment_text(moment, 0))


def _date_function(
    compute: Callable[[CalendarMoment], object], zero_month: bool = True
) -> Callable[[Text, Text], Text]:
    """Return a function of a date. A zero month is an error; with `zero_month`, a zero day is an error, too."""

    def called(kind: Text, text: Text) -> Text:
        if text is None or kind is None:
            return None
        result = parse_moment(text)
        if zero_month and has_zero(result) or not result.month:
            raise _incorrect_moment(result, kind)
        return str(compute(result))

    return called


@strict
def time_of_text(text: str) -> Text:
    """Return TIME of a text, whose rest is ignored with a problem."""
    result, whole = leading_duration(text)
    if not whole:
        raise FunctionProblem(1292, f"Truncated incorrect time value: '{text}'", "T", str(result))
    return str(result)


@strict
def datediff(end: str, start: str) -> Text:
    ends = parse_moment(end), parse_moment(start)
    for result in ends:
        if has_zero(result):
            raise incorrect_value(moment_text(result, 0))
    return str(days(ends[0]) - days(ends[1]))


def week(kind: Text, text: Text, mode: Text) -> Text:

    if text is None or mode is None:
        return None
    result = parse_moment(text)
    if has_zero(result):
        raise _incorrect_moment(result, kind or "")
    return str(week_number(result, int(mode))[1])


def yearweek(kind: Text, text: Text, mode: Text) -> Text:
    if text is None:
        return None
    result = parse_moment(text)
    if has_zero(result):
        raise _incorrect_moment(result, kind or "")
    year, number = week_number(result, int(mode or 0), True)
    return str(year * 100 + number if year * 100 + number >= 0 else 2**32 - 1)


def from_days(number: Text) -> Text:
    result = None if number is None else from_day_number(max(int(number), 0))
    return None if result is None else moment_text(result)


@strict
def makedate(year: str, day: str) -> Text:
    number, count = int(year), int(day)
    if count <= 0 or not 0 <= number <= 9999:
        return None
    number += 2000 if number < 70 else 1900 if number < 100 else 0
    result = from_day_number(min(day_number(number, 1, 1) + count - 1, 10**9))
    return None if result is None or not result.year else moment_text(result)


def maketime(hour: Text, minute: Text, second: Text, digits: Text) -> Text:
    if hour is None or minute is None or second is None:
        return None
    hours, minutes, seconds = int(hour), int(minute), float(second)
    if not 0 <= minutes < 60 or not 0 <= seconds < 60:
        return None
    if abs(hours) > MAX_HOURS or abs(hours) == MAX_HOURS and minutes == 59 and seconds > 59:
        return str(MAX_DURATION if hours > 0 else -MAX_DURATION)
    unit = 10 ** (6 - int(digits or 0))
    part = (int(round(seconds * 10**7)) + 5 * unit) // (10 * unit) * unit
    return str((-1 if hours < 0 else 1) * ((abs(hours) * 3600 + minutes * 60) * SECOND + part))


def sec_to_time(number: Text, digits: Text) -> Text:
    if number is None:
        return None
    seconds = abs(float(number))
    sign = -1 if float(number) < 0 else 1
    if int(seconds) // 3600 > MAX_HOURS:
        shown = f"{seconds:.20f}".rstrip("0").rstrip(".")
        raise FunctionProblem(1292, f"Truncated incorrect time value: '{shown}'", "T", str(sign * MAX_DURATION))
    unit = 10 ** (6 - int(digits or 0))
    micros = (int(round(seconds * 10**7)) + 5 * unit) // (10 * unit) * unit
    return str(sign * micros)


# -- parts -------------------------------------------------------------------------------------------------------------


def part_of_moment(unit: Text, text: Text) -> Text:
    """Return EXTRACT of a unit with a day."""
    if text is None:
        return None
    year, month, day, micros = result = parse_moment(text)
    hour, minute, second = micros // SECOND // 3600, micros // SECOND // 60 % 60, micros // SECOND % 60
    parts = {
        "DAY": day,
        "MONTH": month,
        "YEAR": year,
        "QUARTER": (month + 2) // 3,
        "YEAR_MONTH": year * 100 + month,
        "DAY_HOUR": day * 100 + hour,
        "DAY_MINUTE": day * 10000 + hour * 100 + minute,
        "DAY_SECOND": day * 10**6 + hour * 10000 + minute * 100 + second,
        "DAY_MICROSECOND": (day * 10**6 + hour * 10000 + minute * 100 + second) * SECOND + micros % SECOND,
    }
    if unit == "WEEK":
        return "0" if has_zero(result) else str(week_number(result, 0)[1])
    return str(parts[unit or ""])


@strict
def part_of_duration(unit: str, micros: str) -> Text:
    """Return EXTRACT of a unit of the clock."""
    size = abs(int(micros))
    hour, minute, second, rest = size // SECOND // 3600, size // SECOND // 60 % 60, size // SECOND % 60, size % SECOND
    fields = {"HOUR": hour, "MINUTE": minute, "SECOND": second, "MICROSECOND": rest}
    first, _, last = unit.removeprefix("DAY_").partition("_")
    if unit.startswith("DAY_"):
        first, last = "HOUR", first
    names = list(fields)
    result = 0
    for name in names[names.index(first) : names.index(last or first) + 1]:
        result = result * (1 if name == first else SECOND if name == "MICROSECOND" else 100) + fields[name]
    return str(-result if int(micros) < 0 else result)


# -- the rest ----------------------------------------------------------------------------------------------------------


def _period_months(period: int, function: str) -> int:
    if period < 0 or period % 100 == 0 or period % 100 > 12:
        raise FunctionProblem(1210, f"Incorrect arguments to {function}")
    year, month = divmod(period, 100)
    return (year + (2000 if year < 70 else 1900 if year < 100 else 0)) * 12 + month - 1


@strict
def period_add(period: str, months: str) -> Text:
    total = (_period_months(int(period), "period_add") + int(months)) % 2**64
    if not total:
        return "0"
    year, month = divmod(total, 12)
    result = (year + (2000 if year < 70 else 1900 if year < 100 else 0)) * 100 + month + 1
    return str((result + 2**63) % 2**64 - 2**63)


@strict
def period_diff(first: str, second: str) -> Text:
    return str(_period_months(int(first), "period_diff") - _period_months(int(second), "period_diff"))


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


def get_format(kind: Text, region: Text) -> Text:
    return None if region is None else GET_FORMATS[kind or ""].get(region, "")


def last_day(kind: Text, text: Text, zeros: Text) -> Text:
    if text is None:
        return None
    result = parse_moment(text)
    if not result.month or not result.day and not zeros:
        raise _incorrect_moment(result, kind or "")
    return moment_text(CalendarMoment(result.year, result.month, month_length(result.year, result.month)))


def extract_day(unit: Text, text: Text) -> Text:
    """Return EXTRACT of a unit of the clock with a day from a text, which is a duration or a moment."""
    if text is None:
        return None
    if DURATION.fullmatch(text):
        return part_of_duration(unit, str(leading_duration(text)[0]))
    result = spellings.moment(text, 6)
    if result is None:
        raise incorrect_value(text)
    return part_of_moment(unit, result)


TIME_FUNCTIONS: dict[str, Callable[..., Text]] = {
    "dayofweek": _date_function(lambda moment: weekday(moment) + 1),
    "weekday": _date_function(lambda moment: (weekday(moment) + 6) % 7),
    "dayofyear": _date_function(lambda moment: days(moment) - day_number(moment.year, 1, 1) + 1),
    "weekofyear": _date_function(lambda moment: week_number(moment, 3)[1]),
    "dayname": _date_function(lambda moment: WEEKDAYS[weekday(moment)]),
    "monthname": _date_function(lambda moment: MONTHS[moment.month - 1], zero_month=False),
    "to_days": _date_function(days),
    "to_seconds": _date_function(lambda moment: days(moment) * 86400 + moment.micros // SECOND),
    "last_day": last_day,
    "datediff": datediff,
    "time_of_text": time_of_text,
    "week": week,
    "yearweek": yearweek,
    "from_days": from_days,
    "makedate": makedate,
    "maketime": maketime,
    "sec_to_time": sec_to_time,
    "add_to_text": add_to_text,
    "add_to_moment": add_to_moment,
    "add_to_duration": add_to_duration,
    "add_date_time": add_date_time,
    "timediff": timediff,
    "timestampdiff": timestamp_diff,
    "part_of_moment": part_of_moment,
    "extract_day": extract_day,
    "part_of_duration": part_of_duration,
    "period_add": period_add,
    "period_diff": period_diff,
    "get_format": get_format,
}
"""By their names in SQL."""

"""Functions of moments and durations (TiDB: pkg/expression/builtin_time.go)."""

from __future__ import annotations

import re
from collections.abc import Callable

from simulator.tidb.functions.calendar import (
    DAY,
    LONGEST,
    MONTHS,
    MOST_HOURS,
    SECOND,
    WEEKDAYS,
    Moment,
    clock_text,
    date_text,
    day_number,
    has_zero,
    incorrect,
    later,
    moment,
    moment_text,
    month_length,
    of_day_number,
    week,
    weekday,
)
from simulator.tidb.functions.problems import Problem
from simulator.tidb.values import spellings

Text = str | None

DURATION = re.compile(r"\s*-?(?:(?:\d{1,2}\s+)?0*\d{0,3}(?::0*\d{1,2}){0,2}|\d{1,7})?(?:\.\d*)?\s*", re.ASCII)


def _refused(expression: Moment, kind: str) -> Problem:
    return incorrect(date_text(expression) if kind == "date" else moment_text(expression, 0))


def _of_day(compute: Callable[[Moment], object], zero_month: bool = True) -> Callable[[Text, Text], Text]:
    """A function of a date that has no part that is 0; `zero_month`: nor a month."""

    def called(kind: Text, text: Text) -> Text:
        if text is None or kind is None:
            return None
        result = moment(text)
        if zero_month and has_zero(result) or not result.month:
            raise _refused(result, kind)
        return str(compute(result))

    return called


def _days(expression: Moment) -> int:
    return day_number(expression.year, expression.month, expression.day)


def begun_duration(text: str) -> tuple[int, bool]:
    """The duration that a text begins with, and whether that is all of it."""
    result = spellings.duration(text, 6)
    if result is not None:
        return result, True
    cut = spellings.duration(text, 6, cut=True)
    leading = re.match(r"\s*-?\d+", text, re.ASCII)
    if cut is None and leading:
        cut = spellings.duration(leading[0], 6, cut=True)
    return cut or 0, False


def time_of_text(text: Text) -> Text:
    """TIME: as far as the text is one."""
    if text is None:
        return None
    result, whole = begun_duration(text)
    if not whole:
        raise Problem(1292, f"Truncated incorrect time value: '{text}'", "T", str(result))
    return str(result)


def datediff(end: Text, start: Text) -> Text:
    if end is None or start is None:
        return None
    ends = moment(end), moment(start)
    for result in ends:
        if has_zero(result):
            raise incorrect(moment_text(result, 0))
    return str(_days(ends[0]) - _days(ends[1]))


def weeks(kind: Text, text: Text, mode: Text) -> Text:
    """WEEK"""
    if text is None or mode is None:
        return None
    result = moment(text)
    if has_zero(result):
        raise _refused(result, kind or "")
    return str(week(result, int(mode))[1])


def yearweek(kind: Text, text: Text, mode: Text) -> Text:
    if text is None:
        return None
    result = moment(text)
    if has_zero(result):
        raise _refused(result, kind or "")
    year, number = week(result, int(mode or 0), True)
    return str(year * 100 + number if year * 100 + number >= 0 else 2**32 - 1)


def from_days(number: Text) -> Text:
    result = None if number is None else of_day_number(max(int(number), 0))
    return None if result is None else moment_text(result)


def makedate(year: Text, day: Text) -> Text:
    if year is None or day is None:
        return None
    number, count = int(year), int(day)
    if count <= 0 or not 0 <= number <= 9999:
        return None
    number += 2000 if number < 70 else 1900 if number < 100 else 0
    result = of_day_number(min(day_number(number, 1, 1) + count - 1, 10**9))
    return None if result is None or not result.year else moment_text(result)


def maketime(hour: Text, minute: Text, second: Text, digits: Text) -> Text:
    if hour is None or minute is None or second is None:
        return None
    hours, minutes, seconds = int(hour), int(minute), float(second)
    if not 0 <= minutes < 60 or not 0 <= seconds < 60:
        return None
    if abs(hours) > MOST_HOURS or abs(hours) == MOST_HOURS and minutes == 59 and seconds > 59:
        return str(LONGEST if hours > 0 else -LONGEST)
    unit = 10 ** (6 - int(digits or 0))
    part = (int(round(seconds * 10**7)) + 5 * unit) // (10 * unit) * unit
    return str((-1 if hours < 0 else 1) * ((abs(hours) * 3600 + minutes * 60) * SECOND + part))


def sec_to_time(number: Text, digits: Text) -> Text:
    if number is None:
        return None
    seconds = abs(float(number))
    sign = -1 if float(number) < 0 else 1
    if int(seconds) // 3600 > MOST_HOURS:
        shown = f"{seconds:.20f}".rstrip("0").rstrip(".")
        raise Problem(1292, f"Truncated incorrect time value: '{shown}'", "T", str(sign * LONGEST))
    unit = 10 ** (6 - int(digits or 0))
    micros = (int(round(seconds * 10**7)) + 5 * unit) // (10 * unit) * unit
    return str(sign * micros)


# -- sums and differences ----------------------------------------------------------------------------------------------


def _micros(text: str, digits: int = 6) -> int | None:
    return spellings.duration(text, digits)


def _duration(text: str) -> int:
    """Raises Problem 1292, which is a warning whatever the mode is."""
    result = _micros(text)
    if result is None:
        raise Problem(1292, f"Truncated incorrect time value: '{text}'", "W")
    return result


def add_to_text(sign: Text, text: Text, kind: Text, amount: Text) -> Text:
    """ADDTIME and SUBTIME of a text, which is a duration or a moment; `kind` of the amount is `time` or `string`."""
    if text is None or amount is None:
        return None
    by = int(amount) if kind == "time" else _duration(amount)
    if kind != "time" and re.fullmatch(r"\s*\d+-.+", amount, re.DOTALL):
        return None
    by = -by if sign == "-1" else by
    if DURATION.fullmatch(text):
        total = _duration(text) + by
        return clock_text(total, 6 if total % SECOND else 0)
    start = spellings.moment(text, 6)
    if start is None:
        raise Problem(1292, f"Incorrect datetime value: '{text}'", "W")
    result = later(moment(start), by) if not has_zero(moment(start)) else _on_zero(moment(start), by)
    return None if result is None else moment_text(result, 6 if result.micros % SECOND else 0)


def _on_zero(start: Moment, by: int) -> Moment | None:
    """A sum on a date with a zero part. A sum below the year 0 loses its sign (tidb pkg/types/core_time.go,
    calcTimeDurationDiff)."""
    days, clock = divmod(start.micros + by, DAY)
    if not days:
        return start._replace(micros=clock)
    days, clock = divmod(abs(day_number(start.year, start.month, start.day) * DAY + start.micros + by), DAY)
    result = of_day_number(days)
    return None if result is None else result._replace(micros=clock)


def add_to_moment(sign: Text, start: Text, kind: Text, amount: Text) -> Text:
    """The same of a DATETIME."""
    by = _amount(sign, kind, amount)
    if start is None or by is None:
        return None
    base = moment(start)
    result = _on_zero(base, by) if has_zero(base) else later(base, by)
    return None if result is None else moment_text(result)


def add_to_duration(sign: Text, start: Text, kind: Text, amount: Text) -> Text:
    """The same of a TIME."""
    by = _amount(sign, kind, amount)
    return None if start is None or by is None else str(int(start) + by)


def _amount(sign: Text, kind: Text, amount: Text) -> int | None:
    if amount is None or kind != "time" and not DURATION.fullmatch(amount):
        return None
    try:
        by = int(amount) if kind == "time" else _duration(amount)
    except Problem as problem:
        raise Problem(problem.number, problem.text, "T" if kind == "clock" else "W") from None
    return -by if sign == "-1" else by


def add_date_time(sign: Text, kind: Text, amount: Text, digits: Text) -> Text:
    """The same of a DATE, which stands for midnight, as text."""
    by = _amount(sign, kind, amount)
    if by is None:
        return None
    return clock_text(by, int(digits or 0) if kind == "time" else 6 if by % SECOND else 0)


def timediff(first_kind: Text, first: Text, second_kind: Text, second: Text) -> Text:
    """Of two moments, or of two durations; text is what it looks like."""
    if first is None or second is None:
        return None
    wrong: list[str] = []
    left, right = _side(first_kind or "", first, wrong), _side(second_kind or "", second, wrong)
    if isinstance(left, Moment) != isinstance(right, Moment):
        return None
    if isinstance(left, Moment) and isinstance(right, Moment):
        micros = (_days(left) - _days(right)) * DAY + left.micros - right.micros
    else:
        assert isinstance(left, int) and isinstance(right, int)
        micros = left - right
    if abs(micros) > LONGEST:
        shown = clock_text(micros)
        wrong.append(shown)
        micros = LONGEST if micros > 0 else -LONGEST
    if wrong:
        raise Problem(1292, f"Truncated incorrect time value: '{wrong[0]}'", "T", str(micros))
    return str(micros)


def _side(kind: str, text: str, wrong: list[str]) -> Moment | int:
    """A text of twelve characters and more may be a moment (StrToDuration); of another, all is to be a duration."""
    if kind == "time":
        return int(text)
    if kind in ("date", "datetime"):
        return moment(text)
    size = len(text.strip().partition(".")[0].removeprefix("-"))
    result = spellings.moment(text, 6) if size >= 12 else None
    if result is not None:
        return moment(result)
    micros, whole = begun_duration(text)
    wrong += [text] * (not whole)
    return micros


def timestamp_diff(unit: Text, start: Text, end: Text) -> Text:
    if start is None or end is None:
        return None
    first, second = moment(start), moment(end)
    for result in (first, second):
        if has_zero(result):
            raise incorrect(moment_text(result, 0))
    micros = (_days(second) - _days(first)) * DAY + second.micros - first.micros
    sign, size = (-1, -micros) if micros < 0 else (1, micros)
    if unit in ("MONTH", "QUARTER", "YEAR"):
        low, high = (second, first) if micros < 0 else (first, second)
        months = (high.year - low.year) * 12 + high.month - low.month
        months -= (high.day, high.micros) < (low.day, low.micros)
        return str(sign * (months // {"MONTH": 1, "QUARTER": 3}.get(unit, 12)))
    return str(
        sign
        * (
            size
            // {"MICROSECOND": 1, "SECOND": SECOND, "MINUTE": 60 * SECOND, "HOUR": 3600 * SECOND, "DAY": DAY}.get(
                unit or "", 7 * DAY
            )
        )
    )


# -- parts -------------------------------------------------------------------------------------------------------------


def part_of_moment(unit: Text, text: Text) -> Text:
    """EXTRACT of a unit with a day in it."""
    if text is None:
        return None
    year, month, day, micros = result = moment(text)
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
        return "0" if has_zero(result) else str(week(result, 0)[1])
    return str(parts[unit or ""])


def part_of_duration(unit: Text, micros: Text) -> Text:
    """EXTRACT of a unit of the clock."""
    if micros is None or unit is None:
        return None
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
        raise Problem(1210, f"Incorrect arguments to {function}")
    year, month = divmod(period, 100)
    return (year + (2000 if year < 70 else 1900 if year < 100 else 0)) * 12 + month - 1


def period_add(period: Text, months: Text) -> Text:
    if period is None or months is None:
        return None
    total = (_period_months(int(period), "period_add") + int(months)) % 2**64
    if not total:
        return "0"
    year, month = divmod(total, 12)
    result = (year + (2000 if year < 70 else 1900 if year < 100 else 0)) * 100 + month + 1
    return str((result + 2**63) % 2**64 - 2**63)


def period_diff(first: Text, second: Text) -> Text:
    if first is None or second is None:
        return None
    return str(_period_months(int(first), "period_diff") - _period_months(int(second), "period_diff"))


FORMS = {
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
    return None if region is None else FORMS[kind or ""].get(region, "")


def last_day(kind: Text, text: Text, zeros: Text) -> Text:
    if text is None:
        return None
    result = moment(text)
    if not result.month or not result.day and not zeros:
        raise _refused(result, kind or "")
    return moment_text(Moment(result.year, result.month, month_length(result.year, result.month)))


def extract_day(unit: Text, text: Text) -> Text:
    """EXTRACT of a unit of the clock with a day, of a text: a duration, or else a moment."""
    if text is None:
        return None
    if DURATION.fullmatch(text):
        return part_of_duration(unit, str(begun_duration(text)[0]))
    result = spellings.moment(text, 6)
    if result is None:
        raise incorrect(text)
    return part_of_moment(unit, result)


TIME_FUNCTIONS: dict[str, Callable[..., Text]] = {
    "dayofweek": _of_day(lambda expression: weekday(expression) + 1),
    "weekday": _of_day(lambda expression: (weekday(expression) + 6) % 7),
    "dayofyear": _of_day(lambda expression: _days(expression) - day_number(expression.year, 1, 1) + 1),
    "weekofyear": _of_day(lambda expression: week(expression, 3)[1]),
    "dayname": _of_day(lambda expression: WEEKDAYS[weekday(expression)]),
    "monthname": _of_day(lambda expression: MONTHS[expression.month - 1], zero_month=False),
    "to_days": _of_day(_days),
    "to_seconds": _of_day(lambda expression: _days(expression) * 86400 + expression.micros // SECOND),
    "last_day": last_day,
    "datediff": datediff,
    "time_of_text": time_of_text,
    "week": weeks,
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

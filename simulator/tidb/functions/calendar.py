"""Calendar arithmetic of TiDB (pkg/types/time.go, core_time.go).

Functions exchange moments as texts `YYYY-MM-DD hh:mm:ss.ffffff` and durations as numbers of microseconds. A moment can
have a year, month or day of 0.
"""

from __future__ import annotations

from calendar import isleap
from datetime import date
from typing import NamedTuple

from simulator.tidb.functions.problems import FunctionProblem, incorrect_value
from simulator.tidb.values.durations import LONGEST, duration_text

SECOND = 1_000_000
DAY = 86400 * SECOND
MAX_HOURS = 838
_DAYS_OF_YEAR_0 = 365
_YEAR_400, _DAYS_OF_400_YEARS = date(400, 1, 1).toordinal(), 146097
MAX_DURATION = LONGEST
MONTHS = tuple("January February March April May June July August September October November December".split())
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class CalendarMoment(NamedTuple):
    """A date with a time of day."""

    year: int
    month: int
    day: int
    micros: int = 0
    """Microseconds since midnight."""


def parse_moment(text: str) -> CalendarMoment:
    """Parse the text of a moment."""
    clock = (int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19])) * SECOND + int(text[20:26])
    return CalendarMoment(int(text[:4]), int(text[5:7]), int(text[8:10]), clock)


def date_text(moment: CalendarMoment) -> str:
    return f"{moment.year:04}-{moment.month:02}-{moment.day:02}"


def moment_text(moment: CalendarMoment, digits: int | None = 6) -> str:
    return f"{date_text(moment)} {duration_text(moment.micros, digits)}"


def month_length(year: int, month: int) -> int:
    return MONTH_LENGTHS[month - 1] + (month == 2 and isleap(year))


def day_number(year: int, month: int, day: int) -> int:
    """Return TO_DAYS, the days since year 0."""
    if year == 0 and month == 0:
        return 0
    days = 365 * year + 31 * (month - 1) + day
    if month <= 2:
        year -= 1
    else:
        days -= (month * 4 + 23) // 10
    return days + year // 4 - ((year // 100 + 1) * 3) // 4 if year >= 0 else days


def from_day_number(number: int) -> CalendarMoment | None:
    """Return FROM_DAYS; None beyond the year 9999, zero before the year 1."""
    if number <= _DAYS_OF_YEAR_0 or number >= 3652500:
        return CalendarMoment(0, 0, 0)
    day = number - _DAYS_OF_YEAR_0
    if day > date.max.toordinal():
        return None
    return CalendarMoment(*date.fromordinal(day).timetuple()[:3])


def days_in_year(year: int) -> int:
    return 366 if isleap(year) and year else 365


def weekday(moment: CalendarMoment) -> int:
    """Return the day of the week; 0 is Sunday."""
    return (days(moment) + 6) % 7


def week_number(moment: CalendarMoment, mode: int, with_year: bool = False) -> tuple[int, int]:
    """Return the year and number of the week (MySQL's calc_week)."""
    mode &= 7
    monday, first = bool(mode & 1), bool(mode & 4)
    with_year = with_year or bool(mode & 2)
    if not monday:
        first = not first
    start = day_number(moment.year, 1, 1)
    offset = (start + 5 + (not monday)) % 7
    year = moment.year
    if moment.month == 1 and moment.day <= 7 - offset:
        if not with_year and (first and offset or not first and offset >= 4):
            return year, 0
        with_year, year = True, year - 1
        length = days_in_year(year)
        start -= length
        offset = (offset + 53 * 7 - length) % 7
    since = days(moment) - start + offset - (7 if first and offset or not first and offset >= 4 else 0)
    if with_year and since >= 52 * 7:
        offset = (offset + days_in_year(year)) % 7
        if not first and offset < 4 or first and offset == 0:
            return year + 1, 1
    return year, since // 7 + 1


def has_zero(moment: CalendarMoment) -> bool:
    return not moment.month or not moment.day


def check_date(moment: CalendarMoment, kind: str = "datetime") -> CalendarMoment:
    """Return the moment. Raises FunctionProblem 1292 if its month or day is 0."""
    if has_zero(moment):
        raise incorrect_moment(moment, kind)
    return moment


def incorrect_moment(moment: CalendarMoment, kind: str) -> FunctionProblem:
    return incorrect_value(date_text(moment) if kind == "date" else moment_text(moment, 0))


def days(moment: CalendarMoment) -> int:
    return day_number(moment.year, moment.month, moment.day)


def clock_fields(micros: int) -> tuple[int, int, int, int]:
    """Return the hours, minutes, seconds and microseconds of a duration that is not negative."""
    seconds, rest = divmod(micros, SECOND)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, rest


def add_micros(moment: CalendarMoment, micros: int) -> CalendarMoment | None:
    """Add microseconds; return None outside of the years 0 to 9999."""
    days, clock = divmod(moment.micros + micros, DAY)
    era, month = divmod(moment.year * 12 + moment.month - 1, 400 * 12)
    first = date(400 + month // 12, month % 12 + 1, 1).toordinal() - _YEAR_400
    eras, day = divmod(first + moment.day - 1 + days, _DAYS_OF_400_YEARS)
    result = date.fromordinal(_YEAR_400 + day)
    year = result.year + (era + eras - 1) * 400
    return CalendarMoment(year, result.month, result.day, clock) if 0 <= year <= 9999 else None


def add_months(moment: CalendarMoment, months: int, cut: bool = True) -> CalendarMoment | None:
    """Add months. A day beyond the end of the month becomes its last day with `cut`, else a day of the next month."""
    total = moment.year * 12 + moment.month - 1 + months
    year, month = total // 12, total % 12 + 1
    if not 0 <= year <= 9999:
        return None
    length = month_length(year, month)
    if moment.day <= length or cut:
        return CalendarMoment(year, month, min(moment.day, length), moment.micros)
    return add_micros(CalendarMoment(year, month, length, moment.micros), (moment.day - length) * DAY)

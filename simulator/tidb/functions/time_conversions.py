"""Moments and durations: their conversion from texts and numbers, time zones, the calendar.

Functions exchange moments as texts `YYYY-MM-DD hh:mm:ss.ffffff` and durations as numbers of microseconds. A moment
can have a year, month or day of 0. Sources: tidb pkg/expression/builtin_cast.go, pkg/types/time.go, core_time.go.
"""

from __future__ import annotations

import re
from calendar import isleap
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from simulator.tidb.errors import FunctionProblem, incorrect_value, truncated_value
from simulator.tidb.values import durations
from simulator.tidb.values.durations import duration_text
from simulator.tidb.values.moments import (
    ZERO,
    CoreTime,
    InvalidDigits,
    as_go,
    as_local,
    in_range,
    parse_stored_moment,
    text_moment,
)

EARLIEST_NUMBER = 101
"""2000-01-01; smaller numbers are not dates (parseDateTimeFromNum)."""

LAST_UNIX_TIME = 32536771199
"""tidb pkg/expression/builtin_time.go, evalFromUnixTime."""

SECOND = 1_000_000
DAY = 86400 * SECOND
MAX_HOURS = 838
_DAYS_OF_YEAR_0 = 365
_YEAR_400, _DAYS_OF_400_YEARS = date(400, 1, 1).toordinal(), 146097
MONTHS = tuple("January February March April May June July August September October November December".split())
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def zone_offset(zone: str) -> int | None:
    """Return the minutes of `+hh:mm`, or None for any other text."""
    result = re.fullmatch(r"([+-])(\d{1,2}):(\d{2})", zone)
    if not result or int(result[2]) * 60 + int(result[3]) > 14 * 60 or int(result[3]) > 59:
        return None
    minutes = int(result[2]) * 60 + int(result[3])
    return -minutes if result[1] == "-" else minutes


def from_utc(moment: CoreTime, zone: str) -> CoreTime | None:
    """Convert a moment from UTC to a zone."""
    place = _zone(zone)
    if place is None:
        return None
    if isinstance(place, timezone):
        return add_micros(moment, place.utcoffset(None) // timedelta(microseconds=1))
    if not 1 <= moment.year <= 9998:
        return moment
    return as_local(moment, place)


def to_utc(moment: CoreTime, zone: str) -> CoreTime | None:
    """Convert a moment from a zone to UTC."""
    place = _zone(zone)
    if place is None:
        return None
    if isinstance(place, timezone):
        return add_micros(moment, -place.utcoffset(None) // timedelta(microseconds=1))
    if not 1 <= moment.year <= 9998:
        return moment
    local = datetime(*moment[:7], tzinfo=place)
    before, after = _offset(local), _offset(local.replace(fold=1))
    return _gap_end(local, before, after) if before < after else add_micros(moment, -_offset(as_go(local)))


def _offset(local: datetime) -> int:
    """Return the microseconds from UTC to local time."""
    return (local.utcoffset() or timedelta()) // timedelta(microseconds=1)


def _gap_end(local: datetime, before: int, after: int) -> CoreTime:
    """Return when clocks skipped a local time, in UTC (tidb pkg/types/core_time.go, AdjustedGoTime)."""
    early, late = (local.replace(tzinfo=UTC) - timedelta(microseconds=shift) for shift in (after, before))
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        early, late = (middle, late) if _offset(middle.astimezone(local.tzinfo)) == before else (early, middle)
    return CoreTime(*late.timetuple()[:6])


@lru_cache(1 << 8)
def _zone(name: str) -> timezone | ZoneInfo | None:
    """Return a time zone; None for any other text."""
    minutes = 0 if name.upper() in ("UTC", "SYSTEM") else zone_offset(name)
    if minutes is not None:
        return timezone(timedelta(minutes=minutes))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@lru_cache(1 << 12)
def parse_text(text: str) -> str | None:
    """Parse a moment in any spelling, with six digits of a second; None for other text."""
    size = len(text)
    if size == 10 or size in (19, 26) and text[10] == " " and text[13] == text[16] == ":":
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return durations.moment(text, 6)
        if text[4] == text[7] == "-":
            return text + "0000-00-00 00:00:00.000000"[size:]
    return durations.moment(text, 6)


def no_moment(text: str, shown: str) -> FunctionProblem:
    """Return the problem of a text that is no moment, or none of the calendar (tidb pkg/types/time.go, checkDatetimeType).
    `shown` is what the user wrote."""
    try:
        parsed = text_moment(text, 6)
    except InvalidDigits:
        parsed = None
    if parsed is None:
        return incorrect_value(shown)
    wrong = [part for part, limit in zip(parsed[3:6], (24, 60, 60), strict=True) if part >= limit]
    if not wrong or parse_text(parsed._replace(hour=0, minute=0, second=0).text()) is None:
        return incorrect_value(f"{parsed.year}-{parsed.month}-{parsed.day}")
    return FunctionProblem(1292, f"Incorrect time value: '{wrong[0]}'", "T")


def moment_of_text(text: str, zone: str, zeros: str) -> str:
    """Convert a text to a DATETIME. `zeros` has `z` if zero dates are allowed, `p` if parts of a date may be 0."""
    result = parse_text(text) or parse_with_offset(text, zone)
    if result is None:
        raise no_moment(text, text)
    if not result.strip("0-: .") and "z" not in zeros:
        raise incorrect_value("0000-00-00 00:00:00.000000")
    if not durations.in_calendar(result) and "p" not in zeros and result.strip("0-: ."):
        raise incorrect_value(text, result)
    return result


def cast_text(text: str, digits: int, zone: str, zeros: str) -> str:
    """Convert a text as CAST does, rounded to so many digits of a second (pkg/expression/builtin_cast.go,
    builtinCastStringAsTimeSig). `zeros` as in `moment_of_text`."""
    moment = _rounded(text, digits, zone)
    if moment is None or not in_range(moment):
        raise _beyond_calendar(text, moment, zone) or no_moment(text, text)
    if moment.is_zero() and "z" not in zeros:
        raise incorrect_value(moment.text())
    if has_zero(moment) and not moment.is_zero() and "p" not in zeros:
        raise incorrect_value(date_text(moment))
    return moment_text(moment)


def cast_number(text: str, digits: int, zone: str, zeros: str) -> str:
    """Convert the digits of a decimal or a double as CAST does (pkg/types/time.go, ParseTimeFromFloatString)."""
    if text.startswith("0.0") or not text.strip("0.-"):
        return moment_text(ZERO)
    moment = _rounded(text, digits, zone, True)
    if moment is None or not in_range(moment):
        raise _beyond_calendar(text, moment, zone, True) or incorrect_value(text)
    if has_zero(moment) and "p" not in zeros:
        raise incorrect_value(text)
    return moment_text(moment)


@lru_cache(1 << 12)
def _rounded(text: str, digits: int, zone: str, number: bool = False) -> CoreTime | None:
    try:
        return text_moment(text, digits, _zone(zone), number)
    except InvalidDigits:
        return None


def _beyond_calendar(text: str, rounded: CoreTime | None, zone: str, number: bool = False) -> FunctionProblem | None:
    """Return the problem of a moment with a second too many, where the month or the day is 0 or the year is the last;
    None for another text."""
    moment = _rounded(text, 6, zone, number)
    if moment is None or not in_range(moment):
        return None
    parts = " ".join(map(str, (rounded or moment)[:6]))
    return FunctionProblem(1292, f"Incorrect time value: '{{{parts} 0}}'", "T")


def parse_with_offset(text: str, zone: str) -> str | None:
    """Parse `2020-01-01 10:00:00+02:00` to a moment of the zone; None for other text."""
    return durations.moment(text, 6, _zone(zone))


def moment_of_number(number: str) -> str:
    whole = number.partition(".")[0]
    is_date = not number.startswith("-") and (int(whole or 0) >= EARLIEST_NUMBER or not float(number))
    text = durations.number(number) if is_date else ""
    result = parse_text(text)
    if result is None:
        raise no_moment(text, number)
    return result


def moment_of_year(year: int) -> str:
    """Convert a YEAR, of which a moment has 14 bits (tidb pkg/types/core_time.go, yearBitFieldWidth)."""
    return f"{year & 0x3FFF:04}-00-00 00:00:00.000000"


def moment_of_duration(micros: int, today: str) -> str | None:
    """Convert a TIME to a moment of the day of the statement."""
    if not today:
        return None
    result = add_micros(parse_stored_moment(today[:10]), micros)
    return None if result is None else moment_text(result)


def duration_of_text(text: str) -> int:
    """Convert a text to a TIME."""
    result = durations.duration(text, 6)
    if result is None:
        raise truncated_value("time", text, durations.duration(text, 6, cut=True))
    return result


def convert_tz(text: str, source: str, target: str) -> str | None:
    moment = parse_stored_moment(text)
    universal = None if has_zero(moment) else to_utc(moment, source)
    result = None if universal is None or not universal.year else from_utc(universal, target)
    return None if result is None else moment_text(result)


def unix_timestamp(text: str, zone: str) -> int:
    """Return the microseconds since 1970; 0 outside of the range of TIMESTAMP."""
    result = parse_stored_moment(text)
    universal = None if has_zero(result) else to_utc(result, zone)
    if universal is None:
        return 0
    days = (datetime(max(universal.year, 1), universal.month, universal.day) - datetime(1970, 1, 1)).days
    micros = days * DAY + universal.clock
    return micros if 0 <= micros <= LAST_UNIX_TIME * 1_000_000 + 999_999 else 0


def from_unixtime(micros: int, zone: str) -> str | None:
    if not 0 <= micros <= LAST_UNIX_TIME * 1_000_000 + 999_999:
        return None
    result = add_micros(CoreTime(1970, 1, 1), micros)
    local = None if result is None else from_utc(result, zone)
    return None if local is None else moment_text(local)


def date_text(moment: CoreTime) -> str:
    return f"{moment.year:04}-{moment.month:02}-{moment.day:02}"


def moment_text(moment: CoreTime, digits: int | None = 6) -> str:
    """Return the text with `digits` of a second; None for six unless they are 0."""
    return f"{date_text(moment)} {duration_text(moment.clock, digits)}"


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


def from_day_number(number: int) -> CoreTime | None:
    """Return FROM_DAYS; None beyond the year 9999, zero before the year 1."""
    if number <= _DAYS_OF_YEAR_0 or number >= 3652500:
        return CoreTime(0, 0, 0)
    day = number - _DAYS_OF_YEAR_0
    if day > date.max.toordinal():
        return None
    return CoreTime(*date.fromordinal(day).timetuple()[:3])


def days_in_year(year: int) -> int:
    return 366 if isleap(year) and year else 365


def weekday_of(moment: CoreTime) -> int:
    """Return the day of the week; 0 is Sunday."""
    return (days_of(moment) + 6) % 7


def week_number(moment: CoreTime, mode: int, with_year: bool = False) -> tuple[int, int]:
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
    since = days_of(moment) - start + offset - (7 if first and offset or not first and offset >= 4 else 0)
    if with_year and since >= 52 * 7:
        offset = (offset + days_in_year(year)) % 7
        if not first and offset < 4 or first and offset == 0:
            return year + 1, 1
    return year, since // 7 + 1


def day_of_year(moment: CoreTime) -> int:
    return days_of(moment) - day_number(moment.year, 1, 1) + 1


def has_zero(moment: CoreTime) -> bool:
    return not moment.month or not moment.day


def check_date(moment: CoreTime, kind: str = "datetime") -> CoreTime:
    """Return the moment. Raises FunctionProblem 1292 if its month or day is 0."""
    if has_zero(moment):
        raise incorrect_moment(moment, kind)
    return moment


def incorrect_moment(moment: CoreTime, kind: str) -> FunctionProblem:
    return incorrect_value(date_text(moment) if kind == "date" else moment_text(moment, 0))


def days_of(moment: CoreTime) -> int:
    return day_number(moment.year, moment.month, moment.day)


def clock_fields(micros: int) -> tuple[int, int, int, int]:
    """Return the hours, minutes, seconds and microseconds of a duration that is not negative."""
    seconds, rest = divmod(micros, SECOND)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, rest


def add_micros(moment: CoreTime, micros: int) -> CoreTime | None:
    """Add microseconds; return None outside of the years 0 to 9999."""
    days, clock = divmod(moment.clock + micros, DAY)
    era, month = divmod(moment.year * 12 + moment.month - 1, 400 * 12)
    first = date(400 + month // 12, month % 12 + 1, 1).toordinal() - _YEAR_400
    eras, day = divmod(first + moment.day - 1 + days, _DAYS_OF_400_YEARS)
    result = date.fromordinal(_YEAR_400 + day)
    year = result.year + (era + eras - 1) * 400
    return CoreTime(year, result.month, result.day).at_clock(clock) if 0 <= year <= 9999 else None


def add_months(moment: CoreTime, months: int, cut: bool = True) -> CoreTime | None:
    """Add months. A day beyond the end of the month becomes its last day with `cut`, else a day of the next month."""
    total = moment.year * 12 + moment.month - 1 + months
    year, month = total // 12, total % 12 + 1
    if not 0 <= year <= 9999:
        return None
    length = month_length(year, month)
    if moment.day <= length or cut:
        return moment._replace(year=year, month=month, day=min(moment.day, length))
    return add_micros(moment._replace(year=year, month=month, day=length), (moment.day - length) * DAY)

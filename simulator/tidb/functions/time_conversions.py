"""Conversions of texts and numbers to moments and durations, and time zones.

Source: tidb pkg/expression/builtin_cast.go, pkg/types/time.go.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from simulator.tidb.functions import calendar
from simulator.tidb.functions.calendar import CalendarMoment
from simulator.tidb.functions.problems import FunctionProblem, incorrect_value, truncated_value
from simulator.tidb.values import spellings
from simulator.tidb.values.moments import InvalidDigits, text_moment

EARLIEST_NUMBER = 101
"""2000-01-01; smaller numbers are not dates (parseDateTimeFromNum)."""


def zone_offset(zone: str) -> int | None:
    """Return the minutes of `+hh:mm`, or None for any other text."""
    result = re.fullmatch(r"([+-])(\d{1,2}):(\d{2})", zone)
    if not result or int(result[2]) * 60 + int(result[3]) > 14 * 60 or int(result[3]) > 59:
        return None
    minutes = int(result[2]) * 60 + int(result[3])
    return -minutes if result[1] == "-" else minutes


def from_utc(moment: CalendarMoment, zone: str) -> CalendarMoment | None:
    """Convert a moment from UTC to a zone."""
    place = _zone(zone)
    if place is None:
        return None
    if isinstance(place, timezone):
        return calendar.add_micros(moment, place.utcoffset(None) // timedelta(microseconds=1))
    if not 1 <= moment.year <= 9998:
        return moment
    local = _python_datetime(moment, UTC).astimezone(place)
    return CalendarMoment(
        local.year,
        local.month,
        local.day,
        moment.micros % 1_000_000 + 1_000_000 * (local.hour * 3600 + local.minute * 60 + local.second),
    )


def to_utc(moment: CalendarMoment, zone: str) -> CalendarMoment | None:
    """Convert a moment from a zone to UTC."""
    place = _zone(zone)
    if place is None:
        return None
    if isinstance(place, timezone):
        return calendar.add_micros(moment, -place.utcoffset(None) // timedelta(microseconds=1))
    if not 1 <= moment.year <= 9998:
        return moment
    local = _python_datetime(moment, place)
    before, after = _offset(local), _offset(local.replace(fold=1))
    universal = calendar.add_micros(moment, -before)
    return universal if before >= after else _gap_end(local, before, after)


def _offset(local: datetime) -> int:
    """Return the microseconds from UTC to local time."""
    return (local.utcoffset() or timedelta()) // timedelta(microseconds=1)


def _gap_end(local: datetime, before: int, after: int) -> CalendarMoment:
    """Return when clocks skipped a local time, in UTC (tidb pkg/types/core_time.go, AdjustedGoTime)."""
    early, late = (local.replace(tzinfo=UTC) - timedelta(microseconds=shift) for shift in (after, before))
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        early, late = (middle, late) if _offset(middle.astimezone(local.tzinfo)) == before else (early, middle)
    clock = (late.hour * 3600 + late.minute * 60 + late.second) * calendar.SECOND
    return CalendarMoment(late.year, late.month, late.day, clock)


def _python_datetime(moment: CalendarMoment, zone: timezone | ZoneInfo) -> datetime:
    return datetime(moment.year, moment.month, moment.day, tzinfo=zone) + timedelta(microseconds=moment.micros)


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
            return spellings.moment(text, 6)
        if text[4] == text[7] == "-":
            return text + "0000-00-00 00:00:00.000000"[size:]
    return spellings.moment(text, 6)


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
    if not spellings.in_calendar(result) and "p" not in zeros and result.strip("0-: ."):
        raise incorrect_value(text, result)
    return result


def parse_with_offset(text: str, zone: str) -> str | None:
    """Parse `2020-01-01 10:00:00+02:00` to a moment of the zone; None for other text."""
    return spellings.moment(text, 6, _zone(zone))


def moment_of_number(number: str) -> str:
    whole = number.partition(".")[0]
    is_date = not number.startswith("-") and (int(whole or 0) >= EARLIEST_NUMBER or not float(number))
    text = spellings.number(number) if is_date else ""
    result = parse_text(text)
    if result is None:
        raise no_moment(text, number)
    return result


def moment_of_year(year: int) -> str:
    return f"{year:04}-00-00 00:00:00.000000"


def moment_of_duration(micros: int, today: str) -> str | None:
    """Convert a TIME to a moment of the day of the statement."""
    if not today:
        return None
    days, clock = divmod(micros, calendar.DAY)
    result = calendar.add_micros(
        CalendarMoment(int(today[:4]), int(today[5:7]), int(today[8:10])), days * calendar.DAY + clock
    )
    return None if result is None else calendar.moment_text(result)


def duration_of_text(text: str) -> int:
    """Convert a text to a TIME."""
    result = spellings.duration(text, 6)
    if result is None:
        raise truncated_value("time", text, spellings.duration(text, 6, cut=True))
    return result


def convert_tz(text: str, source: str, target: str) -> str | None:
    moment = calendar.parse_moment(text)
    universal = None if calendar.has_zero(moment) else to_utc(moment, source)
    result = None if universal is None or not universal.year else from_utc(universal, target)
    return None if result is None else calendar.moment_text(result)


LAST_UNIX_TIME = 32536771199
"""tidb pkg/expression/builtin_time.go, evalFromUnixTime."""


def unix_timestamp(text: str, zone: str) -> int:
    """Return the microseconds since 1970; 0 outside of the range of TIMESTAMP."""
    result = calendar.parse_moment(text)
    universal = None if calendar.has_zero(result) else to_utc(result, zone)
    if universal is None:
        return 0
    days = (datetime(max(universal.year, 1), universal.month, universal.day) - datetime(1970, 1, 1)).days
    micros = days * calendar.DAY + universal.micros
    return micros if 0 <= micros <= LAST_UNIX_TIME * 1_000_000 + 999_999 else 0


def from_unixtime(micros: int, zone: str) -> str | None:
    if not 0 <= micros <= LAST_UNIX_TIME * 1_000_000 + 999_999:
        return None
    result = calendar.add_micros(CalendarMoment(1970, 1, 1), micros)
    local = None if result is None else from_utc(result, zone)
    return None if local is None else calendar.moment_text(local)

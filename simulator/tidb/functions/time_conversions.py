"""Conversions of texts and numbers to moments and durations, and time zones.

Source: tidb pkg/expression/builtin_cast.go, pkg/types/time.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from simulator.tidb.functions.calendar import (
    DAY,
    CalendarMoment,
    add_micros,
    date_text,
    incorrect_value,
    moment_text,
    parse_moment,
)
from simulator.tidb.functions.problems import FunctionProblem
from simulator.tidb.functions.strict import Text, strict
from simulator.tidb.values import spellings

OFFSET = re.compile(r"(.*\d)\s*(?:(Z)|([+-])(\d\d):?(\d\d)?)", re.DOTALL | re.ASCII)
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
    minutes = zone_offset(zone)
    if minutes is not None:
        return add_micros(moment, minutes * 60_000_000)
    zone_info = _zone(zone)
    if zone_info is None or not 1 <= moment.year <= 9998:
        return moment if zone_info is not None else None
    local = _python_datetime(moment, UTC).astimezone(zone_info)
    return CalendarMoment(
        local.year,
        local.month,
        local.day,
        moment.micros % 1_000_000 + 1_000_000 * (local.hour * 3600 + local.minute * 60 + local.second),
    )


def to_utc(moment: CalendarMoment, zone: str) -> CalendarMoment | None:
    """Convert a moment from a zone to UTC."""
    minutes = zone_offset(zone)
    if minutes is not None:
        return add_micros(moment, -minutes * 60_000_000)
    zone_info = _zone(zone)
    if zone_info is None or not 1 <= moment.year <= 9998:
        return moment if zone_info is not None else None
    shift = _python_datetime(moment, zone_info).utcoffset() or timedelta()
    return add_micros(moment, -round(shift.total_seconds()) * 1_000_000)


def _python_datetime(moment: CalendarMoment, zone: timezone | ZoneInfo) -> datetime:
    return datetime(moment.year, moment.month, moment.day, tzinfo=zone) + timedelta(microseconds=moment.micros)


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo("UTC" if name.upper() in ("UTC", "SYSTEM") else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def moment_of_text(text: Text, zone: Text, zeros: Text) -> Text:
    """Convert a text to a DATETIME. `zeros` has `z` if zero dates are allowed, `p` if parts of a date may be 0."""
    if text is None:
        return None
    result = spellings.moment(text, 6) or parse_with_offset(text, zone or "UTC")
    if result is None:
        raise incorrect_value(text)
    if not result.strip("0-: .") and "z" not in (zeros or ""):
        raise incorrect_value("0000-00-00 00:00:00.000000")
    if not spellings.in_calendar(result) and "p" not in (zeros or "") and result.strip("0-: ."):
        raise incorrect_value(text, result)
    return result


def parse_with_offset(text: str, zone: str) -> str | None:
    """Parse `2020-01-01 10:00:00+02:00` to a moment of the zone; None for other text."""
    read = OFFSET.fullmatch(text.strip())
    shown = spellings.moment(read[1], 6) if read else None
    if read is None or shown is None or not re.search(r"\d[T ]\d", read[1]):
        return None
    minutes = 0 if read[2] else (int(read[4]) * 60 + int(read[5] or 0)) * (-1 if read[3] == "-" else 1)
    universal = add_micros(parse_moment(shown), -minutes * 60_000_000)
    local = None if universal is None else from_utc(universal, zone)
    return None if local is None else moment_text(local)


@strict
def moment_of_number(number: str) -> Text:
    whole = number.partition(".")[0]
    result = (
        spellings.moment(spellings.number(number), 6)
        if not number.startswith("-") and (int(whole or 0) >= EARLIEST_NUMBER or not float(number))
        else None
    )
    if result is None:
        raise incorrect_value(number)
    return result


@strict
def moment_of_year(year: str) -> Text:
    return f"{int(year):04}-00-00 00:00:00.000000"


def moment_of_duration(micros: Text, today: Text) -> Text:
    """Convert a TIME to a moment of the day of the statement."""
    if micros is None or not today:
        return None
    days, clock = divmod(int(micros), DAY)
    result = add_micros(CalendarMoment(int(today[:4]), int(today[5:7]), int(today[8:10])), days * DAY + clock)
    return None if result is None else moment_text(result)


@strict
def duration_of_text(text: str) -> Text:
    """Convert a text to a TIME."""
    result = spellings.duration(text, 6)
    if result is None:
        cut = spellings.duration(text, 6, cut=True)
        raise FunctionProblem(1292, f"Truncated incorrect time value: '{text}'", "T", None if cut is None else str(cut))
    return str(result)


@strict
def convert_tz(text: str, source: str, target: str) -> Text:
    universal = to_utc(parse_moment(text), source)
    result = None if universal is None or not universal.year else from_utc(universal, target)
    return None if result is None else moment_text(result)


LAST_UNIX_TIME = 32536771199
"""tidb pkg/expression/builtin_time.go, evalFromUnixTime."""


def unix_timestamp(text: Text, zone: Text) -> Text:
    """Return the microseconds since 1970; 0 outside of the range of TIMESTAMP."""
    if text is None:
        return None
    result = parse_moment(text)
    if not result.month or not result.day:
        return "0"
    universal = to_utc(result, zone or "UTC")
    if universal is None:
        return "0"
    days = (datetime(max(universal.year, 1), universal.month, universal.day) - datetime(1970, 1, 1)).days
    micros = days * DAY + universal.micros
    return str(micros) if 0 <= micros <= LAST_UNIX_TIME * 1_000_000 + 999_999 else "0"


def from_unixtime(micros: Text, zone: Text) -> Text:
    if micros is None or not 0 <= int(micros) <= LAST_UNIX_TIME * 1_000_000 + 999_999:
        return None
    result = add_micros(CalendarMoment(1970, 1, 1), int(micros))
    local = None if result is None else from_utc(result, zone or "UTC")
    return None if local is None else moment_text(local)


TIME_CONVERSIONS: dict[str, Callable[..., Text]] = {
    "moment_of_text": moment_of_text,
    "moment_of_number": moment_of_number,
    "moment_of_year": moment_of_year,
    "moment_of_duration": moment_of_duration,
    "duration_of_text": duration_of_text,
    "convert_tz": convert_tz,
    "unix_timestamp": unix_timestamp,
    "from_unixtime": from_unixtime,
    "date_of": lambda text: None if text is None else f"{date_text(parse_moment(text))} 00:00:00.000000",
}
"""By their names in SQL."""

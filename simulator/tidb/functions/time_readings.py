"""Texts and numbers read as moments and durations (TiDB: pkg/expression/builtin_cast.go, pkg/types/time.go)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from simulator.tidb.functions.calendar import DAY, Moment, date_text, incorrect, later, moment, moment_text
from simulator.tidb.functions.problems import Problem
from simulator.tidb.values import spellings

Text = str | None

OFFSET = re.compile(r"(.*\d)\s*(?:(Z)|([+-])(\d\d):?(\d\d)?)", re.DOTALL | re.ASCII)
EARLIEST_NUMBER = 101
"""2000-01-01; smaller numbers are no dates (parseDateTimeFromNum)."""


def offset_of(zone: str) -> int | None:
    """Minutes of `+hh:mm`; None for any other text."""
    result = re.fullmatch(r"([+-])(\d{1,2}):(\d{2})", zone)
    if not result or int(result[2]) * 60 + int(result[3]) > 14 * 60 or int(result[3]) > 59:
        return None
    minutes = int(result[2]) * 60 + int(result[3])
    return -minutes if result[1] == "-" else minutes


def from_utc(expression: Moment, zone: str) -> Moment | None:
    """A moment of UTC as a zone has it."""
    minutes = offset_of(zone)
    if minutes is not None:
        return later(expression, minutes * 60_000_000)
    known = _zone(zone)
    if known is None or not 1 <= expression.year <= 9998:
        return expression if known is not None else None
    there = _python(expression, timezone.utc).astimezone(known)
    return Moment(
        there.year,
        there.month,
        there.day,
        expression.micros % 1_000_000 + 1_000_000 * (there.hour * 3600 + there.minute * 60 + there.second),
    )


def to_utc(expression: Moment, zone: str) -> Moment | None:
    """A moment as a zone has it, in UTC."""
    minutes = offset_of(zone)
    if minutes is not None:
        return later(expression, -minutes * 60_000_000)
    known = _zone(zone)
    if known is None or not 1 <= expression.year <= 9998:
        return expression if known is not None else None
    shift = _python(expression, known).utcoffset() or timedelta()
    return later(expression, -round(shift.total_seconds()) * 1_000_000)


def _python(expression: Moment, zone: timezone | ZoneInfo) -> datetime:
    return datetime(expression.year, expression.month, expression.day, tzinfo=zone) + timedelta(
        microseconds=expression.micros
    )


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo("UTC" if name.upper() in ("UTC", "SYSTEM") else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def moment_of_text(text: Text, zone: Text, zeros: Text) -> Text:
    """A text as a DATETIME. `zeros`: `z` where a zero date is one, `p` where parts of it may be zero in strict mode."""
    if text is None:
        return None
    result = spellings.moment(text, 6) or with_offset(text, zone or "UTC")
    if result is None:
        raise incorrect(text)
    if not result.strip("0-: .") and "z" not in (zeros or ""):
        raise incorrect("0000-00-00 00:00:00.000000")
    if not spellings.in_calendar(result) and "p" not in (zeros or "") and result.strip("0-: ."):
        raise incorrect(text, result)
    return result


def with_offset(text: str, zone: str) -> str | None:
    """`2020-01-01 10:00:00+02:00`, in the session's zone."""
    read = OFFSET.fullmatch(text.strip())
    shown = spellings.moment(read[1], 6) if read else None
    if read is None or shown is None or not re.search(r"\d[T ]\d", read[1]):
        return None
    minutes = 0 if read[2] else (int(read[4]) * 60 + int(read[5] or 0)) * (-1 if read[3] == "-" else 1)
    universal = later(moment(shown), -minutes * 60_000_000)
    there = None if universal is None else from_utc(universal, zone)
    return None if there is None else moment_text(there)


def moment_of_number(number: Text) -> Text:
    if number is None:
        return None
    whole = number.partition(".")[0]
    result = (
        spellings.moment(spellings.number(number), 6)
        if not number.startswith("-") and (int(whole or 0) >= EARLIEST_NUMBER or not float(number))
        else None
    )
    if result is None:
        raise incorrect(number)
    return result


def moment_of_year(year: Text) -> Text:
    return None if year is None else f"{int(year):04}-00-00 00:00:00.000000"


def moment_of_duration(micros: Text, today: Text) -> Text:
    """A time of the day on which the statement runs."""
    if micros is None or not today:
        return None
    days, clock = divmod(int(micros), DAY)
    result = later(Moment(int(today[:4]), int(today[5:7]), int(today[8:10])), days * DAY + clock)
    return None if result is None else moment_text(result)


def duration_of_text(text: Text) -> Text:
    """A text as a TIME."""
    if text is None:
        return None
    result = spellings.duration(text, 6)
    if result is None:
        cut = spellings.duration(text, 6, cut=True)
        raise Problem(1292, f"Truncated incorrect time value: '{text}'", "T", None if cut is None else str(cut))
    return str(result)


def convert_tz(text: Text, source: Text, target: Text) -> Text:
    if text is None or source is None or target is None:
        return None
    universal = to_utc(moment(text), source)
    result = None if universal is None or not universal.year else from_utc(universal, target)
    return None if result is None else moment_text(result)


LAST_UNIX_TIME = 32536771199
"""tidb pkg/expression/builtin_time.go, evalFromUnixTime."""


def unix_timestamp(text: Text, zone: Text) -> Text:
    """Microseconds since 1970; 0 outside of a TIMESTAMP's years."""
    if text is None:
        return None
    result = moment(text)
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
    result = later(Moment(1970, 1, 1), int(micros))
    there = None if result is None else from_utc(result, zone or "UTC")
    return None if there is None else moment_text(there)


TIME_READINGS: dict[str, Callable[..., Text]] = {
    "moment_of_text": moment_of_text,
    "moment_of_number": moment_of_number,
    "moment_of_year": moment_of_year,
    "moment_of_duration": moment_of_duration,
    "duration_of_text": duration_of_text,
    "convert_tz": convert_tz,
    "unix_timestamp": unix_timestamp,
    "from_unixtime": from_unixtime,
    "date_of": lambda text: None if text is None else f"{date_text(moment(text))} 00:00:00.000000",
}
"""By their names in SQL."""

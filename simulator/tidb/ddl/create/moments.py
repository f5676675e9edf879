"""Dates and times in any spelling that a literal may have → TiDB text.

One law: what strict mode refuses is None, but for zero dates, which are values like others to whoever reads a schema
(TiDB: pkg/types/time.go parseDatetime, ParseDuration).
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta


_PARTS = re.compile(
    r"\s*(\d{1,4})[^\w\s](\d{1,2})[^\w\s](\d{1,2})"
    r"(?:[T\s]\s*(\d{1,2})(?:[^\w\s](\d{1,2})(?:[^\w\s](\d{1,2})(?:\.(\d*))?)?)?)?\s*",
    re.ASCII)
_COMPACT = re.compile(r"\s*(\d{4}|\d\d)(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)(?:\.(\d*))?)?\s*", re.ASCII)
_DURATION = re.compile(r"\s*(-?)\s*(?:(\d{1,2})\s+)?(\d{1,3})(?::(\d{1,2}))?(?::(\d{1,2})(?:\.(\d*))?)?\s*", re.ASCII)
_CLOCK = re.compile(r"\s*(-?)(\d{1,7})(?:\.(\d*))?\s*", re.ASCII)

EARLIEST, LATEST = "1969-12-31 10:00:00", "2038-01-19 17:14:08"
"""TIMESTAMP's range, with room for any time zone."""

LONGEST = (838 * 3600 + 59 * 60 + 59) * 1_000_000


def date_text(text: str) -> str | None:
    """A DATE; the time behind it is left out."""
    found = moment_text(text, 0)
    return found[:10] if found else None


def moment_text(text: str, digits: int, timestamp: bool = False) -> str | None:
    """A DATETIME or TIMESTAMP with so many digits of a second, rounded."""
    parts = _PARTS.fullmatch(text) or _COMPACT.fullmatch(text)
    if parts is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups()[:6])
    if len(parts[1]) < 3:
        year += 2000 if year < 70 else 1900
    if hour > 23 or minute > 59 or second > 59:
        return None
    if not month or not day or text.strip("0 -:.") == "":
        zero = f"{0 if not month and not day else year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        return zero + _fraction(0, digits) if month < 13 and day < 32 else None
    try:
        found = datetime(year, month, day, hour, minute, second) + _rounded(parts[7], digits)
    except (ValueError, OverflowError):
        return None
    shown = found.isoformat(" ", "seconds") + _fraction(found.microsecond, digits)
    return None if timestamp and not EARLIEST <= shown[:19] <= LATEST else shown


def time_text(text: str, digits: int) -> str | None:
    """A TIME with so many digits of a second, rounded: days, `HH:MM`, `HHMMSS`, or the time of a moment."""
    clock, parts = _CLOCK.fullmatch(text), _DURATION.fullmatch(text)
    if clock is not None:
        number = int(clock[2])
        sign, hours, minutes, seconds, rest = clock[1], number // 10000, number // 100 % 100, number % 100, clock[3]
    elif parts is not None:
        sign, rest = parts[1], parts[6]
        hours = int(parts[2] or 0) * 24 + int(parts[3])
        minutes, seconds = int(parts[4] or 0), int(parts[5] or 0)
    else:
        moment = moment_text(text, digits)
        return moment[11:] if moment else None
    total = timedelta(hours=hours, minutes=minutes, seconds=seconds) + _rounded(rest, digits)
    micros = total // timedelta(microseconds=1)
    if minutes > 59 or seconds > 59 or micros > LONGEST:
        return None
    whole = micros // 1_000_000
    shown = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{_fraction(micros % 1_000_000, digits)}"
    return f"-{shown}" if sign and micros else shown


def number_padded(text: str) -> str:
    """A number as the digits of a date or a moment: 101 is 2000-01-01."""
    whole, point, rest = text.partition(".")
    width = next((width for width in (6, 8, 12, 14) if len(whole) <= width), len(whole))
    return ("0" * 8 if not whole.strip("0") else whole.zfill(width)) + point + rest


def is_date(text: str) -> bool:
    """Whether the text begins with a day of the calendar as TiDB prints it."""
    try:
        return date.fromisoformat(text[:10]) is not None
    except ValueError:
        return False


def _rounded(digits_given: str | None, digits: int) -> timedelta:
    """A fraction of a second, to so many digits."""
    unit = 10 ** (6 - max(digits, 0))
    tenths = int((digits_given or "")[:7].ljust(7, "0"))
    return timedelta(microseconds=(tenths + 5 * unit) // (10 * unit) * unit)


def _fraction(micros: int, digits: int) -> str:
    return f".{micros:06}"[:digits + 1] if digits > 0 else ""

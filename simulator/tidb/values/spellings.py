"""Dates and times in any spelling that MySQL takes → TiDB text, one at a time and without a library.

One law: this is TiDB's one reading of a text, whoever asks: a row, a DEFAULT, a literal in an expression. What strict
mode refuses is None, but for zero dates, which are values like others to whoever reads a dump or a schema.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from string import punctuation as PUNCTUATION

_ANY, _NO_SIGN = (f"[{re.escape(marks)}]" for marks in (PUNCTUATION, PUNCTUATION.translate({43: None, 45: None})))
_PIECES = re.compile(
    rf"(\d+)(?:{_ANY}+(\d+)(?:{_ANY}+(\d+)(?:(?:{_ANY}|[\sT])+(\d+)(?:{_ANY}+(\d+)(?:{_ANY}+(\d+)(?:\D.+)?)?)?)?)?)?",
    re.ASCII | re.DOTALL)
"""Numbers from the year to the second; behind that, two characters and more may be anything (ParseDateFormat)."""

_ZONE = re.compile(r"(?:Z|([+-])(\d\d)(:?)(\d\d)|([+-])(\d\d))\Z", re.ASCII)
_LAST = re.compile(rf"({_NO_SIGN})(\d*)[^{_NO_SIGN[1:]}*\Z", re.ASCII)
_CLOCK = re.compile(
    r"(-?)\s*(?:(\d{1,18})\s+)?(\d{1,18})(?:\s*:\s*(\d{1,18})(?:\s*:\s*(\d{1,18}))?)?\s*(?:\.(\d*))?", re.ASCII)
_WITH_DATE = re.compile(rf"(?:\d{{12}}|\d{{14}})(?!\d)|\d+{_ANY}\d+{_ANY}\d+[ T]", re.ASCII)

_WIDTHS = {14: (4, 2, 2, 2, 2, 2), 12: (2,) * 6, 11: (2,) * 6, 10: (2,) * 5, 9: (2,) * 5, 8: (4, 2, 2), 7: (2,) * 4,
           6: (2, 2, 2), 5: (2, 2, 2)}
"""Digits without anything between them -> the widths of their parts; the last one may be a digit short."""

_DAYS = (31, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of the months in a leap year; month 0 may have 31 (tidb pkg/types/time.go, checkMonthDay)."""

EARLIEST, LATEST = "1969-12-31 10:00:00", "2038-01-19 17:14:08"
"""TIMESTAMP's range, with room for any time zone that the text was written in."""

LONGEST = (838 * 3600 + 59 * 60 + 59) * 1_000_000
"""Microseconds of the longest TIME."""


def date(text: str) -> str | None:
    """A DATE; the time behind it is left out, when it has been rounded to a second."""
    found = moment(text, 0)
    return found[:10] if found else None


def timestamp(text: str, digits: int) -> str | None:
    """A TIMESTAMP: a DATETIME of the calendar in its range, or zero (tidb pkg/types/time.go, checkTimestampType)."""
    found = moment(text, digits)
    if found is None or not found.strip("0-: ."):
        return found
    return found if EARLIEST <= found[:19] <= LATEST and in_calendar(found) else None


def moment(text: str, digits: int, any_day: bool = False) -> str | None:
    """A DATETIME with so many digits of a second, rounded (tidb pkg/types/time.go, parseDatetime).

    `any_day`: every month may have 31 days, as with ALLOW_INVALID_DATES. A text that names its time zone is refused
    too: that of the session, into which TiDB turns it, is not known.
    """
    read = _parts(text)
    if read is None:
        return None
    parts, fraction = read
    year, month, day, hour, minute, second = parts
    leap = year % 4 == 0 and year % 100 != 0 or year % 400 == 0
    days = 31 if any_day else _DAYS[month] - (month == 2 and not leap) if month <= 12 else 0
    if year > 9999 or month > 12 or day > days:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    micros = rounded(fraction, digits)
    if micros == 1_000_000:
        return _second_later(parts, digits)
    shown = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    return shown + _fraction(micros, digits)


def _second_later(parts: list[int], digits: int) -> str | None:
    """The next second; None behind one that is not in the calendar, and for the year 10000."""
    year, month, day, hour, minute, second = parts
    try:
        later = datetime(2000 + year % 400, month, day, hour, minute, second) + timedelta(seconds=1)
    except ValueError:
        return None
    year += later.year - 2000 - year % 400
    return None if year > 9999 else f"{year:04}{later:-%m-%d %H:%M:%S}" + _fraction(0, digits)


def _parts(text: str) -> tuple[list[int], str] | None:
    """Year to second, and the digits behind the second."""
    text, zone = _without_zone(text)
    text, fraction = _without_fraction(text)
    found = _PIECES.fullmatch(text.strip())
    if found is None:
        return None
    pieces = [piece for piece in found.groups() if piece]
    whole = len(pieces) > 5 or len(pieces) == 1 and len(pieces[0]) > 4
    if fraction and not whole:
        pieces, fraction = [*pieces, fraction], ""
    if zone and (whole or "" in zone):
        return None
    pieces = [*pieces, *zone][:6]
    if len(pieces) == 1:
        return _undelimited(pieces[0], fraction)
    if len(pieces) == 2 or max(map(len, pieces)) > 18:
        return None
    parts = [int(piece) for piece in pieces] + [0] * (6 - len(pieces))
    if len(pieces[0]) <= 2 and (any(parts) or fraction):
        parts[0] = _in_century(parts[0])
    return parts, fraction if len(pieces) == 6 else ""


def _undelimited(piece: str, fraction: str) -> tuple[list[int], str] | None:
    """`YYYYMMDDhhmmss` and shorter; the digits behind a point go on with the time where that is not whole."""
    widths = _WIDTHS.get(len(piece))
    if widths is None:
        return None
    parts = _cut(piece, widths)
    if len(piece) in (5, 6, 8):
        parts += _cut(fraction, (2, 2, 2))
    elif len(piece) in (9, 10):
        parts += _cut(fraction, (2,))
    if widths[0] == 2:
        parts[0] = _in_century(parts[0])
    return parts + [0] * (6 - len(parts)), fraction if len(piece) in (11, 12, 14) else ""


def _in_century(year: int) -> int:
    """A year of two digits: 1970 to 2069."""
    return year + (2000 if year < 70 else 1900)


def _cut(piece: str, widths: tuple[int, ...]) -> list[int]:
    """The numbers that begin with a piece of so many digits each, as far as it goes."""
    found = []
    for width in widths:
        if piece:
            found.append(int(piece[:width]))
        piece = piece[width:]
    return found


def _without_zone(text: str) -> tuple[str, list[str]]:
    """The text before its time zone, and hours and minutes of the zone: empty texts where it surely is one.

    Two digits behind `-` may well be the day or the second (tidb pkg/types/time.go, GetTimezone, parseDatetime).
    """
    found = _ZONE.search(text)
    if found is None or not found.start():
        return text, []
    sure = found[0] == "Z" or bool(found[4]) and not found[3]
    zone = [""] if sure else [part for part in (found[2] or found[6], found[4]) if part]
    return text[:found.start()].rstrip(PUNCTUATION), zone


def _without_fraction(text: str) -> tuple[str, str]:
    """The text before the last point, if no delimiter but signs is behind it, and the digits there (GetFracIndex)."""
    found = _LAST.search(text)
    return (text[:found.start()].rstrip(PUNCTUATION), found[2]) if found and found[1] == "." else (text, "")


def time(text: str, digits: int, cut: bool = False) -> str | None:
    """A TIME with so many digits of a second, rounded; a longer one than there is as `duration` has it."""
    micros = duration(text, digits, cut)
    if micros is None:
        return None
    whole, part = divmod(abs(micros), 1_000_000)
    shown = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{_fraction(part, digits)}"
    return f"-{shown}" if micros < 0 else shown


def duration(text: str, digits: int, cut: bool = False) -> int | None:
    """Microseconds of a TIME: days, `HH:MM`, `HHMMSS`, or the time of a moment (tidb pkg/types/time.go, ParseDuration).

    One beyond 838:59:59 is None, or is cut to that, as in an expression (pkg/expression/builtin_cast.go,
    builtinCastStringAsDurationSig, where the error of strict mode is a warning).
    """
    text = text.strip()
    sign, size = _clock(text, digits)
    if size is not None and size <= LONGEST:
        return sign * size
    if _WITH_DATE.match(text):
        day = moment(text, 6)
        return _clock(day[11:], digits)[1] if day else None
    return None if size is None or not cut else sign * LONGEST


def _clock(text: str, digits: int) -> tuple[int, int | None]:
    """The sign of a TIME and its microseconds, however many; None for what is none."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return 1, None
    sign, days, first, second, third, fraction = found.groups()
    number = int(first)
    if days is None and second is None:
        hours, minutes, seconds = number // 10_000, number // 100 % 100, number % 100
    else:
        hours, minutes, seconds = int(days or 0) * 24 + number, int(second or 0), int(third or 0)
    if minutes > 59 or seconds > 59:
        return 1, None
    whole = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    return -1 if sign else 1, whole + rounded(fraction or "", digits)


def number(text: str) -> str:
    """A number as the text of a date or a moment: 101 is 2000-01-01, and a date has no fraction (tidb
    pkg/types/time.go, parseDateTimeFromNum, ParseTimeFromFloatString)."""
    whole, point, rest = text.partition(".")
    width = next((width for width in (6, 8, 12, 14) if len(whole) <= width), len(whole))
    if not whole.strip("0"):
        return "0" * 8
    return whole.zfill(width) + (point + rest if width > 8 else "")


def in_calendar(moment: str) -> bool:
    """Whether a date or a moment in TiDB text has neither month 0 nor day 0."""
    return moment[5:7] != "00" and moment[8:10] != "00"


def rounded(fraction: str, digits: int) -> int:
    """Microseconds of the digits behind a point, to so many of them, a half rounded up."""
    unit: int = 10 ** (6 - digits)
    return (int(fraction[:7].ljust(7, "0")) + 5 * unit) // (10 * unit) * unit


def _fraction(micros: int, digits: int) -> str:
    return f".{micros:06}"[:digits + 1] if digits > 0 else ""

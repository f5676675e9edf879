"""Single dates, times and durations, in any spelling of MySQL, to TiDB text.

A duration is in microseconds (tidb pkg/types/time.go). The result is None for what strict mode rejects, except zero
dates, which dumps and schemas may contain.
"""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import NamedTuple

from simulator.tidb.values.moments import InvalidDigits, fraction_micros, in_range, text_moment

LONGEST = (838 * 3600 + 59 * 60 + 59) * 1_000_000
"""Microseconds of the longest TIME."""

_SPACE = r"[\t\n\v\f\r \x85\xa0]"
_NUMBER = r"(\d{1,19})(?!\d)"
_NEXT = rf"{_SPACE}*:{_SPACE}*{_NUMBER}"
_DAYS = re.compile(rf"{_NUMBER}{_SPACE}+{_NUMBER}(?:{_NEXT}(?:{_NEXT})?)?", re.ASCII)
_CLOCK = re.compile(rf"{_NUMBER}{_NEXT}(?:{_NEXT})?", re.ASCII)
_COMPACT = re.compile(r"\d{1,19}(?!\d)", re.ASCII)
_COLON = re.compile(rf"{_SPACE}*:", re.ASCII)
_FRACTION = re.compile(rf"{_SPACE}*(?:\.(\d*))?", re.ASCII)
_PUNCTUATION = r"[!\"#%&'()*,\-./:;?@\[\\\]_{}]"
_WITH_DATE = re.compile(rf"(?:\d{{12}}|\d{{14}})(?!\d)|\d+{_PUNCTUATION}\d+{_PUNCTUATION}\d+[ T]", re.ASCII)


class ParsedDuration(NamedTuple):
    micros: int
    is_invalid: bool
    """Whether strict mode rejects the text. Other modes keep the microseconds."""

    is_null: bool = False
    """Whether an expression converts the text to NULL."""


NO_DURATION = ParsedDuration(0, True, True)


def duration_micros(text: str) -> int:
    """Parse a TIME as TiDB prints it."""
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole, _, fraction = seconds.partition(".")
    micros = ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 1_000_000 + int(fraction.ljust(6, "0"))
    return -micros if text.startswith("-") else micros


def duration_text(micros: int, digits: int | None) -> str:
    """Return a TIME with `digits` of a second; None for six unless they are 0."""
    whole, part = divmod(abs(micros), 1_000_000)
    if digits is None:
        digits = 6 if part else 0
    shown = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
    shown += f".{part:06}"[: digits + 1] if digits else ""
    return f"-{shown}" if micros < 0 else shown


def round_duration(text: str, digits: int) -> str:
    """Round a TIME to so many fractional digits, half up, also below zero (RoundFrac)."""
    if len(text.partition(".")[2]) == digits:
        return text
    return duration_text(round_micros(duration_micros(text), digits), digits)


def round_micros(micros: int, digits: int) -> int:
    """Round a TIME as `round_duration` does."""
    unit: int = 10 ** (6 - max(digits, 0))
    return (micros + unit // 2) // unit * unit


def clock_number(text: str) -> str:
    """Return a TIME as the number `hhmmss` (ToNumber)."""
    return text.replace(":", "")


def text_duration(
    text: str, digits: int, zone: tzinfo | None = None, zero_in_date: bool = True, any_day: bool = False
) -> ParsedDuration:
    """Parse days, `HH:MM`, `HHMMSS`, or the time of a date and time, rounded (ParseDuration)."""
    text = text.strip("\t\n\v\f\r \x85\xa0")
    parsed = _matched(text, digits)
    if not parsed.is_invalid or not _WITH_DATE.match(text):
        return parsed
    try:
        moment = text_moment(text, 6, zone)
    except InvalidDigits:
        moment = None
    if moment is None or not in_range(moment, zero_in_date, any_day):
        return NO_DURATION
    return ParsedDuration(round_micros(moment.clock, digits), False)


def _matched(text: str, digits: int) -> ParsedDuration:
    """Parse a text without a date (matchDuration)."""
    rest = text.removeprefix("-").lstrip("\t\n\v\f\r \x85\xa0")
    sign, size = -1 if text.startswith("-") else 1, len(rest)
    end, parts = _parts(rest)
    if parts is None:
        return NO_DURATION
    behind = _FRACTION.match(rest, end)
    assert behind is not None
    left = rest[behind.end() :]
    if left and size >= 12:
        return NO_DURATION
    hours, minutes, seconds = parts
    micros = fraction_micros(behind[1] or "", digits)
    total = (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + micros
    if minutes > 59 or seconds > 59:
        return NO_DURATION
    if total > LONGEST:
        return ParsedDuration(sign * LONGEST, True)
    return ParsedDuration(sign * total, bool(left))


def _parts(rest: str) -> tuple[int, tuple[int, int, int] | None]:
    """Return the offset after the hours, minutes and seconds, and these."""
    days = _DAYS.match(rest)
    if days and (days[4] or not _COLON.match(rest, days.end())):
        hours, minutes, seconds = (int(part or 0) for part in days.groups()[1:])
        return days.end(), (24 * int(days[1]) + hours, minutes, seconds)
    clock = _CLOCK.match(rest)
    if clock and (clock[3] or not _COLON.match(rest, clock.end())):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return clock.end(), (hours, minutes, seconds)
    compact = _COMPACT.match(rest)
    if compact and int(compact[0]) < 2**63:
        number = int(compact[0])
        return compact.end(), (number // 10_000, number // 100 % 100, number % 100)
    return 0, None


EARLIEST, LATEST = "1969-12-31 10:00:00", "2038-01-19 17:14:08"
"""TIMESTAMP's range, extended by the largest offsets of time zones."""


def date(text: str) -> str | None:
    """Return a DATE. A time is rounded to seconds and then dropped."""
    text_of_moment = moment(text, 0)
    return text_of_moment[:10] if text_of_moment else None


def timestamp(text: str, digits: int) -> str | None:
    """Return a TIMESTAMP: a DATETIME in its range, or zero (tidb pkg/types/time.go, checkTimestampType)."""
    text_of_moment = moment(text, digits)
    if text_of_moment is None or not text_of_moment.strip("0-: ."):
        return text_of_moment
    return text_of_moment if EARLIEST <= text_of_moment[:19] <= LATEST and in_calendar(text_of_moment) else None


def moment(text: str, digits: int, zone: tzinfo | None = None) -> str | None:
    """Return a DATETIME, rounded to so many digits.

    A text with a time zone is converted to the session's zone, and rejected if that is unknown.
    """
    try:
        parsed = text_moment(text, digits, zone)
    except InvalidDigits:
        return None
    return parsed.text() if parsed is not None and in_range(parsed) else None


def time(text: str, digits: int, cut: bool = False) -> str | None:
    """Return a TIME, rounded to so many digits; `cut` as in `duration`."""
    micros = duration(text, digits, cut)
    return None if micros is None else duration_text(micros, digits)


def duration(text: str, digits: int, cut: bool = False) -> int | None:
    """Return the microseconds of a TIME: days, `HH:MM`, `HHMMSS`, or the time of a date and time.

    With `cut`, trailing text and values beyond 838:59:59 are cut off, as in expressions (tidb
    pkg/expression/builtin_cast.go, builtinCastStringAsDurationSig, where the error of strict mode is a warning).
    """
    parsed = text_duration(text, digits)
    return None if parsed.is_null or parsed.is_invalid and not cut else parsed.micros


def number(text: str) -> str:
    """Return a number as the text of a date or a date and time: 101 is 2000-01-01, and a date has no fraction.

    Source: tidb pkg/types/time.go, parseDateTimeFromNum, ParseTimeFromFloatString.
    """
    whole, point, rest = text.partition(".")
    width = next((width for width in (6, 8, 12, 14) if len(whole) <= width), len(whole))
    if not whole.strip("0"):
        return "0" * 8
    return whole.zfill(width) + (point + rest if width > 8 else "")


def in_calendar(moment: str) -> bool:
    """Whether a date in TiDB text has neither month 0 nor day 0."""
    return moment[5:7] != "00" and moment[8:10] != "00"

"""Convert single dates and times in any spelling of MySQL to TiDB text.

The result is None for what strict mode rejects, except zero dates, which dumps and schemas may contain.
"""

from __future__ import annotations

from datetime import tzinfo

from simulator.tidb.values.durations import duration_text, text_duration
from simulator.tidb.values.moments import InvalidDigits, in_range, text_moment

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

"""Dates and times in any spelling that MySQL takes → TiDB text, one at a time and without a library.

One law: this is TiDB's one reading of a text, whoever asks: a row, a DEFAULT, a literal in an expression. What strict
mode refuses is None, but for zero dates, which are values like others to whoever reads a dump or a schema.
"""

from __future__ import annotations

from simulator.tidb.values.durations import LONGEST, duration_text, text_duration
from simulator.tidb.values.moments import InvalidDigits, in_range, text_moment

__all__ = ["LONGEST"]

EARLIEST, LATEST = "1969-12-31 10:00:00", "2038-01-19 17:14:08"
"""TIMESTAMP's range, with room for any time zone that the text was written in."""


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


def moment(text: str, digits: int) -> str | None:
    """A DATETIME with so many digits of a second, rounded. A text that names its time zone is refused too: that of the
    session, into which TiDB turns it, is not known."""
    try:
        found = text_moment(text, digits)
    except InvalidDigits:
        return None
    return found.text() if found is not None and in_range(found) else None


def time(text: str, digits: int, cut: bool = False) -> str | None:
    """A TIME with so many digits of a second, rounded; `cut` as `duration` has it."""
    micros = duration(text, digits, cut)
    return None if micros is None else duration_text(micros, digits)


def duration(text: str, digits: int, cut: bool = False) -> int | None:
    """Microseconds of a TIME: days, `HH:MM`, `HHMMSS`, or the time of a moment.

    Of a text that is more than that, or beyond 838:59:59, an expression takes what it begins with (`cut`, tidb
    pkg/expression/builtin_cast.go, builtinCastStringAsDurationSig, where the error of strict mode is a warning).
    """
    found = text_duration(text, digits)
    return None if found.nothing or found.wrong and not cut else found.micros


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

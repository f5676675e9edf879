"""Moments (DATE, DATETIME) and durations (TIME) as expressions hold them.

A moment is text `YYYY-MM-DD hh:mm:ss.ffffff`, which sorts by time and can hold zero dates. A duration is a number of
microseconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from simulator.tidb.expressions.expression import MAX_SHOWN, TRUNCATED, Context
from simulator.tidb.functions.time_conversions import parse_text as moment_of_text
from simulator.tidb.values import durations

MOMENT = "0000-00-00 00:00:00.000000"
SECOND = 10**6


def parse_printed_moment(shown: str) -> str:
    """Parse the text that TiDB prints of a date or datetime."""
    return shown + MOMENT[len(shown) :]


@lru_cache(1 << 12)
def duration_of_text(text: str) -> int | None:
    """Parse a TIME in any spelling of MySQL, limited to the longest TIME; None for other text."""
    return durations.duration(text, 6, cut=True)


def parse_moment(context: Context, text: str) -> str | None:
    """Parse a moment in any spelling of MySQL; other text is NULL, with a problem."""
    moment = moment_of_text(text)
    if moment is None:
        context.problem(TRUNCATED, f"1292 Incorrect datetime value: '{text[:MAX_SHOWN]}'")
    return moment


def parse_duration(context: Context, text: str) -> int | None:
    """Parse a TIME in any spelling of MySQL; other text is NULL, with a problem."""
    duration = duration_of_text(text)
    if duration is None:
        context.problem(TRUNCATED, f"1292 Truncated incorrect time value: '{text[:MAX_SHOWN]}'")
    return duration


def moment_number(moment: str, kind: str) -> str:
    """Return `YYYYMMDD` of a date or `YYYYMMDDhhmmss.ffffff` of a datetime."""
    if kind == "date":
        return moment[:4] + moment[5:7] + moment[8:10]
    return moment[:4] + moment[5:7] + moment[8:10] + moment[11:13] + moment[14:16] + moment[17:]


def as_datetime(moment: str) -> datetime | None:
    """Return a moment as a datetime; None for a date with a zero part or outside of the calendar."""
    try:
        return datetime.fromisoformat(moment)
    except ValueError:
        return None


def of_datetime(moment: datetime) -> str:
    return f"{moment.isoformat(' ', 'microseconds')[:26]}"


def round_moment(moment: str, digits: int) -> str:
    """Round a moment to `digits` of a second; one outside of the calendar stays."""
    digits = max(digits, 0)
    if digits >= 6 or moment.endswith("000000"):
        return moment
    fraction = int(moment[20:])
    unit = 10 ** (6 - digits)
    more = (fraction + unit // 2) // unit * unit
    if more < SECOND:
        return f"{moment[:20]}{more:06d}"
    whole = as_datetime(moment[:19])
    if whole is None:
        return moment
    try:
        return of_datetime(whole + timedelta(seconds=1))
    except OverflowError:
        return moment


def round_duration(duration: int, digits: int) -> int:
    """Round a duration to `digits` of a second, half away from zero."""
    unit: int = 10 ** (6 - max(digits, 0))
    size = (abs(duration) + unit // 2) // unit * unit
    return -size if duration < 0 else size


def clock_number(duration: int) -> int:
    """Return the number `hhmmss`, followed by six digits of its fraction."""
    seconds, micros = divmod(abs(duration), SECOND)
    number = (seconds // 3600 * 10000 + seconds // 60 % 60 * 100 + seconds % 60) * SECOND + micros
    return -number if duration < 0 else number


def moment_text(moment: str, digits: int = 0) -> str:
    """Return the text of a moment with `digits` of a second; without them its fraction without trailing zeros."""
    if digits:
        return moment[: 20 + digits]
    fraction = moment[19:].rstrip("0")
    return moment[:19] if fraction == "." else moment[:19] + fraction

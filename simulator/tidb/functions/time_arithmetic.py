"""Sums and differences of moments and durations (TiDB: pkg/expression/builtin_time.go)."""

from __future__ import annotations

import re
from typing import TypeAlias

from simulator.tidb.functions import calendar
from simulator.tidb.functions.calendar import CalendarMoment
from simulator.tidb.functions.intervals import MONTH_UNITS, SINGLE_UNITS
from simulator.tidb.functions.problems import FunctionProblem, truncated_value
from simulator.tidb.values import spellings
from simulator.tidb.values.durations import duration_text

Amount: TypeAlias = int | str
"""Microseconds of a TIME, or a text."""

DURATION = re.compile(r"\s*-?(?:(?:\d{1,2}\s+)?0*\d{0,3}(?::0*\d{1,2}){0,2}|\d{1,7})?(?:\.\d*)?\s*", re.ASCII)


def leading_duration(text: str) -> tuple[int, bool]:
    """Return the duration that a text begins with, and whether it is the whole text."""
    result = spellings.duration(text, 6)
    if result is not None:
        return result, True
    cut = spellings.duration(text, 6, cut=True)
    leading = re.match(r"\s*-?\d+", text, re.ASCII)
    if cut is None and leading:
        cut = spellings.duration(leading[0], 6, cut=True)
    return cut or 0, False


def _parse_duration(text: str) -> int:
    """Parse a duration. Raises FunctionProblem 1292, a warning in every sql_mode."""
    result = spellings.duration(text, 6)
    if result is None:
        raise truncated_value("time", text, kind="W")
    return result


def add_to_text(sign: int, text: str, kind: str, amount: Amount) -> str | None:
    """Return ADDTIME or SUBTIME of a text, which is a duration or a moment.

    `kind`, the type of the amount, is `time`, `string` or `clock`.
    """
    by = sign * (amount if isinstance(amount, int) else _parse_duration(amount))
    if isinstance(amount, str) and re.fullmatch(r"\s*\d+-.+", amount, re.DOTALL):
        return None
    if DURATION.fullmatch(text):
        total = _parse_duration(text) + by
        return duration_text(total, None)
    start = spellings.moment(text, 6)
    if start is None:
        raise FunctionProblem(1292, f"Incorrect datetime value: '{text}'", "W")
    result = _add(calendar.parse_moment(start), by)
    return None if result is None else calendar.moment_text(result, None)


def _add(start: CalendarMoment, by: int) -> CalendarMoment | None:
    """Add to a moment. A sum of a date with a zero part loses its sign (tidb pkg/types/core_time.go,
    calcTimeDurationDiff)."""
    if not calendar.has_zero(start):
        return calendar.add_micros(start, by)
    days, clock = divmod(start.micros + by, calendar.DAY)
    if not days:
        return start._replace(micros=clock)
    days, clock = divmod(abs(calendar.days(start) * calendar.DAY + start.micros + by), calendar.DAY)
    result = calendar.from_day_number(days)
    return None if result is None else result._replace(micros=clock)


def add_to_moment(sign: int, start: str | None, kind: str, amount: Amount | None) -> str | None:
    """Return ADDTIME or SUBTIME of a DATETIME."""
    by = _parse_amount(sign, kind, amount)
    if start is None or by is None:
        return None
    result = _add(calendar.parse_moment(start), by)
    return None if result is None else calendar.moment_text(result)


def add_to_duration(sign: int, start: int | None, kind: str, amount: Amount | None) -> int | None:
    """Return ADDTIME or SUBTIME of a TIME."""
    by = _parse_amount(sign, kind, amount)
    return None if start is None or by is None else start + by


def _parse_amount(sign: int, kind: str, amount: Amount | None) -> int | None:
    if isinstance(amount, int):
        return sign * amount
    if amount is None or not DURATION.fullmatch(amount):
        return None
    try:
        return sign * _parse_duration(amount)
    except FunctionProblem as problem:
        raise FunctionProblem(problem.number, problem.text, "T" if kind == "clock" else "W") from None


def add_date_time(sign: int, kind: str, amount: Amount, digits: int) -> str | None:
    """Return ADDTIME or SUBTIME of a DATE, which counts as midnight, as text."""
    by = _parse_amount(sign, kind, amount)
    if by is None:
        return None
    return duration_text(by, digits if kind == "time" else None)


def timediff(first_kind: str, first: Amount, second_kind: str, second: Amount) -> int | None:
    """Return TIMEDIFF of two moments or two durations; a text is either."""
    truncated: list[str] = []
    left = _timediff_operand(first_kind, first, truncated)
    right = _timediff_operand(second_kind, second, truncated)
    if isinstance(left, CalendarMoment) != isinstance(right, CalendarMoment):
        return None
    if isinstance(left, CalendarMoment) and isinstance(right, CalendarMoment):
        micros = (calendar.days(left) - calendar.days(right)) * calendar.DAY + left.micros - right.micros
    else:
        assert isinstance(left, int) and isinstance(right, int)
        micros = left - right
    if abs(micros) > calendar.MAX_DURATION:
        truncated.append(duration_text(micros, 6))
        micros = calendar.MAX_DURATION if micros > 0 else -calendar.MAX_DURATION
    if truncated:
        raise truncated_value("time", truncated[0], micros)
    return micros


def _timediff_operand(kind: str, text: Amount, truncated: list[str]) -> CalendarMoment | int:
    """Parse an operand. A text of twelve characters or more may be a moment (StrToDuration), others are durations."""
    if isinstance(text, int):
        return text
    if kind in ("date", "datetime"):
        return calendar.parse_moment(text)
    size = len(text.strip().partition(".")[0].removeprefix("-"))
    result = spellings.moment(text, 6) if size >= 12 else None
    if result is not None:
        return calendar.parse_moment(result)
    micros, whole = leading_duration(text)
    truncated += [text] * (not whole)
    return micros


def timestampdiff(unit: str, start: str, end: str) -> int:
    first, second = calendar.parse_moment(start), calendar.parse_moment(end)
    calendar.check_date(first)
    calendar.check_date(second)
    micros = (calendar.days(second) - calendar.days(first)) * calendar.DAY + second.micros - first.micros
    sign, size = (-1, -micros) if micros < 0 else (1, micros)
    if unit not in MONTH_UNITS:
        return sign * (size // SINGLE_UNITS[unit])
    low, high = (second, first) if micros < 0 else (first, second)
    months = (high.year - low.year) * 12 + high.month - low.month
    months -= (high.day, high.micros) < (low.day, low.micros)
    return sign * (months // MONTH_UNITS[unit])

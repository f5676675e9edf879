"""Sums and differences of moments and durations (TiDB: pkg/expression/builtin_time.go)."""

from __future__ import annotations

import re

from simulator.tidb.functions.calendar import (
    DAY,
    MAX_DURATION,
    SECOND,
    CalendarMoment,
    add_micros,
    clock_text,
    day_number,
    from_day_number,
    has_zero,
    incorrect_value,
    moment_text,
    parse_moment,
)
from simulator.tidb.functions.problems import FunctionProblem
from simulator.tidb.functions.strict import Text
from simulator.tidb.values import spellings

DURATION = re.compile(r"\s*-?(?:(?:\d{1,2}\s+)?0*\d{0,3}(?::0*\d{1,2}){0,2}|\d{1,7})?(?:\.\d*)?\s*", re.ASCII)


def days(moment: CalendarMoment) -> int:
    return day_number(moment.year, moment.month, moment.day)


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


def _micros(text: str, digits: int = 6) -> int | None:
    return spellings.duration(text, digits)


def _parse_duration(text: str) -> int:
    """Parse a duration. Raises Problem 1292, a warning in every sql_mode."""
    result = _micros(text)
    if result is None:
        raise FunctionProblem(1292, f"Truncated incorrect time value: '{text}'", "W")
    return result


def add_to_text(sign: Text, text: Text, kind: Text, amount: Text) -> Text:
    """Return ADDTIME or SUBTIME of a text, which is a duration or a moment.

    `kind`, the type of the amount, is `time`, `string` or `clock`.
    """
    if text is None or amount is None:
        return None
    by = int(amount) if kind == "time" else _parse_duration(amount)
    if kind != "time" and re.fullmatch(r"\s*\d+-.+", amount, re.DOTALL):
        return None
    by = -by if sign == "-1" else by
    if DURATION.fullmatch(text):
        total = _parse_duration(text) + by
        return clock_text(total, 6 if total % SECOND else 0)
    start = spellings.moment(text, 6)
    if start is None:
        raise FunctionProblem(1292, f"Incorrect datetime value: '{text}'", "W")
    result = (
        add_micros(parse_moment(start), by)
        if not has_zero(parse_moment(start))
        else _add_to_zero_date(parse_moment(start), by)
    )
    return None if result is None else moment_text(result, 6 if result.micros % SECOND else 0)


def _add_to_zero_date(start: CalendarMoment, by: int) -> CalendarMoment | None:
    """Add to a date with a zero part. A sum below the year 0 loses its sign (tidb pkg/types/core_time.go,
    calcTimeDurationDiff)."""
    days, clock = divmod(start.micros + by, DAY)
    if not days:
        return start._replace(micros=clock)
    days, clock = divmod(abs(day_number(start.year, start.month, start.day) * DAY + start.micros + by), DAY)
    result = from_day_number(days)
    return None if result is None else result._replace(micros=clock)


def add_to_moment(sign: Text, start: Text, kind: Text, amount: Text) -> Text:
    """Return ADDTIME or SUBTIME of a DATETIME."""
    by = _parse_amount(sign, kind, amount)
    if start is None or by is None:
        return None
    base = parse_moment(start)
    result = _add_to_zero_date(base, by) if has_zero(base) else add_micros(base, by)
    return None if result is None else moment_text(result)


def add_to_duration(sign: Text, start: Text, kind: Text, amount: Text) -> Text:
    """Return ADDTIME or SUBTIME of a TIME."""
    by = _parse_amount(sign, kind, amount)
    return None if start is None or by is None else str(int(start) + by)


def _parse_amount(sign: Text, kind: Text, amount: Text) -> int | None:
    if amount is None or kind != "time" and not DURATION.fullmatch(amount):
        return None
    try:
        by = int(amount) if kind == "time" else _parse_duration(amount)
    except FunctionProblem as problem:
        raise FunctionProblem(problem.number, problem.text, "T" if kind == "clock" else "W") from None
    return -by if sign == "-1" else by


def add_date_time(sign: Text, kind: Text, amount: Text, digits: Text) -> Text:
    """Return ADDTIME or SUBTIME of a DATE, which counts as midnight, as text."""
    by = _parse_amount(sign, kind, amount)
    if by is None:
        return None
    return clock_text(by, int(digits or 0) if kind == "time" else 6 if by % SECOND else 0)


def timediff(first_kind: Text, first: Text, second_kind: Text, second: Text) -> Text:
    """Return TIMEDIFF of two moments or two durations; a text is either."""
    if first is None or second is None:
        return None
    truncated: list[str] = []
    left, right = (
        _timediff_operand(first_kind or "", first, truncated),
        _timediff_operand(second_kind or "", second, truncated),
    )
    if isinstance(left, CalendarMoment) != isinstance(right, CalendarMoment):
        return None
    if isinstance(left, CalendarMoment) and isinstance(right, CalendarMoment):
        micros = (days(left) - days(right)) * DAY + left.micros - right.micros
    else:
        assert isinstance(left, int) and isinstance(right, int)
        micros = left - right
    if abs(micros) > MAX_DURATION:
        shown = clock_text(micros)
        truncated.append(shown)
        micros = MAX_DURATION if micros > 0 else -MAX_DURATION
    if truncated:
        raise FunctionProblem(1292, f"Truncated incorrect time value: '{truncated[0]}'", "T", str(micros))
    return str(micros)


def _timediff_operand(kind: str, text: str, truncated: list[str]) -> CalendarMoment | int:
    """Parse an operand. A text of twelve characters or more may be a moment (StrToDuration), others are durations."""
    if kind == "time":
        return int(text)
    if kind in ("date", "datetime"):
        return parse_moment(text)
    size = len(text.strip().partition(".")[0].removeprefix("-"))
    result = spellings.moment(text, 6) if size >= 12 else None
    if result is not None:
        return parse_moment(result)
    micros, whole = leading_duration(text)
    truncated += [text] * (not whole)
    return micros


def timestamp_diff(unit: Text, start: Text, end: Text) -> Text:
    if start is None or end is None:
        return None
    first, second = parse_moment(start), parse_moment(end)
    for result in (first, second):
        if has_zero(result):
            raise incorrect_value(moment_text(result, 0))
    micros = (days(second) - days(first)) * DAY + second.micros - first.micros
    sign, size = (-1, -micros) if micros < 0 else (1, micros)
    if unit in ("MONTH", "QUARTER", "YEAR"):
        low, high = (second, first) if micros < 0 else (first, second)
        months = (high.year - low.year) * 12 + high.month - low.month
        months -= (high.day, high.micros) < (low.day, low.micros)
        return str(sign * (months // {"MONTH": 1, "QUARTER": 3}.get(unit, 12)))
    return str(
        sign
        * (
            size
            // {"MICROSECOND": 1, "SECOND": SECOND, "MINUTE": 60 * SECOND, "HOUR": 3600 * SECOND, "DAY": DAY}.get(
                unit or "", 7 * DAY
            )
        )
    )

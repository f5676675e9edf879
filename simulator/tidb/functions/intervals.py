"""Intervals (`INTERVAL … unit`) and their addition (TiDB: pkg/expression/builtin_time.go, pkg/types/time.go)."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple, TypeVar

from simulator.tidb.functions import calendar
from simulator.tidb.functions.calendar import CalendarMoment
from simulator.tidb.functions.problems import FunctionProblem, field_overflow, incorrect_value, truncated_value
from simulator.tidb.functions.time_conversions import no_moment, parse_text, parse_with_offset
from simulator.tidb.values import spellings

SINGLE_UNITS = {
    "MICROSECOND": 1,
    "SECOND": calendar.SECOND,
    "MINUTE": 60 * calendar.SECOND,
    "HOUR": 3600 * calendar.SECOND,
    "DAY": calendar.DAY,
    "WEEK": 7 * calendar.DAY,
}
MONTH_UNITS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
COMPOUND_UNITS = {
    "SECOND_MICROSECOND": (6, 2),
    "MINUTE_MICROSECOND": (6, 3),
    "MINUTE_SECOND": (5, 2),
    "HOUR_MICROSECOND": (6, 4),
    "HOUR_SECOND": (5, 3),
    "HOUR_MINUTE": (4, 2),
    "DAY_MICROSECOND": (6, 5),
    "DAY_SECOND": (5, 4),
    "DAY_MINUTE": (4, 3),
    "DAY_HOUR": (3, 2),
    "YEAR_MONTH": (1, 2),
}
"""The last field, counted from the year, and the most fields of a unit."""

DECIMAL_PREFIXES = {
    "DAY_MINUTE": "0 ",
    "DAY_SECOND": "0 00:",
    "DAY_MICROSECOND": "0 00:00:",
    "HOUR_MICROSECOND": "00:00:",
    "HOUR_SECOND": "00:",
    "MINUTE_MICROSECOND": "00:",
}
"""Text before a decimal in a unit of several fields."""

DECIMAL_SEPARATORS = {
    "HOUR_MINUTE": ":",
    "MINUTE_SECOND": ":",
    "YEAR_MONTH": "-",
    "DAY_HOUR": " ",
    "DAY_MINUTE": ":",
    "DAY_SECOND": ":",
    "HOUR_SECOND": ":",
}
"""The separator that its point stands for."""

INT64 = 2**63
Result = TypeVar("Result", int, str)


class Interval(NamedTuple):
    """An interval, whose parts have one sign."""

    months: int
    days: int
    micros: int


def is_clock_unit(unit: str) -> bool:
    return unit not in ("DAY", "WEEK", *MONTH_UNITS, "YEAR_MONTH")


def amount_text(kind: str, shown: str, unit: str, problems: list[FunctionProblem]) -> str:
    """Return the text of an amount: the number that a text begins with, or a decimal as its unit takes it."""
    if kind == "string" and unit == "SECOND":
        result = re.match(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", shown)
        if not result or result[0] != shown.rstrip():
            problems.append(truncated_value("DECIMAL", shown))
        return f"{Decimal(result[1] if result else 0):f}"
    if kind == "string" and unit not in COMPOUND_UNITS:
        shown = shown.strip()
        whole = re.match(r"^[+-]?\d+", shown)
        if not whole or whole[0] != shown:
            problems.append(truncated_value("DECIMAL", shown))
        return whole[0] if whole else "0"
    if kind == "decimal" and unit in COMPOUND_UNITS:
        size = DECIMAL_PREFIXES.get(unit, "") + (
            shown.lstrip("-").replace(".", DECIMAL_SEPARATORS[unit])
            if unit in DECIMAL_SEPARATORS
            else shown.lstrip("-")
        )
        return f"-{size}" if shown.startswith("-") else size
    if kind == "decimal" and unit != "SECOND":
        whole_number = int(Decimal(shown).to_integral_value(ROUND_HALF_UP))
        if not -INT64 <= whole_number < INT64:
            problems.append(truncated_value("DECIMAL", shown))
        return str(min(max(whole_number, -INT64), INT64 - 1))
    return shown


@lru_cache(1 << 10)
def _interval(unit: str, kind: str, amount: str) -> tuple[Interval, list[FunctionProblem]]:
    """Return an amount of a unit, and the problems of its text."""
    problems: list[FunctionProblem] = []
    return parse_interval(unit, amount_text(kind, amount, unit, problems), problems), problems


def parse_interval(unit: str, shown: str, problems: list[FunctionProblem]) -> Interval:
    """Parse an amount of a unit. Truncation adds to `problems`."""
    if unit in COMPOUND_UNITS:
        return _parse_fields(shown, *COMPOUND_UNITS[unit], problems)
    whole, _, fraction = shown.partition(".")
    digits = re.match(r"\d{0,6}", fraction, re.ASCII)
    micros = int((digits[0] if digits else "").ljust(6, "0"))
    sign = -1 if shown.startswith("-") else 1
    number = int(whole) if re.fullmatch(r"[+-]?\d+", whole, re.ASCII) else None
    if number is None or not -INT64 <= number < INT64:
        problems.append(incorrect_value(shown))
        number = 0 if number is None else min(max(number, -INT64), INT64 - 1)
    elif fraction and unit != "SECOND":
        problems.append(truncated_value(shown, "%!v(MISSING)"))
    rounded = number + sign * (micros >= calendar.SECOND // 2)
    if unit in MONTH_UNITS:
        return Interval(rounded * MONTH_UNITS[unit], 0, 0)
    if unit in ("DAY", "WEEK"):
        return Interval(0, rounded * (7 if unit == "WEEK" else 1), 0)
    return Interval(
        0, 0, number * calendar.SECOND + sign * micros if unit == "SECOND" else rounded * SINGLE_UNITS[unit]
    )


def _parse_fields(shown: str, last: int, most: int, problems: list[FunctionProblem]) -> Interval:
    text = shown.strip()
    sign = -1 if text.startswith("-") else 1
    numbers = re.findall(r"[0-9]+", text)
    if len(numbers) > most:
        problems.append(incorrect_value(shown))
        return Interval(0, 0, 0)
    fields = [0] * 7
    for place, digits in enumerate(reversed(numbers)):
        at = last - place
        fields[at] = sign * int(digits[:6].ljust(6, "0") if at == 6 else digits)
        if abs(fields[at]) >= INT64:
            problems.append(incorrect_value(shown))
            fields[at] = sign * (INT64 - 1)
    years, months, days, hours, minutes, seconds, micros = fields
    return Interval(years * 12 + months, days, (hours * 3600 + minutes * 60 + seconds) * calendar.SECOND + micros)


def is_date(text: str) -> bool:
    """Return whether a text may be a date without a time (IsDateFormat)."""
    text = text.strip()
    parts = [part for part in re.split(r"[^0-9]+", text) if part]
    return len(parts) == 3 if len(parts) != 1 else len(text) in (5, 6, 8)


def read_moment(shown: str, kind: str, zone: str) -> tuple[CalendarMoment, bool]:
    """Parse a text or a number; return the moment and whether it is a date. Raises FunctionProblem 1292."""
    text = shown if kind == "string" else spellings.number(shown)
    result = parse_text(text) or (parse_with_offset(shown, zone) if kind == "string" else None)
    if result is None:
        raise no_moment(text, shown)
    return calendar.parse_moment(result), is_date(shown) if kind == "string" else len(shown.partition(".")[0]) <= 8


def add_interval(start: CalendarMoment, by: Interval, sign: int) -> CalendarMoment:
    """Add or subtract an interval. Raises FunctionProblem 1441."""
    result: CalendarMoment | None = start
    if by.days or by.micros:
        result = calendar.add_micros(start, sign * (by.days * calendar.DAY + by.micros))
    if result is not None and by.months:
        result = calendar.add_months(result, sign * by.months)
    if result is None:
        raise field_overflow()
    return result if result.year else CalendarMoment(0, 0, 0, result.micros)


def date_add(
    sign: int, unit: str, zone: str, digits: int, base_kind: str, base: str | None, amount_kind: str, amount: str | None
) -> str | None:
    """Return DATE_ADD or DATE_SUB, with all digits of a second that the result has."""
    if base is None:
        return None
    if base_kind in ("date", "datetime"):
        start, is_day = calendar.parse_moment(base), base_kind == "date"
    else:
        start, is_day = read_moment(base, base_kind, zone)
    if base_kind not in ("date", "datetime") and (calendar.has_zero(start) or not start.year):
        raise incorrect_value(base)
    if calendar.has_zero(start):
        raise incorrect_value(calendar.date_text(start) if is_day else calendar.moment_text(start, digits))
    if amount is None:
        return None
    by, problems = _interval(unit, amount_kind, amount)
    result = add_interval(start, by, sign)
    if base_kind in ("date", "datetime"):
        text = calendar.moment_text(result)
    elif is_day and not is_clock_unit(unit):
        text = calendar.date_text(result)
    else:
        text = calendar.moment_text(result, None)
    return _value_or_problem(problems, text)


def _value_or_problem(problems: list[FunctionProblem], value: Result) -> Result:
    """Return the value. Raises the first problem if there is one."""
    if problems:
        raise FunctionProblem(problems[0].number, problems[0].text, problems[0].kind, value)
    return value


def duration_add(sign: int, unit: str, base: int, amount_kind: str, amount: str) -> int:
    """Return DATE_ADD or DATE_SUB of a duration and a unit of the clock."""
    by, problems = _interval(unit, amount_kind, amount)
    if (
        by.months
        or abs(by.days) > calendar.MAX_HOURS // 24
        or abs(by.days * calendar.DAY + by.micros) > calendar.MAX_DURATION
    ):
        raise field_overflow("time")
    return _value_or_problem(problems, base + sign * (by.days * calendar.DAY + by.micros))


def timestamp_add(unit: str, number: float, base: str, is_day: bool) -> str:
    """Return TIMESTAMPADD. Days beyond the end of a month run into the next."""
    start = calendar.parse_moment(base)
    if calendar.has_zero(start) or not start.year:
        raise incorrect_value(calendar.moment_text(start, 0))
    rounded = int(number + (0.5 if number >= 0 else -0.5)) if abs(number) < 2.0**62 else INT64
    if abs(rounded) > 10**15:
        raise field_overflow()
    if unit in MONTH_UNITS:
        result = calendar.add_months(start, rounded * MONTH_UNITS[unit], cut=False)
    else:
        result = calendar.add_micros(
            start, int(number * calendar.SECOND) if unit == "SECOND" else rounded * SINGLE_UNITS[unit]
        )
    if result is None or not result.year:
        raise field_overflow()
    if is_day and not is_clock_unit(unit):
        return calendar.date_text(result)
    return calendar.moment_text(result, None)

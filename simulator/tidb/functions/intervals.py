"""Intervals (`INTERVAL … unit`), and sums and differences of moments and durations.

Sources: TiDB pkg/expression/builtin_time.go, pkg/types/time.go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, TypeAlias, TypeVar

from simulator.tidb.errors import FunctionProblem, field_overflow, incorrect_value, truncated_value
from simulator.tidb.functions.time_conversions import (
    DAY,
    MAX_HOURS,
    SECOND,
    add_micros,
    add_months,
    check_date,
    date_text,
    days_of,
    from_day_number,
    has_zero,
    moment_text,
    no_moment,
    parse_text,
    parse_with_offset,
)
from simulator.tidb.values import durations
from simulator.tidb.values.durations import LONGEST, duration_text
from simulator.tidb.values.moments import CoreTime, parse_stored_moment

SINGLE_UNITS = {
    "MICROSECOND": 1,
    "SECOND": SECOND,
    "MINUTE": 60 * SECOND,
    "HOUR": 3600 * SECOND,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
MONTH_UNITS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND")
COMPOUND_UNITS = {
    f"{FIELDS[first]}_{FIELDS[last]}": (last, last - first + 1)
    for first, last in ((0, 1), *combinations(range(2, len(FIELDS)), 2))
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
    "YEAR_MONTH": "-",
    "DAY_HOUR": " ",
    **dict.fromkeys(("DAY_MINUTE", "DAY_SECOND", "HOUR_MINUTE", "HOUR_SECOND", "MINUTE_SECOND"), ":"),
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
    rounded = number + sign * (micros >= SECOND // 2)
    if unit in MONTH_UNITS:
        return Interval(rounded * MONTH_UNITS[unit], 0, 0)
    if unit in ("DAY", "WEEK"):
        return Interval(0, rounded * (7 if unit == "WEEK" else 1), 0)
    return Interval(0, 0, number * SECOND + sign * micros if unit == "SECOND" else rounded * SINGLE_UNITS[unit])


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
    return Interval(years * 12 + months, days, (hours * 3600 + minutes * 60 + seconds) * SECOND + micros)


def is_date(text: str) -> bool:
    """Return whether a text may be a date without a time (IsDateFormat)."""
    text = text.strip()
    parts = [part for part in re.split(r"[^0-9]+", text) if part]
    return len(parts) == 3 if len(parts) != 1 else len(text) in (5, 6, 8)


def read_moment(shown: str, kind: str, zone: str) -> tuple[CoreTime, bool]:
    """Parse a text or a number; return the moment and whether it is a date. Raises FunctionProblem 1292."""
    text = shown if kind == "string" else durations.number(shown)
    result = parse_text(text) or (parse_with_offset(shown, zone) if kind == "string" else None)
    if result is None:
        raise no_moment(text, shown)
    return parse_stored_moment(result), is_date(shown) if kind == "string" else len(shown.partition(".")[0]) <= 8


def add_interval(start: CoreTime, by: Interval, sign: int) -> CoreTime:
    """Add or subtract an interval. Raises FunctionProblem 1441."""
    result: CoreTime | None = start
    if by.days or by.micros:
        result = add_micros(start, sign * (by.days * DAY + by.micros))
    if result is not None and by.months:
        result = add_months(result, sign * by.months)
    if result is None:
        raise field_overflow()
    return result if result.year else result._replace(month=0, day=0)


@dataclass(frozen=True)
class MomentAddition:
    """DATE_ADD or DATE_SUB of a moment."""

    sign: int
    unit: str
    digits: int
    """Digits of a second that the moment has."""

    base_kind: str
    """`date` and `datetime`, or how the moment is read: as `time`, `string` or `number`."""

    amount_kind: str

    def __call__(self, zone: str, base: str | None, amount: str | None) -> str | None:
        """Return the sum, with all digits of a second that it has. Raises FunctionProblem."""
        if base is None:
            return None
        stored = self.base_kind in ("date", "datetime")
        if stored:
            start, is_day = parse_stored_moment(base), self.base_kind == "date"
        else:
            start, is_day = read_moment(base, self.base_kind, zone)
        if not stored and (has_zero(start) or not start.year):
            raise incorrect_value(base)
        if has_zero(start):
            raise incorrect_value(date_text(start) if is_day else moment_text(start, self.digits))
        if amount is None:
            return None
        by, problems = _interval(self.unit, self.amount_kind, amount)
        result = add_interval(start, by, self.sign)
        if stored:
            text = moment_text(result)
        elif is_day and not is_clock_unit(self.unit):
            text = date_text(result)
        else:
            text = moment_text(result, None)
        return _value_or_problem(problems, text)


def _value_or_problem(problems: list[FunctionProblem], value: Result) -> Result:
    """Return the value. Raises the first problem if there is one."""
    if problems:
        raise FunctionProblem(problems[0].number, problems[0].text, problems[0].kind, value)
    return value


def duration_add(sign: int, unit: str, base: int, amount_kind: str, amount: str) -> int:
    """Return DATE_ADD or DATE_SUB of a duration and a unit of the clock."""
    by, problems = _interval(unit, amount_kind, amount)
    if by.months or abs(by.days) > MAX_HOURS // 24 or abs(by.days * DAY + by.micros) > LONGEST:
        raise field_overflow("time")
    return _value_or_problem(problems, base + sign * (by.days * DAY + by.micros))


def timestamp_add(unit: str, number: float, base: str, is_day: bool) -> str:
    """Return TIMESTAMPADD. Days beyond the end of a month run into the next."""
    start = parse_stored_moment(base)
    if has_zero(start) or not start.year:
        raise incorrect_value(moment_text(start, 0))
    rounded = int(number + (0.5 if number >= 0 else -0.5)) if abs(number) < 2.0**62 else INT64
    if abs(rounded) > 10**15:
        raise field_overflow()
    if unit in MONTH_UNITS:
        result = add_months(start, rounded * MONTH_UNITS[unit], cut=False)
    else:
        result = add_micros(start, int(number * SECOND) if unit == "SECOND" else rounded * SINGLE_UNITS[unit])
    if result is None or not result.year:
        raise field_overflow()
    if is_day and not is_clock_unit(unit):
        return date_text(result)
    return moment_text(result, None)


Amount: TypeAlias = int | str
"""Microseconds of a TIME, or a text."""

DURATION = re.compile(r"\s*-?(?:(?:\d{1,2}\s+)?0*\d{0,3}(?::0*\d{1,2}){0,2}|\d{1,7})?(?:\.\d*)?\s*", re.ASCII)


def leading_duration(text: str) -> tuple[int, bool]:
    """Return the duration that a text begins with, and whether it is the whole text."""
    result = durations.duration(text, 6)
    if result is not None:
        return result, True
    cut = durations.duration(text, 6, cut=True)
    leading = re.match(r"\s*-?\d+", text, re.ASCII)
    if cut is None and leading:
        cut = durations.duration(leading[0], 6, cut=True)
    return cut or 0, False


def _parse_duration(text: str) -> int:
    """Parse a duration. Raises FunctionProblem 1292, a warning in every sql_mode."""
    result = durations.duration(text, 6)
    if result is None:
        raise truncated_value("time", text, kind="W")
    return result


def add_to_text(sign: int, text: str, amount: Amount) -> str | None:
    """Return ADDTIME or SUBTIME of a text, which is a duration or a moment."""
    by = sign * (amount if isinstance(amount, int) else _parse_duration(amount))
    if isinstance(amount, str) and re.fullmatch(r"\s*\d+-.+", amount, re.DOTALL):
        return None
    if DURATION.fullmatch(text):
        total = _parse_duration(text) + by
        return duration_text(total, None)
    start = durations.moment(text, 6)
    if start is None:
        raise FunctionProblem(1292, f"Incorrect datetime value: '{text}'", "W")
    result = _add(parse_stored_moment(start), by)
    return None if result is None else moment_text(result, None)


def _add(start: CoreTime, by: int) -> CoreTime | None:
    """Add to a moment. A sum of a date with a zero part loses its sign (tidb pkg/types/core_time.go,
    calcTimeDurationDiff)."""
    if not has_zero(start):
        return add_micros(start, by)
    days, clock = divmod(start.clock + by, DAY)
    if not days:
        return start.at_clock(clock)
    days, clock = divmod(abs(days_of(start) * DAY + start.clock + by), DAY)
    result = from_day_number(days)
    return None if result is None else result.at_clock(clock)


def add_to_moment(sign: int, start: str | None, kind: str, amount: Amount | None) -> str | None:
    """Return ADDTIME or SUBTIME of a DATETIME."""
    by = _parse_amount(sign, kind, amount)
    if start is None or by is None:
        return None
    result = _add(parse_stored_moment(start), by)
    return None if result is None else moment_text(result)


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
    if isinstance(left, CoreTime) != isinstance(right, CoreTime):
        return None
    if isinstance(left, CoreTime) and isinstance(right, CoreTime):
        micros = (days_of(left) - days_of(right)) * DAY + left.clock - right.clock
    else:
        assert isinstance(left, int) and isinstance(right, int)
        micros = left - right
    if abs(micros) > LONGEST:
        truncated.append(duration_text(micros, 6))
        micros = LONGEST if micros > 0 else -LONGEST
    if truncated:
        raise truncated_value("time", truncated[0], micros)
    return micros


def _timediff_operand(kind: str, text: Amount, truncated: list[str]) -> CoreTime | int:
    """Parse an operand. A text of twelve characters or more may be a moment (StrToDuration), others are durations."""
    if isinstance(text, int):
        return text
    if kind in ("date", "datetime"):
        return parse_stored_moment(text)
    size = len(text.strip().partition(".")[0].removeprefix("-"))
    result = durations.moment(text, 6) if size >= 12 else None
    if result is not None:
        return parse_stored_moment(result)
    micros, whole = leading_duration(text)
    truncated += [text] * (not whole)
    return micros


def timestampdiff(unit: str, start: str, end: str) -> int:
    first, second = parse_stored_moment(start), parse_stored_moment(end)
    check_date(first)
    check_date(second)
    micros = (days_of(second) - days_of(first)) * DAY + second.clock - first.clock
    sign, size = (-1, -micros) if micros < 0 else (1, micros)
    if unit not in MONTH_UNITS:
        return sign * (size // SINGLE_UNITS[unit])
    low, high = (second, first) if micros < 0 else (first, second)
    months = (high.year - low.year) * 12 + high.month - low.month
    months -= (high.day, high.clock) < (low.day, low.clock)
    return sign * (months // MONTH_UNITS[unit])

"""DATE_FORMAT, TIME_FORMAT and STR_TO_DATE (TiDB: pkg/types/time.go)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from simulator.tidb.errors import FunctionProblem, incorrect_value, truncated_value
from simulator.tidb.functions.time_conversions import (
    MONTHS,
    WEEKDAYS,
    clock_fields,
    day_of_year,
    has_zero,
    moment_text,
    month_length,
    week_number,
    weekday_of,
)
from simulator.tidb.values.moments import CoreTime, parse_stored_moment

Clock: TypeAlias = tuple[int, int, int, int]
"""Hours, minutes, seconds and microseconds."""


def date_format(text: str, pattern: str) -> str:
    moment = parse_stored_moment(text)
    return "".join(literal or _date_letter(letter, moment, moment[3:7]) for letter, literal in _pieces(pattern))


def time_format(micros: int, pattern: str) -> str:
    clock = clock_fields(abs(micros))
    return "".join(
        literal or (_CLOCK_LETTERS[letter](*clock) if letter in _CLOCK_LETTERS else letter)
        for letter, literal in _pieces(pattern)
    )


@lru_cache(1 << 10)
def _pieces(pattern: str) -> list[tuple[str, str]]:
    """Return the letters of a format and the texts between them; a `%` at its end is dropped."""
    return re.findall(r"(?s)%(.?)|([^%]+)", pattern)


def _date_letter(letter: str, moment: CoreTime, clock: Clock) -> str:
    if letter in _CLOCK_LETTERS:
        return _CLOCK_LETTERS[letter](*clock)
    return _DATE_LETTERS[letter](moment) if letter in _DATE_LETTERS else letter


def _half(hours: int) -> str:
    return "AM" if hours % 24 < 12 else "PM"


_CLOCK_LETTERS: dict[str, Callable[[int, int, int, int], str]] = {
    "H": lambda hours, minutes, seconds, micros: f"{hours:02}",
    "k": lambda hours, minutes, seconds, micros: str(hours),
    **dict.fromkeys("hI", lambda hours, minutes, seconds, micros: f"{hours % 12 or 12:02}"),
    "l": lambda hours, minutes, seconds, micros: str(hours % 12 or 12),
    "i": lambda hours, minutes, seconds, micros: f"{minutes:02}",
    "p": lambda hours, minutes, seconds, micros: _half(hours),
    **dict.fromkeys("Ss", lambda hours, minutes, seconds, micros: f"{seconds:02}"),
    "f": lambda hours, minutes, seconds, micros: f"{micros:06}",
    "T": lambda hours, minutes, seconds, micros: f"{hours:02}:{minutes:02}:{seconds:02}",
    "r": lambda hours, minutes, seconds, micros: f"{hours % 12 or 12:02}:{minutes:02}:{seconds:02} {_half(hours)}",
}


def _month(moment: CoreTime) -> str:
    if not moment.month:
        raise FunctionProblem(1292, "Incorrect time value: '0'", "T")
    return MONTHS[moment.month - 1]


def _ordinal(day: int) -> str:
    return f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def _week(moment: CoreTime, mode: int) -> str:
    return "00" if has_zero(moment) else f"{week_number(moment, mode)[1]:02}"


def _week_year(moment: CoreTime, mode: int) -> str:
    year = week_number(moment, mode, True)[0]
    return f"{year:04}" if year >= 0 else str(2**32 - 1)


_DATE_LETTERS: dict[str, Callable[[CoreTime], str]] = {
    "Y": lambda moment: f"{moment.year:04}",
    "y": lambda moment: f"{moment.year:04}"[2:],
    "m": lambda moment: f"{moment.month:02}",
    "c": lambda moment: str(moment.month),
    "d": lambda moment: f"{moment.day:02}",
    "e": lambda moment: str(moment.day),
    "D": lambda moment: _ordinal(moment.day),
    "b": lambda moment: _month(moment)[:3],
    "M": _month,
    "j": lambda moment: f"{0 if has_zero(moment) else day_of_year(moment):03}",
    "a": lambda moment: WEEKDAYS[weekday_of(moment)][:3],
    "W": lambda moment: WEEKDAYS[weekday_of(moment)],
    "w": lambda moment: str(weekday_of(moment)),
    "U": lambda moment: _week(moment, 0),
    "u": lambda moment: _week(moment, 1),
    "V": lambda moment: _week(moment, 2),
    "v": lambda moment: f"{week_number(moment, 3, True)[1]:02}",
    "X": lambda moment: _week_year(moment, 2),
    "x": lambda moment: _week_year(moment, 3),
}


# -- STR_TO_DATE -------------------------------------------------------------------------------------------------------

CLOCK_LETTERS, DATE_LETTERS = "hHiIsSklfrT", "yYmMcbDde"


def result_kind(pattern: str) -> str:
    """Return the type that STR_TO_DATE has for a format: `time`, `date` or `datetime`."""
    letters = re.findall(r"(?s)%(.)", pattern)
    timed, dated = (
        any(letter in letters_of_kind for letter in letters) for letters_of_kind in (CLOCK_LETTERS, DATE_LETTERS)
    )
    return "time" if timed and not dated else "date" if dated and not timed else "datetime"


class _DateReader:
    """The rest of a text, and the fields that have been read from it."""

    def __init__(self, text: str) -> None:
        self.rest = text
        self.fields = dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "micros"), 0)
        self.seen: dict[str, int] = {}

    def number(self, digits: int, least: int = 0, most: int = 10**9) -> int:
        """Read a number. Raises ValueError."""
        result = re.match(rf"\d{{1,{digits}}}", self.rest, re.ASCII)
        if not result or not least <= int(result[0]) <= most:
            raise ValueError
        self.rest = self.rest[len(result[0]) :]
        return int(result[0])

    def separator(self) -> bool:
        """Skip a colon; return whether text is left. Raises ValueError."""
        self.rest = self.rest.lstrip()
        if not self.rest:
            return False
        if not self.rest.startswith(":"):
            raise ValueError
        self.rest = self.rest[1:].lstrip()
        return bool(self.rest)


def str_to_date(text: str, pattern: str, kind: str, zeros: bool) -> str | int:
    """Return STR_TO_DATE: a moment, or a duration for a format without a date. `zeros` allows 0 in parts of a date."""
    reading = _DateReader(text)
    try:
        extra = _read_format(reading, pattern)
        _apply_am_pm(reading)
        result = _moment(reading)
    except ValueError:
        raise incorrect_value("0000-00-00 00:00:00") from None
    value: str | int = result.clock
    if kind != "time":
        if not zeros and (has_zero(result) or not result.year):
            shown = text if kind == "date" else moment_text(result, 0)
            if kind != "date":
                raise incorrect_value(shown)
            raise FunctionProblem(1411, f"Incorrect datetime value: '{shown}' for function str_to_date", "T")
        value = moment_text(result)
    if extra:
        raise truncated_value("datetime", text, value, "W")
    return value


def _read_format(reading: _DateReader, pattern: str) -> bool:
    """Read a text by a format; return whether text is left. Raises ValueError."""
    while True:
        reading.rest, pattern = reading.rest.lstrip(), pattern.lstrip()
        if not pattern:
            return bool(reading.rest)
        if pattern == "%":
            raise ValueError
        token, pattern = (pattern[:2], pattern[2:]) if pattern[0] == "%" else (pattern[:1], pattern[1:])
        if not reading.rest:
            reading.seen[token] = 0
            return False
        read = _READERS.get(token)
        if read is not None:
            read(reading)
        elif reading.rest.startswith(token):
            reading.rest = reading.rest[len(token) :]
        else:
            raise ValueError


def _field(name: str, digits: int, least: int, most: int, seen: str = "") -> Callable[[_DateReader], None]:
    def read(reading: _DateReader) -> None:
        reading.fields[name] = reading.number(digits, least, most)
        if seen:
            reading.seen[seen] = reading.fields[name]

    return read


def _year(digits: int) -> Callable[[_DateReader], None]:
    def read(reading: _DateReader) -> None:
        before = reading.rest
        year = reading.number(digits)
        size = len(before) - len(reading.rest)
        reading.fields["year"] = year if size > 2 else year + (2000 if year < 70 else 1900)

    return read


def _micros(reading: _DateReader) -> None:
    digits = re.findall(r"^\d{0,6}", reading.rest, re.ASCII)[0]
    reading.fields["micros"] = int(digits.ljust(6, "0"))
    reading.rest = reading.rest[len(digits) :]


def _named_month(length: int) -> Callable[[_DateReader], None]:
    def read(reading: _DateReader) -> None:
        for place, name in enumerate(MONTHS, 1):
            prefix = name[:length]
            if reading.rest[: len(prefix)].lower() == prefix.lower():
                reading.fields["month"], reading.rest = place, reading.rest[len(prefix) :]
                return
        raise ValueError

    return read


def _am_pm(reading: _DateReader) -> None:
    half = reading.rest[:2].lower()
    if half not in ("am", "pm"):
        raise ValueError
    reading.seen["%p"], reading.rest = 1 + (half == "pm"), reading.rest[2:]


def _whole_clock(of_12: bool) -> Callable[[_DateReader], None]:
    """Return a reader of `hh:mm:ss`, with AM or PM behind it, up to the end of the text."""

    def read(reading: _DateReader) -> None:
        hour = reading.number(2, 1, 12) % 12 if of_12 else reading.number(2, 0, 23)
        reading.fields["hour"] = hour
        for name in ("minute", "second"):
            if not reading.separator():
                return
            reading.fields[name] = reading.number(2, 0, 59)
        if of_12:
            reading.rest = reading.rest.lstrip()
            if reading.rest:
                if reading.rest[:2].upper() not in ("AM", "PM"):
                    raise ValueError
                reading.fields["hour"] = hour + 12 * (reading.rest[:2].upper() == "PM")
                reading.rest = reading.rest[2:]

    return read


def _skip(pattern: str) -> Callable[[_DateReader], None]:
    def read(reading: _DateReader) -> None:
        reading.rest = re.sub(rf"^{pattern}*", "", reading.rest)

    return read


_READERS: dict[str, Callable[[_DateReader], None]] = {
    "%b": _named_month(3),
    "%M": _named_month(9),
    **dict.fromkeys(("%c", "%m"), _field("month", 2, 0, 12)),
    **dict.fromkeys(("%d", "%e"), _field("day", 2, 0, 31)),
    "%f": _micros,
    **{f"%{letter}": _field("hour", 2, 1, 12, "%h") for letter in "hIl"},
    **{f"%{letter}": _field("hour", 2, 0, 23, "%H") for letter in "Hk"},
    "%i": _field("minute", 2, 0, 59),
    **dict.fromkeys(("%s", "%S"), _field("second", 2, 0, 59)),
    "%j": lambda reading: reading.seen.update({"%j": reading.number(3, 1, 999)}),
    "%p": _am_pm,
    "%r": _whole_clock(True),
    "%T": _whole_clock(False),
    "%Y": _year(4),
    "%y": _year(2),
    "%#": _skip("[0-9]"),
    "%.": _skip(r"[!-/:-@\[-`{-~]"),
    "%@": _skip("[A-Za-z]"),
}


def _apply_am_pm(reading: _DateReader) -> None:
    """Apply AM or PM to the hour. Raises ValueError."""
    hour, half = reading.fields["hour"], reading.seen.get("%p")
    if half is None:
        if "%h" in reading.seen and hour == 12:
            reading.fields["hour"] = 0
        return
    if "%H" in reading.seen or hour == 0:
        raise ValueError
    if hour == 12:
        reading.fields["hour"] = 0 if half == 1 else 12
    elif half == 2:
        reading.fields["hour"] = hour + 12


def _moment(reading: _DateReader) -> CoreTime:
    """Return the moment of all fields. Raises ValueError for a day beyond the end of its month."""
    year, month, day, hour, minute, second, micros = reading.fields.values()
    if month and day > month_length(year, month):
        raise ValueError
    return CoreTime(year, month, day, hour, minute, second, micros)

"""Dates and times as TiDB prints them, with exactly their fractional digits.

One law: each function gives TiDB text, or null for what strict mode would reject; zero dates are values like others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.kernels import has, matches, only, otherwise, parsed

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_CALENDAR = ("(((0[13-9]|1[0-2])-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])|(0[13578]|1[02])-31))")
"""Month and day of every year."""

_PARTS = (r"^\s*(?P<year>\d{1,4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
          r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<part>\d*))?)?)?\s*$")
_COMPACT = (r"^\s*(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
            r"(?:(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})(?:\.(?P<part>\d*))?)?\s*$")
_CLOCK = (r"^\s*(?P<sign>-?)(?:(?P<day>\d{1,2}) )?(?P<hour>\d{1,3}):(?P<minute>\d{1,2})"
          r"(?::(?P<second>\d{1,2})(?:\.(?P<part>\d*))?)?\s*$")
_COMPACT_CLOCK = r"^\s*(?P<sign>-?)(?P<digits>\d{1,7})(?:\.(?P<part>\d*))?\s*$"

_EARLIEST, _LATEST = "1969-12-31 10:00:00", "2038-01-19 17:14:08"
"""TIMESTAMP's range, with room for any time zone the dump was taken in."""

_YEARS = (-62167219200, 253402300800)
"""Seconds since 1970 of the first moment of year 0 and of year 10000."""

_LONGEST = 838 * 3600 + 59 * 60 + 59
"""Seconds of the longest TIME."""

_MONTHS = np.array([31, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
"""Days of the months in a leap year; month 0 may have 31 (tidb pkg/types/time.go, checkMonthDay)."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def date(text: pa.Array) -> pa.Array:
    """DATE from text."""
    usual = _usual(text, pa.date32(), "", "")
    return otherwise(text, usual, lambda odd: pc.utf8_slice_codeunits(_spelled(0, odd), 0, 10))


def datetime(type: ColumnType, text: pa.Array) -> pa.Array:
    """DATETIME or TIMESTAMP from text."""
    digits = max(type.decimal, 0)
    clock = " ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]" + (rf"\.[0-9]{{{digits}}}" if digits else "")
    usual = _usual(text, pa.timestamp("us" if digits else "s"), clock, _zero(digits))
    return _in_range(type, otherwise(text, usual, lambda odd: _spelled(digits, odd)))


def _zero(digits: int) -> str:
    return " 00:00:00" + ("." + digits * "0" if digits else "")


def _in_range(type: ColumnType, text: pa.Array) -> pa.Array:
    if type.name == "datetime":
        return text
    known = pc.and_(pc.greater_equal(text, _EARLIEST), pc.less_equal(text, _LATEST))
    return otherwise(text, known, lambda odd: only(pc.starts_with(odd, "0000-00-00"), odd))


def _usual(text: pa.Array, kind: pa.DataType, clock: str, midnight: str) -> pa.Array:
    """Whether a date, or a moment, is of the calendar, or all zeros, and spelt as TiDB spells it."""
    lengths = pc.min_max(pc.binary_length(text)).as_py()
    spelt = set(lengths.values()) == {10 + len(midnight)} and not has(text, "T")
    moments = parsed(text, kind) if spelt else None
    if moments is not None:
        return moments.is_valid()
    return matches(text, f"[0-9]{{4}}-{_CALENDAR}{clock}|0000-00-00{midnight.replace('.', '[.]')}")


def moment(type: ColumnType, value: pa.Array) -> pa.Array:
    """DATE, DATETIME or TIMESTAMP from Arrow's dates and timestamps; those of a time zone are in UTC."""
    digits = max(type.decimal, 0)
    if pa.types.is_date(value.type):
        value = value.cast(pa.timestamp("s"))
    unit = _PER_SECOND[value.type.unit]
    ticks = value.view(pa.int64())
    ticks = only(pc.and_(pc.greater_equal(ticks, _YEARS[0] * unit), pc.less(ticks, _YEARS[1] * unit)), ticks)
    counted = _rescaled(_numbers(ticks), unit, 10**digits, up=type.name != "date")
    text = _formatted(counted, digits, ticks.is_valid())
    return pc.utf8_slice_codeunits(text, 0, 10) if type.name == "date" else _in_range(type, text)


def _rescaled(ticks: Integers, unit: int, wanted: int, up: bool = True) -> Integers:
    """So many parts of a second in larger or smaller ones, a half rounded up."""
    if unit <= wanted:
        return ticks * (wanted // unit)
    parts = unit // wanted
    return (ticks + parts // 2 if up else ticks) // parts


def _formatted(ticks: Integers, digits: int, valid: pa.Array) -> pa.Array:
    """Text of moments, counted in units of the last digit; null outside the years 0 to 9999."""
    kind, places = ("s", 0) if digits == 0 else ("ms", 3) if digits <= 3 else ("us", 6)
    known = (ticks >= _YEARS[0] * 10**digits) & (ticks < _YEARS[1] * 10**digits)
    moments = pa.array(ticks * 10 ** (places - digits))
    valid = valid if known.all() else pc.and_(valid, pa.array(known))
    text = only(valid, moments).cast(pa.timestamp(kind)).cast(pa.string())
    return text if digits == places else pc.utf8_slice_codeunits(text, 0, 20 + digits)


def _numbers(cells: pa.Array) -> Integers:
    """Integers, or text of digits; nothing and null are 0."""
    if pa.types.is_string(cells.type):
        cells = pc.if_else(pc.equal(cells, ""), "0", cells).cast(pa.int64())
    numbers: Integers = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False)
    return numbers


def _fraction(part: pa.Array) -> Integers:
    """Ten millionths of a second."""
    return _numbers(pc.utf8_rpad(pc.utf8_slice_codeunits(part, 0, 7), 7, "0"))


def _fields(found: pa.Array) -> dict[str, pa.Array]:
    return {field.name: only(found.is_valid(), pc.struct_field(found, field.name)) for field in found.type}


def _spelled(digits: int, text: pa.Array) -> pa.Array:
    """A moment in any spelling that MySQL takes, rounded to that many fractional digits."""
    known = matches(text, rf"[0-9]{{4}}-{_CALENDAR}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{{1,6}})?)?)?")
    made = moment(ColumnType("datetime", decimal=digits), only(known, text).cast(pa.timestamp("us")))
    return otherwise(text, known, lambda odd: _in_parts(digits, odd), made)


def _in_parts(digits: int, text: pa.Array) -> pa.Array:
    """The same of spellings that Arrow does not know, and of zero dates."""
    found = pc.extract_regex(text, _PARTS)
    fields = _fields(pc.if_else(found.is_valid(), found, pc.extract_regex(text, _COMPACT)))
    short = pc.fill_null(pc.less_equal(pc.binary_length(fields["year"]), 2), False).to_numpy(zero_copy_only=False)
    year, month, day, hour, minute, second = (_numbers(fields[name]) for name in list(fields)[:6])
    short &= (year | month | day | hour | minute | second) != 0
    year = year + short * np.where(year < 70, 2000, 1900)
    valid = pc.and_(fields["year"].is_valid(), pa.array(
        _is_date(year, month, day) & (hour < 24) & (minute < 60) & (second < 60)))
    zero = (month == 0) | (day == 0)
    months = (year - 1970) * 12 + np.maximum(month, 1) - 1
    days = months.astype("M8[M]").astype("M8[D]").astype(np.int64) + np.maximum(day, 1) - 1
    fraction = _fraction(fields["part"])
    part = np.where(zero, _rescaled(fraction, 10**7, 10**digits, up=False), _rescaled(fraction, 10**7, 10**digits))
    ticks = (((days * 24 + hour) * 60 + minute) * 60 + second) * 10**digits + part
    moments = _formatted(ticks, digits, valid)
    if not zero.any():
        return moments
    dates = pc.binary_join_element_wise(*_padded([(year, 4), (month, 2), (day, 2)]), "-")
    zeros = pc.binary_join_element_wise(dates, pc.utf8_slice_codeunits(moments, 10), "")
    return pc.if_else(pa.array(zero), zeros, moments)


def _is_date(year: Integers, month: Integers, day: Integers) -> Flags:
    """Whether TiDB takes the date; a month and a day may be zero."""
    leap = (year % 4 == 0) & (year % 100 != 0) | (year % 400 == 0)
    taken: Flags = (month <= 12) & (day <= _MONTHS[np.minimum(month, 12)]) & ~((month == 2) & (day == 29) & ~leap)
    return taken


def duration(type: ColumnType, text: pa.Array) -> pa.Array:
    """TIME from text: up to 838:59:59 on either side of zero."""
    digits = max(type.decimal, 0)
    usual = matches(text, r"-?([0-9]{2}|[1-7][0-9]{2}|8[0-2][0-9]|83[0-7]):[0-5][0-9]:[0-5][0-9]"
                    + (rf"\.[0-9]{{{digits}}}" if digits else ""))
    usual = pc.and_(usual, pc.not_equal(text, "-" + _zero(digits).strip()))
    return otherwise(text, usual, lambda odd: _spelled_clock(digits, odd))


def _spelled_clock(digits: int, text: pa.Array) -> pa.Array:
    """A TIME in any spelling, rounded to that many fractional digits."""
    found = _fields(pc.extract_regex(text, _CLOCK))
    other = _fields(pc.extract_regex(text, _COMPACT_CLOCK))
    valid = pc.or_(found["sign"].is_valid(), other["sign"].is_valid())
    day, hour, minute, second = (_numbers(found[name]) for name in ("day", "hour", "minute", "second"))
    number = _numbers(other["digits"])
    minute, second = minute + number // 100 % 100, second + number % 100
    seconds = ((day * 24 + hour + number // 10_000) * 60 + minute) * 60 + second
    fraction = _fraction(pc.coalesce(found["part"], other["part"]))
    ticks = seconds * 10**digits + _rescaled(fraction, 10**7, 10**digits)
    negative = pc.fill_null(pc.equal(pc.coalesce(found["sign"], other["sign"]), "-"), False)
    valid = pc.and_(valid, pa.array((minute < 60) & (second < 60)))
    return _clock(np.where(negative.to_numpy(zero_copy_only=False), -ticks, ticks), digits, valid)


def time_of_day(type: ColumnType, value: pa.Array) -> pa.Array:
    """TIME from Arrow's times and durations."""
    digits, unit = max(type.decimal, 0), _PER_SECOND[value.type.unit]
    ticks = value.cast(pa.int32() if pa.types.is_time32(value.type) else pa.int64())
    numbers = _numbers(ticks).astype(np.int64)
    return _clock(np.sign(numbers) * _rescaled(np.abs(numbers), unit, 10**digits), digits, ticks.is_valid())


def _clock(ticks: Integers, digits: int, valid: pa.Array) -> pa.Array:
    """Text of a TIME, counted in units of the last digit; null where it is too long."""
    size = np.abs(ticks)
    seconds, part = size // 10**digits, size % 10**digits
    columns = [(seconds // 3600, 2), (seconds // 60 % 60, 2), (seconds % 60, 2)]
    clock = pc.binary_join_element_wise(*_padded(columns), ":")
    if digits:
        clock = pc.binary_join_element_wise(clock, *_padded([(part, digits)]), ".")
    signed = pc.if_else(pa.array(ticks < 0), pc.binary_join_element_wise("-", clock, ""), clock)
    return only(pc.and_(valid, pa.array(size <= _LONGEST * 10**digits)), signed)


def _padded(columns: Sequence[tuple[Integers, int]]) -> list[pa.Array]:
    """Numbers with zeros before them up to that many digits."""
    return [pc.utf8_lpad(pa.array(number).cast(pa.string()), width, "0") for number, width in columns]

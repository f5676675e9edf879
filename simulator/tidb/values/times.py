"""Convert columns to dates and times, with exactly the type's fractional digits.

The result is null for what strict mode would reject, except zero dates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.types import ColumnType
from simulator.tidb.values import durations, kernels
from simulator.tidb.values.durations import LONGEST

Integers = npt.NDArray[np.int64]

_CALENDAR = "(((0[13-9]|1[0-2])-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])|(0[13578]|1[02])-31))"
"""The months and days of every year."""

_YEARS = (-62167219200, 253402300800)
"""Seconds since 1970 at the start of the years 0 and 10000."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def date(text: pa.Array) -> pa.Array:
    """Convert text to DATE."""
    usual = _usual(text, pa.date32(), "", "")
    return kernels.replace_unusual(
        text, usual, lambda odd: pc.utf8_slice_codeunits(_spelled(ColumnType("datetime"), odd), 0, 10)
    )


def datetime(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text to DATETIME or TIMESTAMP."""
    digits = max(type.decimal, 0)
    clock = " ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]" + (rf"\.[0-9]{{{digits}}}" if digits else "")
    usual = _usual(text, pa.timestamp("us" if digits else "s"), clock, _zero(digits))
    return _in_range(type, kernels.replace_unusual(text, usual, lambda odd: _spelled(type, odd)))


def _zero(digits: int) -> str:
    return " 00:00:00" + ("." + digits * "0" if digits else "")


def _in_range(type: ColumnType, text: pa.Array) -> pa.Array:
    if type.name == "datetime":
        return text
    known = pc.and_(pc.greater_equal(text, durations.EARLIEST), pc.less_equal(text, durations.LATEST))
    return kernels.replace_unusual(text, known, lambda odd: kernels.null_unless(pc.starts_with(odd, "0000-00-00"), odd))


def _usual(text: pa.Array, kind: pa.DataType, clock: str, midnight: str) -> pa.Array:
    """Whether each text is a valid date (and time), or all zeros, as TiDB prints it."""
    lengths = pc.min_max(pc.binary_length(text)).as_py()
    spelt = set(lengths.values()) == {10 + len(midnight)} and not kernels.contains_character(text, "T")
    moments = kernels.cast_or_none(text, kind) if spelt else None
    if moments is not None:
        return moments.is_valid()
    return kernels.matches(text, f"[0-9]{{4}}-{_CALENDAR}{clock}|0000-00-00{midnight.replace('.', '[.]')}")


def moment(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert Arrow's dates and timestamps to DATE, DATETIME or TIMESTAMP. Those with a time zone become UTC."""
    digits = max(type.decimal, 0)
    if pa.types.is_date(value.type):
        value = value.cast(pa.timestamp("s"))
    unit = _PER_SECOND[value.type.unit]
    ticks = value.view(pa.int64())
    ticks = kernels.null_unless(
        pc.and_(pc.greater_equal(ticks, _YEARS[0] * unit), pc.less(ticks, _YEARS[1] * unit)), ticks
    )
    counted = _rescaled(_numbers(ticks), unit, 10**digits, up=type.name != "date")
    text = _formatted(counted, digits, ticks.is_valid())
    return pc.utf8_slice_codeunits(text, 0, 10) if type.name == "date" else _in_range(type, text)


def _rescaled(ticks: Integers, unit: int, to_unit: int, up: bool = True) -> Integers:
    """Convert units of a second to larger or smaller ones, rounded half up."""
    if unit <= to_unit:
        return ticks * (to_unit // unit)
    parts = unit // to_unit
    return (ticks + parts // 2 if up else ticks) // parts


def _formatted(ticks: Integers, digits: int, valid: pa.Array) -> pa.Array:
    """Print times in units of the last digit, with null outside of the years 0 to 9999."""
    kind, places = ("s", 0) if digits == 0 else ("ms", 3) if digits <= 3 else ("us", 6)
    known = (ticks >= _YEARS[0] * 10**digits) & (ticks < _YEARS[1] * 10**digits)
    moments = pa.array(ticks * 10 ** (places - digits))
    valid = valid if known.all() else pc.and_(valid, pa.array(known))
    text = kernels.null_unless(valid, moments).cast(pa.timestamp(kind)).cast(pa.string())
    return text if digits == places else pc.utf8_slice_codeunits(text, 0, 20 + digits)


def _numbers(cells: pa.Array) -> Integers:
    """Return integers, with 0 for null."""
    numbers: Integers = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False)
    return numbers


def _spelled(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text in any spelling of MySQL, rounded to the type's fractional digits."""
    digits = max(type.decimal, 0)
    text = pc.replace_substring_regex(text, "^([0-9]{4})[/.]([0-9]{2})[/.]([0-9]{2})( |$)", r"\1-\2-\3\4")
    known = kernels.matches(
        text, rf"[0-9]{{4}}-{_CALENDAR}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{{1,6}})?)?)?"
    )
    made = moment(ColumnType("datetime", decimal=digits), kernels.null_unless(known, text).cast(pa.timestamp("us")))
    read = durations.timestamp if type.name == "timestamp" else durations.moment
    return kernels.replace_unusual(
        text, known, lambda odd: kernels.map_distinct(odd, lambda cell: read(cell, digits)), made
    )


def duration(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text to TIME, from -838:59:59 to 838:59:59."""
    digits = max(type.decimal, 0)
    usual = kernels.matches(
        text,
        r"-?([0-9]{2}|[1-7][0-9]{2}|8[0-2][0-9]|83[0-7]):[0-5][0-9]:[0-5][0-9]"
        + (rf"\.[0-9]{{{digits}}}" if digits else ""),
    )
    usual = pc.and_(usual, pc.not_equal(text, "-" + _zero(digits).strip()))
    return kernels.replace_unusual(
        text, usual, lambda odd: kernels.map_distinct(odd, lambda cell: durations.time(cell, digits))
    )


def time_of_day(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert Arrow's times and durations to TIME."""
    digits, unit = max(type.decimal, 0), _PER_SECOND[value.type.unit]
    ticks = value.cast(pa.int32() if pa.types.is_time32(value.type) else pa.int64())
    numbers = _numbers(ticks).astype(np.int64)
    return _clock(np.sign(numbers) * _rescaled(np.abs(numbers), unit, 10**digits), digits, ticks.is_valid())


def _clock(ticks: Integers, digits: int, valid: pa.Array) -> pa.Array:
    """Print TIMEs in units of the last digit, with null for those out of range."""
    size = np.abs(ticks)
    seconds, part = size // 10**digits, size % 10**digits
    columns = [(seconds // 3600, 2), (seconds // 60 % 60, 2), (seconds % 60, 2)]
    clock = pc.binary_join_element_wise(*_padded(columns), ":")
    if digits:
        clock = pc.binary_join_element_wise(clock, *_padded([(part, digits)]), ".")
    signed = pc.if_else(pa.array(ticks < 0), pc.binary_join_element_wise("-", clock, ""), clock)
    return kernels.null_unless(pc.and_(valid, pa.array(size <= LONGEST * 10**digits // 10**6)), signed)


def _padded(columns: Sequence[tuple[Integers, int]]) -> list[pa.Array]:
    """Return numbers padded with zeros to their widths."""
    return [pc.utf8_lpad(pa.array(number).cast(pa.string()), width, "0") for number, width in columns]

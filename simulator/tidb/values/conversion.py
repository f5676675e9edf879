"""Convert values of files to TiDB text by Arrow's kernels (`datums.cast.tidb_text` converts all of them).

Dates and times have exactly the type's fractional digits. The result is null for what strict mode would reject, except
zero dates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.types import INTEGER_BITS, ColumnType, bounds, family, is_binary, is_text
from simulator.tidb.values import documents, durations, kernels
from simulator.tidb.values.durations import LONGEST
from simulator.tidb.values.kernels import (
    cast_or_none,
    contains_character,
    map_distinct,
    matches,
    null_unless,
    replace_unusual,
    utf8,
)

Integers = npt.NDArray[np.int64]

_CALENDAR = "(((0[13-9]|1[0-2])-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])|(0[13578]|1[02])-31))"
"""The months and days of every year."""

_YEARS = (-62167219200, 253402300800)
"""Seconds since 1970 at the start of the years 0 and 10000."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def date(text: pa.Array) -> pa.Array:
    usual = _usual(text, pa.date32(), "", "")
    return replace_unusual(
        text, usual, lambda odd: pc.utf8_slice_codeunits(_spelled(ColumnType("datetime"), odd), 0, 10)
    )


def datetime(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text to DATETIME or TIMESTAMP."""
    digits = max(type.decimal, 0)
    clock = " ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]" + (rf"\.[0-9]{{{digits}}}" if digits else "")
    usual = _usual(text, pa.timestamp("us" if digits else "s"), clock, _zero(digits))
    return _in_range(type, replace_unusual(text, usual, lambda odd: _spelled(type, odd)))


def _zero(digits: int) -> str:
    return " 00:00:00" + ("." + digits * "0" if digits else "")


def _in_range(type: ColumnType, text: pa.Array) -> pa.Array:
    if type.name == "datetime":
        return text
    known = pc.and_(pc.greater_equal(text, durations.EARLIEST), pc.less_equal(text, durations.LATEST))
    return replace_unusual(text, known, lambda odd: null_unless(pc.starts_with(odd, "0000-00-00"), odd))


def _usual(text: pa.Array, kind: pa.DataType, clock: str, midnight: str) -> pa.Array:
    """Whether each text is a valid date (and time), or all zeros, as TiDB prints it."""
    lengths = pc.min_max(pc.binary_length(text)).as_py()
    spelt = set(lengths.values()) == {10 + len(midnight)} and not contains_character(text, "T")
    moments = cast_or_none(text, kind) if spelt else None
    if moments is not None:
        return moments.is_valid()
    return matches(text, f"[0-9]{{4}}-{_CALENDAR}{clock}|0000-00-00{midnight.replace('.', '[.]')}")


def moment(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert Arrow's dates and timestamps to DATE, DATETIME or TIMESTAMP. Those with a time zone become UTC."""
    digits = max(type.decimal, 0)
    if pa.types.is_date(value.type):
        value = value.cast(pa.timestamp("s"))
    unit = _PER_SECOND[value.type.unit]
    ticks = value.view(pa.int64())
    ticks = null_unless(pc.and_(pc.greater_equal(ticks, _YEARS[0] * unit), pc.less(ticks, _YEARS[1] * unit)), ticks)
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
    text = null_unless(valid, moments).cast(pa.timestamp(kind)).cast(pa.string())
    return text if digits == places else pc.utf8_slice_codeunits(text, 0, 20 + digits)


def _numbers(cells: pa.Array) -> Integers:
    """Return integers, with 0 for null."""
    numbers: Integers = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False)
    return numbers


def _spelled(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text in any spelling of MySQL, rounded to the type's fractional digits."""
    digits = max(type.decimal, 0)
    text = pc.replace_substring_regex(text, "^([0-9]{4})[/.]([0-9]{2})[/.]([0-9]{2})( |$)", r"\1-\2-\3\4")
    known = matches(text, rf"[0-9]{{4}}-{_CALENDAR}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{{1,6}})?)?)?")
    made = moment(ColumnType("datetime", decimal=digits), null_unless(known, text).cast(pa.timestamp("us")))
    read = durations.timestamp if type.name == "timestamp" else durations.moment
    return replace_unusual(text, known, lambda odd: map_distinct(odd, lambda cell: read(cell, digits)), made)


def duration(type: ColumnType, text: pa.Array) -> pa.Array:
    """Convert text to TIME, from -838:59:59 to 838:59:59."""
    digits = max(type.decimal, 0)
    usual = matches(
        text,
        r"-?([0-9]{2}|[1-7][0-9]{2}|8[0-2][0-9]|83[0-7]):[0-5][0-9]:[0-5][0-9]"
        + (rf"\.[0-9]{{{digits}}}" if digits else ""),
    )
    usual = pc.and_(usual, pc.not_equal(text, "-" + _zero(digits).strip()))
    return replace_unusual(text, usual, lambda odd: map_distinct(odd, lambda cell: durations.time(cell, digits)))


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
    return null_unless(pc.and_(valid, pa.array(size <= LONGEST * 10**digits // 10**6)), signed)


def _padded(columns: Sequence[tuple[Integers, int]]) -> list[pa.Array]:
    """Return numbers padded with zeros to their widths."""
    return [pc.utf8_lpad(pa.array(number).cast(pa.string()), width, "0") for number, width in columns]


# -- by type --------------------------------------------------------------------------------------------------------------

Test = Callable[[pa.DataType], bool]

_BYTES: tuple[Test, ...] = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
_STRINGS: tuple[Test, ...] = (pa.types.is_string, pa.types.is_large_string)
_MOMENTS: tuple[Test, ...] = (pa.types.is_date, pa.types.is_timestamp)
_CLOCKS: tuple[Test, ...] = (pa.types.is_time, pa.types.is_duration)
_LISTS: tuple[Test, ...] = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def usual_text(type: ColumnType, raw: pa.Array) -> pa.Array:
    """Convert the bytes of SQL and CSV files (`tagged` for a BIT), or the values of a typed file, to TiDB text.

    The result is null for NULL, for values that would be rejected, and for numbers and members in unusual spellings.
    """
    if is_binary(type):
        return kernels.binary(type, _bytes(raw))
    if type.name == "bit":
        return kernels.bit(type, raw.cast(pa.binary()) if _is(raw.type, _BYTES) else tagged(raw))
    for kinds, read in _TYPED.get(family(type), ()):
        if _is(raw.type, kinds):
            return read(type, raw)
    reader = _READERS.get(family(type))
    return pa.nulls(len(raw), pa.string()) if reader is None else reader(type, insert_text(raw))


def _is(kind: pa.DataType, tests: tuple[Test, ...]) -> bool:
    return any(test(kind) for test in tests)


_TYPED: dict[str, tuple[tuple[tuple[Test, ...], Callable[[ColumnType, pa.Array], pa.Array]], ...]] = {
    "integer": (((pa.types.is_integer, kernels.is_whole), kernels.whole),),
    "decimal": (((pa.types.is_decimal,), kernels.fixed),),
    "float": (((pa.types.is_floating,), kernels.floating),),
    "date": ((_MOMENTS, moment),),
    "datetime": ((_MOMENTS, moment),),
    "time": ((_CLOCKS, time_of_day),),
}
"""The Arrow types that are converted without text, by the family of the column's type."""

_READERS: dict[str, Callable[[ColumnType, pa.Array], pa.Array]] = {
    "integer": kernels.integer,
    "decimal": kernels.decimal,
    "float": lambda type, text: kernels.floating(type, kernels.number(text)),
    "date": lambda type, text: date(text),
    "datetime": datetime,
    "time": duration,
    "string": kernels.text,
    "text": kernels.text,
    "enum": kernels.enum,
    # an INSERT takes 0 as the year 0 and '0' as 2000; of the two, dumps have the first
    "year": lambda type, text: null_unless(pc.equal(text, "0"), text),
    "json": lambda type, text: documents.document(text),
    "vector": lambda type, text: kernels.vector(type.length, text),
}
"""The conversions from text, by family, for usual spellings; SET has none."""


def insert_text(raw: pa.Array) -> pa.Array:
    """Return values as text that an INSERT could contain, null if there is none."""
    kind = raw.type
    if _is(kind, _BYTES):
        return utf8(raw.cast(pa.binary()))
    if _is(kind, _STRINGS) or pa.types.is_integer(kind):
        return raw.cast(pa.string())
    if pa.types.is_boolean(kind):
        return raw.cast(pa.int8()).cast(pa.string())
    if pa.types.is_decimal(kind):
        return kernels.plain(raw)
    if pa.types.is_floating(kind):
        return kernels.shortest(raw)
    if _is(kind, _MOMENTS):
        return _bare(moment(ColumnType("datetime", decimal=6), raw))
    if _is(kind, _CLOCKS):
        return _bare(time_of_day(ColumnType("time", decimal=6), raw))
    if _is(kind, _LISTS) and not pa.types.is_nested(kind.value_type):
        lists = raw.cast(pa.list_(kind.value_type))
        numbers_of = pa.ListArray.from_arrays(lists.offsets, insert_text(lists.values), mask=lists.is_null())
        return pc.binary_join_element_wise("[", pc.binary_join(numbers_of, ","), "]", "")
    return pa.nulls(len(raw), pa.string())


def _bare(text: pa.Array) -> pa.Array:
    """Remove the trailing zeros of fractions."""
    return pc.replace_substring_regex(text, r"\.?0+$", "")


def _bytes(raw: pa.Array) -> pa.Array:
    return (raw if _is(raw.type, _BYTES) else insert_text(raw)).cast(pa.binary())


def tagged(raw: pa.Array) -> pa.Array:
    """Return BIT values of a typed file as SQL and CSV files have them: `n` and a number's text, or `x` and bytes."""
    tag = b"x" if _is(raw.type, _BYTES) else b"n"
    return pc.binary_join_element_wise(tag, _bytes(raw), b"")


_SHAPES = {
    "float": "a finite number in range",
    "double": "a finite number in range",
    "date": "YYYY-MM-DD of the calendar",
    "datetime": "YYYY-MM-DD HH:MM:SS of the calendar",
    "timestamp": "YYYY-MM-DD HH:MM:SS from 1970 to 2038-01-19 03:14:07 UTC",
    "time": "-838:59:59 to 838:59:59",
    "year": "1901 to 2155, or 0",
    "bit": "a number or bytes of no more bits than the column has",
    "json": "a JSON document",
    "vector": "[number,…] of the column's dimensions",
}


def accepted_values(type: ColumnType) -> str:
    """Describe the accepted values of a type, for error messages."""
    name = type.name
    if name in INTEGER_BITS:
        low, high = bounds(type)
        return f"{low} to {high}"
    if name == "decimal":
        return f"at most {type.length - max(type.decimal, 0)} digits before the point"
    if name in ("enum", "set"):
        return ", ".join(map(repr, type.elements[:8])) + (", …" if len(type.elements) > 8 else "")
    if is_text(type):
        limit = kernels.BYTES.get(name, type.length)
        unit = "bytes" if type.charset == "binary" or name in kernels.BYTES else "characters"
        return f"at most {limit} {unit}" + ("" if type.charset == "binary" else " of valid UTF-8")
    return _SHAPES[name]

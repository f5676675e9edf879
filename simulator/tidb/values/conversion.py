"""Convert values of files to TiDB text by Arrow's kernels (`datums.columns.tidb_text` converts all of them)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.types import INTEGER_BITS, ColumnType, family, is_binary, is_text
from simulator.tidb.values import documents, numbers, times
from simulator.tidb.values.kernels import null_unless, utf8

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
        return documents.binary(type, _bytes(raw))
    if type.name == "bit":
        return numbers.bit(type, raw.cast(pa.binary()) if _is(raw.type, _BYTES) else tagged(raw))
    for kinds, read in _TYPED.get(family(type), ()):
        if _is(raw.type, kinds):
            return read(type, raw)
    reader = _READERS.get(family(type))
    return pa.nulls(len(raw), pa.string()) if reader is None else reader(type, insert_text(raw))


def _is(kind: pa.DataType, tests: tuple[Test, ...]) -> bool:
    return any(test(kind) for test in tests)


_TYPED: dict[str, tuple[tuple[tuple[Test, ...], Callable[[ColumnType, pa.Array], pa.Array]], ...]] = {
    "integer": (((pa.types.is_integer, numbers.is_whole), numbers.whole),),
    "decimal": (((pa.types.is_decimal,), numbers.fixed),),
    "float": (((pa.types.is_floating,), numbers.floating),),
    "date": ((_MOMENTS, times.moment),),
    "datetime": ((_MOMENTS, times.moment),),
    "time": ((_CLOCKS, times.time_of_day),),
}
"""The Arrow types that are converted without text, by the family of the column's type."""

_READERS: dict[str, Callable[[ColumnType, pa.Array], pa.Array]] = {
    "integer": numbers.integer,
    "decimal": numbers.decimal,
    "float": lambda type, text: numbers.floating(type, numbers.number(text)),
    "date": lambda type, text: times.date(text),
    "datetime": times.datetime,
    "time": times.duration,
    "string": documents.text,
    "text": documents.text,
    "enum": documents.enum,
    # an INSERT takes 0 as the year 0 and '0' as 2000; of the two, dumps have the first
    "year": lambda type, text: null_unless(pc.equal(text, "0"), text),
    "json": lambda type, text: documents.document(text),
    "vector": lambda type, text: documents.vector(type.length, text),
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
        return numbers.plain(raw)
    if pa.types.is_floating(kind):
        return numbers.shortest(raw)
    if _is(kind, _MOMENTS):
        return _bare(times.moment(ColumnType("datetime", decimal=6), raw))
    if _is(kind, _CLOCKS):
        return _bare(times.time_of_day(ColumnType("time", decimal=6), raw))
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
        low, high = numbers.bounds(type)
        return f"{low} to {high}"
    if name == "decimal":
        return f"at most {type.length - max(type.decimal, 0)} digits before the point"
    if name in ("enum", "set"):
        return ", ".join(map(repr, type.elements[:8])) + (", …" if len(type.elements) > 8 else "")
    if is_text(type):
        limit = documents.BYTES.get(name, type.length)
        unit = "bytes" if type.charset == "binary" or name in documents.BYTES else "characters"
        return f"at most {limit} {unit}" + ("" if type.charset == "binary" else " of valid UTF-8")
    return _SHAPES[name]

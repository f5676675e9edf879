"""Convert values to strings, ENUM and SET, with null for what strict mode would reject.

The TiDB text of binary columns is the Latin-1 text of their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places, buffers
from simulator.columns.hashing import Hashes
from simulator.tidb.collations import compare
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values.kernels import latin1_text, map_distinct, null_unless, replace_unusual

BYTES = {"tinytext": 2**8 - 1, "text": 2**16 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}


def text(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert to CHAR, VARCHAR or a TEXT, with the limit in characters, or in bytes for a TEXT."""
    value = _of_charset(type.charset, value)
    if type.name in BYTES:
        return replace_unusual(value, pc.less_equal(pc.binary_length(value), BYTES[type.name]), _none)
    if type.name == "char" and pc.any(pc.ends_with(value, " ")).as_py():
        value = pc.utf8_rtrim(value, " ")
    short = pc.less_equal(pc.binary_length(value), type.length)
    return replace_unusual(value, short, lambda odd: _cut(type.length, odd))


def _none(cells: pa.Array) -> pa.Array:
    return pa.nulls(len(cells), cells.type)


def _of_charset(charset: str, value: pa.Array) -> pa.Array:
    """Replace texts with characters outside of the charset by null."""
    if charset == "ascii":
        return replace_unusual(value, pc.string_is_ascii(value), _none)
    if charset in ("utf8", "utf8mb3") and (buffers(value)[0] >= 0xF0).any():
        return null_unless(pc.invert(pc.match_substring_regex(value, r"[\x{10000}-\x{10FFFF}]")), value)
    return value


def _cut(length: int, value: pa.Array) -> pa.Array:
    """Cut strings to `length` characters, with null if more than spaces would be cut off."""
    fits = pc.less_equal(pc.utf8_length(pc.utf8_rtrim(value, " ")), length)
    return pc.utf8_slice_codeunits(null_unless(fits, value), 0, length)


def binary(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert bytes to BINARY (padded with zero bytes), VARBINARY or a BLOB."""
    limit = BYTES.get(type.name, type.length)
    text = latin1_text(replace_unusual(value, pc.less_equal(pc.binary_length(value), limit), _none))
    return pc.utf8_rpad(text, limit, "\0") if type.name == "char" else text


def enum(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert names or, if no member has the name, numbers to ENUM. The empty string is the error value."""
    usual = pc.is_in(value, value_set=_members(type, ""))
    return replace_unusual(value, usual, lambda odd: pc.coalesce(_member(type, odd), _by_number(type, odd)))


def _member(type: ColumnType, value: pa.Array) -> pa.Array:
    """Return the member that is equal to the value in the column's collation."""
    return _members(type).take(_places(type, value))


def _by_number(type: ColumnType, value: pa.Array) -> pa.Array:
    number = _numbers(value)
    least, most = (pa.scalar(bound, pa.uint64()) for bound in (1, len(type.elements)))
    known = pc.and_(pc.greater_equal(number, least), pc.less_equal(number, most))
    return _members(type).take(pc.subtract(null_unless(known, number), pa.scalar(1, pa.uint64())))


def _numbers(value: pa.Array) -> pa.Array:
    """Convert integers in Go's spelling to uint64, with null for other texts (tidb: pkg/types/enum.go, set.go)."""
    return map_distinct(value, _number).cast(pa.uint64())


_NUMBER = re.compile(
    r"(?P<hex>0[xX])(_?[0-9a-fA-F])+|(?P<binary>0[bB])(_?[01])+|(?P<octal>0[oO]?)(_?[0-7])+"
    r"|[1-9](_?[0-9]){0,19}|0"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8}


def whole_number(text: str) -> int | None:
    """Parse an integer of 64 bits with Go's prefixes and underscores (strconv.ParseUint, base 0)."""
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    base = next((base for name, base in _BASES.items() if match[name]), 10)
    number = int(text.replace("_", ""), base)
    return number if number < 2**64 else None


def _number(text: str) -> str | None:
    number = whole_number(text)
    return None if number is None else str(number)


def _places(type: ColumnType, value: pa.Array) -> pa.Array:
    """Return the index of each text's member in the column's collation, or null."""
    exactly = pc.index_in(value, value_set=_members(type))
    if not exactly.null_count:
        return exactly
    members = compare.sort_keys(type.collation, _members(type))
    return pc.index_in(compare.sort_keys(type.collation, value), value_set=members)


def set_of(type: ColumnType, value: pa.Array) -> pa.Array:
    """Convert to SET: distinct members in the order of the definition. A number is a bitmap."""
    distinct = value.dictionary_encode()
    bitmaps = pc.coalesce(_bitmaps(type, distinct.dictionary), _bitmap(type, distinct.dictionary)).to_pylist()
    return pa.array((_joined(type, bitmap) for bitmap in bitmaps), pa.string()).take(distinct.indices)


def _joined(type: ColumnType, bitmap: int | None) -> str | None:
    if bitmap is None:
        return None
    return ",".join(member for place, member in enumerate(type.elements) if bitmap >> place & 1)


def _bitmaps(type: ColumnType, value: pa.Array) -> pa.Array:
    """Return the bitmaps of SET values, null for unknown names."""
    lists = pc.split_pattern(pc.fill_null(value, ""), ",")
    indices = _places(type, lists.flatten())
    starts = lists.offsets.to_numpy()[:-1]
    are_members = np.logical_and.reduceat(indices.is_valid().to_numpy(zero_copy_only=False), starts)
    bits = np.left_shift(np.uint64(1), indices.fill_null(0).to_numpy().astype(np.uint64))
    bitmaps = null_unless(pa.array(are_members), pa.array(np.bitwise_or.reduceat(bits, starts)))
    return pc.if_else(pc.equal(value, ""), pa.scalar(0, pa.uint64()), bitmaps)


def _bitmap(type: ColumnType, value: pa.Array) -> pa.Array:
    """Return the bitmaps of SET values that are numbers."""
    number = _numbers(value)
    return null_unless(pc.less_equal(number, pa.scalar(2 ** len(type.elements) - 1, pa.uint64())), number)


def _members(type: ColumnType, *others: str) -> pa.Array:
    return pa.array([*type.elements, *others], pa.string())


def enum_numbers(elements: Sequence[str], texts: pa.Array) -> Places:
    """Return the number of each member, from 1. The empty error value is 0."""
    numbers: Places = _ordinals(elements, texts) + 1
    return numbers


def set_bits(elements: Sequence[str], texts: pa.Array) -> Hashes:
    """Return the bitmaps of comma-separated members."""
    lists = pc.split_pattern(pc.fill_null(texts.cast(pa.string()), ""), ",")
    places = _ordinals(elements, lists.flatten())
    bits = np.where(places < 0, np.uint64(0), np.uint64(1) << np.maximum(places, 0).astype(np.uint64))
    before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)))
    ends = np.concatenate(([0], np.cumsum(pc.list_value_length(lists).to_numpy())))
    return before[ends[1:]] - before[ends[:-1]]


def _ordinals(elements: Sequence[str], texts: pa.Array) -> Places:
    """Return the index of each text among the elements, or -1."""
    indices = pc.fill_null(pc.index_in(texts.cast(pa.string()), pa.array(elements, pa.string())), -1)
    places: Places = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return places

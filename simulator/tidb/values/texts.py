"""Columns of text: what Arrow's kernels lack; strings, ENUM and SET, with null for what strict mode would reject.

Null stays null, and an invalid cell becomes null. The TiDB text of binary columns is the Latin-1 text of their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import cells as column_cells
from simulator.columns.cells import Places, buffers
from simulator.columns.hashing import Hashes
from simulator.tidb.model.types import ColumnType


def utf8(raw: pa.Array) -> pa.Array:
    """Cast a string or binary array to strings, with null for invalid UTF-8."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        if len(raw) == 1:
            return pa.nulls(1, pa.string())
        half = len(raw) // 2
        return pa.concat_arrays([utf8(raw.slice(0, half)), utf8(raw.slice(half))])


def null_unless(mask: pa.Array, cells: pa.Array) -> pa.Array:
    """Return the cells where the mask is true, null elsewhere."""
    return pc.if_else(mask, cells, pa.scalar(None, cells.type))


def replace_unusual(
    cells: pa.Array, usual: pa.Array, odd: Callable[[pa.Array], pa.Array], made: pa.Array | None = None
) -> pa.Array:
    """Return the usual cells, or `made` in their place, with the others converted by `odd`.

    A cell is unusual if `usual` is false or null.
    """
    others = pc.and_not(cells.is_valid(), pc.fill_null(usual, False))
    made = cells if made is None else made
    if not pc.any(others).as_py():
        return made
    return pc.replace_with_mask(made, others, odd(cells.filter(others)))


def map_distinct(texts: pa.Array, function: Callable[[str], str | None]) -> pa.Array:
    """Call a function once for each distinct text: for rare values that no kernel converts."""
    distinct = texts.dictionary_encode()
    values = [None if text is None else function(text) for text in distinct.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(distinct.indices)


def cast_or_none(text: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Cast text to another type, or return None if Arrow cannot parse all of it."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def matches(text: pa.Array, pattern: str) -> pa.Array:
    """Whether each whole text matches a regular expression."""
    return pc.match_substring_regex(text, f"^(?:{pattern})$")


def contains_character(cells: pa.Array, character: str) -> bool:
    """Whether a string array contains an ASCII character."""
    return bool((buffers(cells)[0] == ord(character)).any())


def latin1_text(bytes: pa.Array) -> pa.Array:
    """Decode bytes as Latin-1."""
    data, offsets = buffers(bytes)
    wide = np.flatnonzero(data >= 0x80)
    if not len(wide):
        return bytes.cast(pa.string())
    text = np.frombuffer(data.tobytes().decode("latin-1").encode(), np.uint8)
    return column_cells.binary(text, offsets + np.searchsorted(wide, offsets), bytes).view(pa.string())


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
    """Return the names of members, and the empty error value; null for other texts."""
    return null_unless(pc.is_in(value, pa.array((*type.elements, ""), pa.string())), value)


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

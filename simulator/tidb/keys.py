"""Encode values of columns as bytes that sort and compare as TiDB's keys (pkg/util/codec).

Values that TiDB considers equal have equal bytes, and smaller values have smaller bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Places, buffers, fixed, raw
from simulator.columns.hashing import Hashes
from simulator.tidb.collations import sort_keys
from simulator.tidb.model.types import ColumnType, exceeds_int64, family, is_text

SIGN = np.uint64(1 << 63)


def index_prefix(texts: pa.Array, length: int) -> pa.Array:
    """Return the first characters of texts, as in an index with a prefix length."""
    _, offsets = buffers(texts)
    if np.diff(offsets).max(initial=0) <= length:
        return texts
    return pc.utf8_slice_codeunits(texts.view(pa.string()), 0, length)


def encode_sort_keys(type: ColumnType, texts: pa.Array) -> pa.Array:
    """Return the sort keys of a column's values, from their TiDB text. Null stays null."""
    return sort_keys(type.collation, texts) if is_text(type) else ORDERED[family(type)](type, texts)


def encode_index_column(type: ColumnType, length: int, texts: pa.Array) -> pa.Array:
    """Return the part of an index's keys that a column is, given its prefix length (-1 for none). Null stays null."""
    return encode_sort_keys(type, texts if length < 0 else index_prefix(texts, length))


def encode_index_keys(parts: Iterable[tuple[ColumnType, int, pa.Array]]) -> pa.Array:
    """Return the keys of rows in an index, given what `encode_index_column` takes of each of its columns. A row with NULL in
    one of them has null."""
    keys = [encode_index_column(*part) for part in parts]
    return keys[0] if len(keys) == 1 else pc.binary_join_element_wise(*keys, b"")


def _numbers(type: ColumnType, texts: pa.Array) -> Hashes:
    """Return the 64 bits of integers."""
    unsigned = type.name == "bit" or exceeds_int64(type)
    digits = texts.cast(pa.string())
    numbers = (pc.fill_null(digits, "0") if digits.null_count else digits).cast(pa.uint64() if unsigned else pa.int64())
    bits: Hashes = numbers.to_numpy().view(np.uint64)
    return bits


def _integer(type: ColumnType, texts: pa.Array) -> pa.Array:
    """Encode integers as eight bytes, big-endian, with the sign bit flipped if they are signed."""
    numbers = _numbers(type, texts)
    return big_endian(numbers if type.unsigned or type.name == "bit" else numbers ^ SIGN, texts)


def big_endian(numbers: Hashes | Places, like: pa.Array) -> pa.Array:
    """Return the eight bytes of numbers, null where `like` is."""
    return fixed(numbers.astype(">u8"), like)


def _digits(texts: pa.Array, width: int) -> pa.Array:
    """Encode numbers as a sign and `width` digits, which are complemented in negative numbers."""
    strings = pc.fill_null(texts.cast(pa.string()), "0")
    plain = pc.utf8_lpad(pc.replace_substring_regex(strings, "[-.:]", ""), width, "0")
    digits: Bytes = buffers(plain)[0].reshape(len(texts), width)
    negative = pc.starts_with(strings, "-").to_numpy(zero_copy_only=False)
    keys = np.empty((len(texts), width + 1), np.uint8)
    keys[:, 0] = ord("1") - negative
    keys[:, 1:] = np.where(negative[:, None], ord("0") + ord("9") - digits, digits)
    return fixed(keys, texts)


def _floating(type: ColumnType, texts: pa.Array) -> pa.Array:
    """Encode floats as 64 bits, which are inverted in negative numbers (tidb: pkg/util/codec/float.go)."""
    numbers: npt.NDArray[np.float64] = pc.cast(pc.fill_null(texts.cast(pa.string()), "0"), pa.float64()).to_numpy()
    bits = (numbers + 0.0).view(np.uint64)
    return big_endian(np.where(numbers < 0, ~bits, bits | SIGN), texts)


def _enum(type: ColumnType, texts: pa.Array) -> pa.Array:
    """Encode the number of each member, from 1. The empty error value is 0."""
    return big_endian(_ordinals(type.elements, texts) + 1, texts)


def _set(type: ColumnType, texts: pa.Array) -> pa.Array:
    """Encode the bitmaps of comma-separated members."""
    lists = pc.split_pattern(pc.fill_null(texts.cast(pa.string()), ""), ",")
    places = _ordinals(type.elements, lists.flatten())
    bits = np.where(places < 0, np.uint64(0), np.uint64(1) << np.maximum(places, 0).astype(np.uint64))
    before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)))
    ends = np.concatenate(([0], np.cumsum(pc.list_value_length(lists).to_numpy())))
    return big_endian(before[ends[1:]] - before[ends[:-1]], texts)


def _ordinals(elements: Sequence[str], texts: pa.Array) -> Places:
    """Return the index of each text among the elements, or -1."""
    indices = pc.fill_null(pc.index_in(texts.cast(pa.string()), pa.array(elements, pa.string())), -1)
    places: Places = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def _plain(type: ColumnType, texts: pa.Array) -> pa.Array:
    return raw(texts)


ORDERED: Mapping[str, Callable[[ColumnType, pa.Array], pa.Array]] = {
    "integer": _integer,
    "bit": _integer,
    "year": _integer,
    "decimal": lambda type, texts: _digits(texts, max(type.length, type.decimal + 1)),
    "float": _floating,
    "time": lambda type, texts: _digits(texts, 7 + max(type.decimal, 0)),
    "enum": _enum,
    "set": _set,
    **dict.fromkeys(("date", "datetime", "json", "vector"), _plain),
}
"""The encoders by family. Strings are encoded by their collation."""

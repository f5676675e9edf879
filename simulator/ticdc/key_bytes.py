"""The handle key of rows as bytes that sort and compare as TiDB's keys do, and their row ids.

One law: keys that TiDB takes for one give equal bytes, others different ones, and smaller keys smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Bytes, Places, Texts, buffers, fixed, raw
from simulator.columns.hashing import Hashes, xxhash64
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.collations.compare import is_exact, sortable
from simulator.tidb.model.table import Table, common_handle, row_id_column, visible_columns
from simulator.tidb.model.types import ColumnType, family, is_text
from simulator.tidb.values.strings import enum_numbers, set_bits

SIGN = np.uint64(1 << 63)
POSITIVE = np.int64((1 << 63) - 1)


def handle(table: Table, texts: Texts) -> pa.Array:
    """Binary keys of rows; of a table without a handle key their images."""
    parts = [part for _, part in parts_of(table, texts)]
    if not parts:
        return row_image.pack([texts[column.name] for column in visible_columns(table)])
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def numbered(handles: pa.Array, numbers: Places) -> pa.Array:
    """Handles of rows of a table without a handle key, told apart by the number of each among equal rows, from 1: eight
    bytes more, big-endian."""
    return pc.binary_join_element_wise(handles, fixed(numbers.astype(">u8"), handles), b"")


def parts_of(table: Table, texts: Texts) -> Iterator[tuple[str, pa.Array]]:
    """The columns of the handle key, each with its part of the key."""
    types = {column.name: column.type for column in table.columns}
    for name, length in zip(handle_key(table), handle_lengths(table), strict=True):
        yield name, _ordered(types[name], texts[name] if length < 0 else _prefix(texts[name], length))


def known_by_handle(table: Table) -> frozenset[str]:
    """The columns of the handle key whose text can be but one where the handle is the same."""
    types = {column.name: column.type for column in table.columns}
    return frozenset(
        name for name, length in zip(handle_key(table), handle_lengths(table), strict=True)
        if length < 0 and is_exact(types[name]) and family(types[name]) != "float")


def row_ids(table: Table, handles: pa.Array, place: int) -> pa.Array:
    """int64 row ids: the integer handle, as the signed number of its bits, else a positive `_tidb_rowid` that is the
    same wherever the handle is; null for a common handle. `place` is the table's in the run's list."""
    if common_handle(table):
        return pa.nulls(len(handles), pa.int64())
    name = row_id_column(table)
    if name is not None:
        bits = buffers(handles)[0].view(">u8").astype(np.uint64)
        return pa.array((bits if _is_unsigned(table, name) else bits ^ SIGN).view(np.int64))
    if not handle_key(table):
        return pa.array(xxhash64(place, handles) & POSITIVE)
    return pa.array(np.maximum(xxhash64(handles) & POSITIVE, 1))


def known_by_row_id(table: Table, row_ids: pa.Array) -> dict[str, pa.Array]:
    """The TiDB text of the column that row ids are the values of, if there is one."""
    name = row_id_column(table)
    if name is None:
        return {}
    return {name: pc.cast(row_ids.view(pa.uint64()) if _is_unsigned(table, name) else row_ids, pa.string())}


def _is_unsigned(table: Table, name: str) -> bool:
    return next(column.type.unsigned for column in table.columns if column.name == name)


def _prefix(texts: pa.Array, length: int) -> pa.Array:
    """The first characters of texts."""
    _, offsets = buffers(texts)
    if np.diff(offsets).max(initial=0) <= length:
        return texts
    return pc.utf8_slice_codeunits(texts.view(pa.string()), 0, length)


def _ordered(type: ColumnType, texts: pa.Array) -> pa.Array:
    return sortable(type.collation, texts) if is_text(type) else ORDERED[family(type)](type, texts)


def _numbers(type: ColumnType, texts: pa.Array) -> Hashes:
    """The 64 bits of integers."""
    unsigned = type.name == "bit" or type.unsigned and type.name == "bigint"
    numbers = pc.cast(pc.fill_null(texts.cast(pa.string()), "0"), pa.uint64() if unsigned else pa.int64())
    bits: Hashes = numbers.to_numpy().view(np.uint64)
    return bits


def _integer(type: ColumnType, texts: pa.Array) -> pa.Array:
    """Eight bytes big-endian; the sign bit of a signed one flipped."""
    numbers = _numbers(type, texts)
    return _big_endian(numbers if type.unsigned or type.name == "bit" else numbers ^ SIGN, texts)


def _big_endian(numbers: Hashes | Places, like: pa.Array) -> pa.Array:
    return fixed(numbers.astype(">u8"), like)


def _decimal(type: ColumnType, texts: pa.Array) -> pa.Array:
    return _digits(texts, type.length)


def _time(type: ColumnType, texts: pa.Array) -> pa.Array:
    return _digits(texts, 7 + max(type.decimal, 0))


def _digits(texts: pa.Array, width: int) -> pa.Array:
    """So many digits after their sign, those of a negative number complemented."""
    strings = pc.fill_null(texts.cast(pa.string()), "0")
    plain = pc.utf8_lpad(pc.replace_substring_regex(strings, "[-.:]", ""), width, "0")
    digits: Bytes = buffers(plain)[0].reshape(len(texts), width)
    negative = pc.starts_with(strings, "-").to_numpy(zero_copy_only=False)
    made = np.empty((len(texts), width + 1), np.uint8)
    made[:, 0] = ord("1") - negative
    made[:, 1:] = np.where(negative[:, None], ord("0") + ord("9") - digits, digits)
    return fixed(made, texts)


def _floating(type: ColumnType, texts: pa.Array) -> pa.Array:
    """The bits of a 64-bit number, those of a negative one turned over (tidb: pkg/util/codec/float.go)."""
    numbers: npt.NDArray[np.float64] = pc.cast(pc.fill_null(texts.cast(pa.string()), "0"), pa.float64()).to_numpy()
    bits = (numbers + 0.0).view(np.uint64)
    return _big_endian(np.where(numbers < 0, ~bits, bits | SIGN), texts)


def _enum(type: ColumnType, texts: pa.Array) -> pa.Array:
    return _big_endian(enum_numbers(type.elements, texts), texts)


def _set(type: ColumnType, texts: pa.Array) -> pa.Array:
    return _big_endian(set_bits(type.elements, texts), texts)


def _plain(type: ColumnType, texts: pa.Array) -> pa.Array:
    return raw(texts)


ORDERED: Mapping[str, Callable[[ColumnType, pa.Array], pa.Array]] = {
    "integer": _integer, "bit": _integer, "year": _integer, "decimal": _decimal, "float": _floating, "time": _time,
    "enum": _enum, "set": _set, "date": _plain, "datetime": _plain, "json": _plain, "vector": _plain,
}
"""By family; texts go by their collation."""

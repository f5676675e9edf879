"""The handle key of rows as bytes that sort and compare as TiDB's keys do, and row ids.

Keys that are equal in TiDB give equal bytes, others give different ones, and smaller keys give smaller bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Places, Texts, buffers, fixed
from simulator.columns.hashing import Hashes, xxhash64
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.collations import is_exact
from simulator.tidb.keys import SIGN, encode_index_column
from simulator.tidb.model.table import Table, has_common_handle, row_id_column, visible_columns
from simulator.tidb.model.types import BIGINT, family

POSITIVE = np.int64((1 << 63) - 1)


def handle_keys(table: Table, texts: Texts) -> pa.Array:
    """Return the binary keys of rows; for a table without a handle key the row images."""
    parts = [part for _, part in key_parts(table, texts)]
    if not parts:
        return row_image.pack([texts[column.name] for column in visible_columns(table)])
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def handles_of_row_ids(texts: pa.Array) -> pa.Array:
    """Return the handles of rows whose `_tidb_rowid` is known, from its text."""
    return encode_index_column(BIGINT, -1, texts)


def row_ids_of_handles(handles: pa.Array) -> pa.Array:
    """Return the `_tidb_rowid` of rows with such handles."""
    return pa.array((_bits(handles) ^ SIGN).view(np.int64))


def number_duplicates(handles: pa.Array, numbers: Places) -> pa.Array:
    """Return the handles of a table without a handle key, each followed by its number among equal rows, from 1, as
    eight big-endian bytes."""
    return pc.binary_join_element_wise(handles, fixed(numbers.astype(">u8"), handles), b"")


def key_parts(table: Table, texts: Texts) -> Iterator[tuple[str, pa.Array]]:
    """Yield each column of the handle key with its part of the key."""
    types = {column.name: column.type for column in table.columns}
    for name, length in zip(handle_key(table), handle_lengths(table), strict=True):
        yield name, encode_index_column(types[name], length, texts[name])


def columns_known_by_handle(table: Table) -> frozenset[str]:
    """Return the columns of the handle key whose text follows from the handle."""
    types = {column.name: column.type for column in table.columns}
    return frozenset(
        name
        for name, length in zip(handle_key(table), handle_lengths(table), strict=True)
        if length < 0 and is_exact(types[name]) and family(types[name]) != "float"
    )


def row_ids(table: Table, handles: pa.Array, place: int) -> pa.Array:
    """Return int64 row ids, null for a common handle.

    A row id is the integer handle, as the signed number of its bits, or a positive `_tidb_rowid` derived from the
    handle of a row whose own is not known. `place` is the table's position in the run's list.
    """
    if has_common_handle(table):
        return pa.nulls(len(handles), pa.int64())
    name = row_id_column(table)
    if name is not None:
        return pa.array(_bits(handles).view(np.int64)) if _is_unsigned(table, name) else row_ids_of_handles(handles)
    if not handle_key(table):
        return pa.array(xxhash64(place, handles) & POSITIVE)
    return pa.array(np.maximum(xxhash64(handles) & POSITIVE, 1))


def column_from_row_id(table: Table, row_ids: pa.Array) -> dict[str, pa.Array]:
    """Return the TiDB text of the column whose values are the row ids, if there is one."""
    name = row_id_column(table)
    if name is None:
        return {}
    return {name: pc.cast(row_ids.view(pa.uint64()) if _is_unsigned(table, name) else row_ids, pa.string())}


def row_ids_from_column(table: Table, cells: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return the row ids of rows with these columns as TiDB text, null for a common handle; None if no column tells
    them. Raises ValueError for a text that is no integer."""
    name = row_id_column(table)
    if name is None:
        return pa.nulls(len(next(iter(cells.values()))), pa.int64()) if has_common_handle(table) else None
    numbers = cells[name].cast(pa.string())
    return numbers.cast(pa.uint64()).view(pa.int64()) if _is_unsigned(table, name) else numbers.cast(pa.int64())


def _bits(handles: pa.Array) -> Hashes:
    """Return the eight bytes of each handle as a number."""
    bits: Hashes = buffers(handles)[0].view(">u8").astype(np.uint64)
    return bits


def _is_unsigned(table: Table, name: str) -> bool:
    return next(column.type.unsigned for column in table.columns if column.name == name)

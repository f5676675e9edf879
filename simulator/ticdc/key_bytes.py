"""The handle key of rows as bytes that sort and compare as TiDB's keys do, and their row ids.

One law: keys that TiDB takes for one give equal bytes, others different ones, and smaller keys smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Places, Texts, buffers, fixed
from simulator.columns.hashing import xxhash64
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.collations.compare import is_exact
from simulator.tidb.keys import SIGN, ordered, prefix
from simulator.tidb.model.table import Table, common_handle, row_id_column, visible_columns
from simulator.tidb.model.types import family

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
        yield name, ordered(types[name], texts[name] if length < 0 else prefix(texts[name], length))


def known_by_handle(table: Table) -> frozenset[str]:
    """The columns of the handle key whose text can be but one where the handle is the same."""
    types = {column.name: column.type for column in table.columns}
    return frozenset(
        name
        for name, length in zip(handle_key(table), handle_lengths(table), strict=True)
        if length < 0 and is_exact(types[name]) and family(types[name]) != "float"
    )


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

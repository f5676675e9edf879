"""TiKV's keys of rows: `rowkey` in `_tidb` of Canal-JSON (ticdc v8.5.4+, output-row-key).

A key is `t`, the id of the physical table, `_r` and the handle: an integer, or the columns of the clustered key one
after the other, each in an encoding that sorts as its values do (tidb: pkg/tablecodec, pkg/util/codec). Integers are 8
bytes, big-endian, with the sign bit flipped.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, binary, latin1, stored_buffers, surrogate_unescaped
from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.ticdc import table_info
from simulator.ticdc.codecs.binary import base64
from simulator.ticdc.codecs.json_text import join
from simulator.ticdc.codecs.row_changes import OperationRows
from simulator.tidb.collations import has_weights, padded, pads_spaces
from simulator.tidb.keys import SIGN, big_endian
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, IndexColumn, Table, has_common_handle
from simulator.tidb.model.types import ColumnType

BYTES, INT, UINT = b"\x01", b"\x03", b"\x04"


def encoded_row_keys(changes: OperationRows) -> pa.Array:
    """Return the key of each row in base64, as binary text.

    Raise EncodeError for a clustered key with a column that is neither an integer nor text of a binary order.
    """
    rows = changes.rows
    physical = rows.table_id if rows.partition_id is None else rows.partition_id
    prefix = b"t" + (physical + int(SIGN)).to_bytes(8, "big") + b"_r"
    if not has_common_handle(rows.table):
        return base64(join(prefix, big_endian(rows.row_id.to_numpy().view(np.uint64) ^ SIGN, rows.row_id)))
    data = changes.last()
    return base64(join(prefix, *(_part(rows.table, part, data) for part in _parts(rows.table))))


def _parts(table: Table) -> tuple[IndexColumn, ...]:
    return next(index.columns for index in table.indexes if index.primary)


def _part(table: Table, part: IndexColumn, data: Image) -> pa.Array:
    """Encode a column of the clustered key."""
    visible = table_info.visible_columns(table)
    place = next(place for place, column in enumerate(visible) if column.name == part.name)
    column, cells = visible[place], data.cells(place)
    family = types.family(column.type)
    if family in ("integer", "year"):
        return _integers(cells, types.is_unsigned(column.type) and family == "integer")
    if family == "string" and _sorts_by_bytes(column.type):
        return join(BYTES, _encode_bytes(_bytes(cells, column, part.length)))
    raise EncodeError(
        f"output-row-key: the clustered key of {table.schema}.{table.name} has the column {column.name}, which this "
        "simulator cannot encode; accepted: integers, YEAR, BINARY, VARBINARY, CHAR and VARCHAR with a _bin collation "
        "of UTF-8, Latin-1 or ASCII"
    )


def _sorts_by_bytes(type: ColumnType) -> bool:
    return types.is_binary(type) or type.collation.endswith("_bin") and not has_weights(type.collation)


def _integers(cells: pa.Array, unsigned: bool) -> pa.Array:
    numbers = cells.cast(pa.string()).cast(pa.uint64() if unsigned else pa.int64()).to_numpy()
    if unsigned:
        return join(UINT, big_endian(numbers, cells))
    return join(INT, big_endian(numbers.view(np.uint64) ^ SIGN, cells))


def _bytes(cells: pa.Array, column: Column, length: int) -> pa.Array:
    """Return the bytes that the collation sorts by: of the first `length` characters, without trailing spaces if it
    pads.

    Source: tidb: pkg/util/collate/bin.go.
    """
    if length >= 0:
        cells = pc.utf8_slice_codeunits(cells.view(pa.string()), 0, length).cast(pa.binary())
    if types.is_binary(column.type):
        return latin1(cells)
    return surrogate_unescaped(padded(cells) if pads_spaces(column.type.collation) else cells)


def _encode_bytes(cells: pa.Array) -> pa.Array:
    """Return groups of 8 bytes, zeros filling the last one, each followed by 255 less the zeros (codec.EncodeBytes)."""
    data, offsets = stored_buffers(cells)
    sizes = np.diff(offsets).astype(np.int64)
    groups = sizes // 8 + 1
    starts = np.concatenate(([0], np.cumsum(9 * groups)))
    out: Bytes = np.zeros(int(starts[-1]), np.uint8)
    offsets_in_cell = np.arange(len(data)) - np.repeat(offsets[:-1].astype(np.int64), sizes)
    out[np.repeat(starts[:-1], sizes) + offsets_in_cell // 8 * 9 + offsets_in_cell % 8] = data
    out[8::9] = 0xFF
    out[starts[1:] - 1] = 0xFF - (8 - sizes % 8)
    return binary(out, starts, cells)

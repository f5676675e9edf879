"""`output-handle-key` of CSV: TiDB's handle of each row, as its String() writes it.

An integer handle is a signed number. A common handle is `{1, abc}`: what is in TiKV's key, decoded without the columns'
types (tidb: pkg/kv/key.go CommonHandle.String). Text of a collation is its sort key there, a DATE or DATETIME a packed
number.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, buffers, latin1, surrogate_unescaped
from simulator.columns.row_image import Image
from simulator.errors import NotSimulatedError
from simulator.ticdc.codecs.json_text import decimal, join
from simulator.ticdc.codecs.row_changes import OperationRows
from simulator.tidb.collations.compare import has_weights, padded, pads_spaces, sort_keys
from simulator.tidb.keys import index_prefix
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, IndexColumn, Table, has_common_handle, visible_columns


def handle_texts(changes: OperationRows) -> pa.Array:
    """Return the handle of each row as text; raise EncodeError for a key column that is not written here."""
    table = changes.rows.table
    if not has_common_handle(table):
        return decimal(changes.rows.row_id)
    image = changes.before() if changes.operation == "DELETE" else changes.after()
    parts = next(index.columns for index in table.indexes if index.primary)
    listed = [piece for part in parts for piece in (b", ", _part(table, part, image))]
    return join(b"{", *listed[1:], b"}")


def _part(table: Table, part: IndexColumn, image: Image) -> pa.Array:
    """Return the text of a column of the clustered key."""
    visible = visible_columns(table)
    place = next(place for place, column in enumerate(visible) if column.name == part.name)
    column, cells = visible[place], image.cells(place)
    family = types.family(column.type)
    if family in ("integer", "year", "decimal", "bit"):
        return cells
    if family in ("date", "datetime"):
        return decimal(_packed(cells))
    if family == "string":
        return _sorted_by(cells if part.length < 0 else index_prefix(cells, part.length), column)
    raise NotSimulatedError(
        f"output-handle-key: the clustered key of {table.schema}.{table.name} has the column {column.name}, which this "
        "simulator cannot write; accepted: integers, DECIMAL, BIT, YEAR, DATE, DATETIME, TIMESTAMP, CHAR and VARCHAR, "
        "binary or not"
    )


def _sorted_by(cells: pa.Array, column: Column) -> pa.Array:
    """Return the bytes by which the collation sorts."""
    collation = column.type.collation
    if types.is_binary(column.type):
        return latin1(cells)
    if collation.endswith("_general_ci"):
        # the simulator's weights are one higher, and end with zeros
        data, offsets = buffers(pc.binary_slice(sort_keys(collation, cells), 0, -2))
        return binary((data.view(">u2") - 1).astype(">u2").view(np.uint8), offsets, cells)
    if has_weights(collation):
        raise NotSimulatedError(f"output-handle-key: keys of the collation {collation} are not written yet")
    return surrogate_unescaped(padded(cells) if pads_spaces(collation) else cells)


def _packed(cells: pa.Array) -> pa.Array:
    """Return times as tidb packs them: year and month, day, hour, minute, second, microseconds (pkg/types/time.go)."""
    texts = pc.utf8_rpad(cells.cast(pa.string()), 26, "0")
    year, month, day, hour, minute, second, micro = (
        pc.utf8_slice_codeunits(texts, start, stop).cast(pa.int64()).to_numpy()
        for start, stop in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 26))
    )
    days = (year * 13 + month) << 5 | day
    return pa.array(((days << 17 | hour << 12 | minute << 6 | second) << 24 | micro).astype(np.uint64))

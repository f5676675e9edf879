"""Keys of many rows, as columns: those that `storage.row_keys` gives one by one."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.tidb.expressions.over_columns import needed_columns, over_columns
from simulator.tidb.expressions.tables import table_cell
from simulator.tidb.keys import encode_index_column
from simulator.tidb.model.table import Column, IndexColumn, Table
from simulator.tidb.model.table_keys import UniqueKey, columns_by_name
from simulator.tidb.storage.row_keys import NO_STATEMENT, part_of


def encode_key(table: Table, key: UniqueKey, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the bytes of a key for each row, null for a key with NULL. `texts` has all visible columns."""
    parts = [_encode_part(table, column, texts) for column in key.columns]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def _encode_part(table: Table, part: IndexColumn, texts: Mapping[str, pa.Array]) -> pa.Array:
    if part.expression:
        names, rows = needed_columns(table, [part.expression]), len(next(iter(texts.values())))
        return pa.array(over_columns(table, part_of(table, part), names, texts, rows), pa.binary())
    column = columns_by_name(table)[part.name.lower()]
    return raw(encode_index_column(column.type, part.length, column_cells(table, column, texts)))


def column_cells(table: Table, column: Column, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the TiDB text of a column; a virtual column is computed if `texts` lacks it."""
    if column.name in texts:
        return texts[column.name]
    evaluate, rows = table_cell(table, column), len(next(iter(texts.values())))
    cells = over_columns(
        table, lambda row: evaluate(row, NO_STATEMENT), needed_columns(table, (), [column.name]), texts, rows
    )
    return pa.array(cells, pa.binary())

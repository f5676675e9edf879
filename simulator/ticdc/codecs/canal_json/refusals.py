"""Rows that a release crashes on. One law: the error says which row and column, and what would be accepted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import split
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.options import CodecOptions
from simulator.ticdc.codecs.oversize import key_text
from simulator.ticdc.codecs.rows import Rows
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType


def refuse_unsigned_nulls(rows: Rows) -> None:
    """Raises EncodeError for NULL in an unsigned integer column, which 5.4.0 panics on (tiflow v5.4.0:
    cdc/sink/codec/canal.go getJavaSQLType)."""
    columns = table_info.visible_columns(rows.table)
    unsigned = [place for place, column in enumerate(columns) if _is_unsigned_integer(column.type)]
    for images in (rows.before, rows.after):
        image = split(images.drop_null(), len(columns))
        for place in unsigned:
            if image.cells(place).null_count:
                raise _panic(rows, _first_null(images, image.cells(place)), columns[place].name)


def refuse_selection(rows: Rows, options: CodecOptions, release: Release) -> None:
    """Raises EncodeError for rows that lack columns which the release's encoder cannot do without.

    Classic TiCDC takes columns out of rows and then looks up the name of each to compare it with the old one (tiflow
    v8.5.3: pkg/sink/codec/canal/canal_json_row_event_encoder.go newColsMap); the new one wants any column at all.
    """
    if rows.selected is None:
        return
    if release.column_selectors == "messages" and not rows.selected:
        raise EncodeError("not found valid columns for the event", "CDC:ErrCanalEncodeFailed")
    updates = np.flatnonzero(pc.and_(rows.before.is_valid(), rows.after.is_valid()).to_numpy(zero_copy_only=False))
    if release.column_selectors == "rows" and options.only_output_updated_columns and len(updates):
        raise EncodeError(
            f"panic: invalid memory address: an UPDATE in {rows.table.schema}.{rows.table.name}, key "
            f"{key_text(rows, int(updates[0]))}; TiCDC {release.name} crashes on column-selectors together with "
            "only-output-updated-columns in canal-json: leave one of them out")


def _is_unsigned_integer(type: ColumnType) -> bool:
    return type.unsigned and types.family(type) == "integer"


def _first_null(images: pa.Array, cells: pa.Array) -> int:
    present = np.flatnonzero(images.is_valid().to_numpy(zero_copy_only=False))
    return int(present[np.argmax(cells.is_null().to_numpy(zero_copy_only=False))])


def _panic(rows: Rows, row: int, column: str) -> EncodeError:
    return EncodeError(
        f"panic: unsigned value not in type uint64: {column} is NULL in {rows.table.schema}.{rows.table.name}, key "
        f"{key_text(rows, row)}; TiCDC v5.4.0 crashes on NULL in unsigned integer columns, v5.4.1 does not")

"""Converts decoded rows of one layout to TiDB text in the columns of their table, by columns.

Values are converted by `row_texts`, each different value of a column once. Columns that already have TiDB's text are
not touched.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import UPDATE, ints
from simulator.errors import NotSimulatedError, UserError
from simulator.reader.decode.connect_texts import connect_cells, is_connect
from simulator.reader.decode.row_texts import MEMBERS, value_text
from simulator.reader.decode.stream_events import LOST, Value
from simulator.reader.frame import UNKNOWN_CELL, Layout
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.model.table import INTERNAL_COLUMNS, Column, Table, visible_columns
from simulator.tidb.model.types import family, is_binary

ZERO_TEXTS: Mapping[str, str] = {
    "string": "^$",
    "text": "^$",
    "enum": "^$",
    "set": "^$",
    "decimal": r"^-?[0.]+$",
    "date": "^....-00|^....-..-00",
    "datetime": "^....-00|^....-..-00",
    "time": "^-?[0:.]+$",
}
"""By families of types (`Fidelity.nulls`), the texts of values that may be sent as NULL."""


def with_nulls(images: pa.Array, names: Sequence[str], like_null: Mapping[str, str]) -> pa.Array:
    """Return images (binary, null for no row) whose cells in some columns are NULL if their text matches the regular
    expression of the column."""
    columns = {names.index(name): text for name, text in like_null.items() if name in names}

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place, text in columns.items():
            matches = pc.fill_null(pc.match_substring_regex(cells[place], text), False)
            cells[place] = pc.if_else(matches, pa.scalar(None, pa.binary()), cells[place])
        return cells

    return row_image.with_columns(images, len(names), change) if columns else images


def with_cells(images: pa.Array, table: Table, cells: Mapping[str, bytes | None]) -> pa.Array:
    """Return images (binary, null for no row) with these cells in some columns."""
    columns = visible_columns(table)

    def change(found: list[pa.Array]) -> list[pa.Array]:
        return [
            pa.repeat(pa.scalar(cells[column.name], pa.binary()), len(own)) if column.name in cells else own
            for column, own in zip(columns, found, strict=True)
        ]

    return row_image.with_columns(images, len(columns), change)


def with_values(images: pa.Array, names: Sequence[str], values: Mapping[str, str]) -> pa.Array:
    """Return images (binary, null for no row) with values for the NULLs of some columns."""

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        pairs = zip(names, cells, strict=True)
        return [pc.fill_null(each, values[name].encode()) if name in values else each for name, each in pairs]

    return row_image.with_columns(images, len(names), change)


def row_images(rows: pa.RecordBatch, layout: Layout, table: Table, fidelity: Fidelity) -> tuple[pa.Array, pa.Array]:
    """Return the images before and after of rows (EVENT_SCHEMA) of a layout: TiDB text of the table's visible columns.

    A cell is 0xFD if the message does not contain it, or contains a text that may stand for several values; NULL stays,
    where it stands for one of ZERO_TEXTS, too. An old NULL of an UPDATE is unknown if that of a changed column would be.
    Raises UserError for a column that the table lacks, and for a number that is no member of its ENUM or SET;
    NotSimulatedError for TiDB's columns of tables with SOFTDELETE, of which TiCDC's CREATE TABLE does not tell.
    """
    columns = {column.name: column for column in table.columns}
    unknown = [name for name in layout.names if name not in columns]
    if unknown:
        if {*unknown} <= {*INTERNAL_COLUMNS}:
            raise NotSimulatedError(f"no statement tells that it has {' and '.join(unknown)}: --truth does")
        raise UserError(f"{table.schema}.{table.name} has no column {unknown[0]!r}; it has {', '.join(columns)}")
    updates = ints(rows, "op") == UPDATE
    return (
        _image(rows.column("before"), layout, table, fidelity, updates),
        _image(rows.column("after"), layout, table, fidelity, np.zeros(len(rows), np.bool_)),
    )


def _image(
    images: pa.Array, layout: Layout, table: Table, fidelity: Fidelity, old: np.typing.NDArray[np.bool_]
) -> pa.Array:
    columns = visible_columns(table)
    places = {name: place for place, name in enumerate(layout.names)}
    binary_columns = dict(zip(layout.names, layout.binary, strict=True))
    kinds = dict(zip(layout.names, layout.types, strict=True))
    connect = {name: is_connect(kind) for name, kind in kinds.items()}
    stays = tuple(column.name for column in columns) == layout.names and not any(
        connect[column.name] or _needs_conversion(column, binary_columns[column.name], fidelity) for column in columns
    )
    if stays or images.null_count == len(images):
        return images
    there = images.drop_null()
    cut = row_image.split(there, len(layout.names))
    updated = old[images.is_valid().to_numpy(zero_copy_only=False)]
    unknown = pa.repeat(pa.scalar(UNKNOWN_CELL), len(there))
    converted = row_image.pack(
        [
            unknown
            if column.name not in places
            else _with_nulls(
                connect_cells(cut.cells(places[column.name]), column, kinds[column.name], fidelity.time_zone)
                if connect[column.name]
                else _texts(cut.cells(places[column.name]), column, binary_columns[column.name], fidelity),
                column,
                fidelity,
                updated,
            )
            for column in columns
        ]
    )
    return row_image.restore_nulls(converted, images)


def _needs_conversion(column: Column, as_bytes: bool, fidelity: Fidelity) -> bool:
    kind = family(column.type)
    return (
        (column.type.name in MEMBERS and not fidelity.member_names)
        or as_bytes != is_binary(column.type)
        or kind in fidelity.nulls | fidelity.old_nulls
        or _loses_seconds(column, fidelity)
    )


def _loses_seconds(column: Column, fidelity: Fidelity) -> bool:
    return fidelity.whole_seconds and family(column.type) == "time" and column.type.decimal > 0


def _texts(cells: pa.Array, column: Column, as_bytes: bool, fidelity: Fidelity) -> pa.Array:
    if _loses_seconds(column, fidelity):
        return pc.if_else(pc.is_valid(cells), pa.scalar(UNKNOWN_CELL), cells)
    if column.type.name in MEMBERS and fidelity.member_names:
        return cells
    if is_binary(column.type) and fidelity.base64_bytes:
        return _convert_distinct(cells, _from_base64)
    if column.type.name in MEMBERS or as_bytes != is_binary(column.type):
        return _convert_distinct(cells, lambda cell: _text(cell, column, as_bytes))
    return cells


def _with_nulls(cells: pa.Array, column: Column, fidelity: Fidelity, old: np.typing.NDArray[np.bool_]) -> pa.Array:
    kind, unknown = family(column.type), pa.scalar(UNKNOWN_CELL)
    if kind in fidelity.nulls and kind not in ZERO_TEXTS:
        return pc.fill_null(cells, unknown)
    if kind in fidelity.old_nulls - fidelity.nulls:
        return pc.if_else(pc.and_(pc.is_null(cells), pa.array(old)), unknown, cells)
    return cells


def _convert_distinct(cells: pa.Array, text: Callable[[bytes], bytes | None]) -> pa.Array:
    encoded = cells.dictionary_encode()
    return pa.array([text(cell) for cell in encoded.dictionary.to_pylist()], pa.binary()).take(encoded.indices)


def _from_base64(cell: bytes) -> bytes:
    return cell if cell == UNKNOWN_CELL else base64.b64decode(cell, validate=True).decode("latin-1").encode()


def _text(cell: bytes, column: Column, as_bytes: bool) -> bytes | None:
    if cell == UNKNOWN_CELL:
        return cell
    value: Value = cell.decode("utf-8", "surrogatepass")
    assert isinstance(value, str)
    if as_bytes and LOST not in value:
        value = value.encode("latin-1")
    elif is_binary(column.type) and not value.isascii() and LOST not in value:
        value = value.encode("utf-8", "surrogateescape")
    text = value_text(value, column)
    return None if text is None else text.encode("utf-8", "surrogatepass")

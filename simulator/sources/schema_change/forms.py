"""Rows in one definition of their table: texts out of images, table numbers, and what a row was as one value.

One law: what a row was (`was`) is the number of its old table, four bytes little-endian, and its old image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image as images
from simulator.tidb.ddl.convert import ColumnSource, Computed, Filled, Kept
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.values import text_as

NUMBER_BYTES = 4
"""Of a table's number in `was`."""

OCCURRENCE_BYTES = 8
"""Of the number among equal rows that ends the handle of a row without a handle key, big-endian."""


def texts_of(table: Table, image: pa.Array) -> dict[str, pa.Array]:
    """TiDB text of each visible column, by name."""
    cells = images.named(image, [column.name for column in visible_columns(table)])
    return {name: cell.cast(pa.string()) for name, cell in cells.items()}


def converted(source: ColumnSource, texts: Sequence[pa.Array], rows: int) -> pa.Array:
    """What the statements put into a column, from the texts of the table before; all null where it is computed."""
    match source:
        case Kept(index, before, after):
            return text_as(before, after, texts[index]) if source.cast else texts[index]
        case Filled(text):
            return repeated(text, rows)
        case Computed():
            return repeated(None, rows)


def repeated(text: str | None, rows: int) -> pa.Array:
    """A column with the same TiDB text in every row."""
    return pa.repeat(pa.scalar(text, pa.string()), rows)


def same(one: pa.Array, other: pa.Array) -> npt.NDArray[np.bool_]:
    """Where two columns are equal, NULL being equal to NULL."""
    equal = pc.fill_null(pc.equal(one, other), False)
    return true(pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other))))


def true(mask: pa.Array) -> npt.NDArray[np.bool_]:
    """A boolean array without nulls as numpy's."""
    found: npt.NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return found


def pack_was(table: pa.Array, image: pa.Array) -> pa.Array:
    """What rows were, as one value each."""
    return pc.binary_join_element_wise(table.view(pa.binary(NUMBER_BYTES)).cast(pa.binary()), image, b"")


def split_was(was: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Table numbers and images of what rows were."""
    number, image = halves(was, NUMBER_BYTES)
    return number.cast(pa.binary(NUMBER_BYTES)).view(pa.int32()), image


def halves(values: pa.Array, place: int) -> tuple[pa.Array, pa.Array]:
    """Binary values (no nulls) cut in two; a negative place counts from the end."""
    rows = len(values)
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, rows + 1, 4 * values.offset)
    edges = np.empty(2 * rows + 1, np.int32)
    edges[::2] = offsets
    edges[1::2] = (offsets[:-1] if place >= 0 else offsets[1:]) + place
    pieces = pa.Array.from_buffers(
        pa.binary(), 2 * rows, [None, pa.py_buffer(edges), data_buffer or pa.py_buffer(b"")])
    return pieces.take(np.arange(0, 2 * rows, 2)), pieces.take(np.arange(1, 2 * rows, 2))

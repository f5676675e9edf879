"""What statements make of a table between two snapshots and when, and its rows on either side of them.

What a row was before the statements is one value (column `unaltered`): the number of its table then, four bytes
little-endian, and its image then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.sources.snapshots import PlacedTable
from simulator.tidb.ddl.column_sources import ColumnSource
from simulator.tidb.model.table import Table, visible_columns

NUMBER_BYTES = 4
"""Of a table's number in what a row was."""

OCCURRENCE_BYTES = 8
"""Of the number among equal rows that ends the handle of a row without a handle key, big-endian."""


@dataclass(frozen=True)
class Transition:
    """What statements make of a table between two snapshots."""

    before: PlacedTable
    after: PlacedTable
    sources: tuple[ColumnSource, ...]
    """Of each visible column of the table after."""

    lost: frozenset[int] = frozenset()
    """Indexes of tables and partitions whose rows go with the statements: truncated, dropped."""

    sent: tuple[bool, bool] = (True, True)
    """Whether rows before and after the statements are replicated."""

    key_stays: bool = False
    """Whether a row has the same handle and row id before and after."""


@dataclass(frozen=True)
class SchemaChangePoint:
    """When the statements run, in milliseconds of the span: before the change of this millisecond."""

    slot: int
    squeezed: bool
    """Whether every change that the old definition can hold comes before them, in proportionally less time."""


def texts_of(table: Table, image: pa.Array) -> dict[str, pa.Array]:
    """TiDB text of each visible column, by name."""
    cells = row_image.named(image, [column.name for column in visible_columns(table)])
    return {name: cell.view(pa.string()) for name, cell in cells.items()}


def true(mask: pa.Array) -> npt.NDArray[np.bool_]:
    """A boolean array without nulls as numpy's."""
    found: npt.NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return found


def pack_unaltered(table: pa.Array, image: pa.Array) -> pa.Array:
    """What rows were, as one value each."""
    return pc.binary_join_element_wise(table.view(pa.binary(NUMBER_BYTES)).cast(pa.binary()), image, b"")


def cut_unaltered(unaltered: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Table numbers and images of what rows were."""
    number, image = halves(unaltered, NUMBER_BYTES)
    return number.cast(pa.binary(NUMBER_BYTES)).view(pa.int32()), image


def halves(values: pa.Array, place: int) -> tuple[pa.Array, pa.Array]:
    """Binary values (no nulls) cut in two; a negative place counts from the end."""
    rows = len(values)
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, rows + 1, 4 * values.offset)
    edges = np.empty(2 * rows + 1, np.int32)
    edges[::2] = offsets
    edges[1::2] = (offsets[:-1] if place >= 0 else offsets[1:]) + place
    pieces = pa.Array.from_buffers(pa.binary(), 2 * rows, [None, pa.py_buffer(edges), data_buffer or pa.py_buffer(b"")])
    return pieces.take(np.arange(0, 2 * rows, 2)), pieces.take(np.arange(1, 2 * rows, 2))

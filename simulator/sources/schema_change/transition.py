"""Schema changes of a table between two snapshots, their time, and the table's rows before and after.

The column `unaltered` has the row before the statements in one value: the table's number, four bytes little-endian, and
the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import pieces_between
from simulator.sources.snapshots import PlacedTable
from simulator.tidb.ddl.column_sources import ColumnSource
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.table_keys import UniqueKey

NUMBER_BYTES = 4
"""Bytes of the table's number in `unaltered`."""

OCCURRENCE_BYTES = 8
"""Bytes of the number among equal rows at the end of a handle without a handle key, big-endian."""


@dataclass(frozen=True)
class Transition:
    """The statements' effect on a table between two snapshots."""

    before: PlacedTable
    after: PlacedTable
    sources: tuple[ColumnSource, ...]
    """The source of each visible column of the new table."""

    lost: frozenset[int] = frozenset()
    """Indexes of tables and partitions whose rows the statements remove: truncated, dropped."""

    sent: tuple[bool, bool] = (True, True)
    """Whether rows before and after the statements are replicated."""

    key_stays: bool = False
    """Whether rows keep their handle and row id."""

    dropped_keys: tuple[UniqueKey, ...] = ()
    """The unique keys that the statements drop."""

    added_keys: tuple[UniqueKey, ...] = ()


@dataclass(frozen=True)
class SchemaChangePoint:
    """When the statements run, in milliseconds of the period: before the changes of this millisecond."""

    slot: int
    squeezed: bool
    """Whether every change that the old definition can hold precedes them, in proportionally less time."""


def texts_of(table: Table, image: pa.Array) -> dict[str, pa.Array]:
    """Return the TiDB text of each visible column, by name."""
    cells = row_image.named(image, [column.name for column in visible_columns(table)])
    return {name: cell.view(pa.string()) for name, cell in cells.items()}


def numpy_mask(mask: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a boolean array without nulls as a numpy mask."""
    array: npt.NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return array


def pack_unaltered(table: pa.Array, image: pa.Array) -> pa.Array:
    """Return old table numbers and images as one value each."""
    return pc.binary_join_element_wise(table.view(pa.binary(NUMBER_BYTES)).cast(pa.binary()), image, b"")


def cut_unaltered(unaltered: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the table numbers and images of `unaltered`."""
    number, image = split_at(unaltered, NUMBER_BYTES)
    return number.cast(pa.binary(NUMBER_BYTES)).view(pa.int32()), image


def split_at(values: pa.Array, place: int) -> tuple[pa.Array, pa.Array]:
    """Cut binary values (no nulls) in two; a negative position counts from the end."""
    rows = len(values)
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, rows + 1, 4 * values.offset)
    edges = np.empty(2 * rows + 1, np.int32)
    edges[::2] = offsets
    edges[1::2] = (offsets[:-1] if place >= 0 else offsets[1:]) + place
    pieces = pieces_between(edges, data_buffer or pa.py_buffer(b""))
    return pieces.take(np.arange(0, 2 * rows, 2)), pieces.take(np.arange(1, 2 * rows, 2))

"""Schema changes of a table between two snapshots, their time, and the table's rows before and after.

The column `unaltered` has the row before the statements in one value: the table's number, four bytes little-endian,
and the image. A row for which TiDB would refuse the statements is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import pieces_between
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.errors import SnapshotError
from simulator.sources.snapshots import PlacedTable, locate_rows
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_definitions import ColumnSource, convert_rows, rows_that_fit
from simulator.tidb.model.table import Table, UniqueKey, visible_columns

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


SHOWN = 4
"""Number of columns of a row in an error."""


def altered_rows(
    change: Transition, texts: Sequence[pa.Array], table: pa.Array, told: pa.Array | None = None
) -> pa.RecordBatch:
    """Return the old rows after the statements: `table`, `handle` and `image` in the new definition, `unaltered`.

    `texts` are those of the visible columns before (string, checked), `table` the numbers (int32, no nulls) of the
    tables or partitions of the rows, `told` their handles if
    snapshots tell row ids, which stay. Rows that the statements remove (`change.lost`) are left out. Raise SnapshotError
    for the first row for which TiDB would refuse the statements.

    If the new table has no handle key, `handle` is only the image: the engines append the number of the row among those
    of equal (table, handle), from 1, eight bytes big-endian, counted in the order of `unaltered`, so that it does not
    depend on how rows are distributed. Whether the old table has a handle key makes no difference.
    """
    stays = pc.invert(pc.is_in(table, pa.array(sorted(change.lost), pa.int32())))
    old, table = [text.filter(stays) for text in texts], table.filter(stays)
    rows, after = len(table), change.after.table
    now = convert_rows(after, change.sources, old, rows)
    place = locate_rows(change.after, now, rows)
    _refuse_misfits(change, old, now, place)
    image = row_image.pack(list(now.values()))
    handle = told.filter(stays) if told is not None else None
    if handle is None:
        handle = table_info.handles_of_rows(after, now) if handle_key(after) else image
    unaltered = pack_unaltered(table, row_image.pack(old))
    return pa.RecordBatch.from_arrays([place, handle, image, unaltered], SNAPSHOT_ROWS.names[1:])


def _refuse_misfits(change: Transition, old: Sequence[pa.Array], now: Mapping[str, pa.Array], place: pa.Array) -> None:
    """Raise the error of the first row for which TiDB would refuse the statements."""
    fits = numpy_mask(pc.is_valid(place))
    for _, _, mask in rows_that_fit(change.after.table, change.sources, old, now):
        fits = fits & numpy_mask(mask)
    if not fits.all():
        raise _misfit(change.before.table, old, fits)


def _misfit(table: Table, old: Sequence[pa.Array], fits: npt.NDArray[np.bool_]) -> SnapshotError:
    row = int(np.argmin(fits))
    cells = ", ".join(
        f"{column.name}={text[row].as_py() if text[row].is_valid else 'NULL'}"
        for column, text in list(zip(visible_columns(table), old, strict=True))[:SHOWN]
    )
    return SnapshotError(
        f"table {table.schema}.{table.name}: TiDB refuses the schema change, for a row does not fit it "
        f"({cells} …); accepted: rows that the new definition can hold"
    )

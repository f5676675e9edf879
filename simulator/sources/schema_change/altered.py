"""Rows of a table after the statements, together with the rows before.

A row for which TiDB would refuse the statements is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.errors import SnapshotError
from simulator.sources.schema_change.transition import Transition, numpy_mask, pack_unaltered
from simulator.sources.snapshots import locate_rows
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_sources import ConvertedRows, convert_rows, rows_that_fit
from simulator.tidb.model.table import Table, visible_columns

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
    place = locate_rows(change.after, now.texts, rows)
    _refuse_misfits(change, old, now, place)
    image = row_image.pack(list(now.texts.values()))
    handle = told.filter(stays) if told is not None else None
    if handle is None:
        handle = key_bytes.handle_keys(after, now.texts) if handle_key(after) else image
    unaltered = pack_unaltered(table, row_image.pack(old))
    return pa.RecordBatch.from_arrays([place, handle, image, unaltered], SNAPSHOT_ROWS.names[1:])


def _refuse_misfits(change: Transition, old: Sequence[pa.Array], now: ConvertedRows, place: pa.Array) -> None:
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

"""The rows of a table as the statements leave them, beside what they were.

One law: a row over which TiDB could not run the statements is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import STATE
from simulator.errors import SnapshotError
from simulator.sources.schema_change.transition import Transition, converted, pack_unaltered, true
from simulator.sources.snapshots import located
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.column_sources import FromColumn, FromDefault, FromExpression
from simulator.tidb.expressions import generated
from simulator.tidb.model.table import Table, visible_columns

SHOWN = 4
"""Columns of a row that an error shows."""


def altered_rows(change: Transition, texts: Sequence[pa.Array], table: pa.Array) -> pa.RecordBatch:
    """The rows before as the statements leave them: `table`, `handle` and `image` in the definition after, `unaltered`.

    `texts` are those of the visible columns before (string, checked), `table` the numbers (int32, no nulls) of the
    tables or partitions that the rows are in; rows that go with the statements (`change.lost`) are left out. Raises
    SnapshotError for the first row over which TiDB could not run the statements.

    Where the table after has no handle key, `handle` is the image alone: whoever compares ends it by the number of the
    row among those of equal (table, handle), from 1, eight bytes big-endian, counted in the order of `unaltered`, so
    that it does not depend on how rows are spread. Whether the table before has a handle key makes no difference here.
    """
    stays = pc.invert(pc.is_in(table, pa.array(sorted(change.lost), pa.int32())))
    old, table = [text.filter(stays) for text in texts], table.filter(stays)
    rows, after = len(table), change.after.table
    now, given = _shaped(change, old, rows)
    place = located(change.after, now, rows)
    _refuse_misfits(change, old, now, given, place)
    image = row_image.pack(list(now.values()))
    handle = key_bytes.handle(after, now) if handle_key(after) else image
    unaltered = pack_unaltered(table, row_image.pack(old))
    return pa.RecordBatch.from_arrays([place, handle, image, unaltered], STATE.names[1:])


def _shaped(
    change: Transition, old: Sequence[pa.Array], rows: int
) -> tuple[dict[str, pa.Array], Mapping[str, pa.Array]]:
    """The texts of the table after, in its order, and what expressions gave for those of computed columns."""
    table = change.after.table
    names = [column.name for column in visible_columns(table)]
    made = {
        name: converted(source, old, rows)
        for name, source in zip(names, change.sources, strict=True) if not isinstance(source, FromExpression)
    }
    made, given = generated(table, made)
    return {name: made[name] for name in names}, given


def _refuse_misfits(
    change: Transition, old: Sequence[pa.Array], now: Mapping[str, pa.Array], given: Mapping[str, pa.Array],
    place: pa.Array,
) -> None:
    """Raises the error of the first row over which TiDB could not run the statements."""
    fits = true(pc.is_valid(place))
    for source, column in zip(change.sources, visible_columns(change.after.table), strict=True):
        text = now[column.name]
        if column.not_null and not isinstance(source, FromDefault):
            fits = fits & true(pc.is_valid(text))
        elif isinstance(source, FromColumn) and source.cast:
            fits = fits & true(pc.or_(pc.is_valid(text), pc.is_null(old[source.index])))
        elif isinstance(source, FromExpression):
            fits = fits & true(pc.or_(pc.is_valid(text), pc.is_null(given[column.name])))
    if not fits.all():
        raise _misfit(change.before.table, old, fits)


def _misfit(table: Table, old: Sequence[pa.Array], fits: npt.NDArray[np.bool_]) -> SnapshotError:
    row = int(np.argmin(fits))
    cells = ", ".join(
        f"{column.name}={text[row].as_py() if text[row].is_valid else 'NULL'}"
        for column, text in list(zip(visible_columns(table), old, strict=True))[:SHOWN])
    return SnapshotError(
        f"table {table.schema}.{table.name}: TiDB refuses the schema change, for a row does not fit it "
        f"({cells} …); accepted: rows that the new definition can hold")

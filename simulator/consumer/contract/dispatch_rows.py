"""Column values of rows, as far as their messages contain them, to recompute the dispatcher. Unknown values are
null."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.consumer.decode import LOST
from simulator.consumer.decode.row_texts import MEMBERS, value_text
from simulator.consumer.frame import UNKNOWN_CELL, Layout
from simulator.tidb.model.table import Column


@dataclass(frozen=True)
class DispatchRows:
    """Rows of one layout by which the dispatcher decides: the new row, or the old row of a DELETE."""

    layout: Layout
    images: pa.Array
    commit_ts: Ints
    exact: Mask

    def cells(self, name: str) -> pa.Array | None:
        """Return the texts of a column as in the messages; None if they do not have the column."""
        if name not in self.layout.names:
            return None
        return row_image.cell(self.images, len(self.layout.names), self.layout.names.index(name))

    def texts(self, column: Column) -> tuple[pa.Array, Mask] | None:
        """Return the TiDB texts of a column, and which of them are unknown; None if messages lack the column. Raises
        UserError for a number that is no member of the ENUM or SET."""
        found = self.cells(column.name)
        if found is None:
            return None
        unknown = pc.fill_null(pc.equal(found, UNKNOWN_CELL), False)
        if pc.any(unknown).as_py():
            found = pc.if_else(unknown, None, found)
        lost = pc.fill_null(pc.match_substring(found, LOST.encode()), False)
        return member_names(found, column), pc.or_(unknown, lost).to_numpy(zero_copy_only=False)


def member_names(cells: pa.Array, column: Column) -> pa.Array:
    """Replace the numbers of an ENUM or SET by names."""
    if column.type.name not in MEMBERS:
        return cells
    found = cells.dictionary_encode()
    texts = [value_text(None if cell is None else cell.decode(), column) for cell in found.dictionary.to_pylist()]
    return pa.array([None if text is None else text.encode() for text in texts], pa.binary()).take(found.indices)

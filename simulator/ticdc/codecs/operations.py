"""Rows taken apart by operation.

One law: the results stand in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image, split
from simulator.errors import EncodeError
from simulator.ticdc.codecs.rows import Rows
from simulator.ticdc.codecs.text import join, scattered


@dataclass(frozen=True)
class Changes:
    """Rows that are all of one operation."""

    operation: str
    """`INSERT`, `UPDATE` or `DELETE`."""

    rows: Rows
    columns: int
    places: pa.Array | None = None
    """Where they stand among the rows of all operations; None: there are no others."""

    def own(self, column: pa.Array) -> pa.Array:
        """What belongs to these rows in a column with an entry for the rows of all operations."""
        return column if self.places is None else column.take(self.places)

    def before(self) -> Image:
        return split(self.rows.before, self.columns)

    def after(self) -> Image:
        return split(self.rows.after, self.columns)


def chosen(rows: Rows, places: pa.Array) -> Rows:
    """Some of the rows, in the order of `places`."""
    return Rows(
        rows.table, rows.partition_id, rows.commit_ts.take(places), rows.row_id.take(places), rows.before.take(places),
        rows.after.take(places), rows.selected, rows.table_id)


def by_operation(rows: Rows, columns: int, encode: Callable[[Changes], pa.Array]) -> pa.Array:
    """Encodes the rows of each operation together, and gives the results in the order of the rows."""
    inserts = pc.is_null(rows.before).to_numpy(zero_copy_only=False)
    deletes = pc.is_null(rows.after).to_numpy(zero_copy_only=False)
    if (inserts & deletes).any():
        raise EncodeError(f"row {int(np.argmax(inserts & deletes))} has neither an image before nor one after")
    masks = {"INSERT": inserts, "DELETE": deletes, "UPDATE": ~(inserts | deletes)}
    present = {name: np.flatnonzero(mask) for name, mask in masks.items() if mask.any()}
    if len(present) < 2:  # none of them: an empty batch
        return encode(Changes(next(iter(present), "INSERT"), rows, columns))
    return join(*(
        scattered(encode(Changes(name, chosen(rows, pa.array(places)), columns, pa.array(places))), masks[name])
        for name, places in present.items()))

"""Rows as far as their messages tell them: texts by column, and a table made of a layout alone.

One law: what a message does not tell is null here, and nothing is made up for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.read.decode import LOST
from simulator.read.decode.row_texts import MEMBERS, value_text
from simulator.read.frame import Layout, UNTOLD
from simulator.ticdc.table_info import BINARY
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType, TYPES


@dataclass(frozen=True)
class Told:
    """Rows of one layout that their dispatcher decides by: the new ones, of DELETE the old."""

    layout: Layout
    images: pa.Array
    commit_ts: Ints
    exact: Mask

    def cells(self, name: str) -> pa.Array | None:
        """Texts of a column as messages have them; None where they do not have the column."""
        if name not in self.layout.names:
            return None
        return row_image.cell(self.images, len(self.layout.names), self.layout.names.index(name))

    def texts(self, column: Column) -> tuple[pa.Array, Mask] | None:
        """TiDB texts of a column, and which of them are not known; raises UserError for a number that is no member of
        its ENUM or SET."""
        found = self.cells(column.name)
        if found is None:
            return None
        unknown = pc.fill_null(pc.equal(found, UNTOLD), False)
        if pc.any(unknown).as_py():
            found = pc.if_else(unknown, None, found)
        lost = pc.fill_null(pc.match_substring(found, LOST.encode()), False)
        return members(found, column), pc.or_(unknown, lost).to_numpy(zero_copy_only=False)


def members(cells: pa.Array, column: Column) -> pa.Array:
    """Names in place of an ENUM's or SET's numbers."""
    if column.type.name not in MEMBERS:
        return cells
    found = cells.dictionary_encode()
    texts = [value_text(None if cell is None else cell.decode(), column) for cell in found.dictionary.to_pylist()]
    return pa.array([None if text is None else text.encode() for text in texts], pa.binary()).take(found.indices)


def table_of(layout: Layout) -> Table:
    """The table as the layout tells it: its key is the primary key, and members of ENUM and SET stay numbers."""
    keys = frozenset(layout.keys)
    columns = tuple(
        Column(name, _type(kind, flags), not_null=name in keys)
        for name, kind, flags in zip(layout.names, layout.types, layout.flags, strict=True))
    return Table(layout.schema, layout.table, columns, primary_key=layout.keys, clustered=True)


def _type(kind: int | str, flags: int | None) -> ColumnType:
    if isinstance(kind, int):
        name, binary = CODES.get(kind, "varchar"), flags is not None and bool(flags & BINARY)
    else:
        bare = kind.split("(")[0].split(" ")[0].lower()
        name, binary = BINARIES.get(bare, bare), bare in BINARIES
    if name not in TYPES or name in MEMBERS:
        name, binary = "bigint", True
    text = TYPES[name].family in ("string", "text") and not binary
    return ColumnType(name, charset="utf8mb4" if text else "binary", collation="utf8mb4_bin" if text else "binary")


CODES = {row.code: row.name for row in TYPES.values()} | {253: "varchar"}
"""Open Protocol's type codes; 253 is VARBINARY's in some releases."""

BINARIES = {row.binary_name: row.name for row in TYPES.values() if row.binary_name}

"""Derives a table from a layout, for tables whose definition is unknown."""

from __future__ import annotations

from simulator.consumer.decode.row_texts import MEMBERS
from simulator.consumer.frame import Layout
from simulator.ticdc.table_info import BINARY
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import TYPES, ColumnType


def table_from_layout(layout: Layout) -> Table:
    """Return the table. The layout's key becomes its primary key, and ENUM and SET values stay numbers."""
    keys = frozenset(layout.keys)
    columns = tuple(
        Column(name, _type(kind, flags), not_null=name in keys)
        for name, kind, flags in zip(layout.names, layout.types, layout.flags, strict=True)
    )
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

"""Values of a database as cells of row images: TiDB text where the value is one of the column's type.

A value that the column's type cannot hold exactly is shown as it is, and so differs from every expected one.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.columns import tidb_text
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.conversion import insert_text, tagged

WIDE = {
    "integer": ColumnType("decimal", 65, 30),
    "decimal": ColumnType("decimal", 65, 30),
    "year": ColumnType("decimal", 65, 30),
    "date": ColumnType("datetime", decimal=6),
    "datetime": ColumnType("datetime", decimal=6),
    "time": ColumnType("time", decimal=6),
}
"""By family: a type that holds what is cut off or rounded when a column of the family takes a value."""

UTC = r"(:\d\d(?:\.\d*)?)(?:Z|[+-]00(?::?00)?)$"
"""A time of day that says that it is UTC."""


def tidb_cells(type: ColumnType, values: pa.Array) -> pa.Array:
    """Return values of a database's column as cells of a column of that type."""
    if family(type) == "time" and pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.time64("us"))
    if family(type) == "datetime" and pa.types.is_string(values.type):
        values = pc.replace_substring_regex(values, UTC, r"\1")
    if type.name == "bit":
        return _or_shown(tidb_text(type, tagged(values)), values)
    text = tidb_text(type, values)
    if family(type) in WIDE:
        text = pc.if_else(pc.fill_null(_is_exact(type, values, text), False), text, pa.scalar(None, text.type))
    return _or_shown(text, values)


def _is_exact(type: ColumnType, values: pa.Array, text: pa.Array) -> pa.Array:
    """Return which values are those of the texts, and were not rounded to them."""
    raw = insert_text(values)
    same = pc.equal(raw, text.cast(raw.type))
    if pc.all(pc.fill_null(same, True)).as_py():
        return same
    wide = WIDE[family(type)]
    return pc.or_(same, pc.equal(tidb_text(wide, values), tidb_text(wide, text)))


def _or_shown(text: pa.Array, values: pa.Array) -> pa.Array:
    """Return the texts; for those without one the values as people read them."""
    cells = text.cast(pa.binary())
    if cells.null_count == values.null_count:
        return cells
    shown = insert_text(values).cast(pa.binary())
    if shown.null_count > values.null_count:
        shown = pa.array([_hexadecimal(value) for value in values.to_pylist()], pa.binary())
    return pc.if_else(cells.is_valid(), cells, shown)


def _hexadecimal(value: object) -> bytes | None:
    if value is None:
        return None
    return b"0x" + value.hex().encode() if isinstance(value, bytes) else str(value).encode()


def digits(type: ColumnType) -> int:
    """Return how many decimal digits a floating-point number must hold to tell the values of a type apart; 0 for a
    type that has no such number."""
    if family(type) == "decimal":
        return max(type.length, 1)
    if family(type) == "float":
        return 7 if type.name == "float" else 15
    return DIGITS.get(type.name, 0)


DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20, "year": 4}

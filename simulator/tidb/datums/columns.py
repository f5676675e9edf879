"""Whole columns of datums as a table's column keeps them.

What is spelt as usual goes by Arrow's kernels (`tidb/values`); every other value is cast by itself, once for each
different one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.cast import Cast, cast_value
from simulator.tidb.datums.kinds import DATUMS, Datum, as_datums, cells_of
from simulator.tidb.datums.modes import Mode
from simulator.tidb.datums.problems import Problem
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.conversion import tidb_text

FEW = 16
"""Rows up to which each value is cast by itself."""

SURE: dict[str, frozenset[str]] = {
    "int": frozenset(("integer", "decimal", "string", "text", "json")),
    "uint": frozenset(("integer", "decimal", "string", "text", "json")),
    "decimal": frozenset(("decimal", "string", "text")),
    "string": frozenset(("integer", "decimal", "float", "string", "text", "json")),
    "bytes": frozenset(("string", "text")),
    "date": frozenset(("date",)),
    "datetime": frozenset(("datetime",)),
    "json": frozenset(("json",)),
}
"""Kinds of datums -> families of types that a kernel makes of their text what TiDB does, or null."""


class Misfit(NamedTuple):
    """A value that the column does not take as it is."""

    row: int
    datum: Datum
    problem: Problem


class CastColumn(NamedTuple):
    texts: pa.Array
    """TiDB text (binary); of a misfit what a mode that forgives it keeps. A TIMESTAMP's is UTC."""

    misfits: list[Misfit]
    """By row."""


def cast_column(column: Column, values: pa.Array, mode: Mode) -> CastColumn:
    """Values for a column: datums, or Arrow's (see `as_datums`)."""
    values = as_datums(column.type, values)
    rows = len(values)
    if rows <= FEW:
        return _one_by_one(column, values, np.arange(rows), pa.nulls(rows, pa.binary()), mode)
    texts = _usual(column.type, values, mode)
    odd = np.flatnonzero(np.asarray(pc.and_(values.is_valid(), texts.is_null())))
    return _one_by_one(column, values.take(pa.array(odd)), odd, texts, mode) if len(odd) else CastColumn(texts, [])


def _one_by_one(column: Column, values: pa.Array, rows: np.ndarray, texts: pa.Array, mode: Mode) -> CastColumn:
    """With these values in their rows."""
    made: list[bytes | None] = []
    misfits, known = [], dict[Datum, Cast]()
    for row, datum in zip(rows.tolist(), cells_of(values), strict=True):
        if datum is None:
            made.append(None)
            continue
        if datum not in known:
            known[datum] = cast_value(column.type, column.name, datum, mode)
        text, problem = known[datum]
        made.append(text)
        if problem is not None:
            misfits.append(Misfit(row, datum, problem))
    found = pa.array(made, pa.binary())
    if len(rows) < len(texts):
        places = np.zeros(len(texts), np.bool_)
        places[rows] = True
        found = pc.replace_with_mask(texts, pa.array(places), found)
    return CastColumn(found, misfits)


def _usual(type: ColumnType, values: pa.Array, mode: Mode) -> pa.Array:
    """TiDB text of what a kernel reads as TiDB does; null for everything else."""
    assert values.type == DATUMS
    bodies = values.field(1)
    kinds = pc.unique(values.field(0).drop_null()).to_pylist()
    found = pa.nulls(len(values), pa.binary())
    for kind in kinds:
        if family(type) not in SURE.get(kind, ()) or type.name == "timestamp":
            continue
        mine = bodies if len(kinds) == 1 else pc.if_else(
            pc.equal(values.field(0), kind), bodies, pa.scalar(None, pa.binary()))
        found = pc.coalesce(found, _kernel(type, kind, mine, mode))
    return found


def _kernel(type: ColumnType, kind: str, bodies: pa.Array, mode: Mode) -> pa.Array:
    text = tidb_text(type, bodies).cast(pa.binary())
    if kind in ("date", "datetime"):
        odd = pc.match_substring(text, "-00")
        text = pc.if_else(odd, pa.scalar(None, pa.binary()), text)
    return text

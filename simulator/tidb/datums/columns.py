"""Cast whole columns of datums.

Arrow's kernels (`tidb/values`) cast the values in usual spellings. Every other distinct value is cast on its own.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums.cast import cast_value
from simulator.tidb.datums.kinds import DATUMS, Datum, as_datums, datum_list, datums
from simulator.tidb.datums.problems import CastProblem, Mode
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.conversion import insert_text, usual_text
from simulator.tidb.values.kernels import map_distinct, replace_unusual

FEW = 16
"""The number of rows up to which each value is cast on its own."""

STRINGS = ("string", "text")

SURE: dict[str, frozenset[str]] = {
    "int": frozenset(("integer", "decimal", "float", "json", *STRINGS)),
    "uint": frozenset(("integer", "decimal", "float", "json", *STRINGS)),
    "decimal": frozenset(("decimal", "float", *STRINGS)),
    "double": frozenset(("float",)),
    "string": frozenset(("integer", "decimal", "float", "json", "date", "datetime", "time", *STRINGS)),
    "bytes": frozenset(STRINGS),
    "date": frozenset(("date",)),
    "datetime": frozenset(("datetime",)),
    "time": frozenset(("time",)),
    "json": frozenset(("json",)),
}
"""By kind of datum, the families of types for which a kernel gives TiDB's result or null."""


class Misfit(NamedTuple):
    """A value that does not fit into the column unchanged."""

    row: int
    datum: Datum
    problem: CastProblem


class CastColumn(NamedTuple):
    texts: pa.Array
    """TiDB text (binary), for a misfit the value that lenient modes keep. A TIMESTAMP is in UTC."""

    misfits: list[Misfit]
    """By row."""


def cast_column(column: Column, values: pa.Array | list[Datum | None], mode: Mode) -> CastColumn:
    """Cast values for a column: datums, or Arrow's (see `as_datums`)."""
    rows = len(values)
    if isinstance(values, list) and rows <= FEW:
        return _one_by_one(column, values, mode)
    values = as_datums(column.type, values)
    if rows <= FEW:
        return _one_by_one(column, values, mode)
    texts = _usual(column.type, values, mode)
    odd = np.asarray(pc.and_(values.is_valid(), texts.is_null()))
    if not odd.any():
        return CastColumn(texts, [])
    places = np.flatnonzero(odd)
    others = _each_distinct(column, values.take(pa.array(places)), mode)
    misfits = [misfit._replace(row=int(places[misfit.row])) for misfit in others.misfits]
    return CastColumn(pc.replace_with_mask(texts, pa.array(odd), others.texts), misfits)


def _one_by_one(column: Column, values: pa.Array | list[Datum | None], mode: Mode) -> CastColumn:
    texts: list[bytes | None] = []
    misfits = []
    for row, datum in enumerate(datum_list(values)):
        text, problem = (None, None) if datum is None else cast_value(column.type, column.name, datum, mode)
        texts.append(text)
        if datum is not None and problem is not None:
            misfits.append(Misfit(row, datum, problem))
    return CastColumn(pa.array(texts, pa.binary()), misfits)


def _each_distinct(column: Column, values: pa.Array, mode: Mode) -> CastColumn:
    """Cast each distinct value once."""
    texts, misfits = pa.nulls(len(values), pa.binary()), list[Misfit]()
    for kind in pc.unique(values.field(0)).to_pylist():
        distinct = _of_kind(values, kind).dictionary_encode()
        cast = _one_by_one(column, datums(kind, distinct.dictionary), mode)
        texts = pc.coalesce(texts, cast.texts.take(distinct.indices))
        wrong = {misfit.row: misfit for misfit in cast.misfits}
        if wrong:
            indices = np.asarray(pc.fill_null(distinct.indices, -1))
            rows = np.flatnonzero(np.isin(indices, list(wrong)))
            misfits += [wrong[int(indices[row])]._replace(row=int(row)) for row in rows]
    return CastColumn(texts, sorted(misfits, key=lambda misfit: misfit.row))


def _of_kind(values: pa.Array, kind: str) -> pa.Array:
    """Return the bodies of one kind, null for others."""
    return pc.if_else(pc.equal(values.field(0), kind), values.field(1), pa.scalar(None, pa.binary()))


def _usual(type: ColumnType, values: pa.Array, mode: Mode) -> pa.Array:
    """Cast what kernels cast as TiDB does, with null for everything else."""
    assert values.type == DATUMS
    texts = pa.nulls(len(values), pa.binary())
    for kind in pc.unique(values.field(0).drop_null()).to_pylist():
        if family(type) in SURE.get(kind, ()):
            texts = pc.coalesce(texts, _kernel(type, _of_kind(values, kind), mode))
    return texts


def _kernel(type: ColumnType, bodies: pa.Array, mode: Mode) -> pa.Array:
    text = usual_text(type, bodies).cast(pa.binary())
    if family(type) == "float":
        return pc.if_else(pc.equal(text, b"-0"), pa.scalar(None, pa.binary()), text)
    if family(type) not in ("date", "datetime", "time"):
        return text
    sure = pc.equal(text, bodies)
    if type.name != "time":
        sure = pc.and_not(sure, pc.match_substring(text, "-00"))
    if type.name == "timestamp":
        within = pc.and_(pc.greater_equal(text, EARLIEST), pc.less(text, LATEST))
        sure = pc.and_(sure, within) if str(mode.zone) == "UTC" else pa.scalar(False)
    return pc.if_else(sure, text, pa.scalar(None, pa.binary()))


EARLIEST, LATEST = b"1970-01-01 00:00:01", b"2038-01-19 03:14:08"
"""The first TIMESTAMP in UTC, and the first time after the last one."""


# -- files -------------------------------------------------------------------------------------------------------------

SPELLED = frozenset(("integer", "decimal", "float", "year", "enum", "set"))
"""Families whose unusual spellings no kernel converts."""


def tidb_text(type: ColumnType, raw: pa.Array) -> pa.Array:
    """Convert the bytes of SQL and CSV files (`tagged` for a BIT), or the values of a typed file, to TiDB text.

    The result is null for NULL and for values that INSERT rejects in strict mode, except zero dates.
    """
    if pa.types.is_dictionary(raw.type):
        return tidb_text(type, raw.dictionary).take(raw.indices)
    if pa.types.is_null(raw.type):
        return pa.nulls(len(raw), pa.string())
    made = usual_text(type, raw)
    if family(type) not in SPELLED or made.null_count == raw.null_count:
        return made
    return replace_unusual(
        insert_text(raw), made.is_valid(), lambda odd: map_distinct(odd, partial(_strict, type)), made
    )


def _strict(type: ColumnType, text: str) -> str | None:
    value, problem = cast_value(type, "", Datum("string", text.encode()), STRICT)
    return None if problem or value is None else value.decode()


STRICT = Mode(frozenset(("STRICT_TRANS_TABLES",)))

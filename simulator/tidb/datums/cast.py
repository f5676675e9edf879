"""Casts of datums: of one value, of whole columns, and of stored values to another type.

One datum is cast as by CastValue (tidb pkg/table/column.go), and a stored value that MODIFY COLUMN converts as by
ConvertTo (pkg/types/datum.go). In columns, Arrow's kernels (`tidb/values`) cast values in usual spellings, and every
other distinct value is cast on its own.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.datums import (
    DATUMS,
    STRICT_MODE,
    TRUNCATED,
    CastProblem,
    Datum,
    Mode,
    as_datums,
    cell_datum,
    cell_kind,
    datum_list,
    datum_text,
    datums,
    datums_of,
    strings,
    times,
    truncated_value,
)
from simulator.tidb.datums.numbers import IntegerRange, cast_decimal, cast_float, cast_integer
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import UNSIGNED_BIGINT, ColumnType, bounds, family, is_binary, mysql_type
from simulator.tidb.values.conversion import insert_text, usual_text
from simulator.tidb.values.durations import round_duration
from simulator.tidb.values.kernels import map_distinct, null_unless, replace_unusual, utf8

Cast = tuple[bytes | None, CastProblem | None]
"""TiDB text, None for NULL, and the problem. With a problem, the text is the value that lenient modes keep."""


def cast_value(type: ColumnType, column: str, datum: Datum, mode: Mode) -> Cast:
    """Cast a datum to the type of the column with that name."""
    kind = family(type)
    if kind in ("string", "text"):
        value, problem = strings.cast_string(type, column, datum)
        return (value.decode("latin-1").encode() if is_binary(type) else value), problem
    text, problem = _cast(type, kind, datum, mode)
    if problem is TRUNCATED and kind not in ("enum", "set"):
        problem = truncated_value(mysql_type(type, True).partition(" ")[0], datum_text(datum))
    return (None if text is None else text.encode()), problem


def _cast(type: ColumnType, kind: str, datum: Datum, mode: Mode) -> tuple[str | None, CastProblem | None]:
    if kind == "integer":
        number, problem = cast_integer(datum, IntegerRange(*bounds(type), type), mode.lenient)
        return str(number), problem
    if kind == "decimal":
        return cast_decimal(type, datum, mode.lenient)
    if kind == "float":
        return cast_float(type, datum)
    if kind in ("date", "datetime"):
        return times.cast_moment(type, datum, mode)
    if kind == "time":
        return times.cast_time(type, datum, mode)
    if kind == "year":
        return times.cast_year(type, datum, mode)
    if kind == "enum":
        return strings.cast_enum(type, datum, mode.lenient)
    if kind == "set":
        return strings.cast_set(type, datum, mode.lenient)
    if kind == "bit":
        return strings.cast_bit(type, datum, mode.lenient)
    if kind == "json":
        return strings.cast_json(datum)
    return _vector(type, datum_text(datum))


def _vector(type: ColumnType, text: str) -> tuple[str | None, CastProblem | None]:
    value = usual_text(type, pa.array([text]))[0].as_py()
    return value, None if value is not None else CastProblem(1105, f"Invalid vector text: {text[:128]}", "other")


COUNTED = frozenset(("integer", "decimal", "float", "year", "bit"))
DATED = frozenset(("date", "datetime"))
TIMED = DATED | {"time"}
"""Families of types."""

AS_PRINTED = frozenset(("string", "int", "uint", "decimal", "date", "datetime", "timestamp", "time"))
"""Kinds of datums whose body is the TiDB text."""

NO_ZERO_MODE = Mode(STRICT_MODE.sql_mode | {"NO_ZERO_DATE", "NO_ZERO_IN_DATE"})


def convertible(source: ColumnType, target: ColumnType) -> bool:
    """Whether `convert_text` knows the value: a TIME becomes a DATETIME of the day of the statement."""
    return family(source) != "time" or family(target) not in DATED


def convert_text(source: ColumnType, target: ColumnType, text: pa.Array) -> pa.Array:
    """Convert TiDB text (string or binary) to another type in strict mode.

    The result (string) is null for NULL, for values that TiDB rejects, and for those that are not known. A zero date
    stays, but no number becomes one.
    """
    text = utf8(text)
    if source == target:
        return text
    if not convertible(source, target):
        return pa.nulls(len(text), pa.string())
    mode = NO_ZERO_MODE if family(source) in COUNTED else STRICT_MODE
    cast = cast_column(Column("", target), _changed_datums(source, target, text), mode)
    fits = np.ones(len(text), np.bool_)
    fits[[misfit.row for misfit in cast.misfits]] = False
    return utf8(null_unless(pa.array(fits), cast.texts))


def _changed_datums(source: ColumnType, target: ColumnType, text: pa.Array) -> pa.StructArray:
    kind = cell_kind(source)
    if kind in AS_PRINTED and not source.zerofill and target.name not in ("bit", "year"):
        return datums(kind, text)
    distinct = text.dictionary_encode()
    cells = distinct.dictionary.to_pylist()
    return datums_of(changed_datum(source, target, cell.encode()) for cell in cells).take(distinct.indices)


def changed_datum(source: ColumnType, target: ColumnType, cell: bytes) -> Datum | None:
    """Return the datum that a cell is for the cast to another type; None for one that cannot be cast.

    A TIME becomes the YEAR of its digits (tidb pkg/types/time.go, CastTimeToYearThroughConcat). Types that TiDB does not
    change into the other (pkg/ddl/modify_column.go, checkTypeChangeSupported) are converted back to the row before ALTER
    TABLE: a text to the BIT that it shows, a number to the time that its digits are.
    """
    datum, kind = cell_datum(source, cell), family(source)
    if kind == "time" and target.name == "year":
        return Datum("int", b"%d" % int(round_duration(cell.decode(), 0).replace(":", "")))
    if target.name == "bit" and kind not in COUNTED and not source.elements:
        number, problem = cast_value(UNSIGNED_BIGINT, "", datum, STRICT_MODE)
        return None if problem or number is None else Datum("uint", number)
    if family(target) in TIMED:
        if kind == "float":
            return Datum("decimal", datum_text(datum).encode())
        if kind == "bit" or source.elements:
            return Datum("uint" if kind == "bit" else "string", cell)
    return datum


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


def cast_column(column: Column, values: pa.Array, mode: Mode) -> CastColumn:
    """Cast values for a column: datums, or Arrow's (see `as_datums`)."""
    values = as_datums(column.type, values)
    if len(values) <= FEW:
        return _one_by_one(column, values, mode)
    texts = _usual(column.type, values, mode)
    odd = np.asarray(pc.and_(values.is_valid(), texts.is_null()))
    if not odd.any():
        return CastColumn(texts, [])
    places = np.flatnonzero(odd)
    others = _each_distinct(column, values.take(pa.array(places)), mode)
    misfits = [misfit._replace(row=int(places[misfit.row])) for misfit in others.misfits]
    return CastColumn(pc.replace_with_mask(texts, pa.array(odd), others.texts), misfits)


def _one_by_one(column: Column, values: pa.Array, mode: Mode) -> CastColumn:
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
    value, problem = cast_value(type, "", Datum("string", text.encode()), STRICT_MODE)
    return None if problem or value is None else value.decode()

"""Convert values to another type, as ALTER TABLE … MODIFY COLUMN does (tidb pkg/types/datum.go, ConvertTo)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.tidb.datums.cast import cast_value
from simulator.tidb.datums.columns import cast_column
from simulator.tidb.datums.kinds import Datum, cell_datum, cell_kind, datum_text, datums, datums_of
from simulator.tidb.datums.problems import Mode
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.durations import round_duration
from simulator.tidb.values.kernels import null_unless, utf8

COUNTED = frozenset(("integer", "decimal", "float", "year", "bit"))
DATED = frozenset(("date", "datetime"))
TIMED = DATED | {"time"}
"""Families of types."""

AS_PRINTED = frozenset(("string", "int", "uint", "decimal", "date", "datetime", "timestamp", "time"))
"""Kinds of datums whose body is the TiDB text."""

STRICT = frozenset(("STRICT_TRANS_TABLES",))
NO_ZERO = STRICT | {"NO_ZERO_DATE", "NO_ZERO_IN_DATE"}
_NUMBER = ColumnType("bigint", unsigned=True)


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
    mode = Mode(NO_ZERO if family(source) in COUNTED else STRICT)
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
        number, problem = cast_value(_NUMBER, "", datum, Mode(STRICT))
        return None if problem or number is None else Datum("uint", number)
    if family(target) in TIMED:
        if kind == "float":
            return Datum("decimal", datum_text(datum).encode())
        if kind == "bit" or source.elements:
            return Datum("uint" if kind == "bit" else "string", cell)
    return datum

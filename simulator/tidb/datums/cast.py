"""Cast one datum to a column's type: TiDB's CastValue (tidb pkg/table/column.go)."""

from __future__ import annotations

import pyarrow as pa

from simulator.tidb.datums import documents, members, strings, times
from simulator.tidb.datums.decimals import cast_decimal
from simulator.tidb.datums.floats import cast_float
from simulator.tidb.datums.kinds import Datum, datum_text
from simulator.tidb.datums.numbers import signed, unsigned
from simulator.tidb.datums.problems import TRUNCATED, CastProblem, Mode, truncated_value
from simulator.tidb.model.types import ColumnType, family, is_binary, mysql_type
from simulator.tidb.values.conversion import usual_text
from simulator.tidb.values.numbers import bounds

Cast = tuple[bytes | None, CastProblem | None]
"""TiDB text, None for NULL, and the problem. With a problem, the text is the value that lenient modes keep."""


def cast_value(type: ColumnType, column: str, datum: Datum, mode: Mode) -> Cast:
    """Cast a datum to the type of the column with that name."""
    kind = family(type)
    if kind in ("string", "text"):
        value, problem = strings.cast_string(type, column, datum, mode)
        return (value.decode("latin-1").encode() if is_binary(type) else value), problem
    text, problem = _cast(type, kind, datum, mode)
    if problem is TRUNCATED and kind not in ("enum", "set"):
        problem = truncated_value(mysql_type(type, True).partition(" ")[0], datum_text(datum))
    return (None if text is None else text.encode()), problem


def _cast(type: ColumnType, kind: str, datum: Datum, mode: Mode) -> tuple[str | None, CastProblem | None]:
    if kind == "integer":
        low, high = bounds(type)
        if type.unsigned:
            number, problem = unsigned(datum, high, type, mode.lenient)
        else:
            number, problem = signed(datum, low, high, type, mode.lenient)
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
        return members.cast_enum(type, datum, mode.lenient)
    if kind == "set":
        return members.cast_set(type, datum, mode.lenient)
    if kind == "bit":
        return members.cast_bit(type, datum, mode.lenient)
    if kind == "json":
        return documents.cast_json(datum)
    return _vector(type, datum_text(datum))


def _vector(type: ColumnType, text: str) -> tuple[str | None, CastProblem | None]:
    value = usual_text(type, pa.array([text]))[0].as_py()
    return value, None if value is not None else CastProblem(1105, f"Invalid vector text: {text[:128]}", "other")

"""What a column holds where a statement gives it no value.

One law: a literal default is the same text for all rows; an expression is computed for the statement's time. A column
that is NOT NULL and has no default has none in strict mode: only ENUM takes its first member and YEAR its zero (tidb
pkg/table/column.go, getColDefaultValueFromNil; pkg/ddl/add_column.go, setYearDefaultValue).
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from simulator.errors import SchemaError
from simulator.tidb.ddl.column_definitions import NOW, zero
from simulator.tidb.expressions.casts import raw
from simulator.tidb.expressions.evaluate import Uncomputable, evaluated
from simulator.tidb.expressions.translate import Scope, valued
from simulator.tidb.expressions.trees import definition
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.upstream.clock import now_text
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.values.conversion import tidb_text

TODAY = ("CURRENT_DATE", "CURDATE")
CLOCK = ("CURRENT_TIME", "CURTIME")


def has_default(column: Column) -> bool:
    """Whether a row may leave the column out in strict mode."""
    return column.default is not None or not column.not_null or column.type.name in ("enum", "year")


def default_texts(column: Column, table: Table, rows: int, upstream: Upstream, now_ms: int) -> pa.Array:
    """The default of a column as TiDB text (binary) for so many rows, that of a TIMESTAMP in UTC.

    Of a column without one it is NULL, or where the column is NOT NULL the zero of its type. Raises SqlError 1105 for
    an expression that is not computed here.
    """
    if column.default_expression:
        text = time_of(column, upstream, now_ms)
        return pa.repeat(pa.scalar(text, pa.binary()), rows) if text is not None else (
            _computed(column, table, rows))
    return pa.repeat(literal(column), rows)


@lru_cache(4096)
def literal(column: Column) -> pa.Scalar:
    """A literal default, or what stands for none, as TiDB text."""
    if column.default is not None:
        text = column.default
        return pa.scalar(tidb_text(column.type, pa.array([text]))[0].as_py() if family(column.type) == "float" else (
            text), pa.string()).cast(pa.binary())
    return zero_value(column) if column.not_null else pa.scalar(None, pa.binary())


def zero_value(column: Column) -> pa.Scalar:
    """The zero of the column's type (tidb pkg/table/column.go, GetZeroValue)."""
    return pa.scalar("0" if family(column.type) == "float" else zero(column.type), pa.string()).cast(pa.binary())


def time_of(column: Column, upstream: Upstream, now_ms: int) -> str | None:
    """CURRENT_TIMESTAMP(3) and its kin as TiDB text; None for any other default."""
    call, _, rest = (column.default or "").strip().strip("()").upper().partition("(")
    kind, digits = column.type.name, rest.strip(") ")
    shown = {"date": (*NOW, *TODAY), "datetime": NOW, "timestamp": NOW, "time": CLOCK}
    if call.strip() not in shown.get(kind, ()) or digits and not digits.isdecimal():
        return None
    return now_text(kind, max(column.type.decimal, 0), upstream.session, now_ms)


def _computed(column: Column, table: Table, rows: int) -> pa.Array:
    try:
        value = valued(definition(column.default or "", table), Scope(table, {}))
        found = tidb_text(column.type, evaluated({column.name: raw(value, column)}, {}, rows)[column.name])
    except (SchemaError, Uncomputable) as error:
        raise refused(1105, f"the default of column {column.name!r}, {column.default}, is not computed here: "
                            f"{str(error).splitlines()[0]}") from None
    return found.cast(pa.binary())

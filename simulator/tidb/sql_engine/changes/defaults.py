"""What a column holds where a statement gives it no value.

One law: a literal default is the same text for all rows (that of a TIMESTAMP is taken to be of the session's time zone;
TiDB's is of the zone in which the table was made); an expression is computed for the statement's time. A column that is
NOT NULL and has no default has none in strict mode: only ENUM takes its first member and YEAR its zero (tidb
pkg/table/column.go, getColDefaultValueFromNil; pkg/ddl/add_column.go, setYearDefaultValue).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from simulator.tidb.datums.columns import cast_column
from simulator.tidb.ddl.columns.definitions import implicit_default
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family
from simulator.tidb.sql_engine.changes.cast_errors import VALUES, cast_error
from simulator.tidb.sql_engine.queries.evaluate import evaluate
from simulator.tidb.sql_engine.sessions.clock import default_time_text, session_mode, to_utc
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.values.conversion import tidb_text


def has_default(column: Column) -> bool:
    """Whether a row may leave the column out in strict mode."""
    if column.default_dropped:
        return False
    return column.default is not None or not column.not_null or column.type.name in ("enum", "year")


def default_texts(columns: Sequence[Column], rows: int, upstream: Upstream, now_ms: int) -> dict[str, pa.Array]:
    """The defaults of columns as TiDB text (binary) for so many rows, those of a TIMESTAMP in UTC.

    Of a column without one it is NULL, or where the column is NOT NULL the zero of its type. Raises SqlError for an
    expression that is not computed, and for one whose value the column does not take.
    """
    found, computed = {}, []
    for column in columns:
        text = default_time_text(column, upstream.session, now_ms) if column.default_expression else None
        if text is not None:
            found[column.name] = pa.repeat(pa.scalar(text, pa.binary()), rows)
        elif column.default_expression:
            computed.append(column)
        else:
            found[column.name] = pa.repeat(literal_default(column), rows)
            if column.type.name == "timestamp" and upstream.session.time_zone != "UTC":
                found[column.name] = to_utc(upstream.session, found[column.name].cast(pa.string())).cast(pa.binary())
    return found | _expression_defaults(computed, rows, upstream, now_ms) if computed else found


@lru_cache(4096)
def literal_default(column: Column) -> pa.Scalar:
    """A literal default, or what stands for none, as TiDB text."""
    if column.default is not None:
        text = column.default
        return pa.scalar(
            tidb_text(column.type, pa.array([text]))[0].as_py() if family(column.type) == "float" else (text),
            pa.string(),
        ).cast(pa.binary())
    return pa.scalar(_zero(column) if column.not_null else None, pa.string()).cast(pa.binary())


def zero_value(column: Column) -> pa.Scalar:
    """What NULL becomes: the zero of the column's type, of an ENUM no member (tidb pkg/table/column.go,
    GetZeroValue)."""
    return pa.scalar("" if column.type.name == "enum" else _zero(column), pa.string()).cast(pa.binary())


def _zero(column: Column) -> str:
    return "0" if family(column.type) == "float" else implicit_default(column.type)


def _expression_defaults(columns: Sequence[Column], rows: int, upstream: Upstream, now_ms: int) -> dict[str, pa.Array]:
    """Expressions; their UUID() and RAND() are others than those of the statement."""
    nodes = [parse_expression(column.default or "") for column in columns]
    apart, mode = replace(upstream, seed=~upstream.seed), session_mode(upstream.session, now_ms)
    texts = {}
    for column, values in zip(columns, evaluate(nodes, columns, apart, now_ms, rows=rows)):
        made = cast_column(column, values, mode)
        for misfit in made.misfits:
            if not mode.forgives(misfit.problem):
                raise cast_error(column, misfit, misfit.row + 1, VALUES)
        texts[column.name] = made.texts
    return texts

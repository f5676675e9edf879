"""The values of columns that a statement does not name.

A literal default is the same text for all rows. That of a TIMESTAMP is taken to be in the session's time zone; TiDB
uses the zone in which the table was created. A default expression is computed at the statement's time. In strict mode a
NOT NULL column without a default has no value, except that ENUM takes its first member and YEAR its zero (tidb
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
    """Return whether a row may omit the column in strict mode."""
    if column.default_dropped:
        return False
    return column.default is not None or not column.not_null or column.type.name in ("enum", "year")


def default_texts(columns: Sequence[Column], rows: int, upstream: Upstream, now_ms: int) -> dict[str, pa.Array]:
    """Return the defaults of columns as TiDB text (binary) for `rows` rows, those of a TIMESTAMP in UTC.

    A column without a default is NULL, or the zero of its type if it is NOT NULL. Raises SqlError for an expression
    that is not computed, or whose value the column does not accept.
    """
    texts, computed = {}, []
    for column in columns:
        text = default_time_text(column, upstream.session, now_ms) if column.default_expression else None
        if text is not None:
            texts[column.name] = pa.repeat(pa.scalar(text, pa.binary()), rows)
        elif column.default_expression:
            computed.append(column)
        else:
            texts[column.name] = pa.repeat(literal_default(column), rows)
            if column.type.name == "timestamp" and upstream.session.time_zone != "UTC":
                texts[column.name] = to_utc(upstream.session, texts[column.name].cast(pa.string())).cast(pa.binary())
    return texts | _expression_defaults(computed, rows, upstream, now_ms) if computed else texts


@lru_cache(4096)
def literal_default(column: Column) -> pa.Scalar:
    """Return a literal default, or the value of a column without one, as TiDB text."""
    if column.default is not None:
        text = column.default
        return pa.scalar(
            tidb_text(column.type, pa.array([text]))[0].as_py() if family(column.type) == "float" else (text),
            pa.string(),
        ).cast(pa.binary())
    return pa.scalar(_zero(column) if column.not_null else None, pa.string()).cast(pa.binary())


def zero_value(column: Column) -> pa.Scalar:
    """Return the value that replaces NULL: the zero of the column's type, the empty member of an ENUM (tidb
    pkg/table/column.go, GetZeroValue)."""
    return pa.scalar("" if column.type.name == "enum" else _zero(column), pa.string()).cast(pa.binary())


def _zero(column: Column) -> str:
    return "0" if family(column.type) == "float" else implicit_default(column.type)


def _expression_defaults(columns: Sequence[Column], rows: int, upstream: Upstream, now_ms: int) -> dict[str, pa.Array]:
    """Compute default expressions. Their UUID() and RAND() differ from those of the statement."""
    nodes = [parse_expression(column.default or "") for column in columns]
    other_seed, mode = replace(upstream, seed=~upstream.seed), session_mode(upstream.session, now_ms)
    texts = {}
    for column, values in zip(columns, evaluate(nodes, columns, other_seed, now_ms, rows=rows)):
        cast = cast_column(column, values, mode)
        for misfit in cast.misfits:
            if not mode.forgives(misfit.problem):
                raise cast_error(column, misfit, misfit.row + 1, VALUES)
        texts[column.name] = cast.texts
    return texts

"""Casts values to their columns, and provides the values of columns that a statement does not name.

A value that does not fit is an error, or a warning with another value. Of several errors the first row counts, and in a
row the error that occurred first.

A literal default is the same text for all rows. That of a TIMESTAMP is taken to be in the session's time zone; TiDB
uses the zone in which the table was created. A default expression is computed at the statement's time. In strict mode a
NOT NULL column without a default has no value, except that ENUM takes its first member and YEAR its zero (tidb
pkg/table/column.go, getColDefaultValueFromNil; pkg/ddl/add_column.go, setYearDefaultValue).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb.datums.columns import Misfit, cast_column
from simulator.tidb.datums.kinds import datum_text
from simulator.tidb.datums.modes import Mode
from simulator.tidb.ddl.definitions.defaults import implicit_value, row_default
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text
from simulator.tidb.sql_engine.queries.evaluate import evaluate
from simulator.tidb.sql_engine.sessions.clock import default_time_text, session_mode, to_utc
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.values.conversion import tidb_text

VALUES, SELECT, UPDATE, DUPLICATE = "values", "select", "update", "duplicate"
"""The origin of a value: INSERT's VALUES or its SELECT, UPDATE, ON DUPLICATE KEY UPDATE."""

MAX_CHARACTERS = {1292: 128, 1366: 192}
"""The number of characters of a value in an error."""


def cast_error(column: Column, misfit: Misfit, row: int, origin: str) -> SqlError:
    """Return the error as the statement completes it.

    INSERT … VALUES adds column and row (tidb pkg/executor/insert_common.go, completeInsertErr), UPDATE in some errors
    (pkg/executor/update.go, handleErr), other statements do not.
    """
    problem = misfit.problem
    if origin in (VALUES, UPDATE):
        if problem.name == "too long":
            return sql_error(1406, column.name, row)
        if problem.name == "overflow":
            return sql_error(1264, column.name, row)
    if origin == VALUES:
        if problem.name in ("truncated", "out of range"):
            return sql_error(problem.number, column.name, row)
        if problem.name == "wrong value":
            number = 1292 if family(column.type) in ("date", "datetime", "time") else 1366
            value = datum_text(misfit.datum)[: MAX_CHARACTERS[number]]
            return sql_error(number, column.type.name, value, column.name, row)
    return sql_error_with_text(problem.number, problem.text)


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
    text = row_default(column)
    if text is not None:
        return pa.scalar(
            tidb_text(column.type, pa.array([text]))[0].as_py() if family(column.type) == "float" else text, pa.string()
        ).cast(pa.binary())
    return pa.scalar(_zero(column) if column.not_null else None, pa.string()).cast(pa.binary())


def zero_value(column: Column) -> pa.Scalar:
    """Return the value that replaces NULL: the zero of the column's type, the empty member of an ENUM (tidb
    pkg/table/column.go, GetZeroValue)."""
    return pa.scalar("" if column.type.name == "enum" else _zero(column), pa.string()).cast(pa.binary())


def _zero(column: Column) -> str:
    return "0" if family(column.type) == "float" else implicit_value(column.type)


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


class CastContext(NamedTuple):
    """The statement for which rows are computed."""

    table: Table
    rows: int
    upstream: Upstream
    now_ms: int
    mode: Mode
    origin: str
    """VALUES, SELECT, UPDATE or DUPLICATE."""

    @property
    def updating(self) -> bool:
        return self.origin in (UPDATE, DUPLICATE)


def cast_context(table: Table, rows: int, upstream: Upstream, now_ms: int, ignore: bool, origin: str) -> CastContext:
    mode = session_mode(upstream.session, now_ms, ignore, origin in (VALUES, SELECT))
    return CastContext(table, rows, upstream, now_ms, mode, origin)


class RowError(NamedTuple):
    """An error or a warning about one row."""

    row: int
    error: SqlError
    warning: bool = False


def first_error(row_errors: Iterable[RowError]) -> RowError | None:
    return min(
        (row_error for row_error in row_errors if not row_error.warning),
        key=lambda row_error: row_error.row,
        default=None,
    )


def warnings(row_errors: Iterable[RowError]) -> tuple[str, ...]:
    """Return warnings as SHOW WARNINGS prints them: `1264 Out of range value …`."""
    ordered = sorted((row_error for row_error in row_errors if row_error.warning), key=lambda row_error: row_error.row)
    return tuple(f"{row_error.error.number} {row_error.error.text}" for row_error in ordered[:MAX_WARNINGS])


class CastResult(NamedTuple):
    text: pa.Array
    """TiDB text (binary)."""

    row_errors: list[RowError]


def cast_values(statement: CastContext, columns: Sequence[Column], values: Sequence[pa.Array]) -> list[CastResult]:
    """Return values of columns as TiDB text, and the errors of those that do not fit."""
    return [_cast_column(statement, column, value) for column, value in zip(columns, values, strict=True)]


def _cast_column(statement: CastContext, column: Column, values: pa.Array) -> CastResult:
    cast = cast_column(column, values, statement.mode)
    row_errors, mode = list[RowError](), statement.mode
    for misfit in cast.misfits:
        warning = mode.forgives(misfit.problem)
        if not warning or len(row_errors) < MAX_WARNINGS:
            row = 1 if statement.origin == UPDATE else 1 + misfit.row
            row_errors.append(RowError(misfit.row, cast_error(column, misfit, row, statement.origin), warning))
            if not warning:
                break
    return CastResult(cast.texts, row_errors)


def replace_nulls(statement: CastContext, column: Column, text: pa.Array) -> CastResult:
    """Return a NOT NULL column without NULLs: each is an error, or the zero of its type (tidb pkg/table/column.go,
    HandleBadNull).

    In some releases an INSERT of one row ignores the lenient mode (Release.lone_null_refused) unless it has IGNORE.
    """
    if not column.not_null or not text.null_count:
        return CastResult(text, [])
    nulls, error = text.is_null(), sql_error(1048, column.name)
    refuses = statement.upstream.release.lone_null_refused and not statement.updating and statement.rows == 1
    forgiven = statement.mode.lenient and (statement.mode.ignore or not refuses)
    places = np.flatnonzero(np.asarray(nulls))[: MAX_WARNINGS if forgiven else 1]
    row_errors = [RowError(int(place), error, forgiven) for place in places]
    return CastResult(pc.if_else(nulls, zero_value(column), text) if forgiven else text, row_errors)

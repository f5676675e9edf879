"""Casts values to their columns. A value that does not fit is an error, or a warning with another value.

Of several errors the first row counts, and in a row the error that occurred first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb.datums.columns import cast_column
from simulator.tidb.datums.modes import Mode
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.changes.cast_errors import DUPLICATE, SELECT, UPDATE, VALUES, cast_error
from simulator.tidb.sql_engine.changes.defaults import zero_value
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.sessions.clock import session_mode
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS
from simulator.tidb.sql_engine.storage.state import Upstream


class CastContext(NamedTuple):
    """The statement for which rows are computed."""

    table: Table
    rows: int
    upstream: Upstream
    now_ms: int
    first_row: int
    """The number of the first row in errors."""

    mode: Mode
    origin: str
    """An origin of `cast_errors`."""

    @property
    def updating(self) -> bool:
        return self.origin in (UPDATE, DUPLICATE)


def cast_context(
    table: Table, rows: int, upstream: Upstream, now_ms: int, first_row: int, ignore: bool, origin: str
) -> CastContext:
    mode = session_mode(upstream.session, now_ms, ignore, origin in (VALUES, SELECT))
    return CastContext(table, rows, upstream, now_ms, first_row, mode, origin)


class RowError(NamedTuple):
    """An error or a warning about one row."""

    row: int
    error: SqlError
    warning: bool = False


def first_error(row_errors: Iterable[RowError]) -> RowError | None:
    pass
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
            row = 1 if statement.origin == UPDATE else statement.first_row + misfit.row
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

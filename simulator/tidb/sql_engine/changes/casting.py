"""Values that fit a column or not: what of it is an error, and what a warning with another value.

One law: of several faults the one of the first row counts, and in a row the one that was found first.
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
    """What rows are assigned for."""

    table: Table
    rows: int
    upstream: Upstream
    now_ms: int
    first_row: int
    """The number of the first row in errors."""

    mode: Mode
    way: str
    """See `misfits`."""

    @property
    def updating(self) -> bool:
        return self.way in (UPDATE, DUPLICATE)


def cast_context(
    table: Table, rows: int, upstream: Upstream, now_ms: int, first_row: int, ignore: bool, way: str
) -> CastContext:
    mode = session_mode(upstream.session, now_ms, ignore, way in (VALUES, SELECT))
    return CastContext(table, rows, upstream, now_ms, first_row, mode, way)


class RowError(NamedTuple):
    row: int
    error: SqlError
    warning: bool = False


def first_error(faults: Iterable[RowError]) -> RowError | None:
    return min((fault for fault in faults if not fault.warning), key=lambda fault: fault.row, default=None)


def warnings(faults: Iterable[RowError]) -> tuple[str, ...]:
    """As SHOW WARNINGS says them: `1264 Out of range value …`."""
    ordered = sorted((fault for fault in faults if fault.warning), key=lambda fault: fault.row)
    return tuple(f"{fault.error.number} {fault.error.text}" for fault in ordered[:MAX_WARNINGS])


class CastResult(NamedTuple):
    text: pa.Array
    """TiDB text (binary)."""

    faults: list[RowError]


def cast_values(statement: CastContext, columns: Sequence[Column], values: Sequence[pa.Array]) -> list[CastResult]:
    """Values of columns as TiDB text, and what does not fit."""
    return [_cast_column(statement, column, value) for column, value in zip(columns, values, strict=True)]


def _cast_column(statement: CastContext, column: Column, values: pa.Array) -> CastResult:
    made = cast_column(column, values, statement.mode)
    faults, mode = list[RowError](), statement.mode
    for misfit in made.misfits:
        warning = mode.forgives(misfit.problem)
        if not warning or len(faults) < MAX_WARNINGS:
            row = 1 if statement.way == UPDATE else statement.first_row + misfit.row
            faults.append(RowError(misfit.row, cast_error(column, misfit, row, statement.way), warning))
            if not warning:
                break
    return CastResult(made.texts, faults)


def replace_nulls(statement: CastContext, column: Column, text: pa.Array) -> CastResult:
    """A column that is NOT NULL: NULL is an error, or the zero of its type (tidb pkg/table/column.go, HandleBadNull).

    An INSERT of one row may have no lenient mode for it but IGNORE (Release.lone_null_refused).
    """
    if not column.not_null or not text.null_count:
        return CastResult(text, [])
    nulls, error = text.is_null(), sql_error(1048, column.name)
    refuses = statement.upstream.release.lone_null_refused and not statement.updating and statement.rows == 1
    forgiven = statement.mode.lenient and (statement.mode.ignore or not refuses)
    places = np.flatnonzero(np.asarray(nulls))[: MAX_WARNINGS if forgiven else 1]
    faults = [RowError(int(place), error, forgiven) for place in places]
    return CastResult(pc.if_else(nulls, zero_value(column), text) if forgiven else text, faults)

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
from simulator.tidb.sql_engine.changes.cast_errors import DUPLICATE, SELECT, UPDATE, VALUES, misfit_error
from simulator.tidb.sql_engine.changes.defaults import zero_value
from simulator.tidb.sql_engine.errors import refused
from simulator.tidb.sql_engine.sessions.clock import session_mode
from simulator.tidb.sql_engine.storage.state import Upstream

MOST = 64
"""Warnings that TiDB keeps (max_error_count)."""


class Statement(NamedTuple):
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


def statement_of(
    table: Table, rows: int, upstream: Upstream, now_ms: int, first_row: int, ignore: bool, way: str
) -> Statement:
    mode = session_mode(upstream.session, now_ms, ignore, way in (VALUES, SELECT))
    return Statement(table, rows, upstream, now_ms, first_row, mode, way)


class Fault(NamedTuple):
    row: int
    error: SqlError
    warning: bool = False


def first_error(faults: Iterable[Fault]) -> Fault | None:
    return min((fault for fault in faults if not fault.warning), key=lambda fault: fault.row, default=None)


def warnings(faults: Iterable[Fault]) -> tuple[str, ...]:
    """As SHOW WARNINGS says them: `1264 Out of range value …`."""
    ordered = sorted((fault for fault in faults if fault.warning), key=lambda fault: fault.row)
    return tuple(f"{fault.error.number} {fault.error.text}" for fault in ordered[:MOST])


class Fitted(NamedTuple):
    text: pa.Array
    """TiDB text (binary)."""

    faults: list[Fault]


def fitted(statement: Statement, columns: Sequence[Column], values: Sequence[pa.Array]) -> list[Fitted]:
    """Values of columns as TiDB text, and what does not fit."""
    return [_fitted(statement, column, value) for column, value in zip(columns, values, strict=True)]


def _fitted(statement: Statement, column: Column, values: pa.Array) -> Fitted:
    made = cast_column(column, values, statement.mode)
    faults, mode = list[Fault](), statement.mode
    for misfit in made.misfits:
        warning = mode.forgives(misfit.problem)
        if not warning or len(faults) < MOST:
            row = 1 if statement.way == UPDATE else statement.first_row + misfit.row
            faults.append(Fault(misfit.row, misfit_error(column, misfit, row, statement.way), warning))
            if not warning:
                break
    return Fitted(made.texts, faults)


def without_nulls(statement: Statement, column: Column, text: pa.Array) -> Fitted:
    """A column that is NOT NULL: NULL is an error, or the zero of its type (tidb pkg/table/column.go, HandleBadNull).

    An INSERT of one row may have no lenient mode for it but IGNORE (Release.lone_null_refused).
    """
    if not column.not_null or not text.null_count:
        return Fitted(text, [])
    nulls, error = text.is_null(), refused(1048, column.name)
    refuses = statement.upstream.release.lone_null_refused and not statement.updating and statement.rows == 1
    forgiven = statement.mode.lenient and (statement.mode.ignore or not refuses)
    places = np.flatnonzero(np.asarray(nulls))[: MOST if forgiven else 1]
    faults = [Fault(int(place), error, forgiven) for place in places]
    return Fitted(pc.if_else(nulls, zero_value(column), text) if forgiven else text, faults)

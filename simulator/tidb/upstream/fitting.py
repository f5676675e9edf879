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
from simulator.tidb.model.table import Column, Table
from simulator.tidb.upstream.column_texts import column_texts
from simulator.tidb.upstream.defaults import zero_value
from simulator.tidb.upstream.lenient import nearest
from simulator.tidb.upstream.misfits import misfit
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.values.conversion import shown

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

    lenient: bool
    """Whether a value that does not fit is a warning."""

    ignore: bool
    """Whether the statement says IGNORE."""

    updating: bool


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


def fitted(statement: Statement, columns: Sequence[Column], raws: Sequence[pa.Array]) -> list[Fitted]:
    """Raw values of columns as TiDB text, and what does not fit."""
    texts = column_texts(columns, raws, statement.upstream.session)
    return [
        Fitted(text, []) if text.null_count == raw.null_count else _fitted(statement, column, raw, text)
        for column, raw, text in zip(columns, raws, texts)]


def _fitted(statement: Statement, column: Column, raw: pa.Array, text: pa.Array) -> Fitted:
    odd = pc.and_(raw.is_valid(), text.is_null())
    places = np.flatnonzero(np.asarray(odd))
    values = raw.take(pa.array(places if statement.lenient else places[:1]))
    values = values if pa.types.is_binary(values.type) else shown(values).cast(pa.binary())
    known = np.zeros(len(values), np.bool_)
    if statement.lenient:
        made = nearest(column, values)
        text, known = pc.replace_with_mask(text, odd, made), np.asarray(made.is_valid())
    told = {*range(min(len(values), MOST)), *np.flatnonzero(~known)[:1].tolist()}
    faults = [_misfit(statement, column, values[at], int(places[at]), bool(known[at])) for at in sorted(told)]
    return Fitted(text, faults)


def _misfit(statement: Statement, column: Column, value: pa.Scalar, place: int, warning: bool) -> Fault:
    error = misfit(column, value.as_py() or b"", statement.first_row + place, statement.updating)
    return Fault(place, error, warning)


def without_nulls(statement: Statement, column: Column, text: pa.Array) -> Fitted:
    """A column that is NOT NULL: NULL is an error, or the zero of its type (tidb pkg/table/column.go, HandleBadNull).

    An INSERT of one row has no lenient mode for it but IGNORE (pkg/executor/select.go, ResetContextOfStmt).
    """
    if not column.not_null or not text.null_count:
        return Fitted(text, [])
    nulls, error = text.is_null(), refused(1048, column.name)
    forgiven = statement.lenient and (statement.ignore or statement.updating or statement.rows > 1)
    places = np.flatnonzero(np.asarray(nulls))[:MOST if forgiven else 1]
    faults = [Fault(int(place), error, forgiven) for place in places]
    return Fitted(pc.if_else(nulls, zero_value(column), text) if forgiven else text, faults)

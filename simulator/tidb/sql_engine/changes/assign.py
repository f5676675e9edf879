"""The values of new and changed rows: values of the statement, defaults, ids, generated columns.

The error of the first row counts, and in a row that of the first column in TiDB's order: the statement's values as it
names them, then other columns and NULLs in table order, then generated columns (tidb pkg/executor/insert_common.go,
evalRow and fillRow; pkg/executor/update.go).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import same
from simulator.errors import SnapshotError, SqlError
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.expressions.generated_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.sql_engine.changes.casting import (
    UPDATE,
    VALUES,
    CastContext,
    CastResult,
    RowError,
    cast_context,
    cast_values,
    default_texts,
    first_error,
    has_default,
    replace_nulls,
    warnings,
)
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.sessions.clock import now_text
from simulator.tidb.sql_engine.storage import auto_ids
from simulator.tidb.sql_engine.storage.allocators import Counters
from simulator.tidb.sql_engine.storage.auto_ids import IdRequest
from simulator.tidb.sql_engine.storage.state import Upstream

Texts = dict[str, pa.Array]


@dataclass(frozen=True)
class DefaultMarker:
    """DEFAULT as the value of all rows."""


@dataclass(frozen=True)
class AssignmentEffects:
    """What the assignment of values does besides."""

    counters: Counters
    """The id counters after the statement. INSERT advances them, and UPDATE of an AUTO_INCREMENT column."""

    last_insert_id: int | None = None
    """The first id that the statement generated."""

    warnings: tuple[str, ...] = ()
    error: SqlError | None = None
    """The error if new rows have no ids. The ids that were assigned are used up."""


ColumnInput: TypeAlias = Union[pa.Array, DefaultMarker]
ColumnInputs: TypeAlias = Mapping[str, ColumnInput]
"""The input of each column by its name in the table, in the order of the statement: datums, text, bytes as a file has
them (a BIT's are tagged), or Arrow numbers."""


def assign_values(
    table: Table,
    inputs: ColumnInputs,
    rows: int,
    upstream: Upstream,
    now_ms: int,
    ignore: bool = False,
    existing: Mapping[str, pa.Array] | None = None,
    named: Collection[str] = (),
    id_request: IdRequest = IdRequest(),
    origin: str = "",
    default_rows: Mapping[str, pa.Array] = MappingProxyType({}),
) -> tuple[Texts, AssignmentEffects]:
    """Return new rows, or the `existing` rows (TiDB texts of all visible columns) with their changes.

    Rows are the TiDB text (binary) of each visible column, in table order. `default_rows` are the rows (bool) of an
    input that have DEFAULT, by column.
    `named` are columns that other assignments of the statement set; ON UPDATE leaves them alone. `origin` is one
    of `casting` if it is not VALUES or UPDATE. Raises SqlError for the first row that does not fit.
    """
    origin = origin or (VALUES if existing is None else UPDATE)
    statement = cast_context(table, rows, upstream, now_ms, ignore, origin)
    defaults = _needed_defaults(statement, inputs, default_rows)
    texts, row_errors = _cast_inputs(statement, inputs, default_rows, defaults)
    automatic = None if statement.updating else auto_ids.auto_column(table)
    for column in visible_columns(table):
        if column.generated:
            continue
        if column.name not in inputs:
            texts[column.name] = (
                existing[column.name]
                if existing is not None
                else (_implicit_default(statement, column, defaults, row_errors))
            )
        elif column is not automatic:
            texts[column.name] = _collect(row_errors, replace_nulls(statement, column, texts[column.name]))
    row_error = first_error(row_errors)
    if row_error:
        raise _earlier_error(statement, texts, row_error.row) or row_error.error
    counters = auto_ids.counters(table, upstream.rows.get(object_key(table.schema, table.name)))
    if existing is not None:
        texts = _apply_on_update(statement, inputs, texts, existing, named)
        counters = auto_ids.counters_after_update(table, inputs, texts, existing, counters)
    texts = _with_generated(statement, texts, row_errors)
    texts = {column.name: texts[column.name] for column in visible_columns(table)}
    if automatic is None:
        return texts, AssignmentEffects(counters, warnings=warnings(row_errors))
    ids = auto_ids.assign_ids(
        table,
        automatic,
        texts[automatic.name],
        upstream,
        counters,
        now_ms,
        id_request._replace(lenient=statement.mode.lenient, ignore=ignore),
    )
    texts[automatic.name] = ids.texts
    return texts, AssignmentEffects(ids.counters, ids.first, warnings(row_errors), ids.error)


def _collect(row_errors: list[RowError], cast: CastResult) -> pa.Array:
    row_errors += cast.row_errors
    return cast.text


def _needed_defaults(statement: CastContext, inputs: ColumnInputs, default_rows: Mapping[str, pa.Array]) -> Texts:
    """Return the defaults that the rows need."""
    defaulted = {name for name, value in inputs.items() if isinstance(value, DefaultMarker)} | default_rows.keys()
    needed = [
        column
        for column in visible_columns(statement.table)
        if not column.generated
        and not column.auto_increment
        and not column.auto_random
        and (column.name in defaulted or column.name not in inputs and not statement.updating)
    ]
    return default_texts(needed, statement.rows, statement.upstream, statement.now_ms) if needed else {}


def _cast_inputs(
    statement: CastContext, inputs: ColumnInputs, default_rows: Mapping[str, pa.Array], defaults: Texts
) -> tuple[Texts, list[RowError]]:
    """Return the TiDB texts of the columns that the statement names, and the errors, in its order."""
    columns = {column.name: column for column in statement.table.columns}
    named = [columns[name] for name in inputs]
    for column in named:
        if column.generated and not isinstance(inputs[column.name], DefaultMarker):
            _check_generated(column, default_rows.get(column.name), statement.table)
    named = [column for column in named if not column.generated]
    plain = [column for column in named if not isinstance(inputs[column.name], DefaultMarker)]
    casts = cast_values(statement, plain, [inputs[column.name] for column in plain])
    row_errors: list[RowError] = []
    texts = {column.name: _collect(row_errors, each) for column, each in zip(plain, casts)}
    for column in named:
        if isinstance(inputs[column.name], DefaultMarker):
            texts[column.name] = _explicit_default(statement, column, defaults, row_errors)
        elif column.name in default_rows:
            explicit = _explicit_default(statement, column, defaults, row_errors)
            texts[column.name] = pc.if_else(default_rows[column.name], explicit, texts[column.name])
    return texts, row_errors


def _check_generated(column: Column, default_rows: pa.Array | None, table: Table) -> None:
    """Raise SqlError if a generated column gets a value other than DEFAULT (tidb pkg/planner/core/planbuilder.go,
    ErrBadGeneratedColumn)."""
    if default_rows is None or not pc.all(default_rows).as_py():
        raise sql_error(3105, column.name, table.name)


def _explicit_default(statement: CastContext, column: Column, defaults: Texts, row_errors: list[RowError]) -> pa.Array:
    """Return the value of DEFAULT. A column without a default is refused before any row is looked at."""
    if column.auto_increment or column.auto_random:
        return pa.nulls(statement.rows, pa.binary())
    if not has_default(column) and not statement.mode.lenient:
        raise sql_error(1364, column.name)
    return _implicit_default(statement, column, defaults, row_errors)


def _implicit_default(statement: CastContext, column: Column, defaults: Texts, row_errors: list[RowError]) -> pa.Array:
    """Return the value of a column that the statement does not name."""
    if column.auto_increment or column.auto_random:
        return pa.nulls(statement.rows, pa.binary())
    if not has_default(column) and statement.rows:
        row_errors.append(RowError(0, sql_error(1364, column.name), statement.mode.lenient))
    return defaults[column.name]


def _apply_on_update(
    statement: CastContext, inputs: ColumnInputs, texts: Texts, existing: Mapping[str, pa.Array], named: Collection[str]
) -> Texts:
    """Apply ON UPDATE CURRENT_TIMESTAMP to rows that change, unless the statement assigns the column."""
    columns = [
        column
        for column in statement.table.columns
        if column.on_update and column.name not in inputs and column.name not in named
    ]
    unchanged = [same(existing[name], texts[name]) for name in inputs if name in texts] if columns else []
    if not unchanged:
        return texts
    changed = pa.array(~np.logical_and.reduce(unchanged))
    for column in columns:
        digits = max(column.type.decimal, 0)
        now = now_text(column.type.name, digits, statement.upstream.session, statement.now_ms).encode()
        texts[column.name] = pc.if_else(changed, now, existing[column.name])
    return texts


def _with_generated(statement: CastContext, texts: Texts, row_errors: list[RowError]) -> Texts:
    """Return the texts with recomputed stored generated columns. Raises SqlError."""
    stored = [column for column in statement.table.columns if column.generated == "stored"]
    if not stored or not statement.rows:
        return texts | {column.name: pa.nulls(0, pa.binary()) for column in stored}
    names = {column.name for column in stored}
    try:
        computed = compute_generated_columns(
            statement.table, {name: text for name, text in texts.items() if name not in names}
        )
    except SnapshotError as error:
        raise sql_error(1105, error) from None
    inserting = statement._replace(origin=VALUES)
    for column, cast in zip(stored, cast_values(inserting, stored, [computed.given[column.name] for column in stored])):
        texts = {
            **texts,
            column.name: _collect(row_errors, replace_nulls(statement, column, _collect(row_errors, cast))),
        }
    first_row_error = first_error(row_errors)
    if first_row_error:
        raise first_row_error.error
    return texts


def _earlier_error(statement: CastContext, texts: Texts, rows: int) -> SqlError | None:
    """Return the error of a generated column in a row before the one that does not fit."""
    if rows and any(column.generated == "stored" for column in statement.table.columns):
        try:
            before = {name: text.slice(0, rows) for name, text in texts.items()}
            _with_generated(statement._replace(rows=rows), before, [])
        except SqlError as error:
            return error
    return None

"""What new and changed rows hold: values that a statement gives, defaults, ids, generated columns.

One law: a row comes out as TiDB stores it, or the error is that of the first row, and in it of the first column in
TiDB's order, that does not fit: given values as the statement names them, then the others and NULLs in table order,
then generated columns (tidb pkg/executor/insert_common.go, evalRow and fillRow; pkg/executor/update.go).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import same
from simulator.errors import SnapshotError, SqlError
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.expressions.generated_columns import compute_generated_columns
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.sql_engine.changes.cast_errors import UPDATE, VALUES
from simulator.tidb.sql_engine.changes.casting import (
    CastContext,
    CastResult,
    RowError,
    cast_context,
    cast_values,
    first_error,
    replace_nulls,
    warnings,
)
from simulator.tidb.sql_engine.changes.defaults import default_texts, has_default
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.insert_values import InputValues
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
class AssignedRows:
    texts: dict[str, pa.Array]
    """TiDB text (binary) of each visible column, in table order."""

    counters: Counters
    """What the table gives next; INSERT alone moves them, and an UPDATE of an AUTO_INCREMENT column."""

    last_insert_id: int | None = None
    """The first id that the statement made."""

    warnings: tuple[str, ...] = ()
    error: SqlError | None = None
    """Why new rows have no ids; those that were given are used up."""


ColumnInput: TypeAlias = Union[pa.Array, InputValues, DefaultMarker]
ColumnInputs: TypeAlias = Mapping[str, ColumnInput]
"""Values by the column's name as the table spells it, in the order of the statement: datums, text or bytes as a file
has them (a BIT's tagged), or Arrow numbers, which count as SQL's numbers."""


def assign_values(
    table: Table,
    given: ColumnInputs,
    rows: int,
    upstream: Upstream,
    now_ms: int,
    first_row: int = 1,
    ignore: bool = False,
    existing: Mapping[str, pa.Array] | None = None,
    named: Collection[str] = (),
    asked: IdRequest = IdRequest(),
    way: str = "",
) -> AssignedRows:
    """New rows, or with `existing` (TiDB texts of all visible columns) those rows changed.

    `named`: columns that other assignments of the statement give, which ON UPDATE therefore leaves alone. `way`: what
    gives the values (see `misfits`), if not VALUES or UPDATE. Raises SqlError for the first row that does not fit.
    """
    way = way or (VALUES if existing is None else UPDATE)
    statement = cast_context(table, rows, upstream, now_ms, first_row, ignore, way)
    defaults = _needed_defaults(statement, given)
    texts, faults = _cast_inputs(statement, given, defaults)
    automatic = None if statement.updating else auto_ids.auto_column(table)
    for column in visible_columns(table):
        if column.generated:
            continue
        if column.name not in given:
            texts[column.name] = (
                existing[column.name]
                if existing is not None
                else (_implicit_default(statement, column, defaults, faults))
            )
        elif column is not automatic:
            texts[column.name] = _collect(faults, replace_nulls(statement, column, texts[column.name]))
    error = first_error(faults)
    if error:
        raise _earlier_error(statement, texts, error.row) or error.error
    counters = auto_ids.counters(table, upstream.rows.get(object_key(table.schema, table.name)))
    if existing is not None:
        texts = _apply_on_update(statement, given, texts, existing, named)
        counters = auto_ids.counters_after_update(table, given, texts, existing, counters)
    texts = _with_generated(statement, texts, faults)
    texts = {column.name: texts[column.name] for column in visible_columns(table)}
    if automatic is None:
        return AssignedRows(texts, counters, warnings=warnings(faults))
    found = auto_ids.assign_ids(
        table,
        automatic,
        texts[automatic.name],
        upstream,
        counters,
        now_ms,
        asked._replace(lenient=statement.mode.lenient, ignore=ignore),
    )
    texts[automatic.name] = found.texts
    return AssignedRows(texts, found.counters, found.first, warnings(faults), found.error)


def _collect(faults: list[RowError], found: CastResult) -> pa.Array:
    faults += found.faults
    return found.text


def _needed_defaults(statement: CastContext, given: ColumnInputs) -> Texts:
    """The defaults that the rows need."""
    needed = [
        column
        for column in visible_columns(statement.table)
        if not column.generated
        and not column.auto_increment
        and not column.auto_random
        and (not statement.updating if column.name not in given else _may_default(given[column.name]))
    ]
    return default_texts(needed, statement.rows, statement.upstream, statement.now_ms) if needed else {}


def _may_default(value: ColumnInput) -> bool:
    return isinstance(value, DefaultMarker) or _default_mask(value) is not None


def _cast_inputs(statement: CastContext, given: ColumnInputs, defaults: Texts) -> tuple[Texts, list[RowError]]:
    """TiDB texts of the columns that the statement names, and what does not fit, in its order."""
    columns = {column.name: column for column in statement.table.columns}
    named = [columns[name] for name in given]
    for column in named:
        _check_generated(column, given[column.name], statement.table)
    named = [column for column in named if not column.generated]
    plain = [column for column in named if not isinstance(given[column.name], DefaultMarker)]
    found = cast_values(statement, plain, [_raw_values(given[column.name]) for column in plain])
    faults: list[RowError] = []
    texts = {column.name: _collect(faults, each) for column, each in zip(plain, found)}
    for column in named:
        value = given[column.name]
        if isinstance(value, DefaultMarker):
            texts[column.name] = _explicit_default(statement, column, defaults, faults)
        elif (default := _default_mask(value)) is not None:
            texts[column.name] = pc.if_else(
                default, _explicit_default(statement, column, defaults, faults), texts[column.name]
            )
    return texts, faults


def _raw_values(value: ColumnInput) -> pa.Array:
    return value.raw if isinstance(value, InputValues) else value


def _default_mask(value: ColumnInput) -> pa.Array | None:
    """In which rows the value is DEFAULT; None for none."""
    return value.default if isinstance(value, InputValues) else None


def _check_generated(column: Column, value: ColumnInput, table: Table) -> None:
    """A generated column takes DEFAULT alone (tidb pkg/planner/core/planbuilder.go, ErrBadGeneratedColumn)."""
    if not column.generated or isinstance(value, DefaultMarker):
        return
    default = _default_mask(value)
    if default is None or not pc.all(default).as_py():
        raise sql_error(3105, column.name, table.name)


def _explicit_default(statement: CastContext, column: Column, defaults: Texts, faults: list[RowError]) -> pa.Array:
    """DEFAULT as a value; a column without one refuses it before any row is looked at."""
    if column.auto_increment or column.auto_random:
        return pa.nulls(statement.rows, pa.binary())
    if not has_default(column) and not statement.mode.lenient:
        raise sql_error(1364, column.name)
    return _implicit_default(statement, column, defaults, faults)


def _implicit_default(statement: CastContext, column: Column, defaults: Texts, faults: list[RowError]) -> pa.Array:
    """A column that new rows have no value for."""
    if column.auto_increment or column.auto_random:
        return pa.nulls(statement.rows, pa.binary())
    if not has_default(column) and statement.rows:
        faults.append(RowError(0, sql_error(1364, column.name), statement.mode.lenient))
    return defaults[column.name]


def _apply_on_update(
    statement: CastContext, given: ColumnInputs, texts: Texts, existing: Mapping[str, pa.Array], named: Collection[str]
) -> Texts:
    """ON UPDATE CURRENT_TIMESTAMP, where a row really changes and the statement does not assign the column."""
    columns = [
        column
        for column in statement.table.columns
        if column.on_update and column.name not in given and column.name not in named
    ]
    alike = [same(existing[name], texts[name]) for name in given if name in texts] if columns else []
    if not alike:
        return texts
    changed = pa.array(~np.logical_and.reduce(alike))
    for column in columns:
        digits = max(column.type.decimal, 0)
        now = now_text(column.type.name, digits, statement.upstream.session, statement.now_ms).encode()
        texts[column.name] = pc.if_else(changed, now, existing[column.name])
    return texts


def _with_generated(statement: CastContext, texts: Texts, faults: list[RowError]) -> Texts:
    """The texts with those of the stored generated columns, computed anew. Raises SqlError."""
    stored = [column for column in statement.table.columns if column.generated == "stored"]
    if not stored or not statement.rows:
        return texts | {column.name: pa.nulls(0, pa.binary()) for column in stored}
    names = {column.name for column in stored}
    try:
        made = compute_generated_columns(
            statement.table, {name: text for name, text in texts.items() if name not in names}
        )
    except SnapshotError as error:
        raise sql_error(1105, error) from None
    inserting = statement._replace(way=VALUES)
    for column, found in zip(stored, cast_values(inserting, stored, [made.given[column.name] for column in stored])):
        texts = {**texts, column.name: _collect(faults, replace_nulls(statement, column, _collect(faults, found)))}
    fault = first_error(faults)
    if fault:
        raise fault.error
    return texts


def _earlier_error(statement: CastContext, texts: Texts, rows: int) -> SqlError | None:
    """The error of a generated column in a row before the one that does not fit."""
    if rows and any(column.generated == "stored" for column in statement.table.columns):
        try:
            before = {name: text.slice(0, rows) for name, text in texts.items()}
            _with_generated(statement._replace(rows=rows), before, [])
        except SqlError as error:
            return error
    return None

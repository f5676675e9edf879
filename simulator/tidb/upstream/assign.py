"""What new and changed rows hold: values that a statement gives, defaults, ids, generated columns.

One law: a row comes out as TiDB stores it, or the error is that of the first row, and in it of the first column in
TiDB's order, that does not fit: given values as the statement names them, then the others and NULLs in table order,
then generated columns (tidb pkg/executor/insert_common.go, evalRow and fillRow; pkg/executor/update.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import same
from simulator.errors import SnapshotError, SqlError
from simulator.tidb.ddl.catalog import key
from simulator.tidb.expressions.generated import generated
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.upstream import auto_ids
from simulator.tidb.upstream.clock import now_text
from simulator.tidb.upstream.column_texts import column_texts
from simulator.tidb.upstream.defaults import default_texts, has_default
from simulator.tidb.upstream.misfits import misfit
from simulator.tidb.upstream.queries import Given
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.values.conversion import shown


@dataclass(frozen=True)
class Default:
    """DEFAULT as the value of all rows."""


@dataclass(frozen=True)
class Assigned:
    texts: dict[str, pa.Array]
    """TiDB text (binary) of each visible column, in table order."""

    counters: auto_ids.Counters
    """What the table gives next; INSERT alone moves them, and an UPDATE of an AUTO_INCREMENT column."""

    last_insert_id: int | None = None
    """The first id that the statement made."""

    warnings: tuple[str, ...] = ()


class _Fault(NamedTuple):
    row: int
    error: Callable[[], SqlError]


Value: TypeAlias = Union[pa.Array, Given, Default]
Values: TypeAlias = Mapping[str, Value]
"""Raw values by the column's name as the table spells it, in the order of the statement: text or bytes as a file has
them (a BIT's tagged, as `expressions.casts.raw` gives them), or Arrow numbers, which count as SQL's numbers."""


def assigned(
    table: Table, given: Values, rows: int, upstream: Upstream, now_ms: int, first_row: int = 1, ignore: bool = False,
    existing: Mapping[str, pa.Array] | None = None,
) -> Assigned:
    """New rows, or with `existing` (TiDB texts of all visible columns) those rows changed.

    Raises SqlError for the first row that does not fit.
    """
    updating = existing is not None
    columns = {column.name: column for column in table.columns}
    for name, value in given.items():
        _check_generated(columns[name], value, table)
    texts, faults = _given(table, columns, given, rows, upstream, now_ms, first_row, updating)
    others = [column for column in visible_columns(table) if column.name not in given and not column.generated]
    if existing is not None:
        texts |= {column.name: existing[column.name] for column in others}
    else:
        for column in others:
            texts[column.name] = default_texts(column, table, rows, upstream, now_ms)
    faults += _nulls(table, given, texts, rows, updating)
    first = min(faults, key=lambda fault: fault.row, default=None)
    if first is not None:
        raise _generated_first(table, texts, first, first_row, upstream) or first.error()
    counters, made = auto_ids.counters(table, upstream.rows.get(key(table.schema, table.name))), None
    automatic = auto_ids.automatic(table)
    if automatic and (existing is None or automatic.name in given):
        texts[automatic.name], counters, made = auto_ids.with_ids(
            table, automatic, texts[automatic.name], upstream, counters, now_ms)
    if existing is not None:
        texts = _touched(table, given, texts, existing, upstream, now_ms)
    texts = with_generated(table, texts, first_row, upstream)
    return Assigned({column.name: texts[column.name] for column in visible_columns(table)}, counters, made)


def _raw(value: Value) -> pa.Array:
    return value.raw if isinstance(value, Given) else value


def _defaulted(value: Value) -> pa.Array | None:
    """In which rows the value is DEFAULT; None for none."""
    return value.default if isinstance(value, Given) else None


def _check_generated(column: Column, value: Value, table: Table) -> None:
    """A generated column takes DEFAULT alone (tidb pkg/planner/core/planbuilder.go, ErrBadGeneratedColumn)."""
    if not column.generated or isinstance(value, Default):
        return
    default = _defaulted(value)
    if default is None or not pc.all(default).as_py():
        raise refused(3105, column.name, table.name)


def _given(
    table: Table, columns: Mapping[str, Column], given: Values, rows: int, upstream: Upstream, now_ms: int,
    first_row: int, updating: bool,
) -> tuple[dict[str, pa.Array], list[_Fault]]:
    """TiDB texts of the columns that the statement names, in its order, and what does not fit."""
    named = [columns[name] for name in given if not columns[name].generated]
    plain = [column for column in named if not isinstance(given[column.name], Default)]
    raws = [_raw(given[column.name]) for column in plain]
    texts, faults = {column.name: None for column in named}, []
    for column, raw, text in zip(plain, raws, column_texts(plain, raws, upstream.session)):
        texts[column.name] = text
        if text.null_count > raw.null_count:
            faults += _misfits(column, raw, pc.and_(raw.is_valid(), text.is_null()), first_row, updating)
    for column in named:
        value = given[column.name]
        default = pa.scalar(True) if isinstance(value, Default) else _defaulted(value)
        if default is not None:
            made = _default(table, column, rows, upstream, now_ms)
            texts[column.name] = made if texts[column.name] is None else pc.if_else(default, made, texts[column.name])
    return texts, faults


def _misfits(column: Column, raw: pa.Array, places: pa.Array, first_row: int, updating: bool) -> list[_Fault]:
    at = pc.index(places, pa.scalar(True)).as_py()
    if at < 0:
        return []
    value = raw.slice(at, 1)
    bytes = (value if pa.types.is_binary(value.type) else shown(value).cast(pa.binary()))[0].as_py()
    return [_Fault(at, lambda: misfit(column, bytes or b"", first_row + at, updating))]


def _default(table: Table, column: Column, rows: int, upstream: Upstream, now_ms: int) -> pa.Array:
    """DEFAULT as a value; a column without one refuses it before any row is looked at."""
    if column.auto_increment or column.auto_random:
        return pa.nulls(rows, pa.binary())
    if not has_default(column):
        raise refused(1364, column.name)
    return default_texts(column, table, rows, upstream, now_ms)


def _nulls(table: Table, given: Values, texts: Mapping[str, pa.Array], rows: int, updating: bool) -> list[_Fault]:
    """In table order: columns that have no value at all, and NULL where it must not be."""
    faults = []
    for column in visible_columns(table):
        if column.generated or column.auto_increment and not updating or column.auto_random and not updating:
            continue
        if column.name in given:
            text = texts[column.name]
            if column.not_null and text.null_count:
                faults += _null(column, text)
        elif not updating and rows and not has_default(column):
            faults.append(_Fault(0, partial(refused, 1364, column.name)))
    return faults


def _null(column: Column, text: pa.Array) -> list[_Fault]:
    return [_Fault(pc.index(text.is_null(), pa.scalar(True)).as_py(), partial(refused, 1048, column.name))]


def _touched(
    table: Table, given: Values, texts: dict[str, pa.Array], existing: Mapping[str, pa.Array], upstream: Upstream,
    now_ms: int,
) -> dict[str, pa.Array]:
    """ON UPDATE CURRENT_TIMESTAMP, where a row really changes and the statement does not assign the column."""
    columns = [column for column in visible_columns(table) if column.on_update and column.name not in given]
    if not columns:
        return texts
    alike = [same(existing[name], texts[name]) for name in given if name in texts]
    changed = pa.array(~np.logical_and.reduce(alike)) if alike else pa.scalar(False)
    for column in columns:
        now = now_text(column.type.name, max(column.type.decimal, 0), upstream.session, now_ms).encode()
        texts[column.name] = pc.if_else(changed, now, existing[column.name])
    return texts


def with_generated(
    table: Table, texts: Mapping[str, pa.Array], first_row: int, upstream: Upstream,
) -> dict[str, pa.Array]:
    """The texts with those of the stored generated columns, computed anew.

    Raises SqlError for a value that such a column does not take.
    """
    stored = [column for column in table.columns if column.generated == "stored"]
    if not stored:
        return dict(texts)
    names = {column.name for column in stored}
    try:
        made = generated(table, {name: text for name, text in texts.items() if name not in names})
    except SnapshotError as error:
        raise refused(1105, error) from None
    faults = []
    for column in stored:
        text, raw = made.texts[column.name], made.raw[column.name]
        if text.null_count > raw.null_count:
            faults += _misfits(column, raw, pc.and_(raw.is_valid(), text.is_null()), first_row, False)
        elif column.not_null and text.null_count:
            faults += _null(column, text)
    first = min(faults, key=lambda fault: fault.row, default=None)
    if first is not None:
        raise first.error()
    return {**texts, **{name: made.texts[name].cast(pa.binary()) for name in names}}


def _generated_first(
    table: Table, texts: Mapping[str, pa.Array], fault: _Fault, first_row: int, upstream: Upstream,
) -> SqlError | None:
    """The error of a generated column in a row before the one that does not fit."""
    if not fault.row or not any(column.generated == "stored" for column in table.columns):
        return None
    try:
        with_generated(table, {name: text.slice(0, fault.row) for name, text in texts.items()}, first_row, upstream)
    except SqlError as error:
        return error
    return None

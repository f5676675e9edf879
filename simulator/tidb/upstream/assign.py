"""What new and changed rows hold: values that a statement gives, defaults, ids, generated columns.

One law: a row comes out as TiDB stores it, or the error is that of the first row, and in it of the first column in
TiDB's order, that does not fit: given values as the statement names them, then the others and NULLs in table order,
then generated columns (tidb pkg/executor/insert_common.go, evalRow and fillRow; pkg/executor/update.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

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
from simulator.tidb.upstream.misfits import cannot_be_null, misfit, no_default
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.values.conversion import shown


@dataclass(frozen=True)
class Default:
    """DEFAULT as a value."""

    where: pa.Array | None = None
    """boolean: in which rows; None for all."""

    others: pa.Array | None = None
    """Raw values, of which those of the other rows count."""


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


Values = Mapping[str, pa.Array | Default]
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


def _check_generated(column: Column, value: pa.Array | Default, table: Table) -> None:
    """A generated column takes DEFAULT alone (tidb pkg/planner/core/planbuilder.go, ErrBadGeneratedColumn)."""
    if column.generated and not (isinstance(value, Default) and value.where is None):
        raise SqlError(3105, "HY000", f"The value specified for generated column '{column.name}' in table "
                                      f"'{table.name}' is not allowed.")


def _given(
    table: Table, columns: Mapping[str, Column], given: Values, rows: int, upstream: Upstream, now_ms: int,
    first_row: int, updating: bool,
) -> tuple[dict[str, pa.Array], list[_Fault]]:
    """TiDB texts of the columns that the statement names, in its order, and what does not fit."""
    named = [(columns[name], value) for name, value in given.items() if not columns[name].generated]
    raws = [(column, value.others if isinstance(value, Default) else value) for column, value in named]
    plain = [(column, value) for column, value in raws if value is not None]
    found = column_texts([column for column, _ in plain], [value for _, value in plain], upstream.session)
    texts, faults = {}, []
    for (column, raw), text in zip(plain, found):
        texts[column.name] = text
        value = given[column.name]
        wrong = text.null_count > raw.null_count
        if wrong:
            places = pc.and_(raw.is_valid(), text.is_null())
            places = pc.and_not(places, value.where) if isinstance(value, Default) else places
            faults += _misfits(column, raw, places, first_row, updating)
    for column, value in named:
        if isinstance(value, Default):
            texts[column.name] = _with_defaults(table, column, value, texts.get(column.name), rows, upstream, now_ms)
    return {column.name: texts[column.name] for column, _ in named}, faults


def _misfits(column: Column, raw: pa.Array, places: pa.Array, first_row: int, updating: bool) -> list[_Fault]:
    at = pc.index(places, pa.scalar(True)).as_py()
    if at < 0:
        return []
    value = raw.slice(at, 1)
    bytes = (value if pa.types.is_binary(value.type) else shown(value).cast(pa.binary()))[0].as_py()
    return [_Fault(at, lambda: misfit(column, bytes or b"", first_row + at, updating))]


def _with_defaults(
    table: Table, column: Column, value: Default, others: pa.Array | None, rows: int, upstream: Upstream, now_ms: int,
) -> pa.Array:
    """DEFAULT where it stands; a column without one refuses it before any row is looked at."""
    if column.auto_increment or column.auto_random:
        default = pa.nulls(rows, pa.binary())
    elif has_default(column):
        default = default_texts(column, table, rows, upstream, now_ms)
    else:
        raise no_default(column)
    return default if value.where is None else pc.if_else(value.where, default, others)


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
            faults.append(_Fault(0, partial(no_default, column)))
    return faults


def _null(column: Column, text: pa.Array) -> list[_Fault]:
    return [_Fault(pc.index(text.is_null(), pa.scalar(True)).as_py(), partial(cannot_be_null, column))]


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
        raise SqlError(1105, "HY000", str(error)) from None
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

"""Converts stored rows to another definition of their table, for ALTER TABLE and CREATE INDEX.

If a row does not fit, the statement is refused with TiDB's error and nothing changes. A lenient sql_mode clips values
instead, with warnings (tidb v8.5 pkg/ddl/column.go, modify_column.go, index.go, partition.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.errors import SnapshotError
from simulator.tidb.datums.columns import cast_column
from simulator.tidb.datums.kinds import cell_datum, datums_of
from simulator.tidb.datums.modes import Mode
from simulator.tidb.ddl.column_sources import ColumnSource, FromColumn, find_column_sources
from simulator.tidb.ddl.converted_rows import ConvertedRows, convert_rows, rows_that_fit
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.sql_engine.ddl.conversion_errors import conversion_error, null_conversion_error
from simulator.tidb.sql_engine.ddl.older_rows import lacking_columns
from simulator.tidb.sql_engine.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.storage.array_keys import check_distinct, check_values
from simulator.tidb.sql_engine.storage.row_keys import duplicate_error, earlier_duplicates, unique_keys
from simulator.tidb.sql_engine.storage.rows import column_arrays, ensure_keys
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows
from simulator.tidb.values.conversion import tidb_text


class ConvertedTable(NamedTuple):
    """The rows of a table after a conversion."""

    rows: StoredRows
    warnings: tuple[str, ...] = ()


def convert_stored_rows(
    stored: StoredRows, after: Table, session: SqlSession, now: str, now_ms: int, knows_older_rows: bool
) -> ConvertedTable:
    """Return the rows of a table in another definition at a moment (`2020-02-20 02:20:20.123456`).

    `knows_older_rows` is whether they tell what columns they lack. Raises SqlError if a row does not fit.
    """
    before = stored.table
    rows = len(stored.row_ids)
    sources = find_column_sources(before, after)
    if not rows:
        return ConvertedTable(
            _with_cells(stored, after, {column.name: pa.array([], pa.binary()) for column in visible_columns(after)})
        )
    cells = column_arrays(stored.cells)
    texts = [cells[column.name].view(pa.string()) for column in visible_columns(before)]
    _reject_invalid_utf8(sources, texts)
    texts = _in_session_zone(before, sources, texts, session)
    try:
        converted = convert_rows(after, sources, texts, rows, now[:10])
    except SnapshotError as error:
        raise sql_error_with_text(1105, str(error)) from None
    for source, column in zip(sources, visible_columns(after), strict=True):
        if isinstance(source, FromColumn) and _becomes_timestamp(source):
            moments = _nulls_to_now(column, texts[source.index], converted.texts[column.name], now)
            converted.texts[column.name] = clock.to_utc(session, moments)
    warnings = tuple(_clip_values(before, after, sources, texts, converted, clock.session_mode(session, now_ms)))
    _check_values(before, after, sources, texts, converted)
    texts_after = {name: raw(text) for name, text in converted.texts.items()}
    lacking = lacking_columns(stored, after) if knows_older_rows else {}
    keyed = ensure_keys(_with_cells(stored, after, {**texts_after, **lacking}))
    check_unique(keyed)
    check_values(after, column_arrays(keyed.cells))
    check_distinct(after, column_arrays(keyed.cells))
    return ConvertedTable(keyed, warnings)


def _reject_invalid_utf8(sources: Sequence[ColumnSource], texts: Sequence[pa.Array]) -> None:
    """Raise SqlError for bytes that are not UTF-8 in a text that is shortened or changes its type."""
    for source in sources:
        if isinstance(source, FromColumn) and source.cast:
            try:
                texts[source.index].validate(full=True)
            except pa.ArrowInvalid:
                raise not_simulated(
                    "a text with bytes that are no UTF-8 is not converted; to a longer text it is"
                ) from None


def _with_cells(stored: StoredRows, after: Table, cells: dict[str, pa.Array]) -> StoredRows:
    return StoredRows(after, pa.table(cells), stored.row_ids, stored.counters)


def check_unique(stored: StoredRows) -> None:
    """Raise SqlError 1062 for the first row, in the order of TiKV, that repeats a unique key."""
    table, keys = stored.table, stored.keys
    assert keys is not None
    for key in unique_keys(table):
        key_bytes = keys.handles if key.clustered else keys.unique[key.name.lower()]
        repeated = np.flatnonzero(earlier_duplicates([key_bytes]) >= 0)
        if len(repeated):
            raise duplicate_error(table, key, column_arrays(stored.cells), int(repeated[0]))


def _in_session_zone(
    before: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], session: SqlSession
) -> list[pa.Array]:
    """Return the texts with TIMESTAMPs that change their type in the session's time zone."""
    converted = list(texts)
    for source in sources:
        if isinstance(source, FromColumn) and source.before.name == "timestamp" != source.after.name:
            converted[source.index] = clock.to_session_zone(session, texts[source.index])
    return converted


def _becomes_timestamp(source: FromColumn) -> bool:
    return source.after.name == "timestamp" != source.before.name


def _nulls_to_now(column: Column, text: pa.Array, converted: pa.Array, now: str) -> pa.Array:
    """Replace NULL with the present moment in a new TIMESTAMP that is NOT NULL (getRowRecord)."""
    if not column.not_null or not text.null_count:
        return converted
    return pc.if_else(text.is_null(), tidb_text(column.type, pa.array([now]))[0], converted)


def _clip_values(
    before: Table,
    after: Table,
    sources: Sequence[ColumnSource],
    texts: Sequence[pa.Array],
    converted: ConvertedRows,
    mode: Mode,
) -> Iterator[str]:
    """Cast values that do not fit as an INSERT does, if sql_mode forgives them. Yield TiDB's warning for each error
    (tidb pkg/ddl/column.go, getRowRecord; pkg/ddl/ddl.go, DoDDLJob)."""
    if mode.strict and not mode.any_day:
        return
    for column, source, fitting in rows_that_fit(after, sources, texts, converted):
        if not isinstance(source, FromColumn) or not source.cast:
            continue
        unfit = pc.and_(pc.invert(fitting), texts[source.index].is_valid())
        unfit_texts = texts[source.index].filter(unfit).dictionary_encode()
        cells = [text.encode() for text in unfit_texts.dictionary.to_pylist()]
        cast = cast_column(column, datums_of(cell_datum(source.before, cell) for cell in cells), mode)
        if not cells or not all(mode.forgives(misfit.problem) for misfit in cast.misfits):
            continue
        casted = cast.texts.view(pa.string()).take(unfit_texts.indices)
        converted.texts[column.name] = pc.replace_with_mask(converted.texts[column.name], unfit, casted)
        old = visible_columns(before)[source.index]
        clipped = [unfit_texts.dictionary[misfit.row].as_py() for misfit in cast.misfits]
        errors = {text: conversion_error(old, source.after, text) for text in clipped}
        row_errors = [errors[text] for text in unfit_texts.to_pylist() if text in errors]
        for number in dict.fromkeys(error.number for error in row_errors):
            same = [error for error in row_errors if error.number == number]
            count = f"{len(same)} warnings with this error code, first warning: " if len(same) > 1 else ""
            yield f"{number} {count}{same[0].text}"


def _check_values(
    before: Table, after: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], now: ConvertedRows
) -> None:
    """Raise the SqlError of the first row that does not fit."""
    for column, source, mask in rows_that_fit(after, sources, texts, now):
        if pc.all(mask, min_count=0).as_py():
            continue
        if not isinstance(source, FromColumn):
            raise sql_error(1048, column.name)
        if column.not_null and texts[source.index].null_count and not _becomes_timestamp(source):
            raise null_conversion_error(column)
        row = int(np.argmin(mask.to_numpy(zero_copy_only=False)))
        raise conversion_error(visible_columns(before)[source.index], source.after, texts[source.index][row].as_py())

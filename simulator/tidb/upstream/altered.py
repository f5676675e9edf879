"""Stored rows under another definition of their table: what ALTER TABLE and CREATE INDEX make of them.

One law: all rows are as the new definition says, or the statement is refused in TiDB's words and nothing changes
(tidb v8.5 pkg/ddl/column.go, modify_column.go, index.go, partition.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.errors import SnapshotError, SqlError
from simulator.tidb.ddl.column_sources import ColumnSource, FromColumn, conversion
from simulator.tidb.ddl.converted_rows import ConvertedRows, converted_rows, fits
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.upstream import clock
from simulator.tidb.upstream.refusals import refused, worded
from simulator.tidb.upstream.state import SqlSession, StoredRows
from simulator.tidb.upstream.stored import columns_of, keyed
from simulator.tidb.upstream.unique import duplicate, earlier, unique_keys
from simulator.tidb.values.conversion import convertible
from simulator.tidb.values.numbers import number


def altered(stored: StoredRows, after: Table, session: SqlSession) -> StoredRows:
    """The rows of a table as another definition of it holds them. Raises SqlError where it cannot hold one."""
    before = stored.table
    rows = len(stored.row_ids)
    sources = conversion(before, after)
    if not rows:
        return _with_cells(stored, after, {
            column.name: pa.array([], pa.binary()) for column in visible_columns(after)})
    known = columns_of(stored.cells)
    texts = [known[column.name].view(pa.string()) for column in visible_columns(before)]
    texts = _in_session_zone(before, sources, texts, session)
    _check_convertible(sources, texts)
    try:
        now = converted_rows(after, sources, texts, rows)
    except SnapshotError as error:
        raise worded(1105, str(error)) from None
    for source, column in zip(sources, visible_columns(after), strict=True):
        if isinstance(source, FromColumn) and _enters_utc(source):
            now.texts[column.name] = clock.utc(session, now.texts[column.name])
    _check_fits(before, after, sources, texts, now)
    made = keyed(_with_cells(stored, after, {name: raw(text) for name, text in now.texts.items()}))
    check_unique(made)
    return made


def _with_cells(stored: StoredRows, after: Table, cells: dict[str, pa.Array]) -> StoredRows:
    return replace(stored, table=after, cells=pa.table(cells), keys=None)


def check_unique(stored: StoredRows) -> None:
    """Raises SqlError 1062 for the first row, in the order of TiKV, that has a unique key of an earlier one."""
    table, keys = stored.table, stored.keys
    assert keys is not None
    for key in unique_keys(table):
        made = keys.handles if key.clustered else keys.unique[key.name.lower()]
        again = np.flatnonzero(earlier([made]) >= 0)
        if len(again):
            raise duplicate(table, key, columns_of(stored.cells), int(again[0]))


def _in_session_zone(
    before: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], session: SqlSession
) -> list[pa.Array]:
    """The texts with TIMESTAMPs that become something else as the session shows them."""
    shown = list(texts)
    for source in sources:
        if isinstance(source, FromColumn) and source.before.name == "timestamp" != source.after.name:
            shown[source.index] = clock.local(session, texts[source.index])
    return shown


def _enters_utc(source: FromColumn) -> bool:
    return source.after.name == "timestamp" != source.before.name


def _check_convertible(sources: Sequence[ColumnSource], texts: Sequence[pa.Array]) -> None:
    """Raises SqlError for a conversion of values that is not simulated."""
    for source in sources:
        if isinstance(source, FromColumn) and source.cast and not convertible(source.before, source.after):
            if texts[source.index].null_count < len(texts[source.index]):
                raise worded(1105, f"a column's values are not converted from {source.before.name} to"
                                   f" {source.after.name} here; accepted: columns without values")


def _check_fits(
    before: Table, after: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], now: ConvertedRows
) -> None:
    """Raises the SqlError of the first row over which TiDB could not run the statement."""
    for column, source, mask in fits(after, sources, texts, now):
        if pc.all(mask, min_count=0).as_py():
            continue
        row = int(np.argmin(mask.to_numpy(zero_copy_only=False)))
        if not isinstance(source, FromColumn):
            raise refused(1048, column.name)
        cell = texts[source.index][row].as_py()
        was = visible_columns(before)[source.index]
        if cell is None:
            raise refused(1138) if was.type.name == column.type.name else refused(
                1265, column.name.lower(), texts[source.index].null_count)
        raise misfit(was, source.after, cell)


def misfit(column: Column, type: ColumnType, text: str) -> SqlError:
    """What TiDB says of a value that does not fit another type (tidb v8.5 pkg/ddl/column.go, reformatErrors;
    tests/integrationtest/r/ddl/column_type_change.result)."""
    kind = family(type)
    document = family(column.type) == "json"
    is_number = number(pa.array([text], pa.string()))[0].is_valid
    if kind in ("integer", "bit") and is_number:
        return worded(1690, f"constant {text} overflows {type.name}")
    if kind == "integer":
        return worded(1292, f"Truncated incorrect {'INTEGER' if document else 'DOUBLE'} value: '{text}'")
    if kind in ("decimal", "float", "year") and is_number:
        return worded(1264, f"Out of range value for column '{column.name}', the value is '{text}'")
    if kind in ("decimal", "float", "year"):
        shown = "DECIMAL" if kind == "decimal" else "FLOAT" if document else "DOUBLE"
        return worded(1292, f"Truncated incorrect {shown} value: '{text}'")
    if kind in ("date", "datetime", "time"):
        return worded(1292, f"Incorrect {type.name} value: '{text}'")
    if kind == "json":
        return worded(3140, "Invalid JSON text: The document root must not be followed by other values.")
    return worded(1265, f"Data truncated for column '{column.name}', value is '{text}'")

"""The stored rows of a table under another definition.

Rows keep the layout in which they were written, so most DDL writes nothing. MODIFY COLUMN writes the columns that a row
has and the changed one (tidb v6.5 pkg/ddl/column.go, updateColumnWorker). A new unique key gets an entry for each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from simulator.columns.row_image import image_of
from simulator.errors import SqlError
from simulator.tidb.datums import CastProblem, Datum, Mode, cell_datum, datum_text
from simulator.tidb.datums.cast import cast_value, changed_datum
from simulator.tidb.ddl.column_definitions import FromColumn, find_column_sources
from simulator.tidb.engine import CommittedTransaction
from simulator.tidb.engine.context import StatementContext, local_timestamp, now_text
from simulator.tidb.engine.session import table_changes
from simulator.tidb.engine.writes.assign import index_values
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.table import Cells, Column, Index, Table, visible_columns
from simulator.tidb.model.types import ColumnType, family, needs_reorganization
from simulator.tidb.storage.row_keys import array_keys, duplicate_error, entries_of, entry_keys
from simulator.tidb.storage.rows import NEWEST, Entry, Handle, Layout, TableRows, Version
from simulator.tidb.storage.tables import RowReader, StoredTable, layout_of
from simulator.tidb.storage.transactions import Change
from simulator.tidb.values.documents import text_of_stored
from simulator.tidb.values.moments import number_moment

Apply = Callable[[int], None]
"""Writes what was prepared, at the ts of the statement."""


class Row(NamedTuple):
    """A stored row."""

    ordinal: int
    handle: Handle
    version: Version
    cells: Cells
    """Under the later definition."""


class Conversion(NamedTuple):
    """A table under a later definition."""

    stored: StoredTable
    apply: tuple[Apply, ...] = ()
    warnings: tuple[str, ...] = ()
    rows: Callable[[], Iterable[Row]] = lambda: ()


def stored_versions(stored: StoredTable) -> Iterator[tuple[int, Handle, Version]]:
    """Yield the newest rows of a table in the order of TiKV."""
    for ordinal, rows in enumerate(stored.partitions):
        for handle, version in rows.scan(NEWEST):
            yield ordinal, handle, version


def convert_table(stored: StoredTable, after: Table, context: StatementContext) -> Conversion:
    """Return a table in another definition with as many partitions. Raises SqlError if a row does not fit."""
    before, reader = stored.table, RowReader(after)
    columns = _checked_columns(before, after)
    changed, warnings, apply = list[Row](), list[str](), list[Apply]()
    if columns:
        found = list(stored_versions(stored))
        old_reader = RowReader(before)
        old = [old_reader.cells(version) for _, _, version in found]
        new = [reader.cells(version) for _, _, version in found]
        for place, column, source in columns:
            cells, more = convert_cells(
                [row[source.index] for row in old], visible_columns(before)[source.index], column, source.cast, context
            )
            warnings += more
            for row, cell in zip(new, cells, strict=True):
                row[place] = cell
        changed = [Row(*each, cells) for each, cells in zip(found, new, strict=True)]

    def rows() -> Iterable[Row]:
        if columns:
            return changed
        return (Row(*each, reader.cells(each[2])) for each in stored_versions(stored))

    written = {column.id for _, column, source in columns if source.cast}
    result = replace(stored, table=after)
    if written:
        apply.append(_rewrite(result, changed, written))
    _check_index_values(before, after, rows, context)
    ids = _new_keys(before, after, written)
    if ids:
        apply.append(_entries(result, ids, rows()))
    return Conversion(result, tuple(apply), tuple(warnings), rows)


def reorganized_columns(before: Table, after: Table) -> list[Column]:
    """Return the columns whose values TiDB writes again because of their new type."""
    types = {column.id: column.type for column in before.columns}
    return [
        column for column in after.columns if column.id in types and needs_reorganization(types[column.id], column.type)
    ]


def _checked_columns(before: Table, after: Table) -> list[tuple[int, Column, FromColumn]]:
    """Return the columns whose values may change, or not fit, with their places and sources."""
    old, checked = visible_columns(before), []
    for place, (column, source) in enumerate(
        zip(visible_columns(after), find_column_sources(before, after), strict=True)
    ):
        if isinstance(source, FromColumn) and (source.cast or column.not_null and not old[source.index].not_null):
            checked.append((place, column, source))
    return checked


def _rewrite(stored: StoredTable, rows: Sequence[Row], written: set[int]) -> Apply:
    """Return what writes rows with some columns again. They lack the columns that they lacked before, but for these."""
    places = {column.id: place for place, column in enumerate(visible_columns(stored.table))}
    layouts = dict[Layout, Layout]()

    def apply(ts: int) -> None:
        for row in rows:
            layout = layouts.get(row.version.layout)
            if layout is None:
                has = {*row.version.layout, *written}
                layout = tuple(id for id in layout_of(stored.table) if id in has)
                layouts[row.version.layout] = layout
            image = image_of([row.cells[places[id]] for id in layout])
            stored.partitions[row.ordinal].write(row.handle, Version(ts, image, layout), 0)

    return apply


# -- keys --------------------------------------------------------------------------------------------------------------


def _check_index_values(
    before: Table, after: Table, rows: Callable[[], Iterable[Row]], context: StatementContext
) -> None:
    """Compute the expressions of new indexes, which TiDB stores. Raises SqlError."""
    known = {index.id for index in before.indexes}
    added = [evaluate for index, evaluate in index_values(after) if index.id not in known]
    if added:
        for row in rows():
            for evaluate in added:
                evaluate(row.cells, context)


def _new_keys(before: Table, after: Table, written: set[int]) -> set[int]:
    """Return the ids of the indexes that need other entries than the table has: of unique ones, and of arrays, whose values
    are checked."""
    known = {index.id: index for index in before.indexes}
    rewritten = {column.name.lower() for column in after.columns if column.id in written}
    with_entries = {*(key.index_id for key in entry_keys(after)), *(key.index.id for key in array_keys(after))}
    return {
        index.id
        for index in after.indexes
        if index.id in with_entries and _is_changed(known.get(index.id), index, before, after, rewritten)
    }


def _is_changed(old: Index | None, index: Index, before: Table, after: Table, rewritten: set[str]) -> bool:
    names = {part.name.lower() for part in index.columns}
    return (
        old is None
        or old.unique != index.unique
        or not names.isdisjoint(rewritten)
        or _collations(before, old) != _collations(after, index)
    )


def _collations(table: Table, index: Index) -> list[tuple[str, int]]:
    collations = {column.name.lower(): column.type.collation for column in table.columns}
    return [(collations.get(part.name.lower(), ""), part.length) for part in index.columns]


def _entries(stored: StoredTable, ids: set[int], rows: Iterable[Row]) -> Apply:
    """Return what writes the entries of unique keys, given the ids of their indexes.

    Raises SqlError 1062 for the first row, in the order of TiKV, that repeats a key, and for arrays that an index does not
    take.
    """
    read = entries_of(stored.table)
    found = {id: dict[TableRows, dict[bytes, tuple[Handle, int]]]() for id in ids}
    repeated = dict[int, SqlError]()
    for number, row in enumerate(rows, 1):
        for key, value in read(row.cells, number):
            if key.index_id not in ids:
                continue
            where = stored.entries(row.ordinal, key.unpartitioned)
            entries = found[key.index_id].setdefault(where, {})
            if value in entries:
                repeated.setdefault(key.index_id, duplicate_error(stored.table, (key, value), row.cells))
            entries[value] = ((row.ordinal, row.handle) if key.unpartitioned else row.handle), row.version.ts
    for index in stored.table.indexes:
        if index.id in repeated:
            raise repeated[index.id]

    def apply(ts: int) -> None:
        for id in ids:
            for where in {*stored.partitions, stored.unpartitioned}:
                _write_entries(where, id, found[id].get(where, {}), ts)

    return apply


def _write_entries(where: TableRows, id: int, new: Mapping[bytes, tuple[Handle, int]], ts: int) -> None:
    """Replace the entries of an index. Those of a new one are as old as their rows."""
    old = where.entries.get(id, {})
    for value, versions in old.items():
        if value not in new and versions[-1].handle is not None:
            where.write_entry(id, value, Entry(ts, None), 0)
    for value, (handle, written) in new.items():
        if where.handle_of(id, value) != handle:
            where.write_entry(id, value, Entry(ts if old else written, handle), 0)


# -- what a changefeed sees of MODIFY COLUMN ---------------------------------------------------------------------------

BATCH = 256
"""Rows of a transaction: tidb_ddl_reorg_batch_size."""


def rewriting_transactions(
    stored: StoredTable, after: Table, context: StatementContext
) -> Iterator[CommittedTransaction]:
    """Yield the transactions that write the rows of a table again, once for each column of another type.

    TiDB writes each row with a hidden column beside the old one, which TiCDC does not know before the job is done: to it
    the row is as it was (tidb v6.5 pkg/ddl/column.go, updateColumnWorker; tiflow issues 2434 and 8686).
    """
    columns = reorganized_columns(stored.table, after)
    reader = RowReader(stored.table)
    found = list(stored_versions(stored)) if columns else []
    for _ in columns:
        for start in range(0, len(found), BATCH):
            changes = [
                Change(stored, ordinal, handle, version, image_of(reader.cells(version)))
                for ordinal, handle, version in found[start : start + BATCH]
            ]
            rewritten = table_changes(stored, changes, context.database.release)
            yield CommittedTransaction((replace(rewritten, are_rewritten=True),))


# -- the values of columns of another type --------------------------------------------------------------------------------


Cell = bytes | None


class ConvertedCells(NamedTuple):
    """The cells of a column in another type."""

    cells: list[Cell]
    warnings: tuple[str, ...] = ()


def convert_cells(
    cells: Sequence[Cell], before: Column, after: Column, casts: bool, context: StatementContext
) -> ConvertedCells:
    """Return the cells of a column in its later definition; with `casts`, its values may change. Raises SqlError for the
    first one that does not fit."""
    becomes_timestamp = after.type.name == "timestamp" != before.type.name
    if after.not_null and None in cells and not becomes_timestamp:
        raise sql_error(1265, after.name.lower(), 1)
    if not casts:
        return ConvertedCells([*cells])
    mode, known, now = _mode(context), dict[bytes, tuple[Cell, SqlError | None]](), None
    if becomes_timestamp and after.not_null:  # NULLs become the moment
        digits = max(after.type.decimal, 0)
        now = now_text("timestamp", digits, context.session.settings, context.now_ms).encode()
    found, errors = list[Cell](), list[SqlError]()
    for cell in cells:
        if cell is None:
            found.append(now)
            continue
        if cell not in known:
            known[cell] = _converted(cell, before, after, mode, context)
        value, error = known[cell]
        found.append(value)
        if error is not None:
            errors.append(error)
    return ConvertedCells(found, tuple(_merged(errors)))


def _mode(context: StatementContext) -> Mode:
    """Return how a job casts values: a strict sql_mode refuses zeros in dates, whatever else it says (tidb pkg/ddl/reorg.go,
    reorgTypeFlagsWithSQLMode)."""
    mode = context.mode
    return mode._replace(sql_mode=mode.sql_mode | {"NO_ZERO_DATE", "NO_ZERO_IN_DATE"}) if mode.strict else mode


def _converted(
    cell: bytes, before: Column, after: Column, mode: Mode, context: StatementContext
) -> tuple[Cell, SqlError | None]:
    """Return a value in the later type, with the error that a lenient mode forgives. Raises SqlError."""
    if before.type.name == "timestamp" != after.type.name:
        cell = local_timestamp(cell.decode(), context.session.settings).encode()
    written = cell
    if before.type.name == "json":
        written = text_of_stored(cell.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
    datum = changed_datum(before.type, after.type, written)
    assert datum is not None, "TiDB changes the types"
    value, problem = cast_value(after.type, before.name, datum, mode)
    if problem is None:
        return value, None
    error = _error(before, after.type, problem, cell_datum(before.type, cell))
    if not mode.forgives(problem):
        raise error
    return value, error


def _error(before: Column, after: ColumnType, problem: CastProblem, datum: Datum) -> SqlError:
    if problem.number in (1265, 1406):
        return sql_error_with_text(1265, f"Data truncated for column '{before.name}', value is '{datum_text(datum)}'")
    if problem.number == 1264:
        return sql_error_with_text(
            1264, f"Out of range value for column '{before.name}', the value is '{datum_text(datum)}'"
        )
    if problem.number == 1292 and family(after) in ("date", "datetime"):
        return sql_error_with_text(1292, _moment_error(before.type, after, datum))
    return sql_error_with_text(problem.number, problem.text)


def _moment_error(before: ColumnType, after: ColumnType, datum: Datum) -> str:
    """Return the text of the error of a value that is no moment (tidb pkg/types/time.go, parseDateTimeFromNum)."""
    text = datum_text(datum)
    if family(before) in ("integer", "year"):
        if text == "0":
            return f"Truncated incorrect {after.name} value: '0'"
        moment = number_moment(int(text))
        if moment is None or moment.month and moment.day:
            return f"Incorrect time value: '{text}'"
        return f"Incorrect datetime value: '{moment.text()[:10]}'"
    if family(before) in ("date", "datetime", "time"):
        return f"Incorrect timestamp value: '{text}{' 00:00:00' * (before.name == 'date')}'"
    content = json.loads(text) if before.name == "json" else text
    text = content if isinstance(content, str) else text
    return f"Incorrect {'time' if text.strip().isdigit() else 'datetime'} value: '{text}'"


def _merged(errors: Sequence[SqlError]) -> list[str]:
    """Return the warnings of a job, one for each number."""
    warnings = []
    for number in dict.fromkeys(error.number for error in errors):
        same = [error for error in errors if error.number == number]
        count = f"{len(same)} warnings with this error code, first warning: " if len(same) > 1 else ""
        warnings.append(f"{number} {count}{same[0].text}")
    return warnings

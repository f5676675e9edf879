"""The stored rows of a table under another definition.

Rows keep the layout in which they were written, so most DDL writes nothing. MODIFY COLUMN writes the columns that a row
has and the changed one (tidb v6.5 pkg/ddl/column.go, updateColumnWorker). A new unique key gets an entry for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from simulator.tidb.datums.cast import cast_value
from simulator.tidb.ddl.column_sources import FromColumn, FromExpression, find_column_sources
from simulator.tidb.ddl.columns.type_changes import needs_reorganization
from simulator.tidb.engine.assign import generated_values
from simulator.tidb.engine.changes import table_changes
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.ddl_values import Cell, convert_cells
from simulator.tidb.engine.outcome import CommittedTransaction
from simulator.tidb.model.table import Column, Index, Table, visible_columns
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.storage.array_keys import array_keys
from simulator.tidb.storage.row_keys import RowKey, entry_keys, shown_key
from simulator.tidb.storage.rows import NEWEST, Entry, Handle, Layout, TableRows, Version
from simulator.tidb.storage.tables import Cells, RowReader, StoredTable, image_of, layout_of
from simulator.tidb.storage.transactions import Change

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
        olds = [old_reader.cells(version) for _, _, version in found]
        news = [reader.cells(version) for _, _, version in found]
        for place, column, source in columns:
            cells, more = _column_cells(column, source, before, after, olds, news, context)
            warnings += more
            for row, cell in zip(news, cells, strict=True):
                row[place] = cell
        changed = [Row(*each, cells) for each, cells in zip(found, news, strict=True)]

    def rows() -> Iterable[Row]:
        if columns:
            return changed
        return (Row(*each, reader.cells(each[2])) for each in stored_versions(stored))

    written = {column.id for _, column, source in columns if not isinstance(source, FromColumn) or source.cast}
    result = replace(stored, table=after)
    if written:
        apply.append(_rewrite(result, changed, written))
    apply += [_entries(result, key, rows) for key in _new_keys(before, after, written)]
    check_arrays(before, after, rows())
    return Conversion(result, tuple(apply), tuple(warnings), rows)


def reorganized_columns(before: Table, after: Table) -> list[Column]:
    """Return the columns whose values TiDB writes again because of their new type."""
    types = {column.id: column.type for column in before.columns}
    return [
        column for column in after.columns if column.id in types and needs_reorganization(types[column.id], column.type)
    ]


def _checked_columns(before: Table, after: Table) -> list[tuple[int, Column, FromColumn | FromExpression]]:
    """Return the columns whose values may change, or not fit, with their places and sources."""
    old, checked = visible_columns(before), []
    for place, (column, source) in enumerate(
        zip(visible_columns(after), find_column_sources(before, after), strict=True)
    ):
        if isinstance(source, FromExpression) or (
            isinstance(source, FromColumn) and (source.cast or column.not_null and not old[source.index].not_null)
        ):
            checked.append((place, column, source))
    return checked


def _column_cells(
    column: Column,
    source: FromColumn | FromExpression,
    before: Table,
    after: Table,
    olds: Sequence[Cells],
    news: Sequence[Cells],
    context: StatementContext,
) -> tuple[list[Cell], tuple[str, ...]]:
    if isinstance(source, FromColumn):
        cells = [row[source.index] for row in olds]
        return convert_cells(cells, visible_columns(before)[source.index], column, source.cast, context)
    evaluate = next(each[2] for each in generated_values(after) if each[0] is column)
    computed = []
    for row in news:
        datum = evaluate(row, context)
        cell, problem = (None, None) if datum is None else cast_value(column.type, column.name, datum, context.mode)
        if problem is not None and not context.mode.forgives(problem):
            raise sql_error(problem.number, problem.text)
        if cell is None and column.not_null:
            raise sql_error(1048, column.name)
        computed.append(cell)
    return computed, ()


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


def _new_keys(before: Table, after: Table, written: set[int]) -> Iterator[RowKey]:
    """Yield the unique keys that need other entries than the table has."""
    known = {index.id: index for index in before.indexes}
    indexes = {index.id: index for index in after.indexes}
    rewritten = {column.name.lower() for column in after.columns if column.id in written}
    for key in entry_keys(after):
        index, old = indexes[key.index_id], known.get(key.index_id)
        names = {part.name.lower() for part in index.columns}
        if (
            old is None
            or not old.unique
            or not names.isdisjoint(rewritten)
            or _collations(before, old) != _collations(after, index)
        ):
            yield key


def _collations(table: Table, index: Index) -> list[tuple[str, int]]:
    collations = {column.name.lower(): column.type.collation for column in table.columns}
    return [(collations.get(part.name.lower(), ""), part.length) for part in index.columns]


def _entries(stored: StoredTable, key: RowKey, rows: Callable[[], Iterable[Row]]) -> Apply:
    """Return what writes the entries of a unique key. Raises SqlError 1062 for the first row, in the order of TiKV, that
    repeats a key."""
    found = dict[TableRows, dict[bytes, tuple[Handle, int]]]()
    for row in rows():
        value = key.of(row.cells)
        if value is None:
            continue
        entries = found.setdefault(stored.entries(row.ordinal, key.unpartitioned), {})
        if value in entries:
            shown = shown_key(stored.table, key, row.cells)
            raise sql_error(1062, shown, f"{stored.table.name}.{key.name}")
        entries[value] = ((row.ordinal, row.handle) if key.unpartitioned else row.handle), row.version.ts

    def apply(ts: int) -> None:
        for where in {*stored.partitions, stored.unpartitioned}:
            old, new = where.entries.get(key.index_id, {}), found.get(where, {})
            for value, versions in old.items():
                if value not in new and versions[-1].handle is not None:
                    where.write_entry(key.index_id, value, Entry(ts, None), 0)
            for value, (handle, written) in new.items():
                if where.handle_of(key.index_id, value) != handle:
                    where.write_entry(key.index_id, value, Entry(ts if old else written, handle), 0)

    return apply


def check_arrays(before: Table | None, after: Table, rows: Iterable[Row]) -> None:
    """Raise SqlError for a row whose values do not fit a new multi-valued index, or repeat those of another row in a
    unique one."""
    known = {index.id for index in before.indexes} if before else set()
    keys = [key for key in array_keys(after) if key.index.id not in known]
    seen = dict[int, set[bytes]]()
    for number, row in enumerate(rows, 1) if keys else ():
        for key in keys:
            for value, shown in key.entries(row.cells, number).items():
                if key.index.unique and value in seen.setdefault(key.index.id, set()):
                    raise sql_error(1062, shown, f"{after.name}.{key.name}")
                seen.setdefault(key.index.id, set()).add(value)


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

"""New rows with keys of existing rows: refused (INSERT), left out (INSERT IGNORE) or put in their place (REPLACE).

Rows take effect in the order of the statement. A batch is a run of rows that do not depend on each other; a row that
does begins the next batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS, Mask, first_place, mask_places
from simulator.tidb.sql_engine.storage.row_keys import duplicate_error, earlier_duplicates, find_keys, unique_keys
from simulator.tidb.sql_engine.storage.rows import KeyedRows, take_rows, take_stored
from simulator.tidb.sql_engine.storage.state import StoredRows
from simulator.tidb.sql_engine.storage.table_writes import (
    NO_PLACES,
    TableWrites,
    check_error,
    find_conflicts,
    key_bytes,
    rows_differ,
    slice_rows,
    violates_check,
)

BATCH_ROWS = 4096
"""The size of the first batch that is tried. The next is twice as long as the last run."""


def insert_or_fail(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """INSERT: raise PartialWriteError for the first row that cannot be inserted.

    The error is 3819 for a row that violates a CHECK, 1062 for a key of an existing or an earlier row. The
    `_tidb_rowid`s of all rows are used up then (tidb pkg/table/tables/tables.go, AddRecord).
    """
    table = written.stored.table
    keys, rows = unique_keys(table), len(new_rows)
    duplicates_by_key = np.zeros((len(keys), rows), np.bool_)
    if keys:
        duplicates_by_key = find_conflicts(written.stored, new_rows) >= 0
        if rows > 1:
            for place, key in enumerate(key_bytes(table, new_rows)):
                duplicates_by_key[place] |= earlier_duplicates([key]) >= 0
    row, violating = first_place(np.any(duplicates_by_key, axis=0)), first_place(violates_check(new_rows))
    if violating < rows and violating <= row:
        raise replace(written, counters=written.numbered(new_rows)[1], added=violating).failed(
            check_error(new_rows, violating)
        )
    if row < rows:
        error = duplicate_error(table, keys[int(np.argmax(duplicates_by_key[:, row]))], new_rows.texts, row)
        raise replace(written, counters=written.numbered(new_rows)[1], added=row).failed(error)
    return written.with_new(NO_PLACES, new_rows, rows)


def insert_ignore(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """INSERT IGNORE: leave out rows that violate a CHECK or have a key of an existing or an earlier row, with a warning
    (tidb pkg/executor/insert_common.go, batchCheckAndInsert)."""
    table, rows, violating = written.stored.table, len(new_rows), violates_check(new_rows)
    conflicts = find_conflicts(written.stored, new_rows) >= 0
    keys = key_bytes(table, new_rows)
    inserted = np.zeros(rows, np.bool_)
    waiting = np.flatnonzero(~np.any(conflicts, axis=0) & ~violating)
    while len(waiting):
        parts = [key.take(pa.array(waiting)) for key in keys]
        is_first = earlier_duplicates(parts) < 0 if parts else np.ones(len(waiting), np.bool_)
        inserted[waiting[is_first]] = True
        again = np.zeros(len(waiting), np.bool_)
        for place, part in enumerate(parts):
            same = find_keys(part.take(mask_places(is_first)), part) >= 0
            conflicts[place, waiting[same & ~is_first]] = True
            again |= same
        waiting = waiting[~again & ~is_first]
    if violating.any():
        for place, key in enumerate(keys):
            inserted_places = np.flatnonzero(inserted)
            before = find_keys(key.take(pa.array(inserted_places)), key)
            conflicts[place] |= (
                violating
                & (before >= 0)
                & (inserted_places[before] < np.arange(rows) if len(inserted_places) else False)
            )
    duplicates = np.any(conflicts, axis=0)
    errors = [
        duplicate_error(table, unique_keys(table)[int(np.argmax(conflicts[:, row]))], new_rows.texts, int(row))
        if duplicates[row]
        else check_error(new_rows, int(row))
        for row in np.flatnonzero(~inserted)[:MAX_WARNINGS]
    ]
    numbered = inserted | violating & ~duplicates
    numbered_rows = new_rows if numbered.all() else take_rows(new_rows, mask_places(numbered))
    return replace(written.with_new(NO_PLACES, numbered_rows, int(inserted.sum())), warned=written.warned.also(*errors))


def replace_existing(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """REPLACE: delete every row with a key of the new row, then insert it. An identical row stays (tidb
    pkg/executor/replace.go). Raises PartialWriteError."""
    table = written.stored.table
    if not unique_keys(table):
        return insert_or_fail(written, new_rows)
    if len(unique_keys(table)) == 1 and table.clustered and new_rows.violated_checks is None:
        return _replace_by_one_key(written, new_rows)

    def step(written: TableWrites, rows: KeyedRows) -> tuple[TableWrites, int]:
        conflicts = find_conflicts(written.stored, rows)
        run = min(
            first_place(earlier_duplicates(key_bytes(table, rows)) >= 0), first_place(shared_conflicts(conflicts))
        )
        rows, conflicts = slice_rows(rows, 0, run), conflicts[:, :run]
        same = _equals_stored(written.stored, rows, conflicts.max(0, initial=-1))
        violating = first_place(violates_check(rows) & ~same)
        if violating < run:
            before = step(written, slice_rows(rows, 0, violating))[0] if violating else written
            counters = before.numbered(slice_rows(rows, violating, 1))[1]
            raise replace(before, counters=counters).failed(check_error(rows, violating))
        removed = np.unique(conflicts[:, ~same])
        removed = removed[removed >= 0]
        return written.with_new(removed, take_rows(rows, mask_places(~same)), run + len(removed)), run

    return apply_in_batches(written, new_rows, step)


def _replace_by_one_key(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """REPLACE in a table with one key: of new rows with the same key the last one is inserted."""
    stored, rows = written.stored, len(new_rows)
    keys = key_bytes(stored.table, new_rows)
    conflicts = find_conflicts(stored, new_rows)[0]
    before = earlier_duplicates(keys)
    is_last = np.ones(rows, np.bool_)
    is_last[before[before >= 0]] = False
    differs = ~_equals_stored(stored, new_rows, conflicts)
    if not is_last.all():
        codes = pc.fill_null(pc.dictionary_encode(keys[0]).indices, -1).to_numpy()
        touched = np.zeros(int(codes.max(initial=-1)) + 2, np.bool_)
        touched[codes[differs]] = True
        differs |= touched[codes] & (codes >= 0)
    inserted = is_last & differs
    removed = conflicts[inserted & (conflicts >= 0)]
    count = rows + int((differs & ((conflicts >= 0) | (before >= 0))).sum())
    return written.with_new(removed, take_rows(new_rows, mask_places(inserted)), count)


Step = Callable[[TableWrites, KeyedRows], tuple[TableWrites, int]]
"""Writes the first rows of a batch, and returns how many: at least one."""


def apply_in_batches(written: TableWrites, new_rows: KeyedRows, step: Step) -> TableWrites:
    """Write rows batch by batch. Raises PartialWriteError."""
    start, size = 0, BATCH_ROWS
    while start < len(new_rows):
        written, run = step(written, slice_rows(new_rows, start, size))
        assert run, "a step takes one row at least"
        start, size = start + run, max(2 * run, 16)
    return written


def shared_conflicts(conflicts: npt.NDArray[np.int64]) -> Mask:
    """Return which rows conflict with a stored row that an earlier row conflicts with."""
    shared = np.zeros(conflicts.shape[1], np.bool_)
    keys, rows = np.nonzero(conflicts >= 0)
    order = np.lexsort((rows, conflicts[keys, rows]))
    places, rows = conflicts[keys, rows][order], rows[order]
    again = (places[1:] == places[:-1]) & (rows[1:] != rows[:-1])
    shared[rows[1:][again]] = True
    return shared


def _equals_stored(stored: StoredRows, rows: KeyedRows, places: Places) -> Mask:
    """Return which rows equal the stored row at their position."""
    same = np.zeros(len(rows), np.bool_)
    has_stored = places >= 0
    if has_stored.any():
        same[has_stored] = ~rows_differ(
            stored.table, take_stored(stored, places[has_stored]), take_rows(rows, mask_places(has_stored))
        )
    return same

"""Writes new and updated rows, and finds those that have a key of another row.

Such a new row is refused (INSERT), left out (INSERT IGNORE), put in the other's place (REPLACE), or updates the other
(ON DUPLICATE KEY UPDATE).

Rows take effect in the order of the statement. A batch is a run of rows that do not depend on each other; a row that
does begins the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.errors import SqlError
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.auto_ids import auto_column, counters_after_update
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS, Mask, differ, first_place, mask_places
from simulator.tidb.sql_engine.storage.row_keys import (
    UniqueKey,
    duplicate_error,
    earlier_duplicates,
    find_keys,
    unique_keys,
)
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


UpdateRows = Callable[[KeyedRows, KeyedRows], KeyedRows]
"""Returns stored rows after ON DUPLICATE KEY UPDATE, from them and the new rows."""


def update_on_duplicate(
    written: TableWrites, new_rows: KeyedRows, updating: UpdateRows, assigned: Container[str], ignore: bool
) -> TableWrites:
    """Update the stored row that has the first key of the new row in TiDB's order; insert other rows.

    Nothing is written for an unchanged row (tidb pkg/executor/insert.go, batchUpdateDupRows). `assigned` are the
    columns that the updates assign. Raises PartialWriteError.
    """
    table = written.stored.table
    column = auto_column(table)
    counts = column is not None and column.name in assigned

    def step(written: TableWrites, rows: KeyedRows) -> tuple[TableWrites, int]:
        conflicts = find_conflicts(written.stored, rows)
        has_key = conflicts >= 0
        has_match: Mask = np.any(has_key, axis=0)
        matched = (
            np.where(has_match, conflicts[has_key.argmax(0), np.arange(len(rows))], -1)
            if len(conflicts)
            else np.full(len(rows), -1)
        )
        if counts and len(rows) > 1:
            return step(written, slice_rows(rows, 0, 1))
        violating = violates_check(rows) & ~has_match
        run = max(min(first_place(shared_conflicts(matched[None, :])), first_place(violating)), 1)
        for key in key_bytes(table, rows):
            before = earlier_duplicates([key])
            run = min(run, first_place((before >= 0) & ~has_match[before]))
        rows, matched = slice_rows(rows, 0, run), matched[:run]
        if violating[0]:
            raise replace(written, counters=written.numbered(rows)[1]).failed(check_error(rows, 0))
        places = matched[matched >= 0]
        if not len(places):
            return written.with_new(NO_PLACES, rows, run), run
        old = take_stored(written.stored, places)
        try:
            new = updating(old, take_rows(rows, mask_places(matched >= 0)))
        except SqlError as error:
            raise written.failed(error) from None
        differs = rows_differ(table, old, new)
        needs_own_step = _changes_key(table, old, new) | violates_check(new) & differs
        if needs_own_step.any() and run > 1:
            at = max(int(np.flatnonzero(matched >= 0)[np.argmax(needs_own_step)]), 1)
            return step(written, slice_rows(rows, 0, at))
        written = replace(
            written, counters=counters_after_update(table, assigned, new.texts, old.texts, written.counters)
        )
        problem = _update_error(written.stored, places, new) if needs_own_step.any() else None
        if problem is not None:
            if not ignore:
                raise written.failed(problem)
            return replace(written, warned=written.warned.also(problem)), run
        new, counters = written.in_partitions(old, new)
        written = replace(written, counters=counters)
        count = run - len(places) + 2 * int(differs.sum())
        others = take_rows(rows, mask_places(matched < 0))
        return written.with_changed(
            places[differs],
            replace(take_rows(new, mask_places(differs)), violated_checks=None),
            replace(others, violated_checks=None),
            count,
        ), run

    return apply_in_batches(written, new_rows, step)


def _update_error(stored: StoredRows, places: Places, new: KeyedRows) -> SqlError | None:
    """Return the error of an updated row that violates a CHECK or has a key of another row."""
    if violates_check(new).any():
        return check_error(new, 0)
    conflicts = find_conflicts(stored, new)
    wrong = (conflicts >= 0) & (conflicts != places[None, :])
    if not wrong.any():
        return None
    return duplicate_error(stored.table, unique_keys(stored.table)[int(np.argmax(wrong[:, 0]))], new.texts, 0)


def _changes_key(table: Table, old: KeyedRows, new: KeyedRows) -> Mask:
    """Return which rows have another key after the update."""
    moves = np.asarray(pc.not_equal(old.handles, new.handles), bool).copy()
    for key in unique_keys(table):
        if not key.clustered:
            moves |= unique_key_changed(old, new, key)
    return moves


def unique_key_changed(old: KeyedRows, new: KeyedRows, key: UniqueKey) -> Mask:
    """Return which rows have other bytes in a key that is not the handle."""
    return differ(old.unique[key.name.lower()], new.unique[key.name.lower()])


def update_stored_rows(written: TableWrites, places: Places, new: KeyedRows, ignore: bool) -> TableWrites:
    """Replace the rows at some positions, each once, in the order of the statement. Unchanged rows are not written.

    Raises PartialWriteError with 3819 for a row that violates a CHECK and 1062 for a key of another row. With `ignore`
    such a row others unchanged, with a warning.
    """
    stored = written.stored
    differs = rows_differ(stored.table, take_stored(stored, places), new)
    if not differs.all():
        places, new = places[differs], take_rows(new, mask_places(differs))
    while len(places):
        collisions = _key_conflicts(stored, places, new)
        row, breaks = first_place(np.any(collisions, axis=0)), first_place(violates_check(new))
        if breaks < len(places) and breaks <= row:
            row, problem = breaks, check_error(new, breaks)
        elif row < len(places):
            problem = duplicate_error(
                stored.table, unique_keys(stored.table)[int(np.argmax(collisions[:, row]))], new.texts, row
            )
        else:
            break
        if not ignore:
            raise written.failed(problem)
        written = replace(written, warned=written.warned.also(problem))
        others = np.arange(len(places)) != row
        places, new = places[others], take_rows(new, mask_places(others))
    new, counters = written.in_partitions(take_stored(stored, places), replace(new, violated_checks=None))
    return replace(written, counters=counters).with_change(places, new, len(places), len(places))


def _key_conflicts(stored: StoredRows, places: Places, new: KeyedRows) -> Mask:
    """Return for each unique key which rows conflict with another one."""
    table = stored.table
    old, rows = take_stored(stored, places), np.arange(len(places))
    changes = [
        np.asarray(pc.not_equal(old.handles, new.handles), bool) if key.clustered else unique_key_changed(old, new, key)
        for key in unique_keys(table)
    ]
    mask = np.zeros((len(changes), len(places)), np.bool_)
    if not any(change.any() for change in changes):
        return mask
    order = np.argsort(places)
    conflicts = find_conflicts(stored, new)
    for number, (key, change) in enumerate(zip(key_bytes(table, new), changes, strict=True)):
        at = order[np.minimum(np.searchsorted(places, conflicts[number], sorter=order), len(places) - 1)]
        inside = (conflicts[number] >= 0) & (places[at] == conflicts[number])
        given_up = inside & (at < rows) & change[at]
        itself = inside & (at == rows)
        mask[number] = change & ((conflicts[number] >= 0) & ~given_up & ~itself | (earlier_duplicates([key]) >= 0))
    return mask

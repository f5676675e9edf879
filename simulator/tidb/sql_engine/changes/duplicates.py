"""New rows that meet rows with their keys: refused, left out, or put in their place.

Rows take effect in the order of the statement. A stretch of them in which none depends on what another did goes at
once; a row that does begins the next stretch.
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
"""Rows that are looked at together at first; as many more as went at once the time before."""


def insert_or_fail(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """INSERT: raises PartialWriteError with 3819 for the first row that breaks a CHECK, or with 1062 for the first that has a key
    which is there, or which an earlier row has; `_tidb_rowid` of all rows are used up then (tidb
    pkg/table/tables/tables.go, AddRecord)."""
    table = written.stored.table
    keys, rows = unique_keys(table), len(new_rows)
    twice = np.zeros((len(keys), rows), np.bool_)
    if keys:
        twice = find_conflicts(written.stored, new_rows) >= 0
        if rows > 1:
            for place, key in enumerate(key_bytes(table, new_rows)):
                twice[place] |= earlier_duplicates([key]) >= 0
    row, wrong = first_place(np.any(twice, axis=0)), first_place(violates_check(new_rows))
    if wrong < rows and wrong <= row:
        raise replace(written, counters=written.numbered(new_rows)[1], added=wrong).failed(check_error(new_rows, wrong))
    if row < rows:
        error = duplicate_error(table, keys[int(np.argmax(twice[:, row]))], new_rows.texts, row)
        raise replace(written, counters=written.numbered(new_rows)[1], added=row).failed(error)
    return written.with_new(NO_PLACES, new_rows, rows)


def insert_ignore(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """INSERT IGNORE: a row with a key that is there, or that an earlier row got, is left out with a warning, and so is
    one that breaks a CHECK (tidb pkg/executor/insert_common.go, batchCheckAndInsert)."""
    table, rows, wrong = written.stored.table, len(new_rows), violates_check(new_rows)
    met = find_conflicts(written.stored, new_rows) >= 0
    keys = key_bytes(table, new_rows)
    stays = np.zeros(rows, np.bool_)
    waiting = np.flatnonzero(~np.any(met, axis=0) & ~wrong)
    while len(waiting):
        parts = [key.take(pa.array(waiting)) for key in keys]
        alone = earlier_duplicates(parts) < 0 if parts else np.ones(len(waiting), np.bool_)
        stays[waiting[alone]] = True
        again = np.zeros(len(waiting), np.bool_)
        for place, part in enumerate(parts):
            same = find_keys(part.take(mask_places(alone)), part) >= 0
            met[place, waiting[same & ~alone]] = True
            again |= same
        waiting = waiting[~again & ~alone]
    if wrong.any():
        for place, key in enumerate(keys):
            there = np.flatnonzero(stays)
            before = find_keys(key.take(pa.array(there)), key)
            met[place] |= wrong & (before >= 0) & (there[before] < np.arange(rows) if len(there) else False)
    duplicates = np.any(met, axis=0)
    errors = [
        duplicate_error(table, unique_keys(table)[int(np.argmax(met[:, row]))], new_rows.texts, int(row))
        if duplicates[row]
        else check_error(new_rows, int(row))
        for row in np.flatnonzero(~stays)[:MAX_WARNINGS]
    ]
    comes = stays | wrong & ~duplicates
    kept = new_rows if comes.all() else take_rows(new_rows, mask_places(comes))
    return replace(written.with_new(NO_PLACES, kept, int(stays.sum())), warned=written.warned.also(*errors))


def replace_existing(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """REPLACE: every row with a key of the new one goes, then the new one comes; a row that is there as it is stays
    (tidb pkg/executor/replace.go). Raises PartialWriteError."""
    table = written.stored.table
    if not unique_keys(table):
        return insert_or_fail(written, new_rows)
    if len(unique_keys(table)) == 1 and table.clustered and new_rows.violated_checks is None:
        return _replace_by_one_key(written, new_rows)

    def step(written: TableWrites, rows: KeyedRows) -> tuple[TableWrites, int]:
        met = find_conflicts(written.stored, rows)
        run = min(first_place(earlier_duplicates(key_bytes(table, rows)) >= 0), first_place(shared_conflicts(met)))
        rows, met = slice_rows(rows, 0, run), met[:, :run]
        same = _equals_stored(written.stored, rows, met.max(0, initial=-1))
        wrong = first_place(violates_check(rows) & ~same)
        if wrong < run:
            before = step(written, slice_rows(rows, 0, wrong))[0] if wrong else written
            counters = before.numbered(slice_rows(rows, wrong, 1))[1]
            raise replace(before, counters=counters).failed(check_error(rows, wrong))
        removed = np.unique(met[:, ~same])
        removed = removed[removed >= 0]
        return written.with_new(removed, take_rows(rows, mask_places(~same)), run + len(removed)), run

    return apply_in_batches(written, new_rows, step)


def _replace_by_one_key(written: TableWrites, new_rows: KeyedRows) -> TableWrites:
    """REPLACE where rows have one key: of new rows with the same key the last one is left."""
    stored, rows = written.stored, len(new_rows)
    keys = key_bytes(stored.table, new_rows)
    met = find_conflicts(stored, new_rows)[0]
    before = earlier_duplicates(keys)
    last = np.ones(rows, np.bool_)
    last[before[before >= 0]] = False
    differs = ~_equals_stored(stored, new_rows, met)
    if not last.all():
        codes = pc.fill_null(pc.dictionary_encode(keys[0]).indices, -1).to_numpy()
        touched = np.zeros(int(codes.max(initial=-1)) + 2, np.bool_)
        touched[codes[differs]] = True
        differs |= touched[codes] & (codes >= 0)
    comes = last & differs
    removed = met[comes & (met >= 0)]
    count = rows + int((differs & ((met >= 0) | (before >= 0))).sum())
    return written.with_new(removed, take_rows(new_rows, mask_places(comes)), count)


Step = Callable[[TableWrites, KeyedRows], tuple[TableWrites, int]]
"""What becomes of the first of some rows, and how many of them went at once, at least one."""


def apply_in_batches(written: TableWrites, new_rows: KeyedRows, step: Step) -> TableWrites:
    """Rows go stretch by stretch. Raises PartialWriteError."""
    start, size = 0, BATCH_ROWS
    while start < len(new_rows):
        written, run = step(written, slice_rows(new_rows, start, size))
        assert run, "a step takes one row at least"
        start, size = start + run, max(2 * run, 16)
    return written


def shared_conflicts(met: npt.NDArray[np.int64]) -> Mask:
    """Which rows meet a stored row that an earlier one meets."""
    found = np.zeros(met.shape[1], np.bool_)
    keys, rows = np.nonzero(met >= 0)
    order = np.lexsort((rows, met[keys, rows]))
    places, rows = met[keys, rows][order], rows[order]
    again = (places[1:] == places[:-1]) & (rows[1:] != rows[:-1])
    found[rows[1:][again]] = True
    return found


def _equals_stored(stored: StoredRows, rows: KeyedRows, places: Places) -> Mask:
    """Which rows are as the stored row at the place beside them."""
    same = np.zeros(len(rows), np.bool_)
    there = places >= 0
    if there.any():
        same[there] = ~rows_differ(
            stored.table, take_stored(stored, places[there]), take_rows(rows, mask_places(there))
        )
    return same

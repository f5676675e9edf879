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
from simulator.tidb.sql_engine.storage.names import MOST_WARNINGS, Mask, first, where
from simulator.tidb.sql_engine.storage.row_keys import duplicate, earlier, found_in, unique_keys
from simulator.tidb.sql_engine.storage.rows import KeyedRows, taken, taken_rows
from simulator.tidb.sql_engine.storage.state import StoredRows
from simulator.tidb.sql_engine.storage.table_writes import (
    NONE,
    Written,
    broken,
    differ,
    hits,
    key_bytes,
    sliced,
    violation,
)

STRETCH = 4096
"""Rows that are looked at together at first; as many more as went at once the time before."""


def inserted(written: Written, fresh: KeyedRows) -> Written:
    """INSERT: raises Failed with 3819 for the first row that breaks a CHECK, or with 1062 for the first that has a key
    which is there, or which an earlier row has; `_tidb_rowid` of all rows are used up then (tidb
    pkg/table/tables/tables.go, AddRecord)."""
    table = written.stored.table
    keys, rows = unique_keys(table), len(fresh)
    twice = np.zeros((len(keys), rows), np.bool_)
    if keys:
        twice = hits(written.stored, fresh) >= 0
        if rows > 1:
            for place, key in enumerate(key_bytes(table, fresh)):
                twice[place] |= earlier([key]) >= 0
    row, wrong = first(np.any(twice, axis=0)), first(broken(fresh))
    if wrong < rows and wrong <= row:
        raise replace(written, counters=written.numbered(fresh)[1], added=wrong).failed(violation(fresh, wrong))
    if row < rows:
        error = duplicate(table, keys[int(np.argmax(twice[:, row]))], fresh.texts, row)
        raise replace(written, counters=written.numbered(fresh)[1], added=row).failed(error)
    return written.with_new(NONE, fresh, rows)


def ignored(written: Written, fresh: KeyedRows) -> Written:
    """INSERT IGNORE: a row with a key that is there, or that an earlier row got, is left out with a warning, and so is
    one that breaks a CHECK (tidb pkg/executor/insert_common.go, batchCheckAndInsert)."""
    table, rows, wrong = written.stored.table, len(fresh), broken(fresh)
    met = hits(written.stored, fresh) >= 0
    keys = key_bytes(table, fresh)
    stays = np.zeros(rows, np.bool_)
    waiting = np.flatnonzero(~np.any(met, axis=0) & ~wrong)
    while len(waiting):
        parts = [key.take(pa.array(waiting)) for key in keys]
        alone = earlier(parts) < 0 if parts else np.ones(len(waiting), np.bool_)
        stays[waiting[alone]] = True
        again = np.zeros(len(waiting), np.bool_)
        for place, part in enumerate(parts):
            same = found_in(part.take(where(alone)), part) >= 0
            met[place, waiting[same & ~alone]] = True
            again |= same
        waiting = waiting[~again & ~alone]
    if wrong.any():
        for place, key in enumerate(keys):
            there = np.flatnonzero(stays)
            before = found_in(key.take(pa.array(there)), key)
            met[place] |= wrong & (before >= 0) & (there[before] < np.arange(rows) if len(there) else False)
    duplicates = np.any(met, axis=0)
    errors = [
        duplicate(table, unique_keys(table)[int(np.argmax(met[:, row]))], fresh.texts, int(row))
        if duplicates[row]
        else violation(fresh, int(row))
        for row in np.flatnonzero(~stays)[:MOST_WARNINGS]
    ]
    comes = stays | wrong & ~duplicates
    kept = fresh if comes.all() else taken_rows(fresh, where(comes))
    return replace(written.with_new(NONE, kept, int(stays.sum())), warned=written.warned.also(*errors))


def replaced(written: Written, fresh: KeyedRows) -> Written:
    """REPLACE: every row with a key of the new one goes, then the new one comes; a row that is there as it is stays
    (tidb pkg/executor/replace.go). Raises Failed."""
    table = written.stored.table
    if not unique_keys(table):
        return inserted(written, fresh)
    if len(unique_keys(table)) == 1 and table.clustered and fresh.broken is None:
        return _last_of_each_key(written, fresh)

    def step(written: Written, rows: KeyedRows) -> tuple[Written, int]:
        met = hits(written.stored, rows)
        run = min(first(earlier(key_bytes(table, rows)) >= 0), first(shared(met)))
        rows, met = sliced(rows, 0, run), met[:, :run]
        same = _as_stored(written.stored, rows, met.max(0, initial=-1))
        wrong = first(broken(rows) & ~same)
        if wrong < run:
            before = step(written, sliced(rows, 0, wrong))[0] if wrong else written
            counters = before.numbered(sliced(rows, wrong, 1))[1]
            raise replace(before, counters=counters).failed(violation(rows, wrong))
        gone = np.unique(met[:, ~same])
        gone = gone[gone >= 0]
        return written.with_new(gone, taken_rows(rows, where(~same)), run + len(gone)), run

    return by_stretches(written, fresh, step)


def _last_of_each_key(written: Written, fresh: KeyedRows) -> Written:
    """REPLACE where rows have one key: of new rows with the same key the last one is left."""
    stored, rows = written.stored, len(fresh)
    keys = key_bytes(stored.table, fresh)
    met = hits(stored, fresh)[0]
    before = earlier(keys)
    last = np.ones(rows, np.bool_)
    last[before[before >= 0]] = False
    differs = ~_as_stored(stored, fresh, met)
    if not last.all():
        codes = pc.fill_null(pc.dictionary_encode(keys[0]).indices, -1).to_numpy()
        touched = np.zeros(int(codes.max(initial=-1)) + 2, np.bool_)
        touched[codes[differs]] = True
        differs |= touched[codes] & (codes >= 0)
    comes = last & differs
    gone = met[comes & (met >= 0)]
    count = rows + int((differs & ((met >= 0) | (before >= 0))).sum())
    return written.with_new(gone, taken_rows(fresh, where(comes)), count)


Step = Callable[[Written, KeyedRows], tuple[Written, int]]
"""What becomes of the first of some rows, and how many of them went at once, at least one."""


def by_stretches(written: Written, fresh: KeyedRows, step: Step) -> Written:
    """Rows go stretch by stretch. Raises Failed."""
    start, size = 0, STRETCH
    while start < len(fresh):
        written, run = step(written, sliced(fresh, start, size))
        assert run, "a step takes one row at least"
        start, size = start + run, max(2 * run, 16)
    return written


def shared(met: npt.NDArray[np.int64]) -> Mask:
    """Which rows meet a stored row that an earlier one meets."""
    found = np.zeros(met.shape[1], np.bool_)
    keys, rows = np.nonzero(met >= 0)
    order = np.lexsort((rows, met[keys, rows]))
    places, rows = met[keys, rows][order], rows[order]
    again = (places[1:] == places[:-1]) & (rows[1:] != rows[:-1])
    found[rows[1:][again]] = True
    return found


def _as_stored(stored: StoredRows, rows: KeyedRows, places: Places) -> Mask:
    """Which rows are as the stored row at the place beside them."""
    same = np.zeros(len(rows), np.bool_)
    there = places >= 0
    if there.any():
        same[there] = ~differ(stored.table, taken(stored, places[there]), taken_rows(rows, where(there)))
    return same

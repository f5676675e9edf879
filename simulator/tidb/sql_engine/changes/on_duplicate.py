"""INSERT … ON DUPLICATE KEY UPDATE: new rows with keys of existing rows update them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.errors import SqlError
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.changes.duplicates import apply_in_batches, shared_conflicts
from simulator.tidb.sql_engine.storage.auto_ids import auto_column, counters_after_update
from simulator.tidb.sql_engine.storage.names import Mask, first_place, mask_places
from simulator.tidb.sql_engine.storage.row_keys import UniqueKey, duplicate_error, earlier_duplicates, unique_keys
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
    before, after = old.unique[key.name.lower()], new.unique[key.name.lower()]
    equal = pc.fill_null(pc.equal(before, after), pc.and_(before.is_null(), after.is_null()))
    mask: Mask = ~np.asarray(equal, bool)
    return mask

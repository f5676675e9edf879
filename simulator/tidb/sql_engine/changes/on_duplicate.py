"""INSERT … ON DUPLICATE KEY UPDATE: new rows that meet rows with their keys change them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.errors import SqlError
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.changes.duplicates import by_stretches, shared
from simulator.tidb.sql_engine.storage.auto_ids import automatic, moved
from simulator.tidb.sql_engine.storage.names import Mask, first, where
from simulator.tidb.sql_engine.storage.row_keys import UniqueKey, duplicate, earlier, unique_keys
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

Updating = Callable[[KeyedRows, KeyedRows], KeyedRows]
"""What ON DUPLICATE KEY UPDATE makes of stored rows that meet new ones."""


def updated_on_duplicate(
    written: Written, fresh: KeyedRows, updating: Updating, assigned: Container[str], ignore: bool
) -> Written:
    """The stored row that has the new one's first key in TiDB's order is changed; nothing is written where it stays as
    it is (tidb pkg/executor/insert.go, batchUpdateDupRows). `assigned`: the columns that updates give. Raises Failed.
    """
    table = written.stored.table
    column = automatic(table)
    counts = column is not None and column.name in assigned

    def step(written: Written, rows: KeyedRows) -> tuple[Written, int]:
        met = hits(written.stored, rows)
        there = met >= 0
        found: Mask = np.any(there, axis=0)
        meets = np.where(found, met[there.argmax(0), np.arange(len(rows))], -1) if len(met) else np.full(len(rows), -1)
        if counts and len(rows) > 1:
            return step(written, sliced(rows, 0, 1))
        wrong = broken(rows) & ~found
        run = max(min(first(shared(meets[None, :])), first(wrong)), 1)
        for key in key_bytes(table, rows):
            before = earlier([key])
            run = min(run, first((before >= 0) & ~found[before]))
        rows, meets = sliced(rows, 0, run), meets[:run]
        if wrong[0]:
            raise replace(written, counters=written.numbered(rows)[1]).failed(violation(rows, 0))
        places = meets[meets >= 0]
        if not len(places):
            return written.with_new(NONE, rows, run), run
        old = taken(written.stored, places)
        try:
            new = updating(old, taken_rows(rows, where(meets >= 0)))
        except SqlError as error:
            raise written.failed(error) from None
        differs = differ(table, old, new)
        alone = _moves(table, old, new) | broken(new) & differs
        if alone.any() and run > 1:
            at = max(int(np.flatnonzero(meets >= 0)[np.argmax(alone)]), 1)
            return step(written, sliced(rows, 0, at))
        written = replace(written, counters=moved(table, assigned, new.texts, old.texts, written.counters))
        problem = _problem(written.stored, places, new) if alone.any() else None
        if problem is not None:
            if not ignore:
                raise written.failed(problem)
            return replace(written, warned=written.warned.also(problem)), run
        new, counters = written.in_partitions(old, new)
        written = replace(written, counters=counters)
        count = run - len(places) + 2 * int(differs.sum())
        others = taken_rows(rows, where(meets < 0))
        return written.with_changed(
            places[differs], replace(taken_rows(new, where(differs)), broken=None), replace(others, broken=None), count
        ), run

    return by_stretches(written, fresh, step)


def _problem(stored: StoredRows, places: Places, new: KeyedRows) -> SqlError | None:
    """Why a row that becomes another one cannot: it breaks a CHECK, or a row besides it has a key of its."""
    if broken(new).any():
        return violation(new, 0)
    met = hits(stored, new)
    wrong = (met >= 0) & (met != places[None, :])
    if not wrong.any():
        return None
    return duplicate(stored.table, unique_keys(stored.table)[int(np.argmax(wrong[:, 0]))], new.texts, 0)


def _moves(table: Table, old: KeyedRows, new: KeyedRows) -> Mask:
    """Which rows have another key now."""
    moves = np.asarray(pc.not_equal(old.handles, new.handles), bool).copy()
    for key in unique_keys(table):
        if not key.clustered:
            moves |= changed_key(old, new, key)
    return moves


def changed_key(old: KeyedRows, new: KeyedRows, key: UniqueKey) -> Mask:
    """Where a key that is not the handle has other bytes."""
    before, after = old.unique[key.name.lower()], new.unique[key.name.lower()]
    equal = pc.fill_null(pc.equal(before, after), pc.and_(before.is_null(), after.is_null()))
    found: Mask = ~np.asarray(equal, bool)
    return found

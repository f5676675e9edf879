"""New rows that meet rows with their keys: refused, left out, put in their place, or changing them.

One law: rows take effect in the order of the statement. A stretch of them in which none depends on what another did
goes at once; a row that does begins the next stretch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.errors import SqlError
from simulator.tidb.model.table import Table
from simulator.tidb.upstream.auto_ids import Counters, Ids
from simulator.tidb.upstream.state import StoredRows
from simulator.tidb.upstream.stored import KeyedRows, changed, images, taken, taken_rows
from simulator.tidb.upstream.targets import MOST_WARNINGS, Mask, Warned, first, where
from simulator.tidb.upstream.unique import (
    UniqueKey,
    duplicate,
    earlier,
    found_in,
    handles,
    ordinals_of,
    unique_keys,
)

STRETCH = 4096
"""Rows that are looked at together at first; as many more as went at once the time before."""


Numbering = Callable[[int, Counters], tuple[Ids, Counters]]
"""`_tidb_rowid` for so many new rows, and what is given next."""


@dataclass(frozen=True)
class Change:
    """Rows that go and rows that come, in one table."""

    table: Table
    gone: KeyedRows
    fresh: KeyedRows
    updates: int = 0
    """How many of the first ones of both are a row before and after an update; the others go, and come."""


@dataclass(frozen=True)
class Written:
    """What a statement has done so far to the rows of one table."""

    stored: StoredRows
    counters: Counters
    numbering: Numbering
    changes: tuple[Change, ...] = ()
    affected: int = 0
    warned: Warned = Warned()

    def with_new(self, gone: Places, fresh: KeyedRows, affected: int) -> Written:
        """Without the rows at some places, with new ones, which are numbered where the table has no clustered key."""
        if self.stored.table.clustered or not len(fresh):
            return self.with_change(gone, fresh, 0, affected)
        numbered, counters = self._numbered(fresh)
        return replace(self.with_change(gone, numbered, 0, affected), counters=counters)

    def with_changed(self, places: Places, changed: KeyedRows, fresh: KeyedRows, affected: int) -> Written:
        """With other rows in place of those at some places, and with new ones."""
        counters = self.counters
        if len(fresh) and not self.stored.table.clustered:
            fresh, counters = self._numbered(fresh)
        return replace(
            self.with_change(places, joined(changed, fresh), len(changed), affected), counters=counters)

    def _numbered(self, fresh: KeyedRows) -> tuple[KeyedRows, Counters]:
        ids, counters = self.numbering(len(fresh), self.counters)
        row_ids, table = pa.array(ids), self.stored.table
        ordinals = None if table.partitioning is None else ordinals_of(table, fresh.handles)
        return replace(fresh, row_ids=row_ids, handles=handles(table, fresh.texts, row_ids, ordinals)), counters

    def with_change(self, gone: Places, fresh: KeyedRows, updates: int, affected: int) -> Written:
        if not len(gone) and not len(fresh):
            return replace(self, affected=self.affected + affected)
        change = Change(self.stored.table, taken(self.stored, gone), fresh, updates)
        stored = changed(self.stored, gone, fresh)
        return replace(self, stored=stored, changes=(*self.changes, change), affected=self.affected + affected)


NONE = np.zeros(0, np.int64)


def key_bytes(table: Table, rows: KeyedRows) -> list[pa.Array]:
    """The bytes of each unique key of rows, in TiDB's order."""
    return [rows.handles if key.clustered else rows.unique[key.name.lower()] for key in unique_keys(table)]


def hits(stored: StoredRows, rows: KeyedRows) -> npt.NDArray[np.int64]:
    """For each unique key and row the place of the stored row that has the key, -1 for none."""
    table, keys = stored.table, stored.keys
    assert keys is not None
    found = np.full((len(unique_keys(table)), len(rows)), -1, np.int64)
    for place, key in enumerate(unique_keys(table)):
        if key.clustered:
            found[place] = found_in(keys.handles, rows.handles, ascending=True)
        else:
            found[place] = found_in(keys.unique[key.name.lower()], rows.unique[key.name.lower()])
    return found


def inserted(written: Written, fresh: KeyedRows) -> Written:
    """INSERT: raises SqlError 1062 for the first row that has a key which is there, or which an earlier row has."""
    table = written.stored.table
    if unique_keys(table):
        twice = hits(written.stored, fresh) >= 0
        if len(fresh) > 1:
            for place, key in enumerate(key_bytes(table, fresh)):
                twice[place] |= earlier([key]) >= 0
        row = first(np.any(twice, axis=0))
        if row < len(fresh):
            raise duplicate(table, unique_keys(table)[int(np.argmax(twice[:, row]))], fresh.texts, row)
    return written.with_new(NONE, fresh, len(fresh))


def ignored(written: Written, fresh: KeyedRows) -> Written:
    """INSERT IGNORE: a row with a key that is there, or that an earlier row got, is left out with a warning."""
    table, rows = written.stored.table, len(fresh)
    met = hits(written.stored, fresh) >= 0
    keys = key_bytes(table, fresh)
    stays = np.zeros(rows, np.bool_)
    waiting = np.flatnonzero(~np.any(met, axis=0))
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
    left_out = np.flatnonzero(~stays)
    errors = [
        duplicate(table, unique_keys(table)[int(np.argmax(met[:, row]))], fresh.texts, int(row))
        for row in left_out[:MOST_WARNINGS]]
    kept = taken_rows(fresh, where(stays)) if len(left_out) else fresh
    return replace(written.with_new(NONE, kept, len(kept)), warned=written.warned.also(*errors))


def replaced(written: Written, fresh: KeyedRows) -> Written:
    """REPLACE: every row with a key of the new one goes, then the new one comes; a row that is there as it is stays
    (tidb pkg/executor/replace.go)."""
    table = written.stored.table
    if not unique_keys(table):
        return written.with_new(NONE, fresh, len(fresh))
    if len(unique_keys(table)) == 1:
        return _last_of_each_key(written, fresh)

    def step(written: Written, rows: KeyedRows) -> tuple[Written, int]:
        met = hits(written.stored, rows)
        run = min(first(earlier(key_bytes(table, rows)) >= 0), first(_shared(met)))
        rows, met = _slice(rows, 0, run), met[:, :run]
        same = _as_stored(written.stored, rows, met.max(0, initial=-1))
        gone = np.unique(met[:, ~same])
        gone = gone[gone >= 0]
        return written.with_new(gone, taken_rows(rows, where(~same)), run + len(gone)), run

    return _by_stretches(written, fresh, step)


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


Updating = Callable[[KeyedRows, KeyedRows], KeyedRows]
"""What ON DUPLICATE KEY UPDATE makes of stored rows that meet new ones."""


def updated_on_duplicate(written: Written, fresh: KeyedRows, updating: Updating, ignore: bool) -> Written:
    """INSERT … ON DUPLICATE KEY UPDATE: the stored row that has the new one's first key in TiDB's order is changed;
    nothing is written where it stays as it is (tidb pkg/executor/insert.go, batchUpdateDupRows)."""
    table = written.stored.table

    def step(written: Written, rows: KeyedRows) -> tuple[Written, int]:
        met = hits(written.stored, rows)
        there = met >= 0
        found: Mask = np.any(there, axis=0)
        meets = np.where(found, met[there.argmax(0), np.arange(len(rows))], -1) if len(met) else np.full(len(rows), -1)
        run = first(_shared(meets[None, :]))
        for key in key_bytes(table, rows):
            before = earlier([key])
            run = min(run, first((before >= 0) & ~found[before]))
        if run < len(rows):
            rows, meets = _slice(rows, 0, run), meets[:run]
        places = meets[meets >= 0]
        if not len(places):
            return written.with_new(NONE, rows, run), run
        old = taken(written.stored, places)
        new = updating(old, taken_rows(rows, where(meets >= 0)))
        moves = _moves(table, old, new)
        if moves.any() and run > 1:
            at = max(int(np.flatnonzero(meets >= 0)[np.argmax(moves)]), 1)
            return step(written, _slice(rows, 0, at))
        if moves.any():
            problem = collision(written.stored, places, new)
            if problem is not None and ignore:
                return replace(written, warned=written.warned.also(problem)), run
            if problem is not None:
                raise problem
        differs = differ(table, old, new)
        count = run - len(places) + 2 * int(differs.sum())
        others = taken_rows(rows, where(meets < 0))
        return written.with_changed(places[differs], taken_rows(new, where(differs)), others, count), run

    return _by_stretches(written, fresh, step)


def collision(stored: StoredRows, places: Places, new: KeyedRows) -> SqlError | None:
    """Error 1062 for rows at some places that would become others, if a row besides them has a key of one; rows are
    taken by themselves."""
    met = hits(stored, new)
    wrong = (met >= 0) & (met != places[None, :])
    row = first(np.any(wrong, axis=0))
    if row == len(new):
        return None
    return duplicate(stored.table, unique_keys(stored.table)[int(np.argmax(wrong[:, row]))], new.texts, row)


Step = Callable[[Written, KeyedRows], tuple[Written, int]]
"""What becomes of the first of some rows, and how many of them went at once, at least one."""


def _by_stretches(written: Written, fresh: KeyedRows, step: Step) -> Written:
    start, size = 0, STRETCH
    while start < len(fresh):
        written, run = step(written, _slice(fresh, start, size))
        start, size = start + run, max(2 * run, 16)
    return written


def _slice(rows: KeyedRows, start: int, size: int) -> KeyedRows:
    if not start and size >= len(rows):
        return rows
    return KeyedRows(
        {name: cells.slice(start, size) for name, cells in rows.texts.items()}, rows.row_ids.slice(start, size),
        rows.handles.slice(start, size), {name: keys.slice(start, size) for name, keys in rows.unique.items()})


def joined(one: KeyedRows, other: KeyedRows) -> KeyedRows:
    """Both, one after the other."""
    if not len(one) or not len(other):
        return one if len(one) else other
    return KeyedRows(
        {name: pa.concat_arrays([cells, other.texts[name]]) for name, cells in one.texts.items()},
        pa.concat_arrays([one.row_ids, other.row_ids]), pa.concat_arrays([one.handles, other.handles]),
        {name: pa.concat_arrays([keys, other.unique[name]]) for name, keys in one.unique.items()})


def _shared(met: npt.NDArray[np.int64]) -> Mask:
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


def differ(table: Table, old: KeyedRows, new: KeyedRows) -> Mask:
    """Which rows are not as they were."""
    found: Mask = np.asarray(pc.not_equal(images(table, old.texts), images(table, new.texts)), bool)
    return found


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


def places_of(stored: StoredRows, rows: KeyedRows) -> Places:
    """The places of rows that are stored, by their handles."""
    assert stored.keys is not None
    return found_in(stored.keys.handles, rows.handles, ascending=True)

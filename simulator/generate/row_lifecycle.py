"""The lifecycle of the rows of one table since it was last empty.

The effect of a change depends only on its position among the table's changes; the change that gave a row a version is
computed from key and version.

Rows are numbered by insertion (*key*). The first `rows` changes are inserts; then a cycle of the mix gives the kind of
each, with at least as many inserts as deletes before any position. Deletes remove the oldest row. Updates hit *slots*,
as many as the table has rows at the start: row k is in slot k mod rows, until row k + rows takes over the slot, which
happens before k is deleted. A row's version counts the hits of its slot, including those before the row was in it; it
increases by one with each update of the row.

If the first rows are kept, deletes remove the oldest of the other rows, some of which are inserted before the mix
begins, and updates hit only the kept rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.columns.change_frame import DELETE, INSERT, UPDATE, Ints
from simulator.generate.cycle import Cycle, SlotUpdates, cycle, seed_of, spread
from simulator.generate.model import Mix, TableModel

MIXED = 1024
"""Minimum number of changes in a repetition of a mix."""


@dataclass(frozen=True, eq=False)
class RowLifecycle:
    """The lifecycle of a table's rows. Positions count the changes of the table since it was empty."""

    rows: int
    """Number of slots that updates hit."""

    first: int
    """Number of inserts before the mix."""

    mixed: Cycle
    hits: SlotUpdates
    permanent: bool
    """Whether the first rows stay in their slots forever."""

    @property
    def undeleted(self) -> int:
        """The first key that is deleted."""
        return self.rows if self.permanent else 0

    def changes(self, first: int, end: int) -> tuple[Ints, Ints, Ints]:
        """Return keys of the changes between two positions, and versions before and after; -1 for none."""
        positions = np.arange(first, end)
        keys, before, after = positions, np.full(len(positions), -1), np.zeros(len(positions), np.int64)
        mixed = np.flatnonzero(positions >= self.first)
        if not len(mixed):
            return keys, before, after
        kinds, ordinals = self.mixed.at(positions[mixed] - self.first)
        for kind, make in ((INSERT, self._inserts), (UPDATE, self._updates), (DELETE, self._deletes)):
            places = np.flatnonzero(kinds == kind)
            if len(places):
                there = mixed[places]
                keys[there], before[there], after[there] = make(ordinals[places], positions[there])
        return keys, before, after

    def _inserts(self, ordinals: Ints, positions: Ints) -> tuple[Ints, int, Ints]:
        keys = self.first + ordinals
        return keys, -1, self._hits(keys, self.updated(positions))

    def _updates(self, ordinals: Ints, positions: Ints) -> tuple[Ints, Ints, Ints]:
        slots, hits = self.hits.update(ordinals)
        if self.permanent:
            return slots, hits, hits + 1
        newest = self.inserted(positions) - 1
        return newest - (newest - slots) % self.rows, hits, hits + 1

    def _deletes(self, ordinals: Ints, positions: Ints) -> tuple[Ints, Ints, int]:
        keys = self.undeleted + ordinals
        return keys, self.versions(keys, positions), -1

    def inserted(self, positions: Ints) -> Ints:
        """Return how many rows were inserted before each position."""
        return np.minimum(positions, self.first) + self._before(INSERT, positions)

    def deleted(self, positions: Ints) -> Ints:
        """Return how many rows were deleted before each position."""
        return self._before(DELETE, positions)

    def updated(self, positions: Ints) -> Ints:
        """Return how many updates precede each position."""
        return self._before(UPDATE, positions)

    def _before(self, kind: int, positions: Ints) -> Ints:
        return self.mixed.before(kind, np.maximum(positions - self.first, 0))

    def insertion(self, keys: Ints) -> Ints:
        """Return the position at which each row is inserted."""
        positions = keys.copy()
        mixed = np.flatnonzero(keys >= self.first)
        if len(mixed):
            positions[mixed] = self.first + self.mixed.position(INSERT, keys[mixed] - self.first)
        return positions

    def arrived(self, keys: Ints) -> Ints:
        """Return the version in which each row is inserted."""
        return self._hits(keys, self.updated(self.insertion(keys)))

    def versions(self, keys: Ints, positions: Ints) -> Ints:
        """Return the versions of rows at positions after their insertion; a deleted row keeps its last."""
        if not self.mixed.counts[UPDATE]:
            return np.zeros(len(keys), np.int64)
        if not self.permanent and self.mixed.counts[INSERT]:
            followers = keys + self.rows
            left = np.flatnonzero(followers < self.inserted(positions))
            positions = positions.copy()
            positions[left] = self.insertion(followers[left])
        return self._hits(keys, self.updated(positions))

    def _hits(self, keys: Ints, updates: Ints) -> Ints:
        """Return the versions of rows in their slots, after that many updates."""
        if not self.mixed.counts[UPDATE]:
            return np.zeros(len(keys), np.int64)
        if not self.permanent:
            return self.hits.hits(keys % self.rows, updates)
        versions = np.zeros(len(keys), np.int64)
        first = np.flatnonzero(keys < self.rows)
        versions[first] = self.hits.hits(keys[first], updates[first])
        return versions

    def written(self, keys: Ints, versions: Ints) -> Ints:
        """Return the position at which each row gets its version: that of its slot's hit, or of its insertion if
        that is later."""
        positions = self.insertion(keys)
        hit = np.flatnonzero(versions > 0)
        if len(hit):
            numbers = self.hits.number(keys[hit] % self.rows, versions[hit] - 1)
            positions[hit] = np.maximum(positions[hit], self.first + self.mixed.position(UPDATE, numbers))
        return positions

    def there(self, position: int) -> tuple[range, ...]:
        """Return the keys of the rows that exist before a position."""
        at = np.array([position])
        inserted, first = int(self.inserted(at)[0]), self.undeleted
        oldest = first + int(self.deleted(at)[0])
        return range(0, min(first, inserted)), range(oldest, inserted)


@lru_cache(maxsize=4096)
def row_lifecycle(table: TableModel, most: int, seed: int, since: int) -> RowLifecycle:
    """Return the lifecycle of a table that was last empty before transaction `since`.

    `most` is the maximum number of the table's rows that a transaction changes.
    """
    permanent = table.kept and table.rows > 0 and table.mix.deletes > 0
    first = table.rows + spare_rows(table, most) if permanent else table.rows
    hits = SlotUpdates(table.rows, table.skew, seed_of(seed, since))
    return RowLifecycle(table.rows, first, _mixed(table.mix, seed), hits, permanent)


def spare_rows(table: TableModel, most: int) -> int:
    """Return how many rows exist for deletes when the mix begins.

    They must be more than a transaction changes: a row that is inserted and deleted in one transaction does not appear.
    """
    return max(2 * most, table.rows // 100) if table.kept and table.rows else table.rows


@lru_cache(maxsize=4096)
def _mixed(mix: Mix, seed: int) -> Cycle:
    """Return the kinds of changes, rotated so that at least as many inserts as deletes precede any position."""
    shares = {INSERT: mix.inserts, UPDATE: mix.updates, DELETE: mix.deletes}
    divisor = math.gcd(mix.inserts, mix.updates, mix.deletes)
    times = -(-MIXED * divisor // sum(shares.values()))
    kinds = spread([shares[kind] // divisor * times for kind in sorted(shares)], seed)
    more = np.cumsum(np.where(kinds == INSERT, 1, np.where(kinds == DELETE, -1, 0)))
    return cycle(np.roll(kinds, -1 - int(np.argmin(more))), len(shares))

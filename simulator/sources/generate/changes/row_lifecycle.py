"""How the rows of one table come, change and go, from when it is empty.

One law: what a change does to which row is a function of its position among the changes of the table alone, and the
change that brought a row into a version is found from key and version.

Rows are numbered by insertion (*key*). The first `rows` changes are inserts; then a cycle of the mix says what each is,
in which at any place there were at least as many inserts as deletes. Deletes take the oldest row. Updates hit *slots*,
as many as the table starts with rows: row k is in slot k mod rows, until row k + rows takes the slot over, which comes
before k is deleted. A row's version counts the hits of its slot, also those before it was in it; it rises by one with
each of its updates.

Where the first rows are kept, deletes take the oldest of the others, of which the table gets some before its mix
begins, and updates hit the kept rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.columns.change_frame import DELETE, INSERT, UPDATE, Ints
from simulator.sources.generate.changes.cycle import Cycle, cycle, seed_of, spread
from simulator.sources.generate.changes.skew import Hits
from simulator.sources.generate.model import Mix, TableModel

MIXED = 1024
"""Changes in which a mix repeats itself, at least."""


@dataclass(frozen=True, eq=False)
class Life:
    """Positions count the changes of the table since it was empty."""

    rows: int
    """Slots that updates hit."""

    first: int
    """Inserts with which the table begins, before the mix."""

    mixed: Cycle
    hits: Hits
    permanent: bool
    """Whether the first rows are in their slots for ever."""

    @property
    def undeleted(self) -> int:
        """The first key that is deleted."""
        return self.rows if self.permanent else 0

    def changes(self, first: int, end: int) -> tuple[Ints, Ints, Ints]:
        """Keys of the changes from one position to another, and versions before and after; -1 where there is none."""
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
        """How many rows were inserted before each position."""
        return np.minimum(positions, self.first) + self._before(INSERT, positions)

    def deleted(self, positions: Ints) -> Ints:
        """How many rows were deleted before each position."""
        return self._before(DELETE, positions)

    def updated(self, positions: Ints) -> Ints:
        """How many updates lie before each position."""
        return self._before(UPDATE, positions)

    def _before(self, kind: int, positions: Ints) -> Ints:
        return self.mixed.before(kind, np.maximum(positions - self.first, 0))

    def insertion(self, keys: Ints) -> Ints:
        """At which position each row is inserted."""
        found = keys.copy()
        mixed = np.flatnonzero(keys >= self.first)
        if len(mixed):
            found[mixed] = self.first + self.mixed.position(INSERT, keys[mixed] - self.first)
        return found

    def arrived(self, keys: Ints) -> Ints:
        """The version in which each row is inserted."""
        return self._hits(keys, self.updated(self.insertion(keys)))

    def versions(self, keys: Ints, positions: Ints) -> Ints:
        """Of rows at positions before which they were inserted; a deleted row keeps its last."""
        if not self.mixed.counts[UPDATE]:
            return np.zeros(len(keys), np.int64)
        if not self.permanent and self.mixed.counts[INSERT]:
            followers = keys + self.rows
            left = np.flatnonzero(followers < self.inserted(positions))
            positions = positions.copy()
            positions[left] = self.insertion(followers[left])
        return self._hits(keys, self.updated(positions))

    def _hits(self, keys: Ints, updates: Ints) -> Ints:
        """The versions of rows that are in their slots, behind so many updates."""
        if not self.mixed.counts[UPDATE]:
            return np.zeros(len(keys), np.int64)
        if not self.permanent:
            return self.hits.hits(keys % self.rows, updates)
        found = np.zeros(len(keys), np.int64)
        first = np.flatnonzero(keys < self.rows)
        found[first] = self.hits.hits(keys[first], updates[first])
        return found

    def written(self, keys: Ints, versions: Ints) -> Ints:
        """At which position each row gets its version: where its slot is hit for that time, or where it is inserted
        if that comes later."""
        found = self.insertion(keys)
        hit = np.flatnonzero(versions > 0)
        if len(hit):
            numbers = self.hits.number(keys[hit] % self.rows, versions[hit] - 1)
            found[hit] = np.maximum(found[hit], self.first + self.mixed.position(UPDATE, numbers))
        return found

    def there(self, position: int) -> tuple[range, ...]:
        """The keys of the rows before a position."""
        at = np.array([position])
        inserted, first = int(self.inserted(at)[0]), self.undeleted
        oldest = first + int(self.deleted(at)[0])
        return range(0, min(first, inserted)), range(oldest, inserted)


@lru_cache(maxsize=4096)
def life(table: TableModel, most: int, seed: int, since: int) -> Life:
    """Of a table of whose rows a transaction changes so many at most, and which was empty for the last time before
    transaction `since`."""
    permanent = table.kept and table.rows > 0 and table.mix.deletes > 0
    first = table.rows + spare(table, most) if permanent else table.rows
    hits = Hits(table.rows, table.skew, seed_of(seed, since))
    return Life(table.rows, first, _mixed(table.mix, seed), hits, permanent)


def spare(table: TableModel, most: int) -> int:
    """How many rows there are for deletes when the mix begins. They must be more than a transaction changes: a row
    that comes and goes within one is not seen."""
    return max(2 * most, table.rows // 100) if table.kept and table.rows else table.rows


@lru_cache(maxsize=4096)
def _mixed(mix: Mix, seed: int) -> Cycle:
    """The kinds of changes, turned so that at any place there were at least as many inserts as deletes before."""
    wanted = {INSERT: mix.inserts, UPDATE: mix.updates, DELETE: mix.deletes}
    divisor = math.gcd(mix.inserts, mix.updates, mix.deletes)
    times = -(-MIXED * divisor // sum(wanted.values()))
    kinds = spread([wanted[kind] // divisor * times for kind in sorted(wanted)], seed)
    more = np.cumsum(np.where(kinds == INSERT, 1, np.where(kinds == DELETE, -1, 0)))
    return cycle(np.roll(kinds, -1 - int(np.argmin(more))), len(wanted))

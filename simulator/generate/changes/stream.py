"""The stream of changes: the changed rows of any window of transactions, and their versions before and after.

Nothing is stored between windows; two adjacent windows give the same changes as one over both.

A table that was truncated before transaction `since` begins again there: with its first position, as empty as at the
start of the stream, and with its own seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.generate.changes.cycle import net_changes, seed_of
from simulator.generate.changes.row_lifecycle import RowLifecycle, row_lifecycle
from simulator.generate.changes.timetable import Segment, Timetable
from simulator.generate.changes.transactions import Transactions, transactions
from simulator.generate.model import KeyChanges, Model, TableRows

CHUNK = 65_536

SAMPLE = 100_000
"""Number of changes from which the share of visible changes is measured."""

NEARLY = 0.995
PARTS = 10_000


@dataclass(frozen=True)
class Stream:
    """A stream of changes. Everything besides its fields is computed where it is needed, so that it is cheap to
    send."""

    model: Model
    segments: tuple[Segment, ...]

    @cached_property
    def timetable(self) -> Timetable:
        return Timetable(self.segments, self.transactions, _seen(self.model))

    @cached_property
    def transactions(self) -> Transactions:
        return transactions(self.model)

    @property
    def fill_transactions(self) -> int:
        """The first transaction after those that fill the tables."""
        return self.transactions.fill

    def window(self, first: int, end: int, since: Sequence[int]) -> KeyChanges:
        """Return the net changes of the transactions from `first` to `end`, exclusive.

        `since` has for each table the transaction before which it was empty, not after `first`.
        """
        tables = [
            each
            for each in range(len(self.model.tables))
            if self.model.tables[each].weight or (first < self.transactions.fills[each + 1])
        ]
        changes_of_tables = [self._of_table(table, first, end, since[table]) for table in tables]
        columns = [np.concatenate(each) for each in zip((np.zeros(0, np.int64),) * 5, *changes_of_tables)]
        if len(changes_of_tables) > 1:
            order = np.argsort(columns[1], kind="stable")
            columns = [column[order] for column in columns]
        return KeyChanges(*columns)

    def _of_table(self, table: int, first: int, end: int, since: int) -> tuple[Ints, ...]:
        numbers = self.transactions.of_window(table, first, end)
        if not len(numbers):
            return (numbers,) * 5
        begin = self._position(table, first, since)
        changes = net_changes(numbers, *self._life(table, since).changes(begin, begin + len(numbers)))
        return np.full(len(changes[0]), table), *changes

    def alive(self, table: int, transaction: int, since: int, rows: int = CHUNK) -> Iterator[TableRows]:
        """Yield the rows that exist before a transaction, by key, in chunks."""
        position = self._position(table, transaction, since)
        lifecycle = self._life(table, since)
        for keys in lifecycle.there(position):
            for first in range(keys.start, keys.stop, rows):
                some = np.arange(first, min(first + rows, keys.stop))
                versions = lifecycle.versions(some, np.full(len(some), position))
                yield TableRows(some, versions, since, self, table)

    def born(self, table: int, keys: Ints, since: int) -> Ints:
        """Return the transaction in which each row was inserted; -1 for rows that existed before the stream."""
        return self._transaction(table, self._life(table, since).insertion(keys), since)

    def changed(self, table: int, keys: Ints, versions: Ints, since: int) -> Ints:
        """Return the transaction in which each row got its version; -1 as for `born`."""
        return self._transaction(table, self._life(table, since).written(keys, versions), since)

    def versions(self, table: int, keys: Ints, transactions: Ints, since: int) -> Ints:
        """Return the version of each row before a transaction that follows its insertion."""
        return self._life(table, since).versions(keys, self._positions(table, transactions, since))

    def arrived(self, table: int, keys: Ints, since: int) -> Ints:
        """Return the version in which each row was inserted; updates in the same transaction come on top."""
        return self._life(table, since).arrived(keys)

    def inserted(self, table: int, transactions: Ints, since: int) -> Ints:
        """Return how many rows of a table had been inserted before each transaction."""
        return self._life(table, since).inserted(self._positions(table, transactions, since))

    def deleted(self, table: int, transactions: Ints, since: int) -> Ints:
        """Return how many rows of a table had been deleted before each transaction."""
        return self._life(table, since).deleted(self._positions(table, transactions, since))

    def milliseconds(self, transactions: Ints) -> Ints:
        """Return when transactions commit, in milliseconds since the stream's start; -1 for -1."""
        return np.where(transactions < 0, -1, self.timetable.milliseconds(np.maximum(transactions, 0)))

    def _life(self, table: int, since: int) -> RowLifecycle:
        most = self.model.rows_per_transaction[1]
        return row_lifecycle(self.model.tables[table], most, seed_of(self.model.seed, table), since)

    def _begin(self, table: int, since: int) -> int:
        """Return how many changes the table had before it was last empty."""
        return _begin(self.transactions, table, since) if since else 0

    def _position(self, table: int, transaction: int, since: int) -> int:
        return int(self._positions(table, np.array([transaction]), since)[0])

    def _positions(self, table: int, transactions: Ints, since: int) -> Ints:
        """Return how many changes the table had before each transaction since it was last empty."""
        return self.transactions.changes_before(table, transactions) - self._begin(table, since)

    def _transaction(self, table: int, positions: Ints, since: int) -> Ints:
        return self.transactions.of_changes(table, positions + self._begin(table, since))

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.model, self.segments)


@lru_cache(maxsize=8)
def _seen(model: Model) -> tuple[int, int]:
    """Return a ratio (visible, all) of the changes of the mix, measured in a part of it; (1, 1) if nearly all are
    visible."""
    stream = Stream(model, ())
    count = max(1, SAMPLE // sum(model.rows_per_transaction) * 2)
    first = stream.fill_transactions + count
    seen = len(stream.window(first, first + count, [0] * len(model.tables)).key)
    bounds = stream.transactions.rows_before(np.array([first, first + count]))
    share = seen / int(bounds[1] - bounds[0])
    return (max(1, round(share * PARTS)), PARTS) if share < NEARLY else (1, 1)


@lru_cache(maxsize=256)
def _begin(transactions: Transactions, table: int, since: int) -> int:
    return int(transactions.changes_before(table, np.array([since]))[0])

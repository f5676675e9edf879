"""The stream of changes: the changed rows of any window of transactions, and their versions before and after.

Nothing is stored between windows; two adjacent windows give the same changes as one over both.

A table that was truncated before transaction `since` begins again there: with its first position, as empty as at the
start of the stream, and with its own seed.

Several changes of one row in one transaction become the change that a database writes at commit: from the version
before the first to the version after the last. A row that is inserted and deleted in one transaction does not appear.

A model is checked before its stream begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.generate.cycle import seed_of
from simulator.generate.model import HotSet, KeyChanges, Mix, Model, Skew, TableModel, TableRows, Zipf
from simulator.generate.row_lifecycle import RowLifecycle, row_lifecycle, spare_rows
from simulator.generate.transactions import MOST, Segment, Timetable, Transactions, transactions
from simulator.limits import counted

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


def net_changes(transactions: Ints, keys: Ints, before: Ints, after: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the net changes of one table, given in the order in which they happen, each with its transaction."""
    order = _by_key(keys)
    sorted_keys, numbers = keys[order], transactions[order]
    again = np.flatnonzero((sorted_keys[1:] == sorted_keys[:-1]) & (numbers[1:] == numbers[:-1])) + 1
    if not len(again):
        return transactions, keys, before, after
    begins = np.ones(len(order), bool)
    begins[again] = False
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(order)) - 1
    after = after.copy()
    after[order[firsts]] = after[order[lasts]]
    stays = np.zeros(len(order), bool)
    stays[order[firsts]] = True
    stays &= (before >= 0) | (after >= 0)
    return transactions[stays], keys[stays], before[stays], after[stays]


def _by_key(keys: Ints) -> Ints:
    """Return the positions of changes by key, those of one key in their order."""
    bits = max(1, len(keys) - 1).bit_length()
    least = int(keys.min()) if len(keys) else 0
    if len(keys) and (int(keys.max()) - least) >> (63 - bits):
        return np.argsort(keys, kind="stable")
    return np.sort((keys - least) << bits | np.arange(len(keys))) & ((1 << bits) - 1)


CHANGES = 10_000
"""Maximum sum of a mix, divided by the common divisor of its numbers."""

ROWS = 2_000_000_000
"""Maximum rows at the start of a table: a product of two such numbers has 64 bits."""

TRANSACTION = 1_000_000


def check(model: Model) -> None:
    """Raise UserError for a model that is not possible."""
    if not model.tables:
        raise UserError("a stream needs a table at least")
    least, most = model.rows_per_transaction
    if not 1 <= least <= most <= TRANSACTION:
        raise UserError(
            f"rows-per-transaction: least {least:,} and most {most:,}: expected 1 to {TRANSACTION:,}, the least first"
        )
    if not 1 <= model.tables_per_transaction <= most:
        raise UserError(
            f"tables-per-transaction {model.tables_per_transaction:,}: expected 1 to {most:,}, which is how many rows "
            "a transaction has"
        )
    _check_weights(model)
    for table in model.tables:
        _check_table(table, most)


def _check_weights(model: Model) -> None:
    for table in model.tables:
        if table.weight < 0:
            raise UserError(f"{_name(table)}: weight {table.weight}: expected 0 or more")
    weights = sum(table.weight for table in model.tables)
    if not weights:
        raise UserError("every table has weight 0: one at least needs changes")
    for table in model.tables:
        if table.weight and weights // table.weight > MOST // 4:
            raise UserError(
                f"{_name(table)}: weight {table.weight:,} beside {weights - table.weight:,} of the others: expected at "
                f"least one change in {MOST // 4:,}, or weight 0"
            )


def _check_table(table: TableModel, most: int) -> None:
    if not 0 <= table.rows <= ROWS:
        raise UserError(f"{_name(table)}: rows {table.rows:,}: expected 0 to {ROWS:,}")
    _check_mix(table, table.mix, most)
    _check_skew(table, table.skew)


def _check_mix(table: TableModel, mix: Mix, most: int) -> None:
    changes = mix.inserts + mix.updates + mix.deletes
    if min(mix.inserts, mix.updates, mix.deletes) < 0 or not (
        0 < changes <= CHANGES * math.gcd(mix.inserts, mix.updates, mix.deletes)
    ):
        raise UserError(
            f"{_name(table)}: mix of {counted(mix.inserts, 'insert')}, {counted(mix.updates, 'update')} and {counted(mix.deletes, 'delete')}: "
            f"expected none below 0, and 1 to {CHANGES:,} in all"
        )
    if not table.weight:
        return
    if mix.deletes > mix.inserts:
        after = -(-spare_rows(table, most) * changes // (mix.deletes - mix.inserts))
        kept = ", whose first rows are kept as others refer to them," if table.kept else ""
        raise UserError(
            f"{_name(table)}: {mix.deletes:,} deletes for {mix.inserts:,} inserts exhaust the table{kept} after "
            f"{counted(after, 'change')}: expected at most as many deletes as inserts"
        )
    if mix.updates and not table.rows:
        raise UserError(
            f"{_name(table)}: rows 0, but a mix of {counted(mix.updates, 'update')}: expected 1 row or more"
        )
    if mix.deletes and spare_rows(table, most) < most:
        raise UserError(
            f"{_name(table)}: rows {table.rows:,} are too few for deletes in transactions of up to {counted(most, 'row')}: "
            f"expected rows {most:,} or more, so that a transaction does not delete what it inserts"
        )


def _check_skew(table: TableModel, skew: Skew) -> None:
    match skew:
        case Zipf(exponent) if not (math.isfinite(exponent) and 0 < exponent <= 10):
            raise UserError(f"{_name(table)}: skew zipf {exponent}: expected an exponent above 0, and up to 10")
        case HotSet(rows, updates) if not (0 < rows < 1 and 0 < updates <= 1):
            raise UserError(
                f"{_name(table)}: skew of {updates:g} of the updates for {rows:g} of the rows: expected shares above "
                "0, up to 1, and not all rows"
            )


def _name(table: TableModel) -> str:
    return f"table {table.schema}.{table.name}"

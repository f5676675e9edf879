"""Transactions: how many rows each has, and of which tables.

One law: which transaction a table's n-th change belongs to, and how many changes of a table lie before a transaction,
are inverse to each other.

Transactions are numbered from 0. First come those that fill the tables, one table after the other, of even size; the
mix follows: a pattern of transactions that repeats for ever, in which each size that is asked for is as frequent. A
transaction has as many *parts* as tables are asked for, of about the same size, each of a table; in the order of a
shuffle, each part's place on the line from 0 to all rows says which table it has, by stretches as long as the tables'
weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.sources.generate.changes.cycle import seed_of, shuffled
from simulator.sources.generate.model import Model

FEWEST = 4096
"""Transactions of the pattern."""

MOST = 1 << 18

EACH = 256
"""Transactions that the table with the lowest weight gets of the pattern, where it does not get too long."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What a table has of the pattern."""

    places: Ints
    """Of the transactions."""

    sums: Ints
    """Its changes before each of these transactions, and in all."""


@dataclass(frozen=True, eq=False)
class Transactions:
    size: int
    """Rows that a transaction of the fill has."""

    filled: Ints
    """Rows with which the tables before each start, and all tables."""

    fills: Ints
    """The first transaction that fills each table, and the first behind the fill; 0 where rows are there before."""

    sums: Ints
    """Rows of the pattern before each of its transactions, and in all."""

    parts: tuple[Parts, ...]

    @property
    def fill(self) -> int:
        """The first transaction behind the fill."""
        return int(self.fills[-1])

    @property
    def filling(self) -> int:
        """How many rows the fill has."""
        return 0 if self.present else int(self.filled[-1])

    @property
    def length(self) -> int:
        """How many transactions the pattern has."""
        return len(self.sums) - 1

    @property
    def present(self) -> bool:
        return not self.fill

    def rows_before(self, transactions: Ints) -> Ints:
        """How many changes of all tables lie before each transaction."""
        rounds, places = self._pattern(transactions)
        found: Ints = rounds * self.sums[-1] + self.sums[places]
        if self.present:
            return found
        table = np.searchsorted(self.fills, transactions, side="right") - 1
        filling = np.flatnonzero(table < len(self.parts))
        found += self.filled[-1]
        table = table[filling]
        found[filling] = self.filled[table] + (transactions[filling] - self.fills[table]) * self.size
        return found

    def beginning_before(self, rows: Ints) -> Ints:
        """How many transactions have their first row among so many first rows."""
        mixed = rows - self.filling
        rounds = np.maximum(mixed, 0) // self.sums[-1]
        found: Ints = (
            self.fill
            + rounds * self.length
            + np.searchsorted(self.sums[:-1], mixed - rounds * self.sums[-1], side="left")
        )
        filling = np.flatnonzero(mixed <= 0)
        if len(filling) and not self.present:
            there = rows[filling]
            table = np.searchsorted(self.filled, there, side="left") - 1
            found[filling] = np.where(there > 0, self.fills[table] - (self.filled[table] - there) // self.size, 0)
        return found

    def changes_before(self, table: int, transactions: Ints) -> Ints:
        """How many changes of a table lie before each transaction; the rows that are there before the stream count."""
        rounds, places = self._pattern(transactions)
        parts = self.parts[table]
        found: Ints = rounds * parts.sums[-1] + parts.sums[np.searchsorted(parts.places, places)]
        rows = self.filled[table + 1] - self.filled[table]
        found += rows if self.present else np.clip((transactions - self.fills[table]) * self.size, 0, rows)
        return found

    def of_changes(self, table: int, numbers: Ints) -> Ints:
        """The transactions of a table's changes; -1 for rows that are there before the stream."""
        mixed = numbers - (self.filled[table + 1] - self.filled[table])
        found = np.full(len(numbers), -1) if self.present else self.fills[table] + numbers // self.size
        behind = np.flatnonzero(mixed >= 0)
        if len(behind):
            parts = self.parts[table]
            rounds = mixed[behind] // parts.sums[-1]
            places = np.searchsorted(parts.sums, mixed[behind] - rounds * parts.sums[-1], side="right") - 1
            found[behind] = self.fill + rounds * self.length + parts.places[places]
        return found

    def of_window(self, table: int, first: int, end: int) -> Ints:
        """The transaction of each change of a table in a window of transactions."""
        transactions, sizes = self._fill_of_window(table, first, end)
        parts = self.parts[table]
        if end > self.fill and len(parts.places):
            rounds, places = self._pattern(np.array([first, end]))
            bounds = rounds * len(parts.places) + np.searchsorted(parts.places, places)
            numbers = np.arange(bounds[0], bounds[1])
            rounds = numbers // len(parts.places)
            numbers -= rounds * len(parts.places)
            transactions = np.append(transactions, self.fill + rounds * self.length + parts.places[numbers])
            sizes = np.append(sizes, np.diff(parts.sums)[numbers])
        return np.repeat(transactions, sizes)

    def _fill_of_window(self, table: int, first: int, end: int) -> tuple[Ints, Ints]:
        begin, behind = self.fills[table], self.fills[table + 1]
        transactions = np.arange(max(first, begin), min(end, behind))
        rows = self.filled[table + 1] - self.filled[table]
        return transactions, np.minimum(self.size, rows - (transactions - begin) * self.size)

    def _pattern(self, transactions: Ints) -> tuple[Ints, Ints]:
        """The repetition, and the place in the pattern; the beginning for those of the fill."""
        behind = np.maximum(transactions - self.fill, 0)
        rounds = behind // self.length
        return rounds, behind - rounds * self.length


@lru_cache(maxsize=8)
def transactions(model: Model) -> Transactions:
    least, most = model.rows_per_transaction
    size = (least + most + 1) // 2
    rows = np.array([table.rows for table in model.tables], np.int64)
    fills = 0 * rows if model.present else -(-rows // size)
    sizes = _sizes(model)
    return Transactions(size, _sums(rows), _sums(fills), _sums(sizes), _parts(model, sizes))


def _sizes(model: Model) -> Ints:
    """Rows of each transaction of the pattern."""
    least, most = model.rows_per_transaction
    weights = [table.weight for table in model.tables if table.weight]
    wanted = min(max(FEWEST, EACH * sum(weights) // min(weights)), MOST)
    different = most - least + 1
    count = -(-wanted // different) * different if different < wanted else wanted
    return least + shuffled(count, seed_of(model.seed, 1)) * different // count


def _parts(model: Model, sizes: Ints) -> tuple[Parts, ...]:
    stretches = np.cumsum([table.weight for table in model.tables])
    most, tables = model.tables_per_transaction, len(model.tables)
    codes, rows = [], []
    for part in range(most):
        order = shuffled(len(sizes), seed_of(model.seed, 2 + part))
        own = (sizes[order] + part) // most
        line = (np.cumsum(own) - own / 2) / max(1, own.sum()) * stretches[-1]
        codes.append(np.searchsorted(stretches, line, side="right") * len(sizes) + order)
        rows.append(own)
    code, own = np.concatenate(codes), np.concatenate(rows)
    found, places = np.unique(code[own > 0], return_inverse=True)
    sums = np.bincount(places, own[own > 0], len(found)).astype(np.int64)
    bounds = np.searchsorted(found, np.arange(tables + 1) * len(sizes))
    return tuple(
        Parts(found[first:end] - table * len(sizes), _sums(sums[first:end]))
        for table, (first, end) in enumerate(zip(bounds, bounds[1:]))
    )


def _sums(numbers: Ints) -> Ints:
    """What comes before each of the numbers, and all of them."""
    return np.concatenate(([0], np.cumsum(numbers)))

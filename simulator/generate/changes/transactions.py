"""The sizes of transactions and their tables.

The transaction of a table's n-th change, and the number of a table's changes before a transaction, are inverse to each
other.

Transactions are numbered from 0. The first ones fill the tables, one table after the other, with equal sizes. Then
follows the mix: a pattern of transactions that repeats forever, in which each allowed size is equally frequent. A
transaction has as many *parts* as tables per transaction, of about equal sizes, each of one table. Parts are shuffled
and laid on a line of all rows; intervals proportional to the tables' weights give the table of each part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.generate.changes.cycle import seed_of, shuffled
from simulator.generate.model import Model

FEWEST = 4096
"""Minimum transactions of the pattern."""

MOST = 1 << 18

EACH = 256
"""Transactions of the pattern for the table with the lowest weight, unless the pattern gets too long."""


@dataclass(frozen=True, eq=False)
class TableParts:
    """A table's share of the pattern."""

    places: Ints
    """Positions of its transactions."""

    sums: Ints
    """Its changes before each of these transactions, and in all."""


@dataclass(frozen=True, eq=False)
class Transactions:
    size: int
    """Rows of a transaction of the fill."""

    filled: Ints
    """First rows of the tables before each one, and of all tables."""

    fills: Ints
    """The first transaction that fills each table, and the first after the fill; 0 if the rows exist before."""

    sums: Ints
    """Rows of the pattern before each of its transactions, and in all."""

    parts: tuple[TableParts, ...]

    @property
    def fill(self) -> int:
        """The first transaction after the fill."""
        return int(self.fills[-1])

    @property
    def filling(self) -> int:
        """Number of rows of the fill."""
        return 0 if self.present else int(self.filled[-1])

    @property
    def length(self) -> int:
        """Number of transactions in the pattern."""
        return len(self.sums) - 1

    @property
    def present(self) -> bool:
        return not self.fill

    def rows_before(self, transactions: Ints) -> Ints:
        """Return how many changes of all tables precede each transaction."""
        rounds, places = self._pattern(transactions)
        rows: Ints = rounds * self.sums[-1] + self.sums[places]
        if self.present:
            return rows
        table = np.searchsorted(self.fills, transactions, side="right") - 1
        filling = np.flatnonzero(table < len(self.parts))
        rows += self.filled[-1]
        table = table[filling]
        rows[filling] = self.filled[table] + (transactions[filling] - self.fills[table]) * self.size
        return rows

    def beginning_before(self, rows: Ints) -> Ints:
        """Return how many transactions have their first row among that many first rows."""
        mixed = rows - self.filling
        rounds = np.maximum(mixed, 0) // self.sums[-1]
        counts: Ints = (
            self.fill
            + rounds * self.length
            + np.searchsorted(self.sums[:-1], mixed - rounds * self.sums[-1], side="left")
        )
        filling = np.flatnonzero(mixed <= 0)
        if len(filling) and not self.present:
            there = rows[filling]
            table = np.searchsorted(self.filled, there, side="left") - 1
            counts[filling] = np.where(there > 0, self.fills[table] - (self.filled[table] - there) // self.size, 0)
        return counts

    def changes_before(self, table: int, transactions: Ints) -> Ints:
        """Return how many changes of a table precede each transaction, including rows that exist before the stream."""
        rounds, places = self._pattern(transactions)
        parts = self.parts[table]
        changes: Ints = rounds * parts.sums[-1] + parts.sums[np.searchsorted(parts.places, places)]
        rows = self.filled[table + 1] - self.filled[table]
        changes += rows if self.present else np.clip((transactions - self.fills[table]) * self.size, 0, rows)
        return changes

    def of_changes(self, table: int, numbers: Ints) -> Ints:
        """Return the transactions of a table's changes; -1 for rows that exist before the stream."""
        mixed = numbers - (self.filled[table + 1] - self.filled[table])
        transaction_numbers = np.full(len(numbers), -1) if self.present else self.fills[table] + numbers // self.size
        behind = np.flatnonzero(mixed >= 0)
        if len(behind):
            parts = self.parts[table]
            rounds = mixed[behind] // parts.sums[-1]
            places = np.searchsorted(parts.sums, mixed[behind] - rounds * parts.sums[-1], side="right") - 1
            transaction_numbers[behind] = self.fill + rounds * self.length + parts.places[places]
        return transaction_numbers

    def of_window(self, table: int, first: int, end: int) -> Ints:
        """Return the transaction of each change of a table in a window of transactions."""
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
        """Return the repetition, and the position in the pattern; the beginning for transactions of the fill."""
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
    """Return the rows of each transaction of the pattern."""
    least, most = model.rows_per_transaction
    weights = [table.weight for table in model.tables if table.weight]
    count_at_least = min(max(FEWEST, EACH * sum(weights) // min(weights)), MOST)
    different = most - least + 1
    count = -(-count_at_least // different) * different if different < count_at_least else count_at_least
    return least + shuffled(count, seed_of(model.seed, 1)) * different // count


def _parts(model: Model, sizes: Ints) -> tuple[TableParts, ...]:
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
    codes_, places = np.unique(code[own > 0], return_inverse=True)
    sums = np.bincount(places, own[own > 0], len(codes_)).astype(np.int64)
    bounds = np.searchsorted(codes_, np.arange(tables + 1) * len(sizes))
    return tuple(
        TableParts(codes_[first:end] - table * len(sizes), _sums(sums[first:end]))
        for table, (first, end) in enumerate(zip(bounds, bounds[1:]))
    )


def _sums(numbers: Ints) -> Ints:
    """Return the sum before each number, and of all."""
    return np.concatenate(([0], np.cumsum(numbers)))

"""The sizes of transactions, their tables, and the millisecond of simulated time at which each commits.

The transaction of a table's n-th change, and the number of a table's changes before a transaction, are inverse to each
other; so are the timetable's `milliseconds` and `transactions_before`.

Transactions are numbered from 0. The first ones fill the tables, one table after the other, with equal sizes. Then
follows the mix: a pattern of transactions that repeats forever, in which each allowed size is equally frequent. A
transaction has as many *parts* as tables per transaction, of about equal sizes, each of one table. Parts are shuffled
and laid on a line of all rows; intervals proportional to the tables' weights give the table of each part.

The timetable is computed in integers without drift. Segments give rates in rows a second. Between two different rates the
rate changes in *pieces* of a second (longer ones in ramps of more than `STEPS` seconds), each with the rate at its middle
in thousandths of a row, so that d milliseconds at rate q bring d × q millionths of a row. A transaction commits in the
millisecond that brings its first row. A repeated part brings whole rows each time, or in a number of repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.generate.cycle import seed_of, shuffled
from simulator.generate.model import Model
from simulator.tso import FOREVER

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


STEPS = 1 << 14
"""Maximum pieces of a ramp."""

MILLION = 10**6

MOST_TIMES = 1024
"""Maximum repetitions that are written out so that they bring whole rows."""


@dataclass(frozen=True)
class Segment:
    """A period of simulated time until the next segment begins; the last one never ends."""

    from_ms: int
    """Milliseconds since the stream's start; the first segment begins at 0."""

    first: float
    """Rows a second at the beginning."""

    last: float
    """Rows a second where the next segment begins, linear in between; in the last segment equal to `first`."""

    again_ms: int = 0
    """This segment and the following ones repeat forever with this period; 0 for never. At most one segment has it."""


@dataclass(frozen=True, eq=False)
class RatePieces:
    """Periods with a constant rate."""

    starts: Ints
    """Milliseconds."""

    rates: Ints
    """Thousandths of a row a second: millionths of a row a millisecond."""

    rows: Ints
    """Whole rows before each piece."""

    parts: Ints
    """Millionths of a row before each piece, in addition."""

    again: tuple[int, int, int, int]
    """The repeated part: start and length in milliseconds, rows before it, and rows in it."""


@dataclass(frozen=True)
class Timetable:
    segments: tuple[Segment, ...]
    transactions: Transactions
    seen: tuple[int, int] = (1, 1)
    """Ratio (visible, all) of changes after the fill: rates count visible changes, and several changes of a row in a
    transaction are visible as one."""

    def rows_before(self, ms: int) -> int:
        """Return how many rows the rates bring before a millisecond."""
        return int(self._rows_before(np.array([ms]))[0])

    def transactions_before(self, ms: int) -> int:
        """Return how many transactions commit before a millisecond: the number of the first that does not."""
        return int(self._transactions_before(np.array([ms]))[0])

    def milliseconds(self, transactions: Ints) -> Ints:
        """Return when each transaction commits."""
        pieces = _pieces(self.segments)
        rows = self._seen_before(transactions)
        _, every_ms, before, every = pieces.again
        times = np.maximum(rows - before, 0) // every
        rows = rows - times * every
        place = np.searchsorted(pieces.rows, rows, side="right") - 1
        rates = np.maximum(pieces.rates[place], 1)
        needed = rows + 1 - pieces.rows[place]
        whole = needed // rates
        rest = (needed - whole * rates) * MILLION - pieces.parts[place]
        times_ms: Ints = times * every_ms + pieces.starts[place] + whole * MILLION - (-rest // rates) - 1
        return times_ms

    def logical(self, transactions: Ints) -> Ints:
        """Return the number of each transaction in its millisecond, from 1."""
        return 1 + transactions - self._transactions_before(self.milliseconds(transactions))

    def _transactions_before(self, ms: Ints) -> Ints:
        rows, filled = self._rows_before(ms), self.transactions.filling
        seen, of = self.seen
        mixed = np.maximum(rows - filled, 0)
        return self.transactions.beginning_before(np.minimum(rows, filled) - (-mixed * of // seen))

    def _seen_before(self, transactions: Ints) -> Ints:
        """Return how many visible rows precede each transaction."""
        rows, filled = self.transactions.rows_before(transactions), self.transactions.filling
        seen, of = self.seen
        visible_rows: Ints = np.minimum(rows, filled) + np.maximum(rows - filled, 0) * seen // of
        return visible_rows

    def _rows_before(self, ms: Ints) -> Ints:
        pieces = _pieces(self.segments)
        again_ms, every_ms, _, every = pieces.again
        times = np.maximum(ms - again_ms, 0) // every_ms
        ms = ms - times * every_ms
        place = np.searchsorted(pieces.starts, ms, side="right") - 1
        rates, since = pieces.rates[place], ms - pieces.starts[place]
        whole = since // MILLION
        rest = (since - whole * MILLION) * rates + pieces.parts[place]
        rows_before: Ints = times * every + pieces.rows[place] + whole * rates + rest // MILLION
        return rows_before


@lru_cache(maxsize=8)
def _pieces(segments: Sequence[Segment]) -> RatePieces:
    segments, every_ms = _written_out(segments)
    starts, rates, rows, parts = [], [], [], []
    millionths, before = 0, (0, 0)
    for start, rate in _steps(segments):
        millionths += (start - before[0]) * before[1]
        before = start, rate
        starts.append(start)
        rates.append(rate)
        rows.append(millionths // MILLION)
        parts.append(millionths % MILLION)
    again = FOREVER, 1, FOREVER, 1
    if every_ms:
        begin, end = segments[-1].from_ms - every_ms, len(starts) - 1
        first = rows[starts.index(begin)]
        again = begin, every_ms, first, rows[end] - first
    return RatePieces(np.array(starts), np.array(rates), np.array(rows), np.array(parts), again)


def _written_out(segments: Sequence[Segment]) -> tuple[Sequence[Segment], int]:
    """Return the segments with the repeated ones written out, a final one, and the length of all repetitions."""
    place = next((place for place, segment in enumerate(segments) if segment.again_ms), None)
    if place is None:
        return segments, 0
    again = segments[place:]
    begin, every_ms = again[0].from_ms, again[0].again_ms
    once = [*_steps((*again, Segment(begin + every_ms, 0, 0)))]
    millionths = sum((end - start) * rate for (start, rate), (end, _) in zip(once, once[1:]))
    times = min(MILLION // gcd(millionths, MILLION), max(MOST_TIMES, MILLION // max(1, millionths) + 1))
    out = [replace(each, from_ms=each.from_ms + time * every_ms) for time in range(times) for each in again]
    end = Segment(begin + times * every_ms, 0, 0)
    return (*segments[:place], *out, end), times * every_ms


def _steps(segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """Yield the start and the rate of each piece."""
    for segment, following in zip(segments, (*segments[1:], None)):
        if following is None or segment.first == segment.last:
            yield segment.from_ms, round(1000 * segment.first)
            continue
        long, rise = following.from_ms - segment.from_ms, segment.last - segment.first
        count = min(-(-long // 1000), STEPS)
        bounds = [long * step // count for step in range(count + 1)]
        for begin, end in zip(bounds, bounds[1:]):
            yield segment.from_ms + begin, round(1000 * (segment.first + rise * (begin + end) / 2 / long))

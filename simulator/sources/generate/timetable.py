"""Timetable: in which millisecond of simulated time each transaction commits.

One law: in whole numbers, without drift: `milliseconds` and `transactions_before` are inverse to each other.

Rates are given by segments, in rows a second. Between two that differ the rate rises or falls in *pieces* of a second
(longer ones in ramps of more than `STEPS` seconds), each with the rate of its middle in thousandths of a row, so that
d milliseconds of rate q bring d × q millionths of a row. A transaction commits in the millisecond that brings its first
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.sources.generate.transactions import Transactions

STEPS = 1 << 14
"""Most pieces of a ramp."""

MILLION = 10**6


@dataclass(frozen=True)
class Segment:
    """From a moment of simulated time to where the next segment begins; the last one never ends."""

    from_ms: int
    """Milliseconds since the stream's start; the first begins at 0."""

    first: float
    """Rows a second where it begins."""

    last: float
    """Rows a second where the next one begins; linear between. Of the last segment the same as `first`."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Stretches of time with a rate that does not change."""

    starts: Ints
    """Milliseconds."""

    rates: Ints
    """Thousandths of a row a second: millionths of a row a millisecond."""

    rows: Ints
    """That come before each piece."""

    parts: Ints
    """Millionths of a row that come before each piece beside these."""


@dataclass(frozen=True)
class Timetable:
    segments: tuple[Segment, ...]
    transactions: Transactions

    def rows_before(self, ms: int) -> int:
        """How many rows the rates bring before a millisecond."""
        return int(self._rows_before(np.array([ms]))[0])

    def transactions_before(self, ms: int) -> int:
        """How many transactions commit before a millisecond: the first of those that do not."""
        return int(self._transactions_before(np.array([ms]))[0])

    def milliseconds(self, transactions: Ints) -> Ints:
        """When each transaction commits."""
        pieces = _pieces(self.segments)
        rows = self.transactions.rows_before(transactions)
        place = np.searchsorted(pieces.rows, rows, side="right") - 1
        rates = np.maximum(pieces.rates[place], 1)
        needed = rows + 1 - pieces.rows[place]
        whole = needed // rates
        rest = (needed - whole * rates) * MILLION - pieces.parts[place]
        return pieces.starts[place] + whole * MILLION - (-rest // rates) - 1

    def logical(self, transactions: Ints) -> Ints:
        """Which of its millisecond each transaction is, from 1."""
        return 1 + transactions - self._transactions_before(self.milliseconds(transactions))

    def _transactions_before(self, ms: Ints) -> Ints:
        return self.transactions.beginning_before(self._rows_before(ms))

    def _rows_before(self, ms: Ints) -> Ints:
        pieces = _pieces(self.segments)
        place = np.searchsorted(pieces.starts, ms, side="right") - 1
        rates, since = pieces.rates[place], ms - pieces.starts[place]
        whole = since // MILLION
        rest = (since - whole * MILLION) * rates + pieces.parts[place]
        return pieces.rows[place] + whole * rates + rest // MILLION


@lru_cache(maxsize=8)
def _pieces(segments: Sequence[Segment]) -> Pieces:
    starts, rates, rows, parts = [], [], [], []
    millionths, before = 0, (0, 0)
    for start, rate in _steps(segments):
        millionths += (start - before[0]) * before[1]
        before = start, rate
        starts.append(start)
        rates.append(rate)
        rows.append(millionths // MILLION)
        parts.append(millionths % MILLION)
    return Pieces(*(np.array(each, np.int64) for each in (starts, rates, rows, parts)))


def _steps(segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """The start and the rate of each piece."""
    for segment, following in zip(segments, (*segments[1:], None)):
        if following is None or segment.first == segment.last:
            yield segment.from_ms, round(1000 * segment.first)
            continue
        long, rise = following.from_ms - segment.from_ms, segment.last - segment.first
        count = min(-(-long // 1000), STEPS)
        bounds = [long * step // count for step in range(count + 1)]
        for begin, end in zip(bounds, bounds[1:]):
            yield segment.from_ms + begin, round(1000 * (segment.first + rise * (begin + end) / 2 / long))

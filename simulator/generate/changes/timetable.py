"""The timetable: the millisecond of simulated time at which each transaction commits.

A model is checked before its stream begins. The timetable is computed in integers without drift; `milliseconds` and
`transactions_before` are inverse to each other.

Segments give rates in rows a second. Between two different rates the rate changes in *pieces* of a second (longer
ones in ramps of more than `STEPS` seconds), each with the rate at its middle in thousandths of a row, so that d
milliseconds at rate q bring d × q millionths of a row. A transaction commits in the millisecond that brings its first
row. A repeated part brings whole rows each time, or in a number of repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.generate.changes.row_lifecycle import spare_rows
from simulator.generate.changes.transactions import MOST, Transactions
from simulator.generate.model import HotSet, Mix, Model, Skew, TableModel, Zipf
from simulator.quantities import counted
from simulator.tso import FOREVER

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

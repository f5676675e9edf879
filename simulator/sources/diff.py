"""The differences between two snapshots as row changes in time.

A commit-ts depends only on (seed, table, handle), so that engines may cut batches anywhere, except where rows have to
change in some order (`sources.handed_on`). Each millisecond of a period is a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.change_frame import ROW_CHANGES, Ints, ints, with_column
from simulator.columns.hashing import xxhash64
from simulator.sources.key_order import KeyOrder
from simulator.sources.schema_change import SchemaChangePoint, Transition, placed_row_changes
from simulator.sources.schema_change.row_changes import ALTERED, ChangePeriod
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tso import FOREVER, ROW_LOGICAL, compose, physical


@dataclass(frozen=True)
class ChangeClock:
    """The times at which rows change."""

    seed: int
    salts: npt.NDArray[np.int32]
    """A number for each physical table, so that its rows' commit-ts do not depend on the other tables."""

    spans: tuple[ChangePeriod, ...]
    """The period of each move from one snapshot to the next."""

    def row_hashes(self, table: Ints, handle: pa.Array) -> Ints:
        """Return a hash of each row, which determines its time; equal rows of both snapshots have the same."""
        return xxhash64(self.seed, self.salts[table], handle)

    def slots(self, row_hashes: Ints, move: Ints | int) -> Ints:
        """Return the millisecond of its move's period in which each row changes."""
        slots: Ints = row_hashes % self._over[move]
        return slots

    def commit_ts(self, slots: Ints, move: Ints | int) -> Ints:
        """Return the TSO of each change."""
        return compose(self._first[move] + slots, ROW_LOGICAL)

    def slots_of(self, commit_ts: Ints, move: Ints | int) -> Ints:
        """Return the millisecond of its move's period that each commit-ts is in."""
        return physical(commit_ts) - self._first[move]

    def moves_at(self, commit_ts: Ints) -> Ints:
        """Return the move in whose period each commit-ts is."""
        moves: Ints = np.searchsorted(self._first, physical(commit_ts), "right") - 1
        return moves

    @cached_property
    def passed(self) -> Ints:
        """Sum of the milliseconds of all periods before each one, and of all."""
        return np.append(0, np.cumsum(self._over))

    @cached_property
    def _over(self) -> Ints:
        return np.array([span.over_ms for span in self.spans], np.int64)

    @cached_property
    def _first(self) -> Ints:
        return np.array([span.first_ms for span in self.spans], np.int64)


@dataclass(frozen=True)
class FixedTimes:
    """The milliseconds of a period in which some rows change, whatever their hash gives."""

    row_hashes: Ints
    """Ascending."""

    slots: Ints

    def of(self, row_hashes: Ints) -> Ints:
        """Return the millisecond of each row; -1 if it follows from the hash."""
        if not len(self.row_hashes):
            return np.full(len(row_hashes), -1)
        at = np.minimum(np.searchsorted(self.row_hashes, row_hashes), len(self.row_hashes) - 1)
        return np.where(self.row_hashes[at] == row_hashes, self.slots[at], -1)


@dataclass(frozen=True)
class Comparison:
    """Everything that determines when and how the rows of a comparison change."""

    tables: tuple[PhysicalTable, ...]
    clock: ChangeClock
    points: tuple[SchemaChangePoint, ...]
    """When the statements of each move from one snapshot to the next run."""

    changed: tuple[Mapping[int, Transition], ...]
    """For each move, the schema changes by the table's position after the statements."""

    fixed: tuple[FixedTimes, ...] = ()
    """For each move, the times of rows that have to change in some order; empty before they are known."""

    @cached_property
    def key_order(self) -> KeyOrder:
        """The keys by which rows have to change in some order."""
        return KeyOrder(self.tables)

    @cached_property
    def keyed(self) -> npt.NDArray[np.bool_]:
        """Whether each table has a handle key, or row ids are told; rows of the others are compared whole, as a multiset."""
        return np.array([physical.row_ids or bool(handle_key(physical.table)) for physical in self.tables], np.bool_)


def at_fixed_times(changes: pa.RecordBatch, clock: ChangeClock, fixed: tuple[FixedTimes, ...]) -> pa.RecordBatch:
    """Return changes (with row_hash) that have the times of their rows alone at those that are fixed."""
    commit_ts, row_hash = ints(changes, "commit_ts").copy(), ints(changes, "row_hash")
    moves = clock.moves_at(commit_ts)
    for number, times in enumerate(fixed):
        at = np.flatnonzero(moves == number)
        slots = times.of(row_hash[at])
        commit_ts[at[slots >= 0]] = clock.commit_ts(slots[slots >= 0], number)
    return with_column(changes, "commit_ts", commit_ts)


def changes(joined: pa.RecordBatch, of: Comparison) -> pa.RecordBatch:
    """Return the CHANGES of rows that differ (JOINED), each with its commit-ts, in the table definition of its time."""
    parts = [part for _, part in placed_changes(joined, of)]
    return pa.concat_batches(parts) if parts else pa.RecordBatch.from_pylist([], ROW_CHANGES)


def changes_until(until: int, joined: pa.RecordBatch, of: Comparison) -> pa.RecordBatch:
    """Return those below a commit-ts."""
    every = changes(joined, of)
    return every if until == FOREVER else every.filter(pa.array(ints(every, "commit_ts") < until))


def placed_changes(joined: pa.RecordBatch, of: Comparison) -> Iterator[tuple[Ints, pa.RecordBatch]]:
    """Yield the same in parts, each with the positions of its rows in `joined`."""
    place = ints(joined, "place")
    move, table = np.divmod(place, len(of.tables))
    row_hash, handle = hashes_and_handles(joined, of)
    for number in np.unique(move).tolist():
        rows = np.flatnonzero(move == number)
        slots, transitions = of.clock.slots(row_hash[rows], number), of.changed[number]
        fixed = of.fixed[number].of(row_hash[rows]) if of.fixed else np.full(len(rows), -1)
        altered = np.isin(table[rows], list(transitions)) if transitions else np.zeros(len(rows), np.bool_)
        commit_ts = of.clock.commit_ts(np.where(fixed < 0, slots, fixed)[~altered], number)
        yield rows[~altered], _as_they_are(joined, table, handle, rows[~altered], commit_ts)
        for index in np.unique(table[rows[altered]]).tolist():
            chosen = np.flatnonzero(table[rows] == index)
            at = pa.array(rows[chosen])
            images = (joined.column(name).take(at) for name in ("before", "after", "unaltered"))
            numbers = pa.array(np.full(len(at), index, np.int32))
            of_table = pa.RecordBatch.from_arrays(
                [pa.array(slots[chosen]), pa.array(fixed[chosen]), numbers, handle.take(at), *images], schema=ALTERED
            )
            point, span = of.points[number], of.clock.spans[number]
            for places, part in placed_row_changes(transitions[index], point, span, of_table):
                yield rows[chosen][places], part


def hashes_and_handles(joined: pa.RecordBatch, of: Comparison) -> tuple[Ints, pa.Array]:
    """Return hash and handle of each row; equal rows of a table without a handle key differ by their number."""
    row_hash, handle, table = ints(joined, "row_hash"), joined.column("handle"), ints(joined, "place") % len(of.tables)
    whole = np.flatnonzero(~of.keyed[table])
    if not len(whole):
        return row_hash, handle
    numbered = key_bytes.number_duplicates(handle.take(pa.array(whole)), ints(joined, "occurrence")[whole])
    handle = _replaced(handle, whole, numbered)
    row_hash = row_hash.copy()
    row_hash[whole] = of.clock.row_hashes(table[whole], numbered)
    return row_hash, handle


def _replaced(array: pa.Array, places: Ints, values: pa.Array) -> pa.Array:
    """Return the array with other values at these positions."""
    order = np.arange(len(array))
    order[places] = len(array) + np.arange(len(places))
    return pa.concat_arrays([array, values]).take(pa.array(order))


def _as_they_are(joined: pa.RecordBatch, table: Ints, handle: pa.Array, rows: Ints, commit_ts: Ints) -> pa.RecordBatch:
    every = len(rows) == joined.num_rows
    at = pa.array(rows)
    columns = [handle, joined.column("before"), joined.column("after")]
    images = columns if every else [column.take(at) for column in columns]
    return pa.RecordBatch.from_arrays(
        [pa.array(commit_ts), pa.array(table[rows].astype(np.int32)), *images], schema=ROW_CHANGES
    )

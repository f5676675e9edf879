"""The differences between two snapshots as row changes in time, and what TiCDC has of older rows as their old values.

A commit-ts depends only on (seed, table, handle), so that engines may cut batches anywhere, except where rows have to
change in some order (`precedence`). Each millisecond of a period is a transaction.

A row lacks a column if its last change precedes the statement that added the column. Scripted SQL knows that of its own
rows (`ticdc.mounter`), but for columns that were added before it read them from a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import ROW_CHANGES, Ints, by_table, ints, picked, picked_values, with_column
from simulator.columns.hashing import xxhash64
from simulator.releases import Release
from simulator.sources.key_order import KeyOrder
from simulator.sources.row_changes import ALTERED, ChangePeriod, placed_row_changes
from simulator.sources.snapshots import PhysicalTable
from simulator.sources.transition import SchemaChangePoint, Transition
from simulator.ticdc import table_info
from simulator.ticdc.mounter import filled_images
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
    numbered = table_info.number_duplicates(handle.take(pa.array(whole)), ints(joined, "occurrence")[whole])
    handle = replaced(handle, whole, numbered)
    row_hash = row_hash.copy()
    row_hash[whole] = of.clock.row_hashes(table[whole], numbered)
    return row_hash, handle


def replaced(array: pa.Array, places: Ints, values: pa.Array) -> pa.Array:
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


AddedColumns = Mapping[int, tuple[tuple[int, int], ...]]
"""By the number of a physical table the ids of the columns that rows may lack, each with the commit-ts of the statement
that added it."""


@dataclass(frozen=True)
class OlderRows:
    """Fills the old values of older rows."""

    tables: tuple[PhysicalTable, ...]
    added: AddedColumns
    spans: tuple[ChangePeriod, ...]
    """The periods in which diffs change rows."""

    release: Release
    zone: str
    """Of TIMESTAMPs in rows, which images have in UTC."""

    asks_for_earlier_changes: bool
    """Whether a row may have been written between a column that it would lack and a change. In one diff rows change once."""

    since: int = 0
    """The commit-ts from which on changes are sent; those before are known for their times."""

    @property
    def identities(self) -> Ints:
        """The id of the table of each physical table. With it a handle stands for a row across statements, but for those that
        give it another one: behind them rows are as old as they can be."""
        return np.array([physical.table_id for physical in self.tables], np.int64)

    def filled(self, changes: pa.RecordBatch, written: Ints) -> pa.RecordBatch:
        """Return those of the row changes (ROW_CHANGES) that are sent, with the old images that TiCDC has. `written` has the
        commit-ts of the change of each row before, 0 for none."""
        sent = np.flatnonzero(ints(changes, "commit_ts") >= self.since)
        changes, written = picked(changes, sent), written[sent]
        before, order, parts = changes.column("before"), [], []
        commit_ts = ints(changes, "commit_ts")
        for table, at in by_table(ints(changes, "table")):
            images = picked_values(before, at)
            lacking = self._lacking(table, commit_ts[at], written[at], np.asarray(images.is_valid()))
            parts.append(filled_images(images, lacking, self.tables[table].table, self.release, self.zone))
            order.append(at)
        if not parts:
            return changes
        back = np.argsort(np.concatenate(order))
        return with_column(changes, "before", picked_values(pa.concat_arrays(parts), back))

    def _lacking(self, table: int, commit_ts: Ints, written: Ints, there: npt.NDArray[np.bool_]) -> pa.Array | None:
        """Return what rows with an old image lack, as `filled_images` takes it; None for nothing."""
        columns = sorted(self.added.get(table, ()), key=itemgetter(1))
        added = np.array([commit_ts for _, commit_ts in columns], np.int64)
        first = np.searchsorted(added, written, "right")
        end = np.searchsorted(added, self._known_since(commit_ts), "left")
        if not (there & (first < end)).any():
            return None
        sets, places = np.unique(first * (len(columns) + 1) + end, return_inverse=True)
        bounds = (divmod(each, len(columns) + 1) for each in sets.tolist())
        texts = [",".join(str(id) for id, _ in columns[first:end]).encode() or None for first, end in bounds]
        return pa.array(texts, pa.binary()).take(pa.array(places))

    def _known_since(self, commit_ts: Ints) -> Ints:
        """Return the time from which on scripted SQL knows what the rows lack that it changes: that of a diff before it.
        Diffs know it never."""
        starts, ends = (
            compose(np.array([getattr(span, name) for span in self.spans], np.int64))
            for name in ("start_ms", "next_ms")
        )
        moves = np.searchsorted(starts, commit_ts, "right") - 1
        behind = np.where(moves < 0, 0, ends[moves])
        return np.where((moves >= 0) & (commit_ts < behind), commit_ts, behind)


def earlier_changes(changes: pa.RecordBatch, identities: Ints) -> Ints:
    """Return the commit-ts of the last change of each row before its change; 0 for none. Changes that leave a row as it
    is do not count: MODIFY COLUMN rewrites rows with what they have."""
    rows = changes.select(["handle", "commit_ts"]).append_column(
        "identity", pa.array(identities[ints(changes, "table")])
    )
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ("identity", "handle", "commit_ts")])
    rows, order = rows.take(order), np.asarray(order).astype(np.int64)
    commit_ts = ints(rows, "commit_ts")
    begins = _begins(rows, "identity") | _begins(rows, "handle")
    same_time = ~(begins | _begins(rows, "commit_ts"))
    places = np.arange(len(order))
    firsts = np.maximum.accumulate(np.where(begins, places, 0))
    writes = ~np.asarray(pc.fill_null(pc.equal(changes["before"], changes["after"]), False))[order]
    last = np.maximum.accumulate(np.where(writes, places, -1))
    before = np.append(-1, last)[np.maximum.accumulate(np.where(same_time, 0, places))]
    written = np.zeros(len(order), np.int64)
    written[order] = np.where(before >= firsts, commit_ts[before], 0)
    return written


def _begins(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.bool_]:
    """Return which rows differ in a column from the one before; the first one does."""
    column = rows.column(name)
    if not len(column):
        return np.zeros(0, np.bool_)
    return np.append(True, np.asarray(pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))))

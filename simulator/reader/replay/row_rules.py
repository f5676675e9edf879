"""What image pairs of one row must keep, one after another, and those of one value of a unique key: the rules of the replay.

A rule of rows asks no more of two images than whether they exist and are equal, so that images may be hashes (`digests`) as well
as themselves (`neighbours`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, ints
from simulator.reader.replay import ANY, BEGIN, END, IMAGE_PAIR_SCHEMA, NEVER, SAME, Findings, as_mask, same_row
from simulator.reader.replay.table_timeline import NO_TABLE
from simulator.reader.replay.unique_keys import UniqueKey


@dataclass(frozen=True)
class TableKnowledge:
    """Properties of the tables of a timeline and their unique keys, by number."""

    columns: npt.NDArray[np.int64]
    """Number of visible columns; of a unique key, of those that identify a row."""

    keyed: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]
    """Whether all rows at the start of the stream are known."""

    ends: npt.NDArray[np.bool_]
    """Whether all rows expected at the end are known."""

    restarts: bool = True
    """Whether row changes may be repeated."""

    in_order: bool = False
    """Whether the order of offsets is that of changes, whatever their commit-ts."""

    whole: bool = True
    """Whether messages of a stream that is right have all cells of most images."""

    tables: int = NEVER
    """Number of tables; unique keys have the numbers from it on."""

    replayed: Mapping[int, Sequence[UniqueKey]] = field(default_factory=dict)
    """The unique keys whose values follow from the replay of rows, by number of the table."""

    def of(self, values: npt.NDArray[np.bool_], table: Ints) -> Mask:
        """Look up one of these arrays for each row. An undefined table has a handle key, and none of its rows are
        known."""
        mask: Mask = np.append(values, values is self.keyed)[np.maximum(table, NO_TABLE)]
        return mask


class Difference(NamedTuple):
    """A check, and the rows that fail it."""

    check: str
    where: Mask
    actual: pa.Array | None
    expected: pa.Array | None


SPREAD = "spread"
"""Counts image pairs of a row that are in another partition than the one before, where nothing tells which came first."""

Alike = Callable[[pa.Array, pa.Array, Mask], Mask]
"""Returns where two images may be of one row; false outside the mask."""


class KeyedRows:
    """Image pairs of tables with a handle key, sorted by ORDER, beside the state that the pair before each left."""

    def __init__(
        self, rows: pa.RecordBatch, goes_on: Mask, expected: TableKnowledge, first: int = 0, last: bool = True
    ) -> None:
        """`goes_on` is whether a pair is of the same row as the one before. The pairs before `first` were checked
        earlier. `last` is whether the stream ends here, so that the last pair is the last one of its row."""
        before = np.maximum(np.arange(len(rows)) - 1, 0)
        self._rows, self._goes_on = rows, goes_on
        self.table, self._ts, dropped_at = (ints(rows, name) for name in ("table", "commit_ts", "dropped_at"))
        self._new = as_mask(pc.is_valid(rows.column("new")))
        self._is_new = np.arange(len(rows)) >= first
        self.was = _before(rows.column("new"))
        """The image that the pair before left."""

        self.finds = goes_on & self._new[before] & (dropped_at[before] >= self._ts)
        """Whether the row is there before the pair."""

        self._certain = goes_on | expected.of(expected.known, self.table)
        """Whether the state before the pair is known."""

        self._twice = self._is_new & goes_on & (self._ts == BEGIN) & (self._ts[before] == BEGIN)
        """Whether the snapshot before the stream has the row twice."""

        self._is_end = self._is_new & (self._ts == END)
        change = self._is_new & (self._ts != BEGIN) & (self._ts != END)
        rank, exact = ints(rows, "rank"), as_mask(rows.column("exact"))
        at_once = goes_on & change & (self._ts == self._ts[before]) & (rank == rank[before]) & exact
        again = at_once
        for side in ("old", "new") if at_once.any() else ():
            again = again & equal_images(rows.column(side), _before(rows.column(side)), again)
        self.changes, self._contradicts = change & ~again, at_once & ~again
        """Whether a pair is a change that repeats none."""

        self._spread = np.zeros(len(rows), np.bool_)
        if expected.in_order:
            partition = ints(rows, "partition_index")
            self._spread = goes_on & change & (self._ts == self._ts[before]) & (partition != partition[before])

        ends = np.append(~goes_on[1:], last)
        self._leaves = ends & self._new & (self._ts != END) & (dropped_at == END)
        """Whether the pair is the last of a row that exists afterwards."""

        self._left = self._leaves & expected.of(expected.ends, self.table)

    def differences(self, alike: Alike) -> Iterator[Difference]:
        old, new, was = self._rows.column("old"), self._rows.column("new"), self.was
        old_check, expects = ints(self._rows, "old_check"), as_mask(pc.is_valid(old))
        strict = self.changes & self._certain & ~self._contradicts & (old_check != ANY)
        at_end = self._is_end & self._certain
        yield Difference("two-changes", self._contradicts, old, was)
        yield Difference("row-not-there", strict & expects & ~self.finds, new, old)
        both = (strict | at_end) & expects & self.finds
        differ = both & ~alike(was, old, both)
        yield Difference("old-image", differ & strict, old, was)
        yield Difference("row-different", differ & at_end, was, old)
        there = strict & ~expects & self.finds
        there &= ~alike(was, new, there & (old_check == SAME))
        yield Difference("row-already-there", there, was, new)
        yield Difference("row-missing", at_end & ~self.finds, None, old)
        yield Difference("row-twice", self._twice, new, None)
        yield Difference("row-left", self._left, new, None)

    def counts(self) -> Iterator[tuple[str, Mask]]:
        """Yield the counters that are no differences, and which pairs add one to each."""
        yield "expected", self._is_end
        yield "untouched", self._is_end & ~self._certain
        yield "found", self._leaves | self._is_end & self.finds
        yield SPREAD, self._spread


class KeylessRows:
    """Rows of tables without a handle key, whose equal rows are counted instead of matched.

    At the end a row must exist as often as expected. After a restart, a repeated change with a row id is the same change.
    Without a row id it may be another change, and both counts are accepted.
    """

    def __init__(self, table: Ints, sums: Ints, expected: TableKnowledge) -> None:
        """`sums` has the sums of `count_changes` of each row."""
        self.table, (self._least, self._most, self._expected) = table, sums
        self._certain = expected.known[table]
        self._ends = expected.ends[table] & self._certain

    def differences(self, handle: pa.Array | None = None) -> Iterator[Difference]:
        least, most, expected = self._least, self._most, self._expected
        yield Difference("row-missing", self._ends & (most < expected), _digits(most), _digits(expected))
        yield Difference("row-left", self._ends & (least > expected), _digits(least), _digits(expected))
        yield Difference("row-not-there", self._certain & ~self._ends & (most < 0), None, handle)

    def counts(self) -> Iterator[tuple[str, Ints]]:
        """Yield the counters that are no differences, and what each row adds."""
        yield "expected", self._expected
        clipped = np.clip(self._expected, self._least, self._most)
        yield "found", np.where(self._ends, clipped, np.maximum(self._most, 0))


def count_changes(rows: pa.RecordBatch, goes_on: Mask, restarts: bool) -> Ints:
    """Return what each image pair in ORDER adds to the minimum and maximum count of its row after the changes, and to its
    expected count."""
    ts, sequence = ints(rows, "commit_ts"), ints(rows, "sequence")
    again = goes_on.copy()
    for name in ("commit_ts", "rank", "partition_index"):
        again[1:] &= np.diff(ints(rows, name)) == 0
    again &= (ts != BEGIN) & (ts != END)
    same, doubtful = again & (sequence >= 0), again & (sequence < 0) & restarts
    same[1:] &= sequence[1:] == sequence[:-1]
    comes = as_mask(pc.is_valid(rows.column("new")))
    sure = np.where(comes, 1, -1) * ((ts != END) & ~same & ~doubtful)
    return np.stack([sure - (doubtful & ~comes), sure + (doubtful & comes), ts == END])


def equal_images(one: pa.Array, other: pa.Array, where: Mask) -> Mask:
    """Return where two images are equal, or both are missing; false outside the mask."""
    if not where.any():
        return where
    return where & (as_mask(pc.equal(one, other)) | as_mask(pc.and_(pc.is_null(one), pc.is_null(other))))


def _before(values: pa.Array) -> pa.Array:
    """Return the value of the row before each; null for the first."""
    return pa.concat_arrays([pa.nulls(1, values.type), values.slice(0, len(values) - 1)])


def _digits(counts: Ints) -> pa.Array:
    return pc.cast(pc.cast(pa.array(counts), pa.string()), pa.binary())


CHECK = "unique-key"

Row = tuple[bytes | None, ...]
"""The cells that identify a row."""


@dataclass(frozen=True)
class Change:
    """An image pair of a value."""

    place: int
    """Index of the pair."""

    ts: int
    exact: bool
    dropped_at: int
    old: bytes | None
    new: bytes | None


@dataclass
class Holders:
    """The rows that have a value."""

    rows: dict[Row, tuple[bytes, int]] = field(default_factory=dict)
    """The image of each, and when its partition is dropped."""

    first_drop: int = NEVER
    told: set[Row] = field(default_factory=set)
    """Rows that were found to have the value beside another one."""

    def add(self, row: Row, image: bytes, dropped_at: int) -> None:
        self.rows[row] = image, dropped_at
        self.first_drop = min(self.first_drop, dropped_at)

    def forget_dropped(self, ts: int) -> None:
        if self.first_drop < ts:
            self.rows = {row: held for row, held in self.rows.items() if held[1] >= ts}
            self.first_drop = min((dropped_at for _, dropped_at in self.rows.values()), default=NEVER)

    def beside(self, row: Row, place: int, image: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the place of a pair that shows that a row has the value, its image, and that of another row that has it,
        unless both were told."""
        other = next((other for other in self.rows if other != row), None)
        if other is not None and not self.told >= {row, other}:
            self.told |= {row, other}
            yield place, image, self.rows[other][0]


class ValueChecks:
    """Checks image pairs of values in ORDER, batch by batch."""

    def __init__(self, identity: npt.NDArray[np.int64], findings: Findings) -> None:
        """`identity` is the number of cells that identify a row, by number of the key."""
        self._identity, self._findings = identity, findings
        self._carried = pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
        """The last checked pair, and the pairs of one value and time that the next batch may continue."""

        self._checked = 0
        """1 after the first pair was checked, else 0."""

        self._holders: Holders | None = None
        """The rows that have the value of the last checked pair, if its pairs do not follow from one another."""

    def take(self, batch: pa.RecordBatch) -> None:
        rows = pa.concat_batches([self._carried, batch])
        goes_on = same_row(rows)
        goes_on[1:] &= np.diff(ints(rows, "commit_ts")) == 0
        ready = int(np.flatnonzero(~goes_on)[-1])
        if ready <= self._checked:
            self._carried = rows
            return
        self._check(rows.slice(0, ready))
        self._carried, self._checked = rows.slice(ready - 1), 1

    def end(self) -> None:
        if len(self._carried) > self._checked:
            self._check(self._carried)

    def _check(self, rows: pa.RecordBatch) -> None:
        goes_on, odd = same_row(rows), _odd(rows)
        odd[: self._checked] = False
        if self._holders is not None and len(rows) > 1 and goes_on[1]:
            odd[1] = True
        starts = np.append(np.flatnonzero(~goes_on), len(rows))
        found: list[tuple[int, bytes, bytes]] = []
        holders = None
        for value in np.unique(np.searchsorted(starts, np.flatnonzero(odd), "right") - 1).tolist():
            first, end = int(starts[value]), int(starts[value + 1])
            holders = Holders()
            if first < self._checked:
                holders, first = self._holders or self._left_by(rows), self._checked
            found += self._replay(rows.slice(first, end - first), first, holders)
            holders = holders if end == len(rows) else None
        self._holders = holders
        if found:
            places, actual, expected = zip(*found)
            some = rows.take(pa.array(places))
            images = (pa.array(side, pa.binary()) for side in (actual, expected))
            self._findings.add(CHECK, some, np.ones(len(some), np.bool_), *images)

    def _left_by(self, rows: pa.RecordBatch) -> Holders:
        """Return the row that has the value after the first pair, as those before it follow from one another."""
        (change,), holders = _changes(rows.slice(0, 1), 0), Holders()
        if change.new is not None:
            number = int(self._identity[ints(rows, "table")[0]])
            holders.add(_row(change.new, number), change.new, change.dropped_at)
        return holders

    def _replay(self, rows: pa.RecordBatch, first: int, holders: Holders) -> Iterator[tuple[int, bytes, bytes]]:
        """Change the rows that have a value by these pairs; yield the places of those that show that two rows have it, and
        the images of both."""
        number, at_once = int(self._identity[ints(rows, "table")[0]]), list[Change]()
        for change in _changes(rows, first):
            if at_once and at_once[0].ts != change.ts:
                yield from _at_once(at_once, holders, number)
                at_once = []
            at_once.append(change)
        yield from _at_once(at_once, holders, number)


def _odd(rows: pa.RecordBatch) -> Mask:
    """Return which pairs do not begin with the image that the pair before left, and do not repeat it."""
    count = len(rows)
    before = np.maximum(np.arange(count) - 1, 0)
    old, new = rows.column("old"), rows.column("new")
    places = pa.array(before)
    was, was_old = new.take(places), old.take(places)
    ts = ints(rows, "commit_ts")
    again = (ts == ts[before]) & row_image.same(old, was_old) & row_image.same(new, was)
    dropped = as_mask(pc.is_valid(was)) & (ints(rows, "dropped_at")[before] < ts)
    odd: Mask = same_row(rows) & (dropped | ~(again | row_image.same(old, was)))
    return odd


def _changes(rows: pa.RecordBatch, first: int) -> Iterator[Change]:
    columns = (rows.column(name).to_pylist() for name in ("commit_ts", "exact", "dropped_at", "old", "new"))
    for place, values in enumerate(zip(*columns, strict=True), first):
        yield Change(place, *values)


def _row(image: bytes, number: int) -> Row:
    return tuple(row_image.cells_of(image)[:number])


def _at_once(changes: list[Change], holders: Holders, number: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Change the rows that have a value by the pairs of one time.

    Inside one commit-ts a row leaves a value before it takes it, as an UPDATE may be a DELETE and an INSERT. Inside a
    millisecond of several commit-ts the order is unknown: of a row that does both nothing is known.
    """
    left, taken = dict[Row, Change](), dict[Row, Change]()
    leaves, takes = set[Row](), set[Row]()
    exact = all(change.exact for change in changes)
    for change in changes:
        old, new = (None if image is None else _row(image, number) for image in (change.old, change.new))
        if old is not None:
            left.setdefault(old, change)
            leaves |= {old} - {new}
        if new is not None:
            taken.setdefault(new, change)
            takes |= {new} - {old}
    holders.forget_dropped(changes[0].ts)
    for row, change in left.items():
        if change.old is not None and (exact or row not in takes):
            yield from holders.beside(row, change.place, change.old)
    for row in left:
        holders.rows.pop(row, None)
    for row, change in taken.items():
        if change.new is not None and (exact or row not in leaves):
            yield from holders.beside(row, change.place, change.new)
            holders.add(row, change.new, change.dropped_at)

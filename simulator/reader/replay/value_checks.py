"""Checks that no two rows have one value of a unique key at the same time, and sums of the changes that were found.

A database checks a key where a transaction commits, so that rows may hand values on to one another inside one: what
counts at a commit-ts are the rows that had a value before and those that have it afterwards. Nothing is concluded
from what is not told: a value may be left by a row of which nobody knew that it had it. The sums are held against
those of the row changes that were sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import DELETE, KINDS, ChangeSums, Ints, ints, sums_by_group
from simulator.columns.hashing import fingerprints
from simulator.reader.frame import Layout
from simulator.reader.replay.findings import Findings
from simulator.reader.replay.frame import IMAGE_PAIR_SCHEMA, NEVER, same_row
from simulator.reader.replay.normalize import as_mask, has_lost_bytes
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family

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


def with_told_times(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows (EVENT_SCHEMA) with the commit-ts of their messages in further columns, before others take its
    place."""
    return rows.append_column("told_ts", rows.column("commit_ts")).append_column("timed", rows.column("exact"))


class SentImages:
    """Rows of one layout, of which the images become known little by little."""

    def __init__(self, rows: pa.RecordBatch, layout: Layout) -> None:
        self._rows, self._name = rows, f"{layout.schema}.{layout.table}"
        self._hashes, self._told = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)

    def put(self, places: Ints, table: Table, touched: Ints, before: pa.Array, after: pa.Array) -> None:
        """Note the normalized images of rows at these places, whose table has that definition.

        They are not told where TiDB may have another spelling, or in a millisecond with a statement on the table.
        """
        if any(family(column.type) == "float" for column in table.columns):
            return
        images = pc.coalesce(after, before)
        ts, exact = ints(self._rows, "commit_ts")[places], np.asarray(self._rows.column("exact"))[places]
        doubtful = ~exact & np.isin(ts, touched)
        self._hashes[places], self._told[places] = fingerprints(images), ~(has_lost_bytes(images) | doubtful)

    def sums(self, milliseconds: bool) -> ChangeSums:
        """Return the sums of the rows; `milliseconds` is whether these are all that messages tell of commit-ts."""
        ts, exact = ("told_ts", "timed") if "timed" in self._rows.schema.names else ("commit_ts", "exact")
        deleted = (ints(self._rows, "op") == DELETE).astype(np.int64)
        timed = np.asarray(self._rows.column(exact)) | milliseconds
        sums = sums_by_group(deleted, ints(self._rows, ts), self._hashes, timed, self._told)
        return {(self._name, KINDS[group]): each for group, each in sums.items()}

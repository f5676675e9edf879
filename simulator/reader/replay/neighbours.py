"""Checks of sorted image pairs: the new image of each pair must fit the old image of the next pair of the same row.

One pass over the pairs, which remembers only the last one, checks old images, replays the stream and compares the
result with the expected rows. Its memory does not grow with the stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.reader.replay.findings import Findings, marked_may_be_equal
from simulator.reader.replay.frame import ANY, BEGIN, END, IMAGE_PAIR_SCHEMA, NEVER, SAME, same_row
from simulator.reader.replay.keyless_rows import KeylessRowChecks
from simulator.reader.replay.normalize import as_mask, may_be_equal
from simulator.reader.replay.table_timeline import NO_TABLE
from simulator.reader.replay.unique_keys import UniqueKey, pairs_of_replayed
from simulator.reader.replay.value_checks import ValueChecks

Later = Callable[[pa.RecordBatch], None]
"""Takes image pairs that are not sorted."""

LEAST = 1 << 14
"""Image pairs that are checked at once, if there are as many."""


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


def check_image_pairs(
    batches: Iterable[pa.RecordBatch], expected: TableKnowledge, show: int, later: Later | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the findings (FINDING_SCHEMA) of image pairs sorted by ORDER, with `show` examples of each check and
    table.

    `later` gets the image pairs of values of unique keys, if some follow from the replay of rows (`expected.replayed`).
    They are checked when all of them are sorted.
    """
    findings = Findings(show)
    keyed, counted, values = (
        KeyedRowChecks(expected, findings, later),
        KeylessRowChecks(expected.known, expected.ends, expected.restarts, findings),
        ValueChecks(expected.columns, findings),
    )
    for batch in merge_small_batches(batches):
        table = ints(batch, "table")
        has_key, is_value = expected.of(expected.keyed, table), table >= expected.tables
        for mask, take in (
            (is_value, later or values.take),
            (has_key & ~is_value, keyed.take),
            (~has_key, counted.take),
        ):
            if mask.all():
                take(batch)
            elif mask.any():
                take(batch.filter(pa.array(mask)))
    keyed.end()
    counted.end()
    values.end()
    yield from findings.batches()


def merge_small_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge batches until each has at least LEAST rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows >= LEAST:
            yield pa.concat_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.concat_batches(waiting)


class KeyedRowChecks:
    """Checks the tables with a handle key, batch by batch."""

    def __init__(self, expected: TableKnowledge, findings: Findings, later: Later | None = None) -> None:
        self._expected, self._findings, self._later = expected, findings, later
        self._carried = pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
        """The last checked pair, and the pairs of one row and millisecond that the next batch may continue."""

        self._checked = 0
        """1 after the first pair was checked, else 0."""

    def take(self, batch: pa.RecordBatch) -> None:
        rows = pa.concat_batches([self._carried, batch]) if len(self._carried) else batch
        ready = len(rows) if self._expected.in_order else _count_before_last_commit(rows)
        if ready <= self._checked:
            self._carried = rows
            return
        self._carried, self._checked = self._check_settled(rows.slice(0, ready), rows.slice(ready)), 1

    def end(self) -> None:
        if len(self._carried) > self._checked:
            self._carried, self._checked = self._check_settled(self._carried, self._carried.slice(0, 0)), 1
        if self._checked:
            self._check(self._carried, 1, True)

    def _check_settled(self, rows: pa.RecordBatch, rest: pa.RecordBatch) -> pa.RecordBatch:
        """Check these pairs; return the last of them followed by `rest`."""
        ordered = rows if self._expected.in_order else self._ordered(rows)
        self._check(ordered, self._checked, False)
        return pa.concat_batches([ordered.slice(len(ordered) - 1), rest])

    def _ordered(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        known = self._expected.of(self._expected.known, ints(rows, "table"))
        return order_within_milliseconds(rows, self._checked, known)

    def _check(self, rows: pa.RecordBatch, first: int, last: bool) -> None:
        """Check the pairs from `first` on; the earlier ones were checked before. `last` says whether the stream ends
        here, so that the last pair is the last one of its row."""
        compared = NeighbourComparison(rows, self._expected)
        findings, columns = self._findings, self._expected.columns
        new = np.arange(len(rows)) >= first
        ts, was, old = compared.ts, compared.was, rows.column("old")
        finds, expects = compared.finds & compared.certain, as_mask(pc.is_valid(old))
        change, expected_rows = new & compared.change & ~compared.again, new & (ts == END)
        strict = change & compared.certain & ~compared.contradicts & (compared.old_check != ANY)
        findings.add("two-changes", rows, change & compared.contradicts, rows.column("old"), was)
        findings.add("row-not-there", rows, strict & expects & ~finds, rows.column("new"), old)
        both = (strict | expected_rows & compared.certain) & expects & finds
        differ = both & ~_alike(was, old, both, compared.table, columns)
        findings.add("old-image", rows, differ & change, old, was)
        findings.add("row-different", rows, differ & expected_rows, was, old)
        there = strict & ~expects & finds
        the_same = there & (compared.old_check == SAME)
        there &= ~_alike(was, rows.column("new"), the_same, compared.table, columns)
        findings.add("row-already-there", rows, there, was, rows.column("new"))
        findings.add("row-missing", rows, expected_rows & compared.certain & ~finds, None, old)
        findings.add("row-twice", rows, new & compared.twice, rows.column("new"), None)
        findings.count("expected", compared.table, expected_rows)
        findings.count("untouched", compared.table, expected_rows & ~compared.certain)
        if self._later is not None:
            self._tell_values(rows, compared, change)
        leaves = compared.leaves(last)
        findings.count("found", compared.table, leaves | expected_rows & finds)
        left = leaves & self._expected.of(self._expected.ends, compared.table)
        findings.add("row-left", rows, left, rows.column("new"), None)

    def _tell_values(self, rows: pa.RecordBatch, compared: NeighbourComparison, changes: Mask) -> None:
        """Tell what these changes mean for values of unique keys that follow from the replay."""
        assert self._later is not None
        places = np.flatnonzero(changes & np.isin(compared.table, list(self._expected.replayed)))
        was = pc.if_else(pa.array(compared.finds), compared.was, pa.scalar(None, pa.binary()))
        for table, at in by_table(compared.table[places]):
            some = pa.array(places[at])
            keys = self._expected.replayed[table]
            for values in pairs_of_replayed(keys, rows.take(some), was.take(some), self._findings):
                self._later(values)


class NeighbourComparison:
    """Image pairs beside the state that the pair before each left."""

    def __init__(self, rows: pa.RecordBatch, expected: TableKnowledge) -> None:
        count = len(rows)
        self.table, self.ts = ints(rows, "table"), ints(rows, "commit_ts")
        self.old_check, self._dropped_at = ints(rows, "old_check"), ints(rows, "dropped_at")
        self._new = as_mask(pc.is_valid(rows.column("new")))
        self.change = (self.ts != BEGIN) & (self.ts != END)
        goes_on = same_row(rows)
        self._goes_on = goes_on
        before = np.maximum(np.arange(count) - 1, 0)
        left = goes_on & self._new[before] & (self._dropped_at[before] >= self.ts)
        self.twice = goes_on & (self.ts == BEGIN) & (self.ts[before] == BEGIN)
        """Whether the snapshot before the stream has the row twice."""

        self.certain = goes_on | expected.of(expected.known, self.table)
        """Whether the state before the pair is known."""

        self.was = _before(rows.column("new"))
        self.finds = left
        rank, exact = ints(rows, "rank"), as_mask(rows.column("exact"))
        at_once = goes_on & self.change & (self.ts == self.ts[before]) & (rank == rank[before]) & exact
        self.again = at_once
        if at_once.any():
            equal = [_equal(rows.column(name), _before(rows.column(name))) for name in ("old", "new")]
            self.again = at_once & equal[0] & equal[1]
        self.contradicts = at_once & ~self.again

    def leaves(self, last: bool) -> Mask:
        """Return which pairs are the last of a row that exists afterwards."""
        ends = np.append(~self._goes_on[1:], last)
        mask: Mask = ends & self._new & (self.ts != END) & (self._dropped_at == END)
        return mask


def _count_before_last_commit(rows: pa.RecordBatch) -> int:
    """Return the number of pairs before the last millisecond, which the next batch may continue."""
    last = len(rows) - 1
    if rows.column("exact")[last].as_py() or ints(rows, "commit_ts")[last] in (BEGIN, END):
        return len(rows)
    goes_on = same_row(rows)
    goes_on[1:] &= np.diff(ints(rows, "commit_ts")) == 0
    return int(np.flatnonzero(~goes_on)[-1])


def _before(values: pa.Array) -> pa.Array:
    """Return the value of the row before each; null for the first."""
    return pa.concat_arrays([pa.nulls(1, values.type), values.slice(0, len(values) - 1)])


def _equal(one: pa.Array, other: pa.Array) -> Mask:
    return as_mask(pc.equal(one, other)) | as_mask(pc.and_(pc.is_null(one), pc.is_null(other)))


def _alike(one: pa.Array, other: pa.Array, where: Mask, table: Ints, columns: Ints) -> Mask:
    """Return where both images may be of one row; false outside `where`."""
    mask = where & as_mask(pc.equal(one, other))
    odd = np.flatnonzero(where & ~mask)
    for number, at in by_table(table[odd]):
        places = pa.array(odd[at])
        sides = one.take(places), other.take(places)
        mask[odd[at]] = marked_may_be_equal(*sides) if number < NO_TABLE else may_be_equal(*sides, int(columns[number]))
    return mask


Change = tuple[bytes | None, bytes | None]


def order_within_milliseconds(rows: pa.RecordBatch, first: int, known: Mask) -> pa.RecordBatch:
    """Reorder sorted image pairs: inside one row and millisecond each pair should begin with the image that the pair
    before left. Repeated pairs are dropped. Pairs before `first` keep their places. `known` is whether a row is not there
    before its first pair.

    Canal-JSON without the TiDB extension carries milliseconds only. Offsets give the order inside a partition. Between
    partitions, and for changes that a restart repeats, only the images do.
    """
    goes_on, ts = same_row(rows), ints(rows, "commit_ts")
    inexact = ~rows.column("exact").to_numpy(zero_copy_only=False) & (ts != BEGIN) & (ts != END)
    at_once = goes_on & inexact & (np.diff(ts, prepend=ts[:1]) == 0)
    at_once[: first + 1] = False
    if not at_once.any():
        return rows
    return rows.take(pa.array(_order(rows, goes_on, at_once, known), pa.int64()))


def _order(rows: pa.RecordBatch, goes_on: Mask, at_once: Mask, known: Mask) -> Ints:
    order: list[int] = []
    sequence = ints(rows, "sequence")
    done = 0
    starts = np.flatnonzero(at_once & ~np.append(False, at_once[:-1])) - 1
    for start in starts.tolist():
        end = start + 1
        while end < len(rows) and at_once[end]:
            end += 1
        order += range(done, start)
        changes = [*zip(*(rows.column(name).slice(start, end - start).to_pylist() for name in ("old", "new")))]
        was = None
        if goes_on[start] and order:
            was = rows.column("new")[order[-1]].as_py()
        elif not known[start]:
            was = _first_image(changes, int(sequence[start:end].argmin()))
        order += [start + place for place in chain_changes(changes, was)]
        done = end
    return np.array([*order, *range(done, len(rows))], np.int64)


def _first_image(changes: Sequence[Change], earliest: int) -> bytes | None:
    """Return the image with which changes of a row begin whose state before is unknown: one that more of them leave than
    bring about, or else that of the earliest one."""
    brought = Counter(new for _, new in changes)
    brought.subtract(old for old, _ in changes)
    return next((old for old, _ in changes if brought[old] < 0), changes[earliest][0])


def chain_changes(changes: list[Change], was: bytes | None) -> list[int]:
    """Return the indexes of the changes, ordered so that each begins with the image that the one before left, as far as
    possible; repeated changes are left out."""
    left, order, used = list(range(len(changes))), list[int](), set[Change]()
    while left:
        place = next((place for place in left if changes[place][0] == was), None)
        if place is None:
            left = [place for place in left if changes[place] not in used]
            if not left:
                break
            place = left[0]
        left.remove(place)
        order.append(place)
        used.add(changes[place])
        was = changes[place][1]
    return order

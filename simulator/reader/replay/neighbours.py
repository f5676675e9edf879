"""Checks of sorted image pairs: the new image of each pair must fit the old image of the next pair of the same row.

One pass over the pairs, which remembers only the last one, checks old images, replays the stream and compares the
result with the expected rows. Its memory does not grow with the stream, unless this process sorts the pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.errors import UserError
from simulator.reader.replay import BEGIN, END, IMAGE_PAIR_SCHEMA, ORDER, Findings, ImagePairSource, Report, same_row
from simulator.reader.replay.normalize import marked_may_be_equal, may_be_equal
from simulator.reader.replay.row_rules import (
    KeyedRows,
    KeylessRows,
    TableKnowledge,
    ValueChecks,
    count_changes,
    equal_images,
)
from simulator.reader.replay.table_timeline import NO_TABLE
from simulator.reader.replay.unique_keys import pairs_of_replayed

Later = Callable[[pa.RecordBatch], None]
"""Takes image pairs that are not sorted."""

LEAST = 1 << 14
"""Image pairs that are checked at once, if there are as many."""


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
        KeylessRowChecks(expected, findings),
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
        self._carried, self._checked = self._check_ready(rows.slice(0, ready), rows.slice(ready)), 1

    def end(self) -> None:
        if len(self._carried) > self._checked:
            self._carried, self._checked = self._check_ready(self._carried, self._carried.slice(0, 0)), 1
        if self._checked:
            self._check(self._carried, 1, True)

    def _check_ready(self, rows: pa.RecordBatch, rest: pa.RecordBatch) -> pa.RecordBatch:
        """Check these pairs; return the last of them followed by `rest`."""
        ordered = rows if self._expected.in_order else self._ordered(rows)
        self._check(ordered, self._checked, False)
        return pa.concat_batches([ordered.slice(len(ordered) - 1), rest])

    def _ordered(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        known = self._expected.of(self._expected.known, ints(rows, "table"))
        return order_within_milliseconds(rows, self._checked, known)

    def _check(self, rows: pa.RecordBatch, first: int, last: bool) -> None:
        """Check the pairs from `first` on; the earlier ones were checked before. `last` says whether the stream ends
        here."""
        checked = KeyedRows(rows, same_row(rows), self._expected, first, last)
        for check, where, actual, right in checked.differences(partial(_alike, checked.table, self._expected.columns)):
            self._findings.add(check, rows, where, actual, right)
        for counter, where in checked.counts():
            self._findings.count(counter, checked.table, where)
        if self._later is not None:
            self._tell_values(rows, checked)

    def _tell_values(self, rows: pa.RecordBatch, checked: KeyedRows) -> None:
        """Tell what changes mean for values of unique keys that follow from the replay."""
        assert self._later is not None
        places = np.flatnonzero(checked.changes & np.isin(checked.table, list(self._expected.replayed)))
        was = pc.if_else(pa.array(checked.finds), checked.was, pa.scalar(None, pa.binary()))
        for table, at in by_table(checked.table[places]):
            some = pa.array(places[at])
            keys = self._expected.replayed[table]
            for values in pairs_of_replayed(keys, rows.take(some), was.take(some), self._findings):
                self._later(values)


class KeylessRowChecks:
    """Checks the tables without a handle key, batch by batch."""

    def __init__(self, expected: TableKnowledge, findings: Findings) -> None:
        self._expected, self._findings = expected, findings
        self._carried = pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
        """The last image pair. `_sums` has the sums of its row so far."""

        self._sums = np.zeros((3, 1), np.int64)

    def take(self, batch: pa.RecordBatch) -> None:
        continues = len(self._carried)
        rows = pa.concat_batches([self._carried, batch])
        goes_on = same_row(rows)
        added = count_changes(rows, goes_on, self._expected.restarts)
        added[:, :continues] = self._sums[:, :continues]
        starts = np.flatnonzero(~goes_on)
        sums = np.add.reduceat(added, starts, axis=1)
        self._report(rows.take(pa.array(starts[:-1])), sums[:, :-1])
        self._carried, self._sums = rows.slice(len(rows) - 1), sums[:, -1:]

    def end(self) -> None:
        if len(self._carried):
            self._report(self._carried, self._sums)

    def _report(self, rows: pa.RecordBatch, sums: Ints) -> None:
        checked = KeylessRows(ints(rows, "table"), sums, self._expected)
        for check, where, actual, right in checked.differences(rows.column("handle")):
            self._findings.add(check, rows, where, actual, right)
        for counter, numbers in checked.counts():
            self._findings.count(counter, checked.table, numbers)


def _count_before_last_commit(rows: pa.RecordBatch) -> int:
    """Return the number of pairs before the last millisecond, which the next batch may continue."""
    last = len(rows) - 1
    if rows.column("exact")[last].as_py() or ints(rows, "commit_ts")[last] in (BEGIN, END):
        return len(rows)
    goes_on = same_row(rows)
    goes_on[1:] &= np.diff(ints(rows, "commit_ts")) == 0
    return int(np.flatnonzero(~goes_on)[-1])


def _alike(table: Ints, columns: Ints, one: pa.Array, other: pa.Array, where: Mask) -> Mask:
    """Return where both images may be of one row, although cells of them are unknown; false outside the mask."""
    mask = equal_images(one, other, where)
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


MOST_BYTES = 1 << 30
"""Limit of all image pairs."""

ROWS = 1 << 16
"""Rows of a sorted batch."""

ANY_SIZE = "--master 'local[*]' replays a stream of any size"


def replay_in_process(
    sources: Sequence[ImagePairSource], expected: TableKnowledge, show: int, report: Report
) -> list[pa.RecordBatch]:
    """Return the findings of all sources; raises UserError if they are too large for this process."""
    pairs = _collected(batch for source in sources for batch in source(report))
    if not expected.replayed:
        return list(check_image_pairs(in_order(pairs), expected, show))
    values: list[pa.RecordBatch] = []
    findings = list(check_image_pairs(in_order(pairs), expected, show, values.append))
    return [*findings, *check_image_pairs(in_order(_collected(values)), expected, show)]


def read_in_process(sources: Sequence[ImagePairSource], report: Report) -> None:
    """Read sources that yield nothing, for what they report."""
    for source in sources:
        for _ in source(report):
            pass


def _collected(pairs: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Return all image pairs as one batch; raises UserError if they are too large for this process."""
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in pairs:
        batches.append(batch)
        size += batch.nbytes
        if size > MOST_BYTES:
            raise UserError(
                f"--master none holds all row changes in memory, and these are more than {MOST_BYTES / 1e6:,.0f} MB; "
                f"{ANY_SIZE}"
            )
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)


def in_order(pairs: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield image pairs sorted by ORDER."""
    order = _sort_order(pairs)
    for start in range(0, len(order), ROWS):
        rows = pa.Table.from_batches([pairs]).take(pa.array(order[start : start + ROWS]))
        yield from rows.combine_chunks().to_batches()


def _sort_order(rows: pa.RecordBatch) -> Ints:
    """Return the sort order by ORDER. Handles are compared only where two hashes are equal."""
    hashes = ints(rows, "row_hash")
    names = [name for name in ORDER if name != "handle"]
    order: Ints = np.lexsort([ints(rows, name) for name in reversed(names)])
    neighbours = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    handles = rows.column("handle")
    one, other = (handles.take(pa.array(order[neighbours + by])) for by in (0, 1))
    if len(neighbours) and not pc.all(pc.equal(one, other)).as_py():
        exact_order: Ints = (
            pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ORDER]).to_numpy().astype(int)
        )
        return exact_order
    return order

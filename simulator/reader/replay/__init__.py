"""Point 7 of the contract: replaying the stream on the rows before it gives the rows after it.

Every row change becomes one or two image pairs (`image_pairs`): the old and the new image of one row. The rows of a snapshot
before or after the stream are image pairs, too (`states`). They are sorted by row and time (`neighbours`, or
`reader.on_spark`). Then the new image of each pair must fit the old image of the next one (`row_rules`). This one pass checks
old images, replays the changes and compares the result. On Spark hashes of the images pass by the same rules first
(`digests`). `table_timeline` knows which table had which name when, and `outcome` describes the differences.

    IMAGE_PAIR_SCHEMA  old and new image of one row at one time          image_pairs, states
    FINDING_SCHEMA     places where consecutive image pairs contradict   row_rules

A row change gives one image pair; an UPDATE that changes the handle key gives two. Columns of IMAGE_PAIR_SCHEMA:

    row_hash         hash of table and handle, by which rows are distributed and sorted
    table            number of the table in the timeline (`table_timeline`), or of a unique key (`unique_keys`)
    handle           `ticdc.table_info.handles_of_rows` in the table's last definition; the image in a table without a handle key
    commit_ts        TSO; BEGIN and END for rows of a snapshot before and after the stream
    rank             order at one commit_ts: 0 a row that disappears, 1 one that changes, 2 one that appears
    partition_index  index of the Kafka partition, -1 for a snapshot
    sequence         order at one commit_ts and rank: the place in the partition, or the row id in a table without a handle key
    offset           of the record, -1 for a snapshot
    exact            whether commit_ts is the TSO itself
    old_check        how the old image is checked: STRICT, ANY (the old row is unknown), or SAME (it may equal the new)
    dropped_at       commit-ts of the statement that drops or truncates the row's partition; else NEVER
    old, new         images in the table's last definition; null where the row does not exist. Unknown cells are 0xFD.
                     Empty in a table without a handle key, whose handle has all values

Sorted by ORDER, the image pairs of a row are adjacent, and the new image of each is the old image of the next.

Every finding is counted, and the first examples of each check and table are kept. The kept examples depend on their place
in the stream only, not on how rows are distributed over tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, buffers
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.columns.hashing import ChangeSum, add_sums, xxhash64
from simulator.reader.events import LOST, UNKNOWN_CELL, Layout

LOST_BYTES = LOST.encode()

BEGIN, END = -1, (1 << 63) - 1
NEVER = END

STRICT, ANY, SAME = range(3)

IMAGE_PAIR_SCHEMA = pa.schema(
    [
        ("row_hash", pa.int64()),
        ("table", pa.int32()),
        ("handle", pa.binary()),
        ("commit_ts", pa.int64()),
        ("rank", pa.int8()),
        ("partition_index", pa.int32()),
        ("sequence", pa.int64()),
        ("offset", pa.int64()),
        ("exact", pa.bool_()),
        ("old_check", pa.int8()),
        ("dropped_at", pa.int64()),
        ("old", pa.binary()),
        ("new", pa.binary()),
    ]
)

ORDER = ("row_hash", "table", "handle", "commit_ts", "rank", "sequence", "partition_index")

FINDING_SCHEMA = pa.schema(
    [
        ("check", pa.string()),
        ("table", pa.int32()),
        ("count", pa.int64()),
        ("commit_ts", pa.int64()),
        ("partition_index", pa.int32()),
        ("offset", pa.int64()),
        ("handle", pa.binary()),
        ("actual", pa.binary()),
        ("expected", pa.binary()),
    ]
)
"""A row with a `count` is a counter. A row without one is an example, with the actual and the expected image of a
row."""

Report = Callable[[object], None]
"""Takes an additional result of a source; on Spark it is pickled."""

ImagePairSource = Callable[[Report], Iterator[pa.RecordBatch]]
"""Yields a part of the input as image pairs; on Spark it is pickled and read by a task."""


def image_pair_batch(table: int, handle: pa.Array, **columns: pa.Array) -> pa.RecordBatch:
    """Build a batch of image pairs of one table. Missing columns get the values of snapshot rows."""
    rows = len(handle)
    defaults = {
        "rank": 1,
        "partition_index": -1,
        "sequence": -1,
        "offset": -1,
        "exact": True,
        "old_check": STRICT,
        "dropped_at": NEVER,
    }
    numbers = np.full(rows, table, np.int32)
    arrays = {"row_hash": pa.array(xxhash64(numbers, handle)), "table": pa.array(numbers), "handle": handle, **columns}
    return pa.RecordBatch.from_arrays(
        [
            arrays[field.name] if field.name in arrays else pa.repeat(pa.scalar(defaults[field.name], field.type), rows)
            for field in IMAGE_PAIR_SCHEMA
        ],
        schema=IMAGE_PAIR_SCHEMA,
    )


def keyed_pairs(
    number: int,
    rows: tuple[pa.Array, pa.Array],
    columns: Mapping[str, pa.Array],
    sides: tuple[pa.Array, pa.Array],
    lost: Mask,
) -> Iterator[pa.RecordBatch]:
    """Yield the image pairs of changes, given the handles of old and new rows and their images, null for no row, but those
    of `lost` changes. `columns` has the others of IMAGE_PAIR_SCHEMA."""
    (was, now), (before, after) = rows, sides
    existed, exists, same = (
        np.asarray(pc.fill_null(mask, False)) for mask in (pc.is_valid(was), pc.is_valid(now), pc.equal(was, now))
    )
    moved = existed & exists & ~same
    rank = np.where(same, 1, np.where(exists, 2, 0)).astype(np.int8)
    there = (existed | exists) & ~moved & ~lost
    yield select_pairs(number, pc.coalesce(now, was), {**columns, "old": before, "new": after}, rank, there)
    if moved.any():
        none = pa.nulls(len(was), pa.binary())
        yield select_pairs(number, was, {**columns, "old": before, "new": none}, 0, moved & ~lost)
        yield select_pairs(number, now, {**columns, "old": none, "new": after}, 2, moved & ~lost)


def select_pairs(
    number: int, handle: pa.Array, columns: Mapping[str, pa.Array], rank: int | npt.NDArray[np.int8], mask: Mask
) -> pa.RecordBatch:
    """Return the image pairs of the changes in `mask`, given their other columns of IMAGE_PAIR_SCHEMA."""
    if not mask.any():
        return pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
    # Inside a millisecond only the offset gives the order.
    ranks = pc.if_else(columns["exact"], pa.array(np.full(len(mask), rank, np.int8)), pa.scalar(1, pa.int8()))
    whole = {**columns, "rank": ranks}
    if mask.all():
        return image_pair_batch(number, handle, **whole)
    places = pa.array(np.flatnonzero(mask))
    return image_pair_batch(
        number, handle.take(places), **{name: values.take(places) for name, values in whole.items()}
    )


def same_row(rows: pa.RecordBatch) -> Mask:
    """Return which image pairs are of the same row as the pair before."""
    mask: Mask = np.zeros(len(rows), np.bool_)
    if len(rows) > 1:
        hashes, table, handle = ints(rows, "row_hash"), ints(rows, "table"), rows.column("handle")
        same_handle = pc.equal(handle.slice(1), handle.slice(0, len(rows) - 1))
        mask[1:] = (hashes[1:] == hashes[:-1]) & (table[1:] == table[:-1]) & np.asarray(same_handle)
    return mask


def as_mask(mask: pa.Array) -> Mask:
    """Convert a boolean array to NumPy; null becomes False."""
    values: Mask = np.array(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))
    return values


def is_unknown(cells: pa.Array) -> Mask:
    return as_mask(pc.equal(cells, UNKNOWN_CELL))


def has_unknown_cell(images: pa.Array) -> Mask:
    data, offsets = buffers(images)
    if not (data == UNKNOWN_CELL[0]).any():
        return np.zeros(len(images), np.bool_)
    return as_mask(pc.match_substring(images, UNKNOWN_CELL))


def has_lost_bytes(images: pa.Array) -> Mask:
    """Return which images have an unknown cell, or U+FFFD, which may stand for bytes that are not UTF-8."""
    lost = has_unknown_cell(images)
    if (buffers(images)[0] == LOST_BYTES[0]).any():
        lost |= as_mask(pc.match_substring(images, LOST_BYTES))
    return lost


FIRST = [("commit_ts", "ascending"), ("partition_index", "ascending"), ("offset", "ascending"), ("handle", "ascending")]
"""Sort keys of the examples."""


@dataclass
class Findings:
    show: int
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    examples: dict[tuple[str, int], pa.RecordBatch] = field(default_factory=dict)

    def add(
        self, check: str, rows: pa.RecordBatch, where: Mask, actual: pa.Array | None, expected: pa.Array | None
    ) -> None:
        """Add the image pairs that fail a check. `actual` has the actual image of each row, `expected` the expected
        one."""
        places = np.flatnonzero(where)
        for table, at in by_table(ints(rows, "table")[places]):
            of_table = places[at]
            self.counts[check, table] += len(of_table)
            order = np.lexsort([ints(rows, name)[of_table] for name in ("offset", "partition_index", "commit_ts")])
            kept = pa.array(of_table[order[: self.show]])
            count = len(kept)
            columns = [
                pa.repeat(check, count),
                pa.repeat(pa.scalar(table, pa.int32()), count),
                pa.nulls(count, pa.int64()),
                *(rows.column(name).take(kept) for name in ("commit_ts", "partition_index", "offset", "handle")),
                *(pa.nulls(count, pa.binary()) if side is None else side.take(kept) for side in (actual, expected)),
            ]
            self.add_examples(check, table, pa.RecordBatch.from_arrays(columns, schema=FINDING_SCHEMA))

    def add_examples(self, check: str, table: int, examples: pa.RecordBatch) -> None:
        """Add examples (FINDING_SCHEMA), and keep the first `show` of them all."""
        before = self.examples.get((check, table))
        both = examples if before is None else pa.concat_batches([before, examples])
        self.examples[check, table] = both.take(pc.sort_indices(both, sort_keys=FIRST)[: self.show])

    def count(self, what: str, table: Ints, numbers: Mask | Ints) -> None:
        """Add what each row counts to a counter of its table."""
        places = np.flatnonzero(numbers)
        for number, at in by_table(table[places]):
            self.counts[what, number] += int(numbers[places[at]].sum())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all counts and examples as FINDING_SCHEMA."""
        counts = [
            {"check": check, "table": table, "count": count} for (check, table), count in sorted(self.counts.items())
        ]
        yield pa.RecordBatch.from_pylist(counts, FINDING_SCHEMA)
        yield from self.examples.values()


def merge_findings(batches: Iterable[pa.RecordBatch], show: int) -> Findings:
    findings = Findings(show)
    for batch in batches:
        counted = pc.is_valid(batch.column("count"))
        for row in batch.filter(counted).select(["check", "table", "count"]).to_pylist():
            findings.counts[row["check"], row["table"]] += row["count"]
        examples = batch.filter(pc.invert(counted))
        places: dict[tuple[str, int], list[int]] = {}
        keys = zip(examples.column("check").to_pylist(), examples.column("table").to_pylist())
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        for (check, table), at in places.items():
            findings.add_examples(check, table, examples.take(pa.array(at)))
    return findings


@dataclass
class SkippedChanges:
    """Row changes without an image pair, counted by table number (NO_TABLE for none), table name and reason."""

    rows: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    layouts: dict[int, dict[bytes, Layout]] = field(default_factory=dict)
    """Layouts of undefined tables, by table number and layout marker."""

    unknown: Counter[tuple[int, str]] = field(default_factory=Counter)
    """New values that nothing tells, by table number and column."""

    keys: set[tuple[int, str]] = field(default_factory=set)
    """Unique keys of which row changes do not tell who has which value, by number, with the reason."""

    sums: dict[tuple[str, str], ChangeSum] = field(default_factory=dict)
    """Of all row changes."""

    def add(self, number: int, table: str, why: str, count: int) -> None:
        if count:
            self.rows[number, table, why] += count

    def include(self, other: SkippedChanges) -> None:
        """Add the changes that another task skipped."""
        self.rows.update(other.rows)
        self.unknown.update(other.unknown)
        self.keys |= other.keys
        add_sums(self.sums, other.sums)
        for number, layouts in other.layouts.items():
            self.layouts.setdefault(number, {}).update(layouts)

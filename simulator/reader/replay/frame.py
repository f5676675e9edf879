"""Schemas of a replay.

    IMAGE_PAIR_SCHEMA  old and new image of one row at one time          replay.image_pairs, replay.states
    FINDING_SCHEMA     places where consecutive image pairs contradict   replay.row_rules

A row change gives one image pair; an UPDATE that changes the handle key gives two. Columns of IMAGE_PAIR_SCHEMA:

    row_hash         hash of table and handle, by which rows are distributed and sorted
    table            number of the table in the timeline (`replay.table_timeline`), or of a unique key (`replay.unique_keys`)
    handle           `ticdc.table_info.handles_of_rows` in the table's last definition; the image in a table without a handle key
    commit_ts        TSO; BEGIN and END for rows of a snapshot before and after the stream
    rank             order at one commit_ts: 0 a row that disappears, 1 one that changes, 2 one that appears
    partition_index  index of the Kafka partition, -1 for a snapshot
    sequence         order at one commit_ts and rank: the offset, or the row id in a table without a handle key
    offset           of the record, -1 for a snapshot
    exact            whether commit_ts is the TSO itself
    old_check        how the old image is checked: STRICT, ANY (the old row is unknown), or SAME (it may equal the new)
    dropped_at       commit-ts of the statement that drops or truncates the row's partition; else NEVER
    old, new         images in the table's last definition; null where the row does not exist. Unknown cells are 0xFD.
                     Empty in a table without a handle key, whose handle has all values

Sorted by ORDER, the image pairs of a row are adjacent, and the new image of each is the old image of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import ints
from simulator.columns.hashing import xxhash64

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
    yield select_pairs(number, pc.coalesce(now, was), columns, before, after, rank, (existed | exists) & ~moved & ~lost)
    if moved.any():
        nulls = pa.nulls(len(was), pa.binary())
        yield select_pairs(number, was, columns, before, nulls, 0, moved & ~lost)
        yield select_pairs(number, now, columns, nulls, after, 2, moved & ~lost)


def select_pairs(
    number: int,
    handle: pa.Array,
    columns: Mapping[str, pa.Array],
    old: pa.Array,
    new: pa.Array,
    rank: int | npt.NDArray[np.int8],
    mask: Mask,
) -> pa.RecordBatch:
    """Return the image pairs of the changes in `mask`."""
    if not mask.any():
        return pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
    # Inside a millisecond only the offset gives the order.
    ranks = pc.if_else(columns["exact"], pa.array(np.full(len(mask), rank, np.int8)), pa.scalar(1, pa.int8()))
    whole = {**columns, "rank": ranks, "old": old, "new": new}
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

"""Schemas of a replay.

    IMAGE_PAIR_SCHEMA  old and new image of one row at one time          replay.image_pairs, replay.states
    FINDING_SCHEMA     places where consecutive image pairs contradict   replay.neighbours

A row change gives one image pair; an UPDATE that changes the handle key gives two. Columns of IMAGE_PAIR_SCHEMA:

    row_hash         hash of table and handle, by which rows are distributed and sorted
    table            number of the table in the timeline (`replay.table_timeline`)
    handle           `ticdc.key_bytes.handle` in the table's last definition; the image in a table without a handle key
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

from collections.abc import Callable, Iterator

import numpy as np
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


def same_row(rows: pa.RecordBatch) -> Mask:
    """Return which image pairs are of the same row as the pair before."""
    mask: Mask = np.zeros(len(rows), np.bool_)
    if len(rows) > 1:
        hashes, table, handle = ints(rows, "row_hash"), ints(rows, "table"), rows.column("handle")
        same_handle = pc.equal(handle.slice(1), handle.slice(0, len(rows) - 1))
        mask[1:] = (hashes[1:] == hashes[:-1]) & (table[1:] == table[:-1]) & np.asarray(same_handle)
    return mask

"""What a row change says of a row, on either side of it: the frames of a replay.

    HALVES    what was and what is under one key at one time    read.replay.halves, read.replay.states
    FINDINGS  where neighbours in time do not agree             read.replay.neighbours

A row change gives one half, an UPDATE that changes the handle key two. Columns of HALVES:

    row_hash   of table and handle: by it rows are spread and sorted
    table      number of the table in the timeline (`read.replay.timeline`)
    handle     `ticdc.key_bytes.handle_keys` in the table's last definition; without a handle key the image
    commit_ts  TSO; BEGIN and END for rows of a state before and after the stream
    rank       what comes first at one commit_ts: 0 a row that goes, 1 one that changes, 2 one that comes
    place      number of the Kafka partition, -1 for a state
    turn       what comes first at one commit_ts and rank: the offset; of a table without a handle key the row id
    offset     of the record, -1 for a state
    exact      whether commit_ts is the TSO itself
    told       STRICT, or ANY where nobody knows what was, or SAME where what was may also be what is
    gone_at    the statement that drops or empties the partition that the row is in then; else NEVER
    old, new   images in the table's last definition; null where the row is not there. Cells that nobody told are 0xFD.
               Of a table without a handle key, whose handle says all, they are empty

One law: sorted by ORDER, a row's halves are neighbours, and what the one leaves the next finds.
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
        ("place", pa.int32()),
        ("turn", pa.int64()),
        ("offset", pa.int64()),
        ("exact", pa.bool_()),
        ("told", pa.int8()),
        ("gone_at", pa.int64()),
        ("old", pa.binary()),
        ("new", pa.binary()),
    ]
)

ORDER = ("row_hash", "table", "handle", "commit_ts", "rank", "turn", "place")

FINDING_SCHEMA = pa.schema(
    [
        ("check", pa.string()),
        ("table", pa.int32()),
        ("count", pa.int64()),
        ("commit_ts", pa.int64()),
        ("place", pa.int32()),
        ("offset", pa.int64()),
        ("handle", pa.binary()),
        ("found", pa.binary()),
        ("wanted", pa.binary()),
    ]
)
"""A row with a `count` says how often; one without is an example: what the row was, and what it should have been."""

Report = Callable[[object], None]
"""Takes what a source has to say beside its halves; on Spark it is pickled."""

ImagePairSource = Callable[[Report], Iterator[pa.RecordBatch]]
"""Part of what is replayed, as HALVES; on Spark it is pickled, and read by a task."""


def image_pairs(table: int, handle: pa.Array, **columns: pa.Array) -> pa.RecordBatch:
    """A batch of HALVES of one table; columns that are not given are those of rows of a state."""
    rows = len(handle)
    filled = {"rank": 1, "place": -1, "turn": -1, "offset": -1, "exact": True, "told": STRICT, "gone_at": NEVER}
    numbers = np.full(rows, table, np.int32)
    given = {"row_hash": pa.array(xxhash64(numbers, handle)), "table": pa.array(numbers), "handle": handle, **columns}
    return pa.RecordBatch.from_arrays(
        [
            given[field.name] if field.name in given else pa.repeat(pa.scalar(filled[field.name], field.type), rows)
            for field in IMAGE_PAIR_SCHEMA
        ],
        schema=IMAGE_PAIR_SCHEMA,
    )


def same_row(rows: pa.RecordBatch) -> Mask:
    """Halves that are of the same row as the one before."""
    found: Mask = np.zeros(len(rows), np.bool_)
    if len(rows) > 1:
        hashes, table, handle = ints(rows, "row_hash"), ints(rows, "table"), rows.column("handle")
        alike_handles = pc.equal(handle.slice(1), handle.slice(0, len(rows) - 1))
        found[1:] = (hashes[1:] == hashes[:-1]) & (table[1:] == table[:-1]) & np.asarray(alike_handles)
    return found

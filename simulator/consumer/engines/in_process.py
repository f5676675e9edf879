"""Sorts image pairs in the memory of this process, for streams that fit into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, ints
from simulator.consumer.replay.frame import IMAGE_PAIR_SCHEMA, ORDER, ImagePairSource, Report
from simulator.consumer.replay.neighbours import TableKnowledge, check_image_pairs
from simulator.errors import UserError

MOST_BYTES = 1 << 30
"""Limit of all image pairs."""

ROWS = 1 << 16
"""Rows of a sorted batch."""

ANY_SIZE = "--master 'local[*]' replays a stream of any size"


def replay_in_process(
    sources: Sequence[ImagePairSource], expected: TableKnowledge, show: int, report: Report
) -> list[pa.RecordBatch]:
    """Return the findings of all sources; raises UserError if they are too large for this process."""
    pairs = _read_all(sources, report)
    order = _order(pairs)
    rows = (
        pa.Table.from_batches([pairs]).take(pa.array(order[start : start + ROWS])).combine_chunks().to_batches()
        for start in range(0, len(order), ROWS)
    )
    return list(check_image_pairs((batch for batches in rows for batch in batches), expected, show))


def read_in_process(sources: Sequence[ImagePairSource], report: Report) -> None:
    """Read sources that yield nothing, for what they report."""
    for source in sources:
        for _ in source(report):
            pass


def _read_all(sources: Sequence[ImagePairSource], report: Report) -> pa.RecordBatch:
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in (batch for source in sources for batch in source(report)):
        batches.append(batch)
        size += batch.nbytes
        if size > MOST_BYTES:
            raise UserError(
                f"--master none holds all row changes in memory, and these are more than {MOST_BYTES / 1e6:,.0f} MB; "
                f"{ANY_SIZE}"
            )
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)


def _order(rows: pa.RecordBatch) -> Ints:
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

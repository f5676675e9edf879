"""Sorts image pairs in the memory of this process, for streams that fit into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints, ints
from simulator.errors import UserError
from simulator.reader.replay.frame import IMAGE_PAIR_SCHEMA, ORDER, ImagePairSource, Report
from simulator.reader.replay.neighbours import check_image_pairs
from simulator.reader.replay.row_rules import TableKnowledge

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
    order = _order(pairs)
    for start in range(0, len(order), ROWS):
        rows = pa.Table.from_batches([pairs]).take(pa.array(order[start : start + ROWS]))
        yield from rows.combine_chunks().to_batches()


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

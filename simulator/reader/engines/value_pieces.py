"""Image pairs of values of unique keys that follow from the replay of rows, on their way to the tasks that check them.

A task that replays rows finds which values they leave and take, and not what rows of other tasks have to do with these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import by_table, ints
from simulator.reader.engines.in_process import in_order
from simulator.reader.replay.frame import FINDING_SCHEMA, IMAGE_PAIR_SCHEMA
from simulator.reader.replay.neighbours import check_image_pairs
from simulator.reader.replay.row_rules import TableKnowledge

VALUE_PIECE_SCHEMA = pa.schema([("part", pa.int32()), ("findings", pa.binary()), ("pairs", pa.binary())])
"""Findings of rows, or image pairs of the values in a part, in Arrow's format of messages."""


def replayed_pieces(
    pairs: Iterable[pa.RecordBatch], expected: TableKnowledge, show: int, parts: int
) -> Iterator[pa.RecordBatch]:
    """Check sorted image pairs of rows; yield the findings, and the image pairs of values in one of so many parts each."""
    values = [pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)]
    for findings in check_image_pairs(pairs, expected, show, values.append):
        yield _piece(0, findings=findings)
    rows = pa.concat_batches(values)
    part = (ints(rows, "row_hash").view(np.uint64) >> np.uint64(32)) % np.uint64(parts)
    for number, at in by_table(part.astype(np.int64)):
        yield _piece(number, pairs=rows.take(pa.array(at)))


def check_pieces(pieces: Iterable[pa.RecordBatch], expected: TableKnowledge, show: int) -> Iterator[pa.RecordBatch]:
    """Yield the findings of a part (VALUE_PIECE_SCHEMA): those of rows, and of its values."""
    pairs = [pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)]
    for piece in pieces:
        yield from (_read(each, FINDING_SCHEMA) for each in piece.column("findings").drop_null())
        pairs += (_read(each, IMAGE_PAIR_SCHEMA) for each in piece.column("pairs").drop_null())
    yield from check_image_pairs(in_order(pa.concat_batches(pairs)), expected, show)


def _piece(part: int, **columns: pa.RecordBatch) -> pa.RecordBatch:
    packed = {name: batch.serialize().to_pybytes() for name, batch in columns.items()}
    return pa.RecordBatch.from_pylist([{"part": part, **packed}], VALUE_PIECE_SCHEMA)


def _read(packed: pa.Scalar, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(packed.as_buffer(), schema)

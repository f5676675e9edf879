"""The records of a Kafka record batch (magic 2) from Arrow columns.

The bytes equal those of kafka-python's DefaultRecordBatchBuilder.append, called for each record.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]


def body(keys: pa.Array, values: pa.Array) -> pa.Buffer:
    """Return the bytes after the batch header: per record length, attributes, time delta 0, offset delta, key, value,
    no headers.

    `keys` and `values` are binary, null for absent; the result is uncompressed.
    """
    count = len(values)
    key_length, value_length = _lengths(keys), _lengths(values)
    offset, key_field, value_field = _varint(np.arange(count)), _varint(key_length), _varint(value_length)
    size = 2 + offset[1] + key_field[1] + value_field[1] + np.maximum(key_length, 0) + np.maximum(value_length, 0) + 1
    plain_zeros = (np.zeros((count, 2), np.uint8), np.full(count, 2))
    before_key = _ragged([_varint(size), plain_zeros, offset, key_field])
    before_value = _ragged([value_field])
    end = pa.scalar(b"\0", pa.binary())
    joined = pc.binary_join_element_wise(before_key, _filled(keys), before_value, _filled(values), end, b"")
    return _data(joined)


def _lengths(column: pa.Array) -> Numbers:
    """Return the bytes of each entry, -1 for a null, as on the wire."""
    return np.asarray(pc.binary_length(column).fill_null(-1), dtype=np.int64)


def _varint(numbers: Numbers) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """Return zigzag varints: a row of bytes for each number, and how many of them count."""
    zigzag = (numbers << 1) ^ (numbers >> 63)
    width = 1
    while int(zigzag.max(initial=0)) >> (7 * width):
        width += 1
    shifts = np.arange(width) * 7
    size = np.ones(len(numbers), np.int64)
    for shift in shifts[1:]:
        size += zigzag >= (1 << int(shift))
    more = np.where(np.arange(1, width + 1) < size[:, None], 0x80, 0)
    return ((zigzag[:, None] >> shifts & 0x7F) | more).astype(np.uint8), size


def _ragged(fields: list[tuple[npt.NDArray[np.uint8], Numbers]]) -> pa.Array:
    """Return the bytes of several fields side by side as one binary array."""
    rows = np.concatenate([field for field, _ in fields], axis=1)
    counts = np.concatenate([np.arange(field.shape[1]) < size[:, None] for field, size in fields], axis=1)
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(counts.sum(axis=1), out=offsets[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows[counts]))]
    )


def _filled(column: pa.Array) -> pa.Array:
    return column.fill_null(b"") if column.null_count else column


def _data(column: pa.Array) -> pa.Buffer:
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return column.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))

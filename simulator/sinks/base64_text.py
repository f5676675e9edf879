"""Base64 of a whole column: one call of the C encoder over all of its bytes, padded to whole groups of three."""

from __future__ import annotations

import binascii

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def base64(column: pa.Array) -> pa.Array:
    """string (large_string) array with the standard base64 of each binary entry, null for null."""
    size = np.asarray(pc.binary_length(column).fill_null(0), dtype=np.int64)
    missing = -size % 3
    padding = pa.DictionaryArray.from_arrays(pa.array(missing, pa.int32()), PADDINGS).cast(pa.large_binary())
    filled = column.cast(pa.large_binary()).fill_null(b"")
    padded = pc.binary_join_element_wise(filled, padding, pa.scalar(b"", pa.large_binary()))
    data = padded.buffers()[2]
    text = np.frombuffer(binascii.b2a_base64(data if data is not None else b"", newline=False), np.uint8).copy()
    offsets = np.zeros(len(size) + 1, np.int64)
    np.cumsum((size + missing) // 3 * 4, out=offsets[1:])
    ends = offsets[1:]
    text[ends[missing >= 1] - 1] = text[ends[missing == 2] - 2] = ord("=")
    validity = pc.is_valid(column)
    encoded = pa.Array.from_buffers(pa.large_string(), len(size), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
    return pc.if_else(validity, encoded, pa.scalar(None, pa.large_string())) if column.null_count else encoded


PADDINGS = pa.array([b"", b"\0", b"\0\0"], pa.binary())

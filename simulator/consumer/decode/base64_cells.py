"""Decodes base64 of whole columns, as strictly as Python's decoder."""

from __future__ import annotations

import string
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import binary, buffers, stored_buffers

LETTERS = (string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/").encode()
PAD = ord("=")
ODD = 0xFFFF
"""Marks two characters that are not both base64."""


def decode_base64(cells: pa.Array) -> pa.Array:
    """Return the decoded bytes, null for null; raises ValueError for invalid base64."""
    data, bounds = buffers(cells)
    sizes = np.diff(bounds)
    if (sizes % 4).any():
        raise ValueError("bad base64: characters are missing")
    bits = _bits()[data.view("<u2")]
    padding = np.zeros(len(cells), np.int64)
    for place in (1, 2):
        longer = np.flatnonzero((sizes > 0) & (padding == place - 1))
        padding[longer[data[bounds[longer + 1] - place] == PAD]] = place
    if bits.max(initial=0) == ODD or np.count_nonzero(data == PAD) != padding.sum():
        raise ValueError("bad base64: a character that is none of it")
    high, low = bits[::2], bits[1::2]
    made = np.empty((len(high), 3), np.uint8)
    made[:, 0], made[:, 1], made[:, 2] = high >> 4, high << 4 | low >> 8, low
    if not padding.any():
        return binary(made, bounds // 4 * 3, cells)
    edges = np.empty(2 * len(cells) + 1, np.int32)
    edges[::2] = bounds // 4 * 3
    edges[1::2] = edges[2::2] - padding
    pieces = pa.Array.from_buffers(pa.binary(), 2 * len(cells), [None, pa.py_buffer(edges), pa.py_buffer(made)])
    return binary(*stored_buffers(pieces.take(pa.array(np.arange(0, len(pieces), 2)))), cells)


@cache
def _bits() -> npt.NDArray[np.uint16]:
    """Return the 12 bits of every two characters, indexed by these as a little-endian number."""
    six = np.full(256, ODD, np.uint16)
    six[list(LETTERS)], six[PAD] = np.arange(64), 0
    second, first = np.divmod(np.arange(1 << 16), 256)
    odd = (six[first] == ODD) | (six[second] == ODD)
    return np.where(odd, ODD, six[first] << 6 | six[second]).astype(np.uint16)

"""Avro's binary encoding of numbers and texts, by columns and one by one (avro.apache.org: specification)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import lengths


def long(number: int) -> bytes:
    """Return an int, a long, the index of an enum's symbol or of a union's branch."""
    zigzag = (number << 1) ^ (number >> 63)
    zigzag &= (1 << 64) - 1
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes((*encoded, zigzag))


def text(value: str) -> bytes:
    """Return a string; lone surrogates stand for bytes that are no UTF-8."""
    content = value.encode("utf-8", "surrogateescape")
    return long(len(content)) + content


def boolean(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def array(items: list[bytes]) -> bytes:
    """Return an array in one block."""
    return (long(len(items)) + b"".join(items) if items else b"") + b"\0"


def longs(numbers: npt.NDArray[np.int64]) -> pa.Array:
    """Return each number as a long."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    longest = max(-(-int(zigzag.max(initial=0)).bit_length() // 7), 1)
    digits, sizes = np.empty((len(numbers), longest), np.uint8), np.ones(len(numbers), np.int64)
    for place in range(longest):
        digits[:, place] = zigzag.astype(np.uint8) & 0x7F
        zigzag = zigzag >> np.uint64(7)
        more = zigzag != 0
        digits[:, place] |= more.view(np.uint8) << 7
        sizes += more
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    data = digits if ends[-1] == digits.size else digits[np.arange(longest) < sizes[:, None]]
    return pa.Array.from_buffers(pa.binary(), len(numbers), [None, pa.py_buffer(ends), pa.py_buffer(data)])


def text_pieces(cells: pa.Array) -> list[bytes | pa.Array]:
    """Return the pieces of strings or bytes, given as cells (binary) without nulls."""
    return [longs(lengths(cells)), cells]


def floats(numbers: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> pa.Array:
    """Return numbers as float or double, by their width."""
    width = numbers.dtype.itemsize
    little = np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<")))
    ends = np.arange(0, width * (len(numbers) + 1), width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(numbers), [None, pa.py_buffer(ends), pa.py_buffer(little)])

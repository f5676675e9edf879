"""Numbers and byte strings in Avro's binary encoding, for whole columns; nulls stay nulls.

* `int` and `long` are zigzag numbers of 7 bits a byte, the lowest first, the high bit set on all bytes but the last.
* `float` and `double` are IEEE numbers, little-endian.
* `string` and `bytes` are a `long` with the length, then the bytes.
* A decimal is `bytes` with the unscaled number in two's complement, big-endian and as short as it can be.

Source: Avro's specification, "Binary Encoding"; goavro v2.11.1: integer.go, logical_type.go.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import binary, fixed, lengths, pieces_between
from simulator.errors import EncodeError
from simulator.ticdc.codecs.wire_numbers import to_float64

Numbers = npt.NDArray[np.int64]

_DECIMAL128_DIGITS = 38
_DECIMAL_DIGITS = 76


def integers(cells: pa.Array, unsigned: bool) -> pa.Array:
    """Return the integers of a column's text as `long`; unsigned ones above 2^63 become negative."""
    kind = pa.uint64() if unsigned else pa.int64()
    try:
        numbers = cells.cast(pa.string()).cast(kind).fill_null(0)
    except pa.ArrowInvalid as error:
        raise EncodeError(f"not an integer: {error}") from error
    return longs(numbers.to_numpy().view(np.int64), cells)


def long(number: int) -> bytes:
    """Return a number as `int` or `long`."""
    written: bytes = longs(np.array([number], np.int64))[0].as_py()
    return written


def string(text: str) -> bytes:
    """Return a text as `string`; lone surrogates stand for bytes that are no UTF-8."""
    content = text.encode("utf-8", "surrogateescape")
    return long(len(content)) + content


def longs(numbers: Numbers, like: pa.Array | None = None) -> pa.Array:
    """Return numbers as `long`, null where `like` is."""
    zigzag = (numbers << 1 ^ numbers >> 63).view(np.uint64)
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
    return pieces_between(ends, pa.py_buffer(data)) if like is None else binary(data, ends, like)


def floats(cells: pa.Array, bytes_each: int) -> pa.Array:
    """Return the numbers of a column's text as `float` (4 bytes) or `double` (8)."""
    numbers = to_float64(cells).fill_null(0.0).to_numpy()
    with np.errstate(over="ignore"):
        return fixed(numbers.astype(f"<f{bytes_each}"), cells)


def sized(cells: pa.Array) -> list[pa.Array]:
    """Return the pieces of `string` or `bytes`: the length, then the cells."""
    return [longs(lengths(cells), cells), cells]


def bit_strings(cells: pa.Array, least: int = 1) -> pa.Array:
    """Return BIT's numbers as their bytes, big-endian and as few as hold the number, but at least so many."""
    numbers = cells.cast(pa.string()).cast(pa.uint64()).fill_null(0).to_numpy()
    matrix = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    needed = matrix != 0
    needed[:, 8 - least :] = True
    return _without_leading(matrix, needed, cells)


def decimals(cells: pa.Array, scale: int) -> pa.Array:
    """Return the unscaled numbers of DECIMAL's text, without their lengths."""
    narrow = len(cells) == 0 or int(lengths(cells).max()) <= _DECIMAL128_DIGITS
    kind = pa.decimal128(_DECIMAL128_DIGITS, scale) if narrow else pa.decimal256(_DECIMAL_DIGITS, scale)
    try:
        numbers = cells.cast(pa.string()).cast(kind)
    except pa.ArrowInvalid as error:
        raise EncodeError(f"not a decimal: {error}") from error
    width = kind.byte_width
    stored = np.frombuffer(numbers.buffers()[1], np.uint8, width * len(cells), width * numbers.offset)
    matrix = stored.reshape(-1, width)[:, ::-1]
    sign = (matrix[:, :1] >> 7) * np.uint8(0xFF)
    differs = matrix != sign
    # a byte is needed, too, if the one behind it has another sign
    differs[:, :-1] |= (matrix[:, 1:] >> 7) * np.uint8(0xFF) != sign
    return _without_leading(matrix, differs, cells)


def _without_leading(matrix: npt.NDArray[np.uint8], needed: npt.NDArray[np.bool_], like: pa.Array) -> pa.Array:
    """Return rows of bytes from the first that is needed, or the last byte; null where `like` is."""
    width = matrix.shape[1]
    first = np.where(needed.any(axis=1), needed.argmax(axis=1), width - 1)
    if like.null_count:
        first[like.is_null().to_numpy(zero_copy_only=False)] = width
    kept = np.arange(width) >= first[:, None]
    return binary(matrix[kept], np.concatenate(([0], np.cumsum(width - first))), like)

"""Bytes that CSV files write as text: hexadecimal or base64.

One law: a value is null exactly where it is null or is no such text.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
_NONE, _PAD = 255, 254


def unhex(texts: pa.Array) -> pa.Array:
    """Binary array of hexadecimal digits → of the bytes they stand for."""
    digits, offsets = _digits(texts, _HEX)
    lengths = np.diff(offsets)
    good = (lengths % 2 == 0) & ~_any(digits == _NONE, offsets)
    digits, offsets = _only(digits, offsets, good)
    return _made(texts, (digits[0::2] << np.uint8(4)) | digits[1::2], offsets // 2, good)


def unbase64(texts: pa.Array) -> pa.Array:
    """Binary array of padded base64 → of the bytes it stands for."""
    digits, offsets = _digits(texts, _BASE64)
    pads = _count(digits == _PAD, offsets)
    ends = np.maximum(offsets[1:] - 1, 0)
    last = np.stack([digits[np.maximum(ends - back, 0)] == _PAD for back in (0, 1)]) if len(digits) else np.zeros(
        (2, len(pads)), np.bool_)
    closed = (pads == 0) | ((pads == 1) & last[0]) | ((pads == 2) & last[0] & last[1])
    good = (np.diff(offsets) % 4 == 0) & closed & ~_any(digits == _NONE, offsets)
    digits, offsets = _only(digits, offsets, good)
    padding = digits == _PAD
    fours = np.where(padding, 0, digits).astype(np.uint32).reshape(-1, 4)
    whole = (fours << np.array([18, 12, 6, 0], np.uint32)).sum(axis=1, dtype=np.uint32)
    bytes = np.stack([(whole >> shift).astype(np.uint8) for shift in (16, 8, 0)], axis=1)
    kept = ~padding.reshape(-1, 4)[:, 1:]
    dropped = np.concatenate([[0], np.cumsum(np.where(good, pads, 0))])
    return _made(texts, bytes[kept], offsets // 4 * 3 - dropped, good)


DECODERS: dict[str, Callable[[pa.Array], pa.Array]] = {"hex": unhex, "base64": unbase64}


def _table(digits: bytes) -> Bytes:
    table = np.full(256, _NONE, np.uint8)
    table[list(digits)] = np.arange(len(digits))
    return table


_HEX = _table(b"0123456789abcdef")
_HEX[list(b"ABCDEF")] = np.arange(10, 16)
_BASE64 = _table(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE64[ord("=")] = _PAD


def _digits(texts: pa.Array, table: Bytes) -> tuple[Bytes, npt.NDArray[np.int64]]:
    """What each character stands for, and where each text begins; nulls are empty."""
    filled = texts.cast(pa.binary()).fill_null(b"")
    _, offset_buffer, data = filled.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, 4 * filled.offset).astype(np.int64)
    characters = np.frombuffer(data or b"", np.uint8)[offsets[0]: offsets[-1]]
    return table[characters], offsets - offsets[0]


def _count(mask: npt.NDArray[np.bool_], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many characters of each text are so."""
    counted = np.concatenate([[0], np.cumsum(mask)])
    result: npt.NDArray[np.int64] = counted[offsets[1:]] - counted[offsets[:-1]]
    return result


def _any(mask: npt.NDArray[np.bool_], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return _count(mask, offsets) > 0


def _only(
    digits: Bytes, offsets: npt.NDArray[np.int64], good: npt.NDArray[np.bool_]
) -> tuple[Bytes, npt.NDArray[np.int64]]:
    """The texts with those that are none made empty."""
    if good.all():
        return digits, offsets
    lengths = np.diff(offsets)
    return digits[np.repeat(good, lengths)], np.concatenate([[0], np.cumsum(np.where(good, lengths, 0))])


def _made(
    texts: pa.Array, data: Bytes, offsets: npt.NDArray[np.int64], good: npt.NDArray[np.bool_]
) -> pa.Array:
    valid = texts.is_valid().to_numpy(zero_copy_only=False) & good
    buffers = [pa.array(valid).buffers()[1], pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(texts), buffers)

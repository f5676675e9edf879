"""Columns as buffers: the bytes of all cells and their offsets.

The functions work on whole columns, not on cells. TiDB texts can be strings or binary; in binary, invalid UTF-8 is
represented by lone surrogates (0xED, 0xB2 or 0xB3, 0x80 to 0xBF for a byte).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

Texts = Mapping[str, pa.Array]
"""TiDB texts of columns by name, strings or binary."""


def columns(rows: Sequence[Mapping[str, str | None]]) -> dict[str, pa.Array]:
    """Return the TiDB texts of rows with the same columns, as binary arrays by column."""
    return {name: pa.array([_encoded(row[name]) for row in rows], pa.binary()) for name in (rows[0] if rows else ())}


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def raw(cells: pa.Array) -> pa.Array:
    """Return strings as their bytes."""
    return cells if pa.types.is_binary(cells.type) else cells.view(pa.binary())


def stored_buffers(cells: pa.Array) -> tuple[Bytes, Offsets]:
    """Return the bytes of all cells and their offsets in Arrow's 32 bits.

    Bytes before the first and after the last cell are left out.
    """
    if not len(cells):
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    _, places, data = cells.buffers()
    offsets = np.frombuffer(places, np.int32, len(cells) + 1, 4 * cells.offset)
    if data is None:
        return np.zeros(0, np.uint8), offsets
    stored = np.frombuffer(data, np.uint8, int(offsets[-1] - offsets[0]), int(offsets[0]))
    return stored, offsets - offsets[0] if offsets[0] else offsets


def buffers(cells: pa.Array) -> tuple[Bytes, Places]:
    """Return the same with 64-bit offsets, for arithmetic."""
    data, offsets = stored_buffers(cells)
    return data, offsets.astype(np.int64)


def lengths(cells: pa.Array) -> Places:
    """Return the bytes in each cell."""
    return np.diff(buffers(cells)[1])


def binary(data: bytes | npt.NDArray[np.generic], offsets: Places | Offsets, like: pa.Array) -> pa.Array:
    """Return the array of these cells, null where `like` is."""
    places = pa.py_buffer(np.ascontiguousarray(offsets, np.int32))
    bytes_of = data if isinstance(data, bytes) else np.ascontiguousarray(data)
    return pa.Array.from_buffers(pa.binary(), len(like), [_validity(like), places, pa.py_buffer(bytes_of)])


def pieces_between(edges: Offsets, data: Bytes | pa.Buffer) -> pa.Array:
    """Return the bytes between all neighbouring edges."""
    return pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])


def spans(data: Bytes, starts: Places | Offsets, ends: Places | Offsets) -> pa.Array:
    """Return the bytes between places, which must ascend."""
    edges = np.empty(2 * len(starts) + 1, np.int32)
    edges[:-1:2], edges[1::2], edges[-1] = starts, ends, len(data)
    return pieces_between(edges, data).take(pa.array(np.arange(0, 2 * len(starts), 2)))


def have_at(data: Bytes, places: Places, text: bytes) -> Mask:
    """Return at which places, which must ascend, a text is."""
    edges = np.append(np.minimum(places, len(data)), len(data)).astype(np.int32)
    mask: Mask = np.asarray(pc.starts_with(pieces_between(edges, data), text))
    return mask


def _validity(cells: pa.Array) -> pa.Buffer | None:
    """Return a validity bitmap that begins at bit 0, unlike that of a slice."""
    if not cells.null_count:
        return None
    return pa.array(np.packbits(cells.is_valid().to_numpy(zero_copy_only=False), bitorder="little")).buffers()[1]


def fixed(rows: npt.NDArray[np.generic], like: pa.Array) -> pa.Array:
    """Return cells of equal size: the bytes of each row of a matrix, or of each number."""
    size = rows.nbytes // max(len(rows), 1)
    return binary(rows, np.arange(len(rows) + 1) * size, like)


def latin1(cells: pa.Array) -> pa.Array:
    """Return the bytes that Latin-1 text stands for (0xC2 or 0xC3, then 0x80 to 0xBF: one byte)."""
    data, offsets = buffers(cells)
    leads = np.flatnonzero(data >= 0xC0)
    if not len(leads):
        return raw(cells)
    high = data.copy()
    high[leads + 1] += 0x40 * (data[leads] == 0xC3).astype(np.uint8)
    return binary(np.delete(high, leads), offsets - np.searchsorted(leads, offsets), cells)


def escaped(text: bytes) -> bytes:
    """Return the bytes with a lone surrogate in place of each byte that is not valid UTF-8."""
    return text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")


def unescaped(text: bytes) -> bytes:
    """Return the bytes that one text stands for."""
    return text.decode("utf-8", "surrogatepass").encode("utf-8", "surrogateescape") if b"\xed" in text else text


def surrogate_unescaped(cells: pa.Array) -> pa.Array:
    """Return the bytes that text stands for: each lone surrogate is an invalid byte (Python's surrogateescape)."""
    data, offsets = buffers(cells)
    leads = np.flatnonzero(data == 0xED)
    leads = leads[(data[leads + 1] & 0xFE) == 0xB2] if len(leads) else leads
    if not len(leads):
        return raw(cells)
    put = data.copy()
    put[leads] = (data[leads + 1] & 3) << 6 | data[leads + 2] & 0x3F
    trailing = np.concatenate((leads + 1, leads + 2))
    return binary(np.delete(put, trailing), offsets - 2 * np.searchsorted(leads, offsets), cells)

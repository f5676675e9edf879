"""Bytes of binary columns as TiCDC writes them: strconv.Quote, base64, Latin-1.

One law: as in text.py, whole buffers only.
"""

from __future__ import annotations

import binascii

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import latin1
from simulator.ticdc.codecs.printable import printable
from simulator.ticdc.codecs.text import Bytes, Offsets, buffers, join, moved, rebuilt

Places = npt.NDArray[np.int64]


def disguised(cells: pa.Array) -> pa.Array:
    """Bytes as text: what is UTF-8 as it is, every other byte in the disguise of invalid ones (see text.py)."""
    data, offsets = buffers(cells)
    odd = data >= 0x80
    if not odd.any():
        return cells
    starts, widths, _ = _runes(data, offsets)
    for step in range(4):
        odd[(starts + step)[widths > step]] = False
    where = np.flatnonzero(odd)
    spread = np.insert(data, np.repeat(where, 2), 0)
    places = where + 2 * np.arange(len(where))
    spread[places], spread[places + 1], spread[places + 2] = 0xED, 0xB0 | data[where] >> 6, 0x80 | data[where] & 0x3F
    return rebuilt(cells, spread, moved(offsets, where, np.full(len(where), 2)))


def base64(cells: pa.Array) -> pa.Array:
    """Standard base64 with padding: cells are filled up to whole groups of three bytes and coded in one go."""
    data, offsets = buffers(cells)
    if not len(data):
        return cells
    missing = -np.diff(offsets) % 3
    filled = join(cells, _zeros(missing), null=b"")
    filled_data, filled_offsets = buffers(filled)
    coded = np.frombuffer(binascii.b2a_base64(filled_data.data, newline=False), np.uint8).copy()
    ends = filled_offsets // 3 * 4
    coded[ends[1:][missing > 0] - 1] = 0x3D
    coded[ends[1:][missing > 1] - 2] = 0x3D
    return rebuilt(cells, coded, ends)


def _zeros(lengths: npt.NDArray[np.int32]) -> pa.Array:
    """Binary array of that many zero bytes a cell."""
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(lengths), [None, pa.py_buffer(ends), pa.py_buffer(bytes(int(ends[-1])))])


def _quoted_byte(byte: int, html: bool) -> bytes:
    """A byte that is no part of valid UTF-8, or ASCII, by strconv.Quote and then by JSON with or without `html`."""
    named = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r"}
    if byte in named:
        return rb"\\" + named[byte]
    if byte in b'"\\':
        return rb"\\" + b"\\" + bytes([byte])
    if html and byte in b"<>&":
        return b"\\u%04x" % byte
    return bytes([byte]) if 0x20 <= byte < 0x7F else rb"\\x%02x" % byte


_QUOTED = {html: [_quoted_byte(byte, html) for byte in range(256)] for html in (False, True)}
_QUOTED_SIZE = {html: bytes(map(len, texts)) for html, texts in _QUOTED.items()}
_QUOTED_BYTES = {
    html: np.array([list(text.ljust(6, b"\0")) for text in texts], np.uint8) for html, texts in _QUOTED.items()}


def quote(cells: pa.Array, unicode: int = 15, html: bool = True) -> pa.Array:
    """Latin-1 text of bytes as the inside of a JSON string that holds strconv.Quote of them, without its quotes
    (tiflow v8.5: pkg/sink/codec/internal/column.go; Go: strconv/quote.go).

    `unicode` is the version whose characters stay as they are, `html` whether JSON escapes `<`, `>` and `&`.
    """
    cells = latin1(cells)
    data, offsets = buffers(cells)
    if not len(data):
        return cells
    sizes = np.frombuffer(data.tobytes().translate(_QUOTED_SIZE[html]), np.uint8)
    if int(sizes.max()) == 1:
        return cells
    sizes = sizes.copy()
    hidden = _classify_runes(data, offsets, sizes, unicode)
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return rebuilt(cells, _spread(data, sizes, ends, hidden, html), ends[offsets])


def _classify_runes(data: Bytes, offsets: Offsets, sizes: Bytes, unicode: int) -> tuple[Places, Places]:
    r"""Corrects `sizes` for valid UTF-8: printable runes stay, others become one \u or \U escape.

    Returns where the latter begin, and their code points.
    """
    starts, widths, codes = _runes(data, offsets)
    shown = printable(codes, unicode)
    for width in (2, 3, 4):
        kept, hidden = starts[shown & (widths == width)], starts[~shown & (widths == width)]
        for step in range(width):
            sizes[kept + step] = 1
            sizes[hidden + step] = 0
        sizes[hidden] = 11 if width == 4 else 7
    return starts[~shown], codes[~shown]


_WIDTH = np.zeros(256, np.uint8)
_WIDTH[0xC2:0xE0], _WIDTH[0xE0:0xF0], _WIDTH[0xF0:0xF5] = 2, 3, 4
_SECOND_LOW, _SECOND_HIGH = np.full(256, 0x80, np.uint8), np.full(256, 0xBF, np.uint8)
_SECOND_LOW[[0xE0, 0xF0]] = 0xA0, 0x90
_SECOND_HIGH[[0xED, 0xF4]] = 0x9F, 0x8F


def _runes(data: Bytes, offsets: Offsets) -> tuple[Places, Places, Places]:
    """Positions, widths and code points of the valid sequences of two to four bytes (Go: unicode/utf8 acceptRanges)."""
    starts = np.flatnonzero(data >= 0xC2)
    widths = _WIDTH[data[starts]].astype(np.int64)
    room = offsets[np.searchsorted(offsets, starts, side="right")] - starts
    fits = (widths > 0) & (widths <= room)
    starts, widths = starts[fits], widths[fits]
    lead, second = data[starts], data[starts + 1]
    valid = (second >= _SECOND_LOW[lead]) & (second <= _SECOND_HIGH[lead])
    codes = (lead & (0x7F >> widths)).astype(np.int64) << 6 | second & 0x3F
    for step in (2, 3):
        longer = widths > step
        following = data[np.where(longer, starts + step, starts + 1)]
        valid &= ~longer | ((following & 0xC0) == 0x80)
        codes = np.where(longer, codes << 6 | following & 0x3F, codes)
    return starts[valid], widths[valid], codes[valid]


def valid_utf8(cells: pa.Array) -> pa.Array:
    """The bytes, with `?` for each that is no part of valid UTF-8."""
    data, offsets = buffers(cells)
    if not len(data) or int(data.max()) < 0x80:
        return cells
    starts, widths, _ = _runes(data, offsets)
    lost = data >= 0x80
    for step in range(4):
        lost[(starts + step)[widths > step]] = False
    return rebuilt(cells, np.where(lost, np.uint8(0x3F), data), offsets) if lost.any() else cells


def _spread(data: Bytes, sizes: Bytes, ends: Places, hidden: tuple[Places, Places], html: bool) -> Bytes:
    """Writes every byte's text at its place."""
    out = np.empty(int(ends[-1]), np.uint8)
    plain = np.flatnonzero(sizes == 1)
    out[ends[plain]] = data[plain]
    for size in (3, 4, 5, 6):
        where = np.flatnonzero(sizes == size)
        for step in range(size):
            out[ends[where] + step] = _QUOTED_BYTES[html][data[where], step]
    _spread_hidden(out, ends, *hidden)
    return out


def _spread_hidden(out: Bytes, ends: Places, starts: Places, codes: Places) -> None:
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    for wide, mark, count in ((False, b"\\\\u", 4), (True, b"\\\\U", 8)):
        chosen = (codes >= 0x10000) == wide
        at, code = ends[starts[chosen]], codes[chosen]
        for step, byte in enumerate(mark):
            out[at + step] = byte
        for step in range(count):
            out[at + len(mark) + step] = digits[code >> 4 * (count - 1 - step) & 15]

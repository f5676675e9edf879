"""Values of binary columns as TiCDC writes them: strconv.Quote, base64, Latin-1.

The functions work on whole buffers. The code points that strconv.Quote leaves unescaped depend on Go's tables, not on
Python's: `_STEPS` has the distances (hexadecimal) from one boundary to the next: not printable up to the first,
printable up to the second, and so on (strconv.IsPrint with the tables of Unicode 15, as in Go 1.21 to 1.26).
"""

from __future__ import annotations

import binascii

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Bytes, Mask, Offsets, Places, binary, latin1, stored_buffers, surrogate_unescaped
from simulator.ticdc.codecs.json_text import join, shift_offsets
from simulator.tidb.model.types import ColumnType, is_binary


def sent_bytes(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the bytes of texts and of byte strings."""
    return latin1(cells) if is_binary(type) else surrogate_unescaped(cells)


def surrogate_escaped(cells: pa.Array) -> pa.Array:
    """Return bytes as text; each byte that is not valid UTF-8 becomes a lone surrogate (see `json_text`)."""
    data, offsets = stored_buffers(cells)
    where = np.flatnonzero(_invalid(data, offsets))
    if not len(where):
        return cells
    spread = np.insert(data, np.repeat(where, 2), 0)
    places = where + 2 * np.arange(len(where))
    spread[places], spread[places + 1], spread[places + 2] = 0xED, 0xB0 | data[where] >> 6, 0x80 | data[where] & 0x3F
    return binary(spread, shift_offsets(offsets, where, np.full(len(where), 2)), cells)


def base64(cells: pa.Array) -> pa.Array:
    """Return standard base64 with padding. Cells are filled up to groups of three bytes and encoded in one call."""
    data, offsets = stored_buffers(cells)
    if not len(data):
        return cells
    missing = -np.diff(offsets) % 3
    filled = join(cells, _zeros(missing), null=b"")
    filled_data, filled_offsets = stored_buffers(filled)
    coded = np.frombuffer(binascii.b2a_base64(filled_data.data, newline=False), np.uint8).copy()
    ends = filled_offsets // 3 * 4
    coded[ends[1:][missing > 0] - 1] = 0x3D
    coded[ends[1:][missing > 1] - 2] = 0x3D
    return binary(coded, ends, cells)


def _zeros(lengths: npt.NDArray[np.int32]) -> pa.Array:
    """Return a binary array whose cells are zero bytes of these lengths."""
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(lengths), [None, pa.py_buffer(ends), pa.py_buffer(bytes(int(ends[-1])))]
    )


def _quoted_byte(byte: int, html: bool) -> bytes:
    """Return one byte, ASCII or no valid UTF-8, after strconv.Quote and JSON escaping."""
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
    html: np.array([list(text.ljust(6, b"\0")) for text in texts], np.uint8) for html, texts in _QUOTED.items()
}


def quote(cells: pa.Array, unicode: int = 15, html: bool = True) -> pa.Array:
    """Return the Latin-1 text of bytes as the inside of a JSON string that holds their strconv.Quote, without its
    quotes.

    `unicode` is the version of Unicode whose printable characters stay as they are; `html` is whether JSON escapes `<`,
    `>` and `&` (tiflow v8.5: pkg/sink/codec/internal/column.go; Go: strconv/quote.go).
    """
    cells = latin1(cells)
    data, offsets = stored_buffers(cells)
    if not len(data):
        return cells
    sizes = np.frombuffer(data.tobytes().translate(_QUOTED_SIZE[html]), np.uint8)
    if int(sizes.max()) == 1:
        return cells
    sizes = sizes.copy()
    hidden = _classify_runes(data, offsets, sizes, unicode)
    ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return binary(_write_texts(data, sizes, ends, hidden, html), ends[offsets], cells)


def _classify_runes(data: Bytes, offsets: Offsets, sizes: Bytes, unicode: int) -> tuple[Places, Places]:
    r"""Correct `sizes` for valid UTF-8: printable runes stay, others become one \u or \U escape.

    Return where the escaped runes begin, and their code points.
    """
    starts, widths, codes = _runes(data, offsets)
    is_printable = printable(codes, unicode)
    for width in (2, 3, 4):
        plain, hidden = starts[is_printable & (widths == width)], starts[~is_printable & (widths == width)]
        for step in range(width):
            sizes[plain + step] = 1
            sizes[hidden + step] = 0
        sizes[hidden] = 11 if width == 4 else 7
    return starts[~is_printable], codes[~is_printable]


_WIDTH = np.zeros(256, np.uint8)
_WIDTH[0xC2:0xE0], _WIDTH[0xE0:0xF0], _WIDTH[0xF0:0xF5] = 2, 3, 4
_SECOND_LOW, _SECOND_HIGH = np.full(256, 0x80, np.uint8), np.full(256, 0xBF, np.uint8)
_SECOND_LOW[[0xE0, 0xF0]] = 0xA0, 0x90
_SECOND_HIGH[[0xED, 0xF4]] = 0x9F, 0x8F


def _runes(data: Bytes, offsets: Offsets) -> tuple[Places, Places, Places]:
    """Return positions, widths and code points of valid runes of two to four bytes (Go: unicode/utf8 acceptRanges)."""
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


def _invalid(data: Bytes, offsets: Offsets) -> Mask:
    invalid: Mask = data >= 0x80
    if invalid.any():
        starts, widths, _ = _runes(data, offsets)
        for step in range(4):
            invalid[(starts + step)[widths > step]] = False
    return invalid


def valid_utf8(cells: pa.Array) -> pa.Array:
    """Return the bytes with `?` in place of each byte that is not valid UTF-8."""
    data, offsets = stored_buffers(cells)
    invalid = _invalid(data, offsets)
    return binary(np.where(invalid, np.uint8(0x3F), data), offsets, cells) if invalid.any() else cells


def _write_texts(data: Bytes, sizes: Bytes, ends: Places, hidden: tuple[Places, Places], html: bool) -> Bytes:
    out = np.empty(int(ends[-1]), np.uint8)
    plain = np.flatnonzero(sizes == 1)
    out[ends[plain]] = data[plain]
    for size in (3, 4, 5, 6):
        where = np.flatnonzero(sizes == size)
        for step in range(size):
            out[ends[where] + step] = _QUOTED_BYTES[html][data[where], step]
    _write_escapes(out, ends, *hidden)
    return out


def _write_escapes(out: Bytes, ends: Places, starts: Places, codes: Places) -> None:
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    for wide, mark, count in ((False, b"\\\\u", 4), (True, b"\\\\U", 8)):
        chosen = (codes >= 0x10000) == wide
        at, code = ends[starts[chosen]], codes[chosen]
        for step, byte in enumerate(mark):
            out[at + step] = byte
        for step in range(count):
            out[at + len(mark) + step] = digits[code >> 4 * (count - 1 - step) & 15]


_STEPS = """
20 5f 22 c 1 2ca 2 6 4 7 1 1 1 14 1 18d 1 26 2 32 2 3 1 37 8 1b 4 6 11 16 1 c0 1 30 2 3b 2 65 e 3b 2 31 2 f 1 1c 2 1
1 b 5 1f 9 4a 1 a1 1 8 2 2 2 16 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 19 2 3 1 6 4 2 2 16 1 7 1 2 1 2 1 2 2 1 1 5 4
2 2 3 3 1 7 4 1 1 7 11 a 3 1 9 1 3 1 16 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7 1 3 1 8 2 2 2 16 1 7 1 2 1 5 2 9 2 2
2 3 7 3 4 2 1 5 2 12 a 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 e 15 5 d 1 3 1 17 1 10 2 9 1 3 1 4
7 2 1 3 2 1 2 4 2 a 7 16 1 3 1 17 1 a 1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 3 c d 1 3 1 33 1 3 1 6 4 10 2 1a 1 3 1 12 3
18 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 3 c 3a 4 1d 25 2 1 1 1 5 1 18 1 1 1 17 2 5 1 1 1 7 1 a 2 4 20 48 1 24 4 27 1 24
1 f 1 d 25 c6 1 1 5 1 2 179 1 4 2 7 1 1 1 4 2 29 1 4 2 21 1 4 2 7 1 1 1 4 2 f 1 39 1 4 2 43 2 20 3 1a 6 56 2 6 2 280
1 1c 3 59 7 16 9 18 9 14 c d 1 3 1 2 c 5e 2 a 6 a 6 e 1 b 6 59 7 2b 5 46 a 1f 1 c 4 c 4 1 3 2a 2 5 b 2c 4 1a 6 b 3
3e 2 41 1 1d 2 b 6 a 6 e 2 1f 31 4d 3 2f 1 74 8 3c 3 f 3 3c 7 2b 2 b 8 2b 5 216 2 6 2 26 2 6 2 8 1 1 1 1 1 1 1 1f 2
35 1 f 1 e 2 6 1 13 2 3 1 9 11 18 8 2f 11 2 2 1b 1 d 3 21 f 21 f 8c 4 297 19 b 15 714 2 20 1 15d 5 2d 1 1 5 1 2 38 7
2 e 18 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7e 22 1a 1 59 c d6 1a c 5 3f 1 56 2 67 5 2b 1 5e 1 54 c 2f 1 726d 3 37 9
15c 14 b8 8 cb 5 2 1 1 1 5 18 3b 3 a 6 38 8 46 8 c 6 74 b 1e 3 4e 1 b 4 21 1 37 9 e 2 a 2 67 18 1c a 6 2 6 2 6 9 7 1
7 1 3c 4 7e 2 a 6 2ba4 c 17 4 31 2104 16e 2 6a 26 7 c 5 5 1a 1 5 1 1 1 2 1 2 1 7d 10 1bd 2 36 7 1 20 2a 6 33 1 13 1
4 4 5 1 87 4 be 3 6 2 6 2 6 2 3 3 7 1 7 d 2 2 c 1 1a 1 13 1 2 1 f 2 e 22 7b 5 3 4 2d 3 58 1 d 3 1 2f 2e 82 1d 3 31 f
1c 4 24 9 1e 5 2b 5 1e 1 25 4 e 2a 9e 2 a 6 24 4 24 4 28 8 34 b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 43 137 9 16 a 8 18 6 1
2a 1 9 45 6 2 1 1 2c 1 2 3 1 2 17 1 48 8 9 30 13 1 2 5 21 3 1b 5 1 40 38 4 14 2 32 1 2 5 8 1 3 1 1d 2 3 4 a 7 9 7 40
20 27 4 c 9 36 3 1d 2 1b 5 1a 7 4 c 7 50 49 37 33 d 33 7 2e 8 a 126 1f 1 2a 1 3 2 2 4b 2b 8 2a 16 1a 26 1c 14 17 9
4e 4 24 9 3e 1 5 d 19 7 a 6 35 1 12 8 27 9 60 1 14 b 12 1 2f 3e 7 1 1 1 4 1 f 1 b 6 3b 5 a 6 4 1 8 2 2 2 16 1 7 1 2
1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 5 8b 5c 1 5 1e 48 8 a a6 36 2 26 22 45 b a 6 d 13 3a 6 a 36 1b 2 f 4 17 b9 3c 64
53 c 8 2 1 2 8 1 2 1 1e 1 2 2 c 9 a 46 8 2 2e 2 b 1b 48 8 53 d 49 7 a f6 9 1 2d 1 e a 1d 3 20 2 16 1 e 49 7 1 2 1 2c
3 1 1 2 1 9 8 a 6 6 1 2 1 25 1 2 1 6 7 a 136 19 7 11 1 29 3 1c 56 1 f 32 d 39b 66 6f 1 5 b c4 a4c 63 d 430 10 16 faa
247 21b9 239 7 1f 1 a 4 51 1 a 6 1e 2 6 a 46 a a 1 7 1 15 5 13 2b0 5b 65 4b 4 39 7 11 40 5 b 2 e 17f8 8 4d6 2a 9
22e7 4 1 7 1 2 1 123 f 1 1d 3 2 1 e 4 8 18c 904 6b 5 d 3 9 7 a 2 4 1260 2e 2 17 9 74 3c f6 a 27 2 4a 8 70 15 46 7a
14 c 14 c 57 9 19 87 55 1 47 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 41 1 4 2 8 1 7 1 1c 1 4 1 5 1 1 3 7 1 154 2 124 2 2be f 5
1 f 450 1f 6 6 d5 7 1 11 2 7 1 2 1 5 5 3e 21 1 70 2d 3 e 2 a 4 2 140 1f 11 3a 5 1 1d0 2a 2e6 7 1 4 1 2 1 f 1 c5 2 10
29 4c 4 a 4 2 311 44 4c 3d c2 4 1 1b 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2
1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 11 5 3 1 5 1 11 34 2 10e 2c 4 64 c f 2 f 1 f 1 25 a ae 38 1d d 2c 4 9 7 2 e 6 9a 3d8 4
11 3 d 3 77 4 5f 6 c 4 1 f c 4 38 8 a 6 28 8 1e 2 2 4e 154 c e 2 d 3 9 7 2e 1 7 8 e 4 9 7 9 7 93 1 37 25 a 406 a6e0
20 103a 6 de 2 1682 e 1d31 c1f 21e 5e2 134b 5 1060 add50 f0
"""

_NEWER = {
    13: """
8be a 28d 1 1ae 1 7c 1 d3d 2 10d6 1 2b8 3 368 5 13f 1 1ab6 a 5230 d 7ca 4 2a 2 35 1 33b 4 5630 1 ce3 2a 1 3 2 2 fe 1c
17b 1 86 2 28a 1 5 2 49e 7 2 1 2 8 1 2 1 1e 1 2 2 c 9 a 656 1 5033 1 b 2 1b01 1e3 2a 9 6404 3 5d 3 3d 1 528 2 23 2
1b3 2 5a 1 65 1 4 2 2a 2 6 3 1d 1 a8 1 e 4 f 13 7 7 9 3 d 7 29 93 1 37 25 a aadd 7 5922 134b
""",
    15: """
61d 1 252 1f 9 8 15 1 12 b 369 1 20 1 7f 1 15 1 1da 1 83e 1 7 1 9 1 ef 1 2b1 e 7d 1 30 2 27b 1 2c5 1 b6e 1 2f 1 1f3 b
719f 3 7c0 2 e 2 1 1 1 5 18 3 53cd 1 17d 10 7f 1 2e 2 770 b 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1c3 6 1 2a 1 9 742 3 70 1a e6
6 4c 1 17c 3 477 1 86 7 369 10 40 a 3f6 11 1 29 3 1c 1036 63 43c 1 10 16 361a 4f 1 a 4526 4 1 7 1 2 120 4 f 1 22 1
1daa 2e 2 17 9 74 225 2 d5 14 c2c 1f 6 6 105 3e 21 1 200 1f 221 2a 2e6 7 1 4 1 2 1 f edd 4 94 3 4 5 59 1 16 1 188 1
52 1 a8 3 3 2 a 2 20 7 7 7 1 1 3 3 8 2 7 5 4 9 7 9 abe5 2 1055 5 5c16 1060
""",
}
"""Boundaries of the code points that each version of Unicode adds to the one before: 13 to 12, 15 to 13."""


def _boundaries(steps: str) -> npt.NDArray[np.int64]:
    return np.cumsum([int(step, 16) for step in steps.split()])


_PRINTABLE, _ADDED = _boundaries(_STEPS), {version: _boundaries(steps) for version, steps in _NEWER.items()}


def printable(codes: npt.NDArray[np.int64], unicode: int) -> npt.NDArray[np.bool_]:
    """Return whether strconv.IsPrint holds for each code point.

    `unicode` selects the tables: 12 (Go 1.14), 13 (Go 1.16 to 1.20) or 15 (Go 1.21 to 1.26).
    """
    is_printable = _within(codes, _PRINTABLE)
    for version, boundaries in _ADDED.items():
        if version > unicode:
            is_printable &= ~_within(codes, boundaries)
    return is_printable


def _within(codes: npt.NDArray[np.int64], boundaries: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = np.searchsorted(boundaries, codes, side="right") % 2 == 1
    return inside

r"""Text as Go writes it into messages, for whole columns: JSON, base64, joining.

`escape` and `quoted` write as encoding/json and easyjson with HTML escaping. `raw_escape` and `raw_quoted` write as the
new architecture's writer for Open Protocol, jsoniter without HTML escaping: only characters that JSON forbids are
escaped (`"`, `\` and controls: `\n`, `\r`, `\t`, else `\u00xx`); all other bytes, valid UTF-8 or not, stay as they are
(ticdc v8.5.4: pkg/util/json_writer.go).

Text with invalid UTF-8 is represented as Python's surrogateescape writes it (one lone surrogate a byte, 0xED 0xB2..0xB3
0x80..0xBF). No valid text has this pattern, and it is free of the bytes 0xFE and 0xFF, which separate the cells of a
row image.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Offsets, Places, binary, latin1, stored_buffers, surrogate_unescaped
from simulator.columns.row_image import UncutCells
from simulator.tidb.model.types import ColumnType, is_binary

_NAMED = {0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r", 0x22: b'\\"', 0x5C: b"\\\\"}
_HEXED = [*range(0x20), 0x26, 0x3C, 0x3E]
_SHORT = {0x08: b"\\b", 0x0C: b"\\f"}
_INVALID = re.compile(rb"\xed[\xb2\xb3][\x80-\xbf]")
_LINE_SEPARATORS = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def _escapes(short_controls: bool) -> dict[int, bytes]:
    """Return the replacement of each byte. The backslash comes first, because other replacements contain it."""
    table = {byte: b"\\u%04x" % byte for byte in _HEXED} | _NAMED | (_SHORT if short_controls else {})
    return {0x5C: table.pop(0x5C)} | table


_ESCAPES = {short: _escapes(short) for short in (False, True)}
_TRANSLATED = {
    short: {byte: escaped.decode() for byte, escaped in table.items()}
    | {0x2028: "\\u2028", 0x2029: "\\u2029"}
    | dict.fromkeys(range(0xD800, 0xE000), "\\ufffd")
    for short, table in _ESCAPES.items()
}
_GROWTH = {short: bytes(len(table.get(byte, b"1")) - 1 for byte in range(256)) for short, table in _ESCAPES.items()}


def shift_offsets(
    offsets: Offsets, where: npt.NDArray[np.int64], growth: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the offsets after the byte at each of the ascending positions `where` grew by `growth`."""
    grown: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(growth)))
    return offsets.astype(np.int64) + grown[np.searchsorted(where, offsets)]


def escape(cells: pa.Array, short_controls: bool) -> pa.Array:
    r"""Escape text for the inside of a JSON string as encoding/json and easyjson do, with HTML escaping.

    `short_controls` is whether U+0008 and U+000C become `\b` and `\f`.
    """
    data, offsets = stored_buffers(cells)
    raw = data.tobytes()
    table = _ESCAPES[short_controls]
    escaped_bytes = _found(raw, table)
    separators = [old for old in _LINE_SEPARATORS if old in raw] if 0xE2 in raw else []
    invalid = _INVALID.search(raw) if 0xED in raw else None
    if not escaped_bytes and not separators and not invalid:
        return cells
    where, growth = _grown(data, raw, escaped_bytes, _GROWTH[short_controls])
    if separators or invalid:
        longer = np.flatnonzero(_three_byte_starts(data))
        order = np.argsort(where := np.concatenate((where, longer)))
        where, growth = where[order], np.concatenate((growth, np.full(len(longer), 3)))[order]
    raw = replace_bytes(raw, escaped_bytes, table)
    for old in separators:
        raw = raw.replace(old, _LINE_SEPARATORS[old])
    if invalid:
        raw = _INVALID.sub(rb"\\ufffd", raw)
    return binary(raw, shift_offsets(offsets, where, growth), cells)


FEW_BYTES = 3
"""So many different bytes are looked for one by one."""


def _grown(data: Bytes, raw: bytes, escaped_bytes: list[int], growth: bytes) -> tuple[Places, Places]:
    """Return where bytes become longer, and by how much."""
    if len(escaped_bytes) <= FEW_BYTES:
        marks = np.logical_or.reduce([data == byte for byte in escaped_bytes]) if escaped_bytes else np.zeros(0)
    else:
        marks = np.frombuffer(raw.translate(growth), np.uint8)
    where = np.flatnonzero(marks)
    return where, np.frombuffer(growth, np.uint8)[data[where]].astype(np.int64)


def is_plain(raw: bytes) -> bool:
    """Return whether texts with no other bytes than these are the same once escaped by `escape`."""
    return 0xE2 not in raw and 0xED not in raw and not _found(raw, _ESCAPES[False])


def is_raw_plain(raw: bytes) -> bool:
    """Return the same of `raw_escape`."""
    return 0xED not in raw and not _found(raw, _RAW_ESCAPES)


def _found(raw: bytes, table: Mapping[int, bytes]) -> list[int]:
    """Return the bytes of the table that occur. Controls are rare, and looked for together."""
    lowest = 0 if raw and np.frombuffer(raw, np.uint8).min() < 0x20 else 0x20
    return [byte for byte in table if byte >= lowest and byte in raw]


def replace_bytes(raw: bytes, escaped_bytes: Iterable[int], table: Mapping[int, bytes]) -> bytes:
    """Return the bytes with each byte of `found` replaced by its text in the table, the backslash first."""
    for byte in escaped_bytes:
        raw = raw.replace(bytes([byte]), table[byte])
    return raw


def _three_byte_starts(data: Bytes) -> Bytes:
    """Return 1 where a sequence of three bytes begins that becomes six characters: U+2028, U+2029, or a surrogate."""
    first, second, third = data[:-2], data[1:-1], data[2:]
    separator = (first == 0xE2) & (second == 0x80) & ((third & 0xFE) == 0xA8)
    starts = separator | ((first == 0xED) & ((second & 0xFE) == 0xB2))
    return np.concatenate((starts, [False, False])).astype(np.uint8)


def quoted(text: str, short_controls: bool = False) -> bytes:
    """Return a JSON string with its quotes; lone surrogates stand for invalid bytes."""
    return b'"' + text.translate(_TRANSLATED[short_controls]).encode() + b'"'


def join(*pieces: bytes | pa.Array | UncutCells, null: bytes = b"null") -> pa.Array:
    """Join constants and columns of equal length, at least one of them a column, row by row; `null` replaces nulls."""
    merged: list[bytes | pa.Array | UncutCells] = []
    for piece in pieces:
        if isinstance(piece, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] = merged[-1] + piece
        elif not isinstance(piece, bytes) or piece:
            merged.append(piece)
    if any(isinstance(piece, UncutCells) for piece in merged):
        return _gather(merged, null)
    return pc.binary_join_element_wise(
        *(pa.scalar(piece, pa.binary()) if isinstance(piece, bytes) else piece for piece in merged),
        pa.scalar(b"", pa.binary()),
        null_handling="replace",
        null_replacement=null,
    )


def _gather(pieces: Sequence[bytes | pa.Array | UncutCells], null: bytes) -> pa.Array:
    """Join by one `take`, row by row, from images as they are, constants and columns, one after another."""
    constants = [piece for piece in pieces if isinstance(piece, bytes)]
    sources, begins = [pa.array(constants, pa.binary())], {-1: 0}
    end, first, step = len(constants), [], []
    for piece in pieces:
        if isinstance(piece, bytes):
            first.append(begins[-1])
            step.append(0)
            begins[-1] += 1
            continue
        source, place, width = piece.where if isinstance(piece, UncutCells) else (piece, 0, 1)
        if id(source) not in begins:
            begins[id(source)] = end
            sources.append(pc.fill_null(source, null) if source.null_count else source)
            end += len(source)
        first.append(begins[id(source)] + place)
        step.append(width)
        rows = len(source) // width
    places = np.multiply.outer(np.arange(rows, dtype=np.int32), np.array(step, np.int32))
    places += np.array(first, np.int32)
    joined = pc.take(pa.concat_arrays(sources), pa.array(places.ravel()), boundscheck=False)
    _, offsets, data = joined.buffers()
    ends = np.ascontiguousarray(np.frombuffer(offsets, np.int32, len(joined) + 1)[:: len(pieces)])
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(ends), data])


def scatter(cells: pa.Array, where: npt.NDArray[np.bool_]) -> pa.Array:
    """Return the cells (no nulls) in the rows of `where` and empty text in the others; no byte is copied."""
    data, offsets = stored_buffers(cells)
    index = np.concatenate(([0], np.cumsum(where)))
    return pa.Array.from_buffers(
        pa.binary(), len(where), [None, pa.py_buffer(np.ascontiguousarray(offsets[index])), pa.py_buffer(data)]
    )


def decimal(numbers: pa.Array) -> pa.Array:
    """Return integers as binary decimal text."""
    return numbers.cast(pa.string()).cast(pa.binary())


_RAW_NAMED = {0x5C: b"\\\\", 0x22: b'\\"', 0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}
_RAW_ESCAPES = _RAW_NAMED | {code: b"\\u%04x" % code for code in range(0x20) if code not in _RAW_NAMED}
_RAW_TRANSLATED = {byte: escaped.decode() for byte, escaped in _RAW_ESCAPES.items()}
_RAW_GROWTH = bytes(len(_RAW_ESCAPES.get(byte, b"1")) - 1 for byte in range(256))


def raw_quoted(text: str) -> bytes:
    """Return a JSON string with its quotes; lone surrogates become the invalid bytes that they stand for."""
    return b'"' + text.translate(_RAW_TRANSLATED).encode("utf-8", "surrogateescape") + b'"'


def raw_escape(cells: pa.Array) -> pa.Array:
    """Escape text for the inside of JSON strings; lone surrogates become the invalid bytes that they stand for."""
    data, offsets = stored_buffers(cells)
    raw = data.tobytes()
    escaped_bytes = _found(raw, _RAW_ESCAPES)
    if not escaped_bytes:
        return surrogate_unescaped(cells)
    ends = shift_offsets(offsets, *_grown(data, raw, escaped_bytes, _RAW_GROWTH))
    return surrogate_unescaped(binary(replace_bytes(raw, escaped_bytes, _RAW_ESCAPES), ends, cells))


def sent_bytes(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the bytes of texts and of byte strings."""
    return latin1(cells) if is_binary(type) else surrogate_unescaped(cells)


def surrogate_escaped(cells: pa.Array) -> pa.Array:
    """Return bytes as text; each byte that is not valid UTF-8 becomes a lone surrogate."""
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


_WIDTH = np.zeros(256, np.uint8)
_WIDTH[0xC2:0xE0], _WIDTH[0xE0:0xF0], _WIDTH[0xF0:0xF5] = 2, 3, 4
_SECOND_LOW, _SECOND_HIGH = np.full(256, 0x80, np.uint8), np.full(256, 0xBF, np.uint8)
_SECOND_LOW[[0xE0, 0xF0]] = 0xA0, 0x90
_SECOND_HIGH[[0xED, 0xF4]] = 0x9F, 0x8F


def runes(data: Bytes, offsets: Offsets) -> tuple[Places, Places, Places]:
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
        starts, widths, _ = runes(data, offsets)
        for step in range(4):
            invalid[(starts + step)[widths > step]] = False
    return invalid


def valid_utf8(cells: pa.Array) -> pa.Array:
    """Return the bytes with `?` in place of each byte that is not valid UTF-8."""
    data, offsets = stored_buffers(cells)
    invalid = _invalid(data, offsets)
    return binary(np.where(invalid, np.uint8(0x3F), data), offsets, cells) if invalid.any() else cells

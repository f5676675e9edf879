"""Converts the values of whole columns to cells: base64 and Go's quoting are removed.

The result equals that of `decode`; a mask excludes values that it would reject. NULL stays.
"""

from __future__ import annotations

import base64
import codecs
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, binary, buffers, latin1, raw, spans, stored_buffers
from simulator.reader.decode.message_bytes import unquote

ConvertedCells = tuple[pa.Array, Mask]
"""Cells (binary), and which of them are valid."""


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
    decoded = np.empty((len(high), 3), np.uint8)
    decoded[:, 0], decoded[:, 1], decoded[:, 2] = high >> 4, high << 4 | low >> 8, low
    if not padding.any():
        return binary(decoded, bounds // 4 * 3, cells)
    places = bounds // 4 * 3
    return binary(*stored_buffers(spans(decoded.ravel(), places[:-1], places[1:] - padding)), cells)


@cache
def _bits() -> npt.NDArray[np.uint16]:
    """Return the 12 bits of every two characters, indexed by these as a little-endian number."""
    six = np.full(256, ODD, np.uint16)
    six[list(LETTERS)], six[PAD] = np.arange(64), 0
    second, first = np.divmod(np.arange(1 << 16), 256)
    odd = (six[first] == ODD) | (six[second] == ODD)
    return np.where(odd, ODD, six[first] << 6 | six[second]).astype(np.uint16)


def are_utf8(cells: pa.Array) -> Mask:
    valid = np.ones(len(cells), np.bool_)
    if buffers(cells)[0].max(initial=0) >= 0x80 and not _is_utf8(cells):
        valid[:] = [_is_utf8(cells.slice(place, 1)) for place in range(len(cells))]
    return valid


def _is_utf8(cells: pa.Array) -> bool:
    try:
        pc.cast(cells, pa.string())
    except pa.ArrowException:
        return False
    return True


def latin1_text(cells: pa.Array) -> pa.Array:
    """Convert bytes to the UTF-8 of their Latin-1 text."""
    data, offsets = buffers(cells)
    high = data >= 0x80
    if not high.any():
        return cells
    wide = np.repeat(data, 1 + high)
    places = np.flatnonzero(high)
    at = places + np.arange(len(places))
    wide[at], wide[at + 1] = 0xC0 | data[places] >> 6, 0x80 | data[places] & 0x3F
    return binary(wide, offsets + np.concatenate(([0], np.cumsum(high)))[offsets], cells)


BETWEEN = "\u0100"
"""Not in Latin-1."""

PLAIN = re.compile(rb'(?:[^\\]|\\(?:x[0-9a-f]{2}|[abfnrtv\\"]))*', re.DOTALL)
"""Quoted text that Python's unicode_escape decodes as Go encoded it, each byte as a Latin-1 character."""


def unquote_go(cells: pa.Array) -> ConvertedCells:
    """Decode Go's strconv.Quote, without JSON escapes, to Latin-1 text of its bytes."""
    texts = cells.to_pylist()
    if all(map(PLAIN.fullmatch, texts)):
        joined, _ = codecs.unicode_escape_decode(BETWEEN.encode("unicode_escape").join(texts))
        return pa.array(joined.split(BETWEEN)).cast(pa.binary()), np.ones(len(texts), np.bool_)
    return _one_by_one(cells, lambda text: unquote(text.decode("utf-8")))


def _one_by_one(cells: pa.Array, convert: Callable[[bytes], bytes]) -> ConvertedCells:
    """Return the Latin-1 texts of bytes, of which those are not valid that cannot be converted."""
    found: list[bytes | None] = []
    valid = np.ones(len(cells), np.bool_)
    for place, cell in enumerate(cells.to_pylist()):
        try:
            found.append(None if cell is None else convert(cell))
        except ValueError:
            found.append(None)
            valid[place] = False
    return latin1_text(pa.array(found, pa.binary())), valid


@dataclass(frozen=True)
class Cell:
    """How the cells of a column are read."""

    type: pa.DataType
    """Of the values in JSON."""

    convert: Callable[[pa.Array], ConvertedCells]
    """Takes an array of the type."""

    doubted: str | None = None
    """A regular expression of numbers that may have been written in another way."""


def _text(values: pa.Array) -> ConvertedCells:
    return raw(values), np.ones(len(values), np.bool_)


def _below(limit: int) -> Callable[[pa.Array], ConvertedCells]:
    def narrow(values: pa.Array) -> ConvertedCells:
        data, bounds = buffers(values)
        valid = np.ones(len(values), np.bool_)
        valid[np.searchsorted(bounds, np.flatnonzero(data >= limit), side="right") - 1] = False
        return raw(values), valid

    return narrow


def _bytes_from_base64(values: pa.Array) -> ConvertedCells:
    try:
        return latin1_text(decode_base64(values).cast(pa.binary())), np.ones(len(values), np.bool_)
    except ValueError:
        return _one_by_one(raw(values), partial(base64.b64decode, validate=True))


def _text_from_base64(values: pa.Array) -> ConvertedCells:
    cells, valid = _bytes_from_base64(values)
    texts = latin1(cells)
    return texts, valid & are_utf8(texts)


def _quoted(values: pa.Array) -> ConvertedCells:
    """Unquote the few that are not ASCII or have a backslash."""
    cells, valid = _below(0x80)(values)
    odd = np.flatnonzero(~valid | np.asarray(pc.fill_null(pc.match_substring(cells, "\\"), False)))
    if not len(odd):
        return cells, valid
    found, valid[odd] = unquote_go(cells.take(pa.array(odd)))
    mask = np.zeros(len(cells), np.bool_)
    mask[odd] = True
    return pc.replace_with_mask(cells, pa.array(mask), found), valid


def _number(values: pa.Array) -> ConvertedCells:
    return values.cast(pa.string()).cast(pa.binary()), np.ones(len(values), np.bool_)


def _real(values: pa.Array) -> ConvertedCells:
    """Numbers that Arrow writes with an exponent are not valid, as others write them otherwise."""
    cells, _ = _number(values)
    return cells, ~np.asarray(pc.fill_null(pc.match_substring(cells, "e"), False))


TEXT = Cell(pa.string(), _text)
LATIN = Cell(pa.string(), _below(0xC4))
"""Bytes as Latin-1 text."""

ASCII = Cell(pa.string(), _below(0x80))
BASE64_BYTES = Cell(pa.string(), _bytes_from_base64)
BASE64_TEXT = Cell(pa.string(), _text_from_base64)
QUOTED = Cell(pa.string(), _quoted)
"""Quoted by Go."""

SIGNED, UNSIGNED = (Cell(kind, _number, "^0$") for kind in (pa.int64(), pa.uint64()))
REAL, TRUTH = Cell(pa.float64(), _real, ""), Cell(pa.bool_(), _number)

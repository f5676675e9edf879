"""Converts the tokens of whole columns to cells: JSON escapes, base64 and Go's quoting are removed.

The result equals that of `decode`; a mask excludes tokens that it would reject.
"""

from __future__ import annotations

import base64
import codecs
import json
import re
import string
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, binary, buffers, spans, stored_buffers
from simulator.reader.decode.go_json import unquote

ConvertedTokens = tuple[pa.Array, Mask]
"""Cells (binary), and which of them are valid."""


def unescape(tokens: pa.Array) -> ConvertedTokens:
    texts = tokens.to_pylist()
    try:
        return _encoded(json.loads(b'["' + b'","'.join(texts) + b'"]')), np.ones(len(texts), np.bool_)
    except ValueError:
        valid = np.array([_is_string(text) for text in texts], np.bool_)
        return _encoded(
            [json.loads(b'"' + text + b'"') if is_valid else "" for text, is_valid in zip(texts, valid)]
        ), valid


def _is_string(text: bytes) -> bool:
    try:
        return isinstance(json.loads(b'"' + text + b'"'), str)
    except ValueError:
        return False


def _encoded(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.string()).cast(pa.binary())
    except (pa.ArrowException, UnicodeEncodeError):
        return pa.array([text.encode("utf-8", "surrogatepass") for text in texts], pa.binary())


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


def bytes_from_base64(tokens: pa.Array) -> ConvertedTokens:
    """Decode base64 to bytes, as Latin-1 text."""
    cells, valid = _base64(tokens)
    return latin1_text(cells), valid


def text_from_base64(tokens: pa.Array) -> ConvertedTokens:
    cells, valid = _base64(tokens)
    return cells, valid & are_utf8(cells)


def _base64(tokens: pa.Array) -> ConvertedTokens:
    try:
        return decode_base64(tokens.cast(pa.string())).cast(pa.binary()), np.ones(len(tokens), np.bool_)
    except ValueError:
        cells: list[bytes | None] = []
        for token in tokens.to_pylist():
            try:
                cells.append(base64.b64decode(token, validate=True))
            except ValueError:
                cells.append(None)
        valid = np.array([cell is not None for cell in cells], np.bool_)
        return pa.array([cell or b"" for cell in cells], pa.binary()), valid


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


def unquote_go(cells: pa.Array) -> ConvertedTokens:
    """Decode Go's strconv.Quote, without JSON escapes, to Latin-1 text of its bytes."""
    texts = cells.to_pylist()
    valid = np.ones(len(texts), np.bool_)
    if all(map(PLAIN.fullmatch, texts)):
        joined, _ = codecs.unicode_escape_decode(BETWEEN.encode("unicode_escape").join(texts))
        return _encoded(joined.split(BETWEEN)), valid
    unquoted: list[str] = []
    for place, text in enumerate(texts):
        try:
            unquoted.append(unquote(text.decode("utf-8")).decode("latin-1"))
        except ValueError:
            unquoted.append("")
            valid[place] = False
    return _encoded(unquoted), valid

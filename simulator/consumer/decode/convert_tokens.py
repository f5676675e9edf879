"""Converts the tokens of whole columns to cells: JSON escapes, base64 and Go's quoting are removed.

The result equals that of `decode`; a mask excludes tokens that it would reject.
"""

from __future__ import annotations

import base64
import codecs
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, binary, buffers
from simulator.consumer.decode.base64_cells import decode_base64
from simulator.consumer.decode.go_json import unquote

ConvertedTokens = tuple[pa.Array, Mask]
"""Cells (binary), and which of them are valid."""


def unescape(tokens: pa.Array) -> ConvertedTokens:
    """Decode JSON strings without quotes."""
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


def bytes_from_base64(tokens: pa.Array) -> ConvertedTokens:
    """Decode base64 to bytes, as Latin-1 text."""
    found, valid = _base64(tokens)
    return latin1_text(found), valid


def text_from_base64(tokens: pa.Array) -> ConvertedTokens:
    """Decode base64 to UTF-8."""
    found, valid = _base64(tokens)
    if not is_utf8(found):
        valid &= np.array([_is_utf8(cell) for cell in found.to_pylist()], np.bool_)
    return found, valid


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


def is_utf8(cells: pa.Array) -> bool:
    """Return whether all cells are UTF-8."""
    if not (buffers(cells)[0] >= 0x80).any():
        return True
    try:
        pc.cast(cells, pa.string())
    except pa.ArrowException:
        return False
    return True


def _is_utf8(cell: bytes) -> bool:
    try:
        cell.decode()
    except ValueError:
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
    found: list[str] = []
    for place, text in enumerate(texts):
        try:
            found.append(unquote(text.decode("utf-8")).decode("latin-1"))
        except ValueError:
            found.append("")
            valid[place] = False
    return _encoded(found), valid

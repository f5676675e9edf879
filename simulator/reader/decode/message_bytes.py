"""Reads what messages are made of: JSON and quoted text as Go writes them, base64, compressed values, claim-check files.

The values of whole columns are read to cells (`Cell`) as `decode` reads them one by one; a mask excludes those that it would
reject. NULL stays.

Numbers keep their digits. The first bytes tell the compression. TiCDC's JSON begins with `{"` or is `{}`, an LZ4 frame with
its magic number, and a Snappy block with its length and a literal; these cannot be confused. A claim-check file must
contain the row of its message (tiflow v8.5.3: pkg/sink/codec/common/helper.go UnmarshalClaimCheckMessage).
"""

from __future__ import annotations

import base64
import codecs
import json
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import lz4.frame
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, binary, buffers, latin1, raw, spans, stored_buffers


class Digits(str):
    """The text of a JSON number, distinct from a JSON string."""


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_int=Digits, parse_float=Digits, parse_constant=_refuse)
PAIRS = json.JSONDecoder(parse_int=Digits, parse_float=Digits, parse_constant=_refuse, object_pairs_hook=list)


def parse(text: bytes, errors: str = "strict") -> dict[str, Any]:
    """Parse a JSON object with numbers as Digits; raises ValueError for anything else.

    With `errors` = `surrogateescape` invalid UTF-8 becomes lone surrogates, as in row images.
    """
    document = DECODER.decode(text.decode("utf-8", errors))
    if not isinstance(document, dict):
        raise ValueError(f"a JSON object is expected, this is {type(document).__name__}")
    return document


def pairs(text: bytes, errors: str = "strict") -> list[tuple[str, Any]]:
    """Parse a JSON object as a list of its members in order, including duplicates; nested objects are lists, too."""
    pairs_of_object = PAIRS.decode(text.decode("utf-8", errors))
    assert isinstance(pairs_of_object, list)
    return pairs_of_object


def integer(value: object) -> int:
    """Return the integer of a JSON number; raises ValueError for anything else."""
    if not isinstance(value, Digits):
        raise ValueError(f"a number is expected, this is {value!r}")
    return int(value)


def text(value: object) -> str:
    """Return a JSON string; raises ValueError for anything else."""
    if not isinstance(value, str) or isinstance(value, Digits):
        raise ValueError(f"a string is expected, this is {value!r}")
    return value


def members(value: object) -> dict[str, Any]:
    """Return a JSON object; raises ValueError for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"an object is expected, this is {value!r}")
    return value


ESCAPE = re.compile(rb"""\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abfnrtv\\"]))|(\\)""", re.DOTALL)
SHORT = dict(zip(b'abfnrtv\\"', (b"\a", b"\b", b"\f", b"\n", b"\r", b"\t", b"\v", b"\\", b'"'), strict=True))


def unquote(quoted: str) -> bytes:
    r"""Decode Go's strconv.Quote without its quotes (Go: strconv/quote.go); raises ValueError for a stray `\\`."""
    return ESCAPE.sub(_unescape, quoted.encode("utf-8"))


def _unescape(match: re.Match[bytes]) -> bytes:
    byte, short_rune, long_rune, letter, stray = match.groups()
    if stray:
        raise ValueError(f"stray backslash at byte {match.start()} of a quoted binary value")
    if byte:
        return bytes.fromhex(byte.decode())
    if letter:
        return SHORT[letter[0]]
    return chr(int(short_rune or long_rune, 16)).encode("utf-8")


LZ4 = bytes.fromhex("04224d18")
SNAPPY = pa.Codec("snappy")


def decompress_value(value: bytes) -> bytes:
    """Return the decompressed value. A value that is neither JSON nor compressed is returned as it is."""
    if value[:4] == LZ4:
        return _lz4(value)
    return value if value[:2] in (b'{"', b"{}", b"") else _snappy(value)


def decompress_cells(values: pa.Array) -> tuple[pa.Array, Mask]:
    """Decompress values; return them and which of them could be decompressed."""
    fine = np.ones(len(values), np.bool_)
    data, bounds = buffers(values)
    there = np.flatnonzero(np.diff(bounds))
    first, second = (data[np.minimum(bounds[there] + place, len(data) - 1)] for place in (0, 1))
    odd = there[(first != ord("{")) | (second != ord('"'))]
    if not len(odd):
        return values, fine
    decompressed: list[bytes] = []
    for place, value in zip(odd.tolist(), values.take(pa.array(odd)).to_pylist(), strict=True):
        try:
            decompressed.append(decompress_value(value))
        except ValueError:
            fine[place] = False
            decompressed.append(b"")
    where = np.arange(len(values))
    where[odd] = len(values) + np.arange(len(odd))
    return pa.concat_arrays([values, pa.array(decompressed, pa.binary())]).take(pa.array(where)), fine


def _lz4(value: bytes) -> bytes:
    # A piece at a time, since lz4.frame.decompress makes room at once for the length that the frame claims.
    frame = lz4.frame.LZ4FrameDecompressor()
    try:
        text: bytes = frame.decompress(value)
    except RuntimeError as error:
        raise ValueError(f"a broken LZ4 frame: {error}") from error
    if not frame.eof:
        raise ValueError("a broken LZ4 frame: it ends too soon")
    return text


def _snappy(value: bytes) -> bytes:
    size = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(_length(value)))
    if size > 64 * len(value):  # Snappy's copies make at most 64 bytes out of two
        return value
    try:
        text: bytes = SNAPPY.decompress(value, size, asbytes=True)
    except OSError:
        return value
    return text


def _length(value: bytes) -> bytes:
    """Return the bytes of a block's length prefix: seven bits each, the highest bit is set if more follow."""
    ends = (place for place, byte in enumerate(value[:5]) if byte < 0x80)
    return value[: next(ends, -1) + 1]


def claim_check_message(content: bytes) -> tuple[bytes | None, bytes]:
    """Return key and value: from JSON with both in base64, which 7.3.0 may compress, or with claim-check-raw-value the
    value alone."""
    content = decompress_value(content)
    if content[:7] != b'{"key":':
        return None, content
    document = json.loads(content)
    key = document["key"]
    return None if key is None else base64.b64decode(key), base64.b64decode(document["value"])


HEADER = 5
"""Bytes before a record of Avro: 0, and the schema's id."""


def schema_text(message: bytes, schemas: Mapping[int, str]) -> str:
    """Return the text of the schema that a message names; raises ValueError if it is not known."""
    if len(message) < HEADER or message[0]:
        raise ValueError("a byte 0 and the id of a schema are expected")
    number = int.from_bytes(message[1:HEADER], "big")
    if number not in schemas:
        raise ValueError(f"schema {number} is not known; the schemas of its registry are needed")
    return schemas[number]


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

"""Reads what messages are made of: JSON and quoted text as Go writes them, compressed values, claim-check files.

Numbers keep their digits. The first bytes tell the compression. TiCDC's JSON begins with `{"` or is `{}`, an LZ4 frame with
its magic number, and a Snappy block with its length and a literal; these cannot be confused. A claim-check file must
contain the row of its message (tiflow v8.5.3: pkg/sink/codec/common/helper.go UnmarshalClaimCheckMessage).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

import lz4.frame
import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask, buffers


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

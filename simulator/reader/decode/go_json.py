"""Reads JSON and quoted text as Go writes them. Numbers keep their digits."""

from __future__ import annotations

import json
import re
from typing import Any


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

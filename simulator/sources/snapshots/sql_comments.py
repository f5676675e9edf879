"""Removal of comments from SQL text, before it is parsed.

A comment becomes blanks, so that positions stay. A block that ends inside a comment, or in what may begin one, is read
up to there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from simulator.columns.cells import Bytes, Places
from simulator.sources.snapshots import quoting
from simulator.sources.snapshots.quoting import Malformed, QuoteMarks

QUOTES = b"'\""
"""Of strings: mydumper and programs write the second."""

_SIGNS = {b"#": b"#", b"--": b"-", b"/*": b"/"}
"""Beginnings of comments, with their first byte."""

_HASH, _DASH, _SLASH, _STAR = (ord(mark) for mark in "#-/*")
_TOKEN = re.compile(
    rb"""'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|`[^`]*+(?:`|\Z)|(?P<sign>\#|--(?=[\x00-\x20]|\Z)|-\Z|/\*|/\Z)""",
    re.DOTALL,
)
_QUOTES = re.compile(rb"""['"`\\]""")
_EXECUTED = re.compile(rb"/\*(?:!\d*|T!(?:\[[^\]]*\])?)\s*(?P<word>\w*)")
_HARMLESS = frozenset({b"SET", b"USE", b"LOCK", b"UNLOCK", b"START", b"BEGIN", b"COMMIT", b"ALTER"})
_OTHER_ESCAPES = re.compile(rb"NO_BACKSLASH_ESCAPES|ANSI_QUOTES", re.IGNORECASE)


def plain(data: bytes, ends: bytes, dump: bool = False) -> tuple[bytes, QuoteMarks]:
    """Return a block without its comments, and the positions of the wanted bytes outside quotes; raise Malformed.

    The block begins outside quotes. In a `dump` of many tables comments that MySQL would execute are left out, too, and
    names may hold any bytes.
    """
    array = np.frombuffer(data, dtype=np.uint8)
    signs = b"".join(byte for sign, byte in _SIGNS.items() if _has(array, data, sign) or data.endswith(byte))
    marks = quoting.marks(array, QUOTES + b"`" if dump else QUOTES, ends + signs, escape=True)
    if not signs:
        return data, marks
    is_sign = quoting.byte_set(signs)[array[marks.outside]]
    starts = _starts(array, marks.outside[is_sign])
    if len(starts):
        return plain(_blanked(data, starts.tolist(), dump), ends, dump)
    return data, QuoteMarks(marks.quotes, marks.escapes, marks.outside[~is_sign])


def _has(array: Bytes, data: bytes, sign: bytes) -> bool:
    """Return whether the sign of one or two bytes occurs."""
    if sign[:1] not in data or len(sign) == 1:
        return sign[:1] in data
    pairs = (array[start : start + (len(array) - start) // 2 * 2].view(np.uint16) for start in (0, 1))
    return any(bool((pair == np.frombuffer(sign, np.uint16)).any()) for pair in pairs)


def check_modes(text: bytes, position: int) -> None:
    """Raise Malformed for a SET that changes the meaning of backslashes or double quotes in later rows."""
    mode = _OTHER_ESCAPES.search(text)
    if mode is not None:
        raise Malformed(f"{mode[0].decode().upper()} in a sql_mode: strings are read as without it", position)


def _starts(array: Bytes, places: Places) -> Places:
    """Return the positions where a comment begins, or may begin if its next bytes are in the next block."""
    kinds, last = array[places], len(array) - 1
    second, third = (array[np.minimum(places + ahead, last)] for ahead in (1, 2))
    dashes = (kinds == _DASH) & (second == _DASH) & ((third <= 0x20) | (places + 2 > last))
    slashes = (kinds == _SLASH) & (second == _STAR)
    result: Places = places[dashes | slashes | (kinds == _HASH) | (places == last)]
    return result


def _blanked(data: bytes, starts: Iterable[int], dump: bool) -> bytes:
    text = bytearray(data)
    for start, end in _comments(data, starts):
        if end < 0:
            return bytes(text[:start])
        executed = _EXECUTED.match(data, start, end)
        if executed is not None:
            check_modes(data[start:end], start)
            if not dump and executed["word"].upper() not in _HARMLESS:
                raise Malformed(
                    f"a comment that MySQL executes, {quoting.excerpt(data[start:end])}, is not read", start
                )
        text[start:end] = b" " * (end - start)
    return bytes(text)


def _comments(data: bytes, starts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each comment; the end is -1 if it is not in the block."""
    places, end = iter(starts), 0
    while (start := next(places, None)) is not None:
        if start < end:
            continue
        end = _end(data, start)
        yield start, end
        if end < 0:
            return
        if _QUOTES.search(data, start, end):
            # What was found behind it was found with its quotes.
            places = _signs(data, end)


def _signs(data: bytes, start: int) -> Iterator[int]:
    """Yield where comments may begin after that position, string by string."""
    return (token.start() for token in _TOKEN.finditer(data, start) if token["sign"])


def _end(data: bytes, start: int) -> int:
    if data.startswith(b"/*", start):
        end = data.find(b"*/", start + 2)
        return end + 2 if end >= 0 else -1
    return data.find(b"\n", start)

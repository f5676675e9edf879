"""Quotes, escapes and fields of SQL and CSV text, found by array operations over a whole block of bytes.

One law: nothing here loops over rows or fields; every function is a handful of numpy passes over the block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

BACKSLASH = ord("\\")


class Malformed(Exception):
    """Text that is no SQL or CSV of that table; `position` is the byte in the block where it shows."""

    def __init__(self, text: str, position: int) -> None:
        super().__init__(text)
        self.text = text
        self.position = position


def shown(text: bytes) -> str:
    """The beginning of a text of the file, for a message."""
    short = text.strip()[:40]
    return ascii(short.decode("utf-8", "replace")) + ("…" if len(text.strip()) > len(short) else "")


def _escape_table() -> Bytes:
    table = np.arange(256, dtype=np.uint8)
    for letter, byte in {"0": 0, "b": 8, "n": 10, "r": 13, "t": 9, "Z": 26}.items():
        table[ord(letter)] = byte
    return table


ESCAPED = _escape_table()
"""What a backslash and this byte stand for (MySQL's string literals; Dumpling writes 0 n r Z and the quotes)."""


def byte_set(characters: bytes) -> Mask:
    """A table to look up which bytes of a block are among these."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(characters)] = True
    return table


def escaping(backslashes: Positions) -> Positions:
    """Those backslashes that escape the byte after them: every other one of each run, from its first."""
    if not len(backslashes):
        return backslashes
    index = np.arange(len(backslashes))
    first = np.ones(len(backslashes), dtype=np.bool_)
    first[1:] = np.diff(backslashes) != 1
    run = np.maximum.accumulate(np.where(first, index, 0))
    result: Positions = backslashes[(index - run) % 2 == 0]
    return result


@dataclass(frozen=True)
class Marks:
    """Where the structure of a block is."""

    quotes: Positions
    """Quotes that are not escaped."""

    escapes: Positions
    """Backslashes that escape something."""

    outside: Positions
    """The other bytes asked for, where they lie outside quotes."""


def marks(data: Bytes, quote: int, wanted: bytes, escape: bool) -> Marks:
    """Scans a block that begins outside quotes."""
    special = byte_set(wanted + bytes([quote]) + (b"\\" if escape else b""))
    positions = np.flatnonzero(special[data])
    kinds = data[positions]
    is_quote = kinds == quote
    escapes = escaping(positions[kinds == BACKSLASH]) if escape else positions[:0]
    if len(escapes):
        is_quote &= ~np.isin(positions, escapes + 1, assume_unique=True, kind="sort")
    inside = np.logical_xor.accumulate(is_quote) if len(positions) else is_quote
    outside = positions[~inside & (kinds != quote) & (kinds != BACKSLASH)]
    return Marks(positions[is_quote], escapes, outside)


@dataclass(frozen=True)
class Fields:
    """Fields of a block in the order they stand, row by row: values without their quotes."""

    data: Bytes
    starts: Positions
    ends: Positions
    quoted: Mask

    def column(self, column: int, width: int, null: Mask) -> pa.Array:
        """Column `column` of `width` as binary, NULL where the mask of its rows says so."""
        offsets = np.empty(2 * len(self.starts), dtype=np.int32)
        offsets[0::2] = self.starts
        offsets[1::2] = self.ends
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        every = pa.BinaryArray.from_buffers(pa.binary(), len(offsets) - 1, buffers)
        places = np.arange(2 * column, len(offsets), 2 * width, dtype=np.int32)
        return every.take(pa.array(places, mask=null))


def unescape(data: Bytes, found: Marks, quote: int, fields: Fields) -> Fields:
    """Undoes backslash escapes and doubled quotes inside quoted fields.

    `fields` has the values without their outer quotes. Raises Malformed for a quote that neither opens nor closes a
    field nor is doubled.
    """
    doubled = _doubled(found.quotes, fields)
    escapes = _inside(found.escapes, fields)
    if not len(doubled) and not len(escapes):
        return fields
    clean = data.copy()
    if len(escapes):
        clean[escapes + 1] = ESCAPED[data[escapes + 1]]
    drops = np.sort(np.concatenate([doubled, escapes]))
    keep = np.ones(len(data), dtype=np.bool_)
    keep[drops] = False
    starts = fields.starts - np.searchsorted(drops, fields.starts)
    ends = fields.ends - np.searchsorted(drops, fields.ends)
    return Fields(clean[keep], starts, ends, fields.quoted)


def _doubled(quotes: Positions, fields: Fields) -> Positions:
    """The first quote of each doubled pair."""
    opening, closing = fields.starts[fields.quoted] - 1, fields.ends[fields.quoted]
    if len(quotes) == 2 * len(opening):
        return quotes[:0]
    outer = np.concatenate([opening, closing])
    inner = quotes[~np.isin(quotes, outer, assume_unique=True, kind="sort")]
    first, second = inner[0::2], inner[1::2]
    if len(first) != len(second):
        raise Malformed("a quote inside a value is neither doubled nor escaped", int(inner[-1]))
    loose = np.flatnonzero(second != first + 1)
    if len(loose):
        raise Malformed("a quote inside a value is neither doubled nor escaped", int(first[loose[0]]))
    return first


def _inside(escapes: Positions, fields: Fields) -> Positions:
    """Those escapes that lie in a quoted field; elsewhere a backslash is itself."""
    if not len(escapes) or not len(fields.starts):
        return escapes[:0]
    field = np.searchsorted(fields.starts, escapes, side="right") - 1
    within = (field >= 0) & fields.quoted[field] & (escapes < fields.ends[field])
    return escapes[within]

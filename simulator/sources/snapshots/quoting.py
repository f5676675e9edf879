"""Quotes, escapes and fields of SQL and CSV text, found by array operations on a whole block of bytes.

Every function is a few numpy passes over the block; none loops over rows or fields. Text in other character sets is
read as UTF-8.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places
from simulator.errors import SnapshotError
from simulator.files import decode_text
from simulator.settings import CHARSETS

BACKSLASH = ord("\\")


class Malformed(Exception):
    """Text that is no SQL or CSV of the table; `position` is the byte in the block."""

    def __init__(self, text: str, position: int) -> None:
        super().__init__(text)
        self.text = text
        self.position = position


def excerpt(text: bytes) -> str:
    """Return the beginning of a text of the file, for a message."""
    short = text.strip()[:40]
    return ascii(short.decode("utf-8", "replace")) + ("…" if len(text.strip()) > len(short) else "")


def _escape_table() -> Bytes:
    table = np.arange(256, dtype=np.uint8)
    for letter, byte in {"0": 0, "b": 8, "n": 10, "r": 13, "t": 9, "Z": 26}.items():
        table[ord(letter)] = byte
    return table


ESCAPED = _escape_table()
"""The byte that a backslash and this byte stand for (MySQL's string literals; Dumpling writes 0 n r Z and the
quotes)."""


def byte_set(characters: bytes) -> Mask:
    """Return a table of the bytes in `characters`."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(characters)] = True
    return table


def among(data: Bytes, characters: bytes) -> Mask:
    """Return which bytes of a block are among `characters`; comparing with each is faster than a table."""
    is_among = np.zeros(len(data), dtype=np.bool_)
    same = np.empty(len(data), dtype=np.bool_)
    for character in set(characters):
        np.logical_or(is_among, np.equal(data, character, out=same), out=is_among)
    return is_among


def escaping(backslashes: Places) -> Places:
    """Return the backslashes that escape the byte after them: every other one of each run, from its first."""
    if not len(backslashes):
        return backslashes
    index = np.arange(len(backslashes))
    first = np.ones(len(backslashes), dtype=np.bool_)
    first[1:] = np.diff(backslashes) != 1
    run = np.maximum.accumulate(np.where(first, index, 0))
    result: Places = backslashes[(index - run) % 2 == 0]
    return result


@dataclass(frozen=True)
class QuoteMarks:
    """Positions of the structure of a block."""

    quotes: Places
    """Quotes that are not escaped."""

    escapes: Places
    """Backslashes that escape something."""

    outside: Places
    """The other requested bytes, outside quotes."""


def marks(data: Bytes, quotes: bytes, signs: bytes, escape: bool) -> QuoteMarks:
    """Scan a block that begins outside quotes. A string ends with the quote that it began with; without `quotes` a
    backslash escapes a sign."""
    positions, kinds, is_quote, escapes = _scanned(data, quotes, signs, escape)
    found = kinds[is_quote]
    if len(quotes) > 1 and not _of_one_kind(found):
        is_quote[is_quote] = _opening_or_closing(found, quotes)
    inside = np.logical_xor.accumulate(is_quote) if len(positions) else is_quote
    is_sign = byte_set(signs)[kinds]
    if not quotes and len(escapes):
        is_sign &= ~np.isin(positions, escapes + 1)
    return QuoteMarks(positions.compress(is_quote), escapes, positions.compress(~inside & is_sign))


def _scanned(data: Bytes, quotes: bytes, signs: bytes, escape: bool) -> tuple[Places, Bytes, Mask, Places]:
    """Return the positions of quotes, signs and backslashes, their bytes, which are quotes that are not escaped, and the
    backslashes that escape something."""
    positions = np.flatnonzero(among(data, signs + quotes + (b"\\" if escape else b"")))
    kinds = data[positions]
    is_quote = byte_set(quotes)[kinds]
    escapes = escaping(positions[kinds == BACKSLASH]) if escape else positions[:0]
    if len(escapes):
        following = np.minimum(np.searchsorted(positions, escapes + 1), len(positions) - 1)
        is_quote[following[positions[following] == escapes + 1]] = False
    return positions, kinds, is_quote, escapes


def _of_one_kind(found: Bytes) -> bool:
    return not len(found) or bool((found == found[0]).all())


States = tuple[int, ...]
"""For each state before some bytes the one after them: 0 is outside quotes, 1 inside the first kind, and so on."""


def passage(data: Bytes, quotes: bytes, escape: bool) -> States:
    """Return the states after a block."""
    _, kinds, is_quote, _ = _scanned(data, quotes, b"", escape)
    found = kinds[is_quote]
    if _of_one_kind(found):
        states = list(range(len(quotes) + 1))
        if len(found) % 2:
            kind = quotes.index(found[0]) + 1
            states[0], states[kind] = kind, 0
        return tuple(states)
    rows, steps = _in_rows(found, quotes)
    return following(*_passages(rows, steps))


def following(*passages: States) -> States:
    """Return the states after several blocks."""
    states = passages[0]
    for passed in passages[1:]:
        states = tuple(passed[state] for state in states)
    return states


def _opening_or_closing(found: Bytes, quotes: bytes) -> Mask:
    """Return which quotes open or close a string, and are not in one of the other kind."""
    rows, steps = _in_rows(found, quotes)
    state, starts = 0, []
    for passed in _passages(rows, steps):
        starts.append(state)
        state = passed[state]
    now = np.array(starts)
    changes = np.empty(rows.shape, np.bool_)
    for column in range(rows.shape[1]):
        after = steps[rows[:, column], now]
        changes[:, column], now = after != now, after
    result: Mask = changes.ravel()[: len(found)]
    return result


def _in_rows(found: Bytes, quotes: bytes) -> tuple[Places, Places]:
    """Return quotes by number, in as many rows as columns, and the state after each of them by the state before.

    An array operation a column, and a step of Python a row, are far fewer than the quotes.
    """
    states = np.arange(len(quotes) + 1)
    steps = np.tile(states, (len(quotes) + 1, 1))
    for number in range(1, len(quotes) + 1):
        steps[number, 0], steps[number, number] = number, 0
    numbers = np.zeros(256, np.int64)
    numbers[list(quotes)] = states[1:]
    side = math.isqrt(len(found) - 1) + 1
    rows = np.zeros(side * side, np.int64)
    rows[: len(found)] = numbers[found]
    return rows.reshape(side, side), steps


def _passages(rows: Places, steps: Places) -> list[States]:
    """Return the passage of each row."""
    states = np.tile(np.arange(len(steps)), (len(rows), 1))
    for column in range(rows.shape[1]):
        states = steps[rows[:, column, None], states]
    return [tuple(row) for row in states.tolist()]


@dataclass(frozen=True)
class Fields:
    """The fields of a block, row by row: values without their quotes."""

    data: Bytes
    starts: Places
    ends: Places
    quoted: Mask

    @cached_property
    def every(self) -> pa.Array:
        """The fields at the even positions of an array, the text between them at the odd ones."""
        offsets = np.empty(2 * len(self.starts) + 1, dtype=np.int32)
        offsets[0:-1:2] = self.starts
        offsets[1::2] = self.ends
        offsets[-1] = len(self.data)
        return pa.Array.from_buffers(
            pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        )

    def column(self, column: int, width: int, null: Mask) -> pa.Array:
        """Return column `column` of `width` as binary, NULL where the mask of its rows is set."""
        places = np.arange(2 * column, 2 * len(self.starts), 2 * width, dtype=np.int32)
        return self.every.take(pa.array(places, mask=null if null.any() else None))


def unescape(data: Bytes, quote_marks: QuoteMarks, fields: Fields) -> Fields:
    """Undo backslash escapes and doubled quotes inside quoted fields.

    `fields` has the values without their outer quotes. Raise Malformed for a quote that neither opens nor closes a
    field nor is doubled.
    """
    doubled = _doubled(quote_marks.quotes, fields)
    escapes = _inside(quote_marks.escapes, fields)
    if not len(doubled) and not len(escapes):
        return fields
    drops = np.sort(np.concatenate([doubled, escapes]))
    owner = np.searchsorted(fields.starts, drops, side="right") - 1
    changed = owner[np.concatenate([[True], owner[1:] != owner[:-1]])]
    old = fields.every.take(pa.array(2 * changed))
    edges = np.frombuffer(old.buffers()[1], np.int32, len(old) + 1).astype(np.int64)
    moved = np.cumsum(np.concatenate([[0], owner[1:] != owner[:-1]]))
    places = drops - fields.starts[owner] + edges[moved]
    text = np.frombuffer(old.buffers()[2], np.uint8).copy()
    after = places[data[drops] == BACKSLASH] + 1
    text[after] = ESCAPED[text[after]]
    keep = np.ones(len(text), dtype=np.bool_)
    keep[places] = False
    edges = edges - np.searchsorted(places, edges) + len(data)
    starts, ends = fields.starts.copy(), fields.ends.copy()
    starts[changed], ends[changed] = edges[:-1], edges[1:]
    return Fields(np.concatenate([data, text[keep]]), starts, ends, fields.quoted)


def _doubled(quotes: Places, fields: Fields) -> Places:
    """Return the first quote of each doubled pair."""
    opening, closing = fields.starts[fields.quoted] - 1, fields.ends[fields.quoted]
    if not len(quotes) or len(quotes) == 2 * len(opening):
        return quotes[:0]
    is_inner = np.ones(len(quotes), dtype=np.bool_)
    is_inner[np.searchsorted(quotes, opening)] = False
    is_inner[np.searchsorted(quotes, closing)] = False
    inner = quotes[is_inner]
    first, second = inner[0::2], inner[1::2]
    if len(first) != len(second):
        raise Malformed("a quote inside a value is neither doubled nor escaped", int(inner[-1]))
    loose = np.flatnonzero(second != first + 1)
    if len(loose):
        raise Malformed("a quote inside a value is neither doubled nor escaped", int(first[loose[0]]))
    return first


def _inside(escapes: Places, fields: Fields) -> Places:
    """Return the escapes in quoted fields; elsewhere a backslash is literal."""
    if not len(escapes) or not len(fields.starts):
        return escapes[:0]
    field = np.searchsorted(fields.starts, escapes, side="right") - 1
    within = (field >= 0) & fields.quoted[field] & (escapes < fields.ends[field])
    return escapes[within]


UTF8 = "utf8mb4"

ACCEPTED = f"UTF-8, or with --charset {', '.join(name for name in CHARSETS if name != UTF8)}"
"""What an error of a text file in another charset names."""

ALIKE = ("gbk", "gb18030")

_UNDEFINED = "mysql-latin1"


def _as_control(error: UnicodeError) -> tuple[str | bytes, int]:
    """Convert the five bytes that cp1252 leaves undefined, as MySQL's latin1 does."""
    if isinstance(error, UnicodeDecodeError):
        return error.object[error.start : error.end].decode("latin-1"), error.end
    if isinstance(error, UnicodeEncodeError):
        return error.object[error.start : error.end].encode("latin-1"), error.end
    raise error


codecs.register_error(_UNDEFINED, _as_control)


def as_utf8(blocks: Iterator[bytes], charset: str, path: str) -> Iterator[bytes]:
    """Yield text as UTF-8; raise SnapshotError for bytes that the character set does not have."""
    if charset == UTF8:
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(CHARSETS[charset])(_UNDEFINED if charset == "latin1" else "strict")
    read = 0
    for block, final in _with_last(blocks):
        try:
            yield decoder.decode(block, final).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            shown = error.object[error.start : error.start + 4].hex(" ")
            where = max(0, read - (len(error.object) - len(block))) + error.start
            raise SnapshotError(f"{path}: not {charset}: bytes {shown} at byte {where:,}") from None
        except UnicodeError as error:
            raise SnapshotError(f"{path}: not {charset}: {error}") from None
        read += len(block)


def text_of(data: bytes, charset: str, place: str) -> str:
    """Return the text of a file, without a byte order mark; raise UserError for another character set."""
    if charset == UTF8:
        return decode_text(data, place)
    return b"".join(as_utf8(iter((data,)), charset, place)).decode().removeprefix("\ufeff")


def _with_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    yield from ((block, False) for block in blocks)
    yield b"", True


def bytes_of(values: pa.Array, charset: str) -> pa.Array | None:
    """Return the bytes that stood in the file for values (binary) of a binary column; None if they cannot be told."""
    texts = values.view(pa.string())
    if charset == UTF8 or pc.all(pc.fill_null(pc.string_is_ascii(texts), True)).as_py():
        return values
    if charset in ALIKE:  # each character that they read is written as the bytes that it was read from
        encoded = values.dictionary_encode()
        made = [text.decode().encode(CHARSETS[charset]) for text in encoded.dictionary.to_pylist()]
        return pa.array(made, pa.binary()).take(encoded.indices)
    if charset != "latin1":
        return None
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    held = pc.fill_null(texts, "")
    together = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(held)], pa.int32()), held), "")
    data = together[0].as_py().encode("cp1252", _UNDEFINED)
    made = pa.BinaryArray.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    return pc.if_else(values.is_valid(), made, pa.scalar(None, pa.binary()))

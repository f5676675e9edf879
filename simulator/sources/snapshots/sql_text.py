"""INSERT statements as Dumpling and mysqldump write them, parsed a block of bytes at a time into columns of raw values.

Rows are found by the pattern `( , , ) ,` of the characters outside quotes, without a loop over rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places
from simulator.sources.snapshots import quoting, sql_comments
from simulator.sources.snapshots.quoting import Fields, Malformed

_NAME = rb"""`(?:[^`]|``)+`|[^\s`(),;.'"]+"""
INSERT = re.compile(
    rb"\s*(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?(?:INTO\s+)?(?:(?P<schema>"
    + _NAME
    + rb")\s*\.\s*)?(?P<table>"
    + _NAME
    + rb")\s*(?:\((?P<columns>(?:"
    + _NAME
    + rb"|[\s,])*)\)\s*)?VALUES?\s*(?=\()",
    re.IGNORECASE | re.DOTALL,
)
_IGNORED = re.compile(rb"\s*(?:(?:SET|USE|LOCK|UNLOCK|START|BEGIN|COMMIT)\b[^;]*)?;", re.IGNORECASE | re.DOTALL)
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_NO_LITERAL = "a value is no literal: numbers, NULL, '…', \"…\" and x'…' are read, no expressions"
_NOWHERE = np.zeros(0, dtype=np.int64)
_SPACE = quoting.byte_set(b" \t\r\n")
_COMMA, _OPEN, _CLOSE, _SEMICOLON = (ord(mark) for mark in ",();")
_IS_QUOTE = quoting.byte_set(sql_comments.QUOTES)


@dataclass(frozen=True)
class Header:
    """The part of an INSERT before its rows."""

    schema: str
    """Empty if the statement names none."""

    table: str
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class SqlBlock:
    """The result of parsing a block: one array a value of the row, and the number of consumed bytes."""

    columns: tuple[pa.Array, ...]
    bare: tuple[Mask, ...]
    """For each column, which values are not quoted."""

    header: Header | None
    """The header of the rows; None if there are no rows."""

    consumed: int
    open: Header | None
    """The header of the statement that continues after `consumed`."""

    starts: Places
    """Start of each value, row by row."""

    hexed: tuple[Mask, ...]
    """For each column, which values are hexadecimal literals."""


def unquoted(name: bytes) -> str:
    """Return an identifier without its back-quotes."""
    text = name.decode("utf-8", "replace")
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def read_block(data: bytes, width: int, header: Header | None) -> SqlBlock:
    """Parse rows under one header, from a block that begins with a statement or, with `header`, with one of its rows.

    `width` is the number of values of a row if the statement lists no columns. Raise Malformed.
    """
    data, marks = sql_comments.plain(data, b"(),;")
    array = np.frombuffer(data, dtype=np.uint8)
    stops = marks.outside[array[marks.outside] == _SEMICOLON]
    statements = _statements(data, array, stops, header)
    current = statements.header
    if current is None:
        return SqlBlock((), (), None, statements.end, None, _NOWHERE, ())
    width = width if current.columns is None else len(current.columns)
    rows = _rows(array, _of_rows(marks.outside, statements), width)
    if not len(rows):
        return SqlBlock((), (), None, 0 if header else statements.end, header, _NOWHERE, ())
    _check_between(array, rows, width, header is not None)
    consumed = int(rows[-1, -1]) + 1
    quotes = _of_rows(marks.quotes[: np.searchsorted(marks.quotes, consumed)], statements)
    values = _values(array, quotes, marks.escapes, rows, width)
    going_on = current if array[consumed - 1] == _COMMA else None
    return SqlBlock(
        values.columns(width),
        _by_column(values.bare, width),
        current,
        consumed,
        going_on,
        values.starts,
        _by_column(values.hexed, width),
    )


def unfinished(data: bytes) -> int:
    """Return where something unfinished begins in the last bytes of a file; -1 for blanks and comments."""
    text, _ = sql_comments.plain(data, b"", dump=True)
    start = _blanks(text, 0)
    return start if start < len(data) else -1


@dataclass(frozen=True)
class _Statements:
    """The statements of a block up to the first with another header."""

    starts: Places
    rows: Places
    """Start of the rows of each statement; its end if it has none."""

    header: Header | None
    end: int
    """Start of the first statement that may have rows; a block without a complete row is consumed up to there."""


def _statements(data: bytes, array: Bytes, stops: Places, header: Header | None) -> _Statements:
    starts = stops + 1 if header else np.concatenate([[0], stops + 1])
    ends = np.concatenate([stops[1:] if header else stops, [len(data)]]).astype(np.int64)[: len(starts)]
    rows = np.full(len(starts), -1, dtype=np.int64)
    current, index, first = header, 0, None
    while index < len(starts):
        start, complete = int(starts[index]), bool(ends[index] < len(data))
        inserted = INSERT.match(data, start)
        if inserted is None:
            if complete and _IGNORED.match(data, start) is None:
                raise Malformed(
                    "only INSERT statements with VALUES are read from a data file, found "
                    + quoting.excerpt(data[start : ends[index]]),
                    start + _blanks(data, start),
                )
            sql_comments.check_modes(data[start : ends[index]], start)
            rows[index] = ends[index] + complete
            if not complete:
                break
        else:
            named = header_of(inserted)
            if current is not None and named != current:
                break
            current, first = named, start if first is None else first
            _same_text(array, starts, rows, index, inserted.end() - start)
        rest = np.flatnonzero(rows[index:] < 0)
        index = index + int(rest[0]) if len(rest) else len(starts)
    end = first if first is not None else int(starts[index]) if index < len(starts) else len(data)
    return _Statements(starts[: index + 1], np.where(rows[: index + 1] < 0, len(data), rows[: index + 1]), current, end)


def _same_text(array: Bytes, starts: Places, rows: Places, index: int, length: int) -> None:
    """Set the start of rows in all statements that begin with the same text as statement `index`."""
    rows[index] = starts[index] + length
    after = np.arange(index + 1, len(starts))
    after = after[(rows[after] < 0) & (starts[after] + length <= len(array))]
    if len(after):
        text = array[starts[index] : starts[index] + length]
        same = after[(array[starts[after][:, None] + np.arange(length)] == text).all(axis=1)]
        rows[same] = starts[same] + length


def header_of(inserted: re.Match[bytes]) -> Header:
    columns = inserted["columns"]
    names = None if columns is None else tuple(unquoted(name) for name in re.findall(_NAME, columns))
    if names == ():
        raise Malformed("rows without columns are not read", inserted.end())
    return Header(unquoted(inserted["schema"] or b""), unquoted(inserted["table"]), names)


def _blanks(data: bytes, start: int) -> int:
    """Return the number of blanks at that position."""
    return len(data) - start - len(data[start:].lstrip())


def _of_rows(marks: Places, statements: _Statements) -> Places:
    """Return the marks inside rows, without those of headers and of statements with another header."""
    change = np.zeros(len(marks) + 1, dtype=np.int32)
    np.add.at(change, np.searchsorted(marks, statements.starts), 1)
    np.add.at(change, np.searchsorted(marks, statements.rows), -1)
    result: Places = marks[np.cumsum(change)[:-1] == 0]
    return result


def _rows(array: Bytes, outside: Places, width: int) -> Places:
    """Return the positions of `(`, the commas, `)` and what follows it, one line for each complete row."""
    period = width + 2
    pattern = np.full(period, _COMMA, dtype=np.uint8)
    pattern[0], pattern[width] = _OPEN, _CLOSE
    whole = len(outside) // period * period
    kinds = array[outside]
    rows, rest = kinds[:whole].reshape(-1, period), kinds[whole:]
    wrong = (rows[:, :-1] != pattern[:-1]).any(axis=1) | ((rows[:, -1] != _COMMA) & (rows[:, -1] != _SEMICOLON))
    if wrong.any() or (rest != pattern[: len(rest)]).any():
        raise _wrong_row(array, outside, int(np.argmax(wrong)) * period if wrong.any() else whole, width)
    return outside[:whole].reshape(-1, period)


def _check_between(array: Bytes, rows: Places, width: int, going_on: bool) -> None:
    """Raise Malformed for anything but blanks before a row of a continued statement, or after a row."""
    follows = rows[:-1, -1][array[rows[:-1, -1]] == _COMMA]
    opens = rows[1:, 0][array[rows[:-1, -1]] == _COMMA]
    first, its_open = (np.zeros(int(going_on), np.int64), rows[: int(going_on), 0])
    starts = np.concatenate([rows[:, width] + 1, follows + 1, first])
    lengths = np.concatenate([rows[:, -1], opens, its_open]) - starts
    every = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    other = every[~_SPACE[array[every]]]
    if len(other):
        raise _beside(array, int(other.min()))


def _beside(array: Bytes, position: int) -> Malformed:
    text = quoting.excerpt(array[position : position + 200].tobytes())
    return Malformed(f"only rows, ',' and ';' may follow VALUES, found {text}", position)


def _wrong_row(array: Bytes, outside: Places, first: int, width: int) -> Malformed:
    kinds, position = array[outside], int(outside[first])
    closing = np.flatnonzero(kinds[first:] == _CLOSE)
    if kinds[first] != _OPEN or not len(closing):
        return Malformed("a row does not begin with '(' or does not end with ')'", position)
    inner = kinds[first + 1 : first + int(closing[0])]
    if (inner != _COMMA).any():
        return Malformed(f"{_NO_LITERAL}, in {quoting.excerpt(array[position : position + 200].tobytes())}", position)
    if len(inner) + 1 == width:
        behind = int(outside[first + width]) + 1
        blanks = int(np.argmin(_SPACE[np.append(array[behind : behind + 200], 0)]))
        return _beside(array, behind + blanks)
    return Malformed(f"wrong number of fields: {len(inner) + 1} instead of {width}", position)


@dataclass(frozen=True)
class _Values:
    """The values of a block, row by row."""

    fields: Fields
    starts: Places
    """Positions in the block, before escapes are removed."""

    null: Mask
    bare: Mask
    hexed: Mask

    def columns(self, width: int) -> tuple[pa.Array, ...]:
        """Return one array a value of the row; raise Malformed for a value that is no literal."""
        return tuple(self._column(index, width) for index in range(width))

    def _column(self, index: int, width: int) -> pa.Array:
        null, bare, hexed = (mask[index::width] for mask in (self.null, self.bare, self.hexed))
        array = self.fields.column(index, width, null)
        numbers = bare & ~null
        if numbers.any():
            texts = array if numbers.all() else array.filter(pa.array(numbers))
            self._check_numbers(texts, np.flatnonzero(numbers) * width + index)
        if hexed.any():
            digits = self.fields.column(index, width, ~hexed)
            array = pc.if_else(pa.array(hexed), _unhexed(digits, self.starts[index::width]), array)
        return array

    def _check_numbers(self, texts: pa.Array, places: Places) -> None:
        for points in (0, 1):
            digits = texts.view(pa.string())
            if points:
                digits = pc.replace_substring(digits, ".", "", max_replacements=points)
            others = ~pc.ascii_is_decimal(digits).to_numpy(zero_copy_only=False)
            if not others.any():
                return
            texts, places = texts.filter(pa.array(others)), places[others]
        good = pc.match_substring_regex(texts, _NUMBER)
        if not pc.all(good).as_py():
            wrong = pc.index(good, False).as_py()
            excerpt = quoting.excerpt(texts[wrong].as_py())
            raise Malformed(f"{_NO_LITERAL}, found {excerpt}", int(self.starts[places[wrong]]))


def _values(array: Bytes, quotes: Places, escapes: Places, rows: Places, width: int) -> _Values:
    starts, ends = _trimmed(array, (rows[:, :width] + 1).ravel(), rows[:, 1 : width + 1].ravel())
    quoted = _IS_QUOTE[array[ends - 1]]
    opening = starts.copy()
    introduced = np.flatnonzero(quoted & ~_IS_QUOTE[array[starts]])
    opening[introduced] = quotes[np.searchsorted(quotes, starts[introduced])]
    x_quote = quoted & (opening == starts + 1) & ((array[starts] | 0x20) == ord("x")) & (array[ends - 1] == ord("'"))
    _check_introducers(array, starts, opening, quoted & ~x_quote & (opening != starts))
    x_zero = ~quoted & (array[starts] == ord("0")) & ((array[starts + 1] | 0x20) == ord("x"))
    fields = Fields(array, np.where(quoted, opening + 1, starts + 2 * x_zero), ends - quoted, quoted)
    fields = quoting.unescape(array, quoting.QuoteMarks(quotes, escapes, rows), fields)
    return _Values(fields, starts, _null(fields), ~quoted & ~x_zero, x_quote | x_zero)


def _by_column(mask: Mask, width: int) -> tuple[Mask, ...]:
    """Return the mask of each column."""
    return tuple(mask[index::width] for index in range(width))


def _trimmed(array: Bytes, starts: Places, ends: Places) -> tuple[Places, Places]:
    """Return values without surrounding blanks; raise Malformed for an empty value."""
    while (blank := _SPACE[array[starts]] & (starts < ends)).any():
        starts = starts + blank
    while (blank := _SPACE[array[ends - 1]] & (starts < ends)).any():
        ends = ends - blank
    empty = np.flatnonzero(starts == ends)
    if len(empty):
        raise Malformed("a value is missing", int(starts[empty[0]]))
    return starts, ends


def _check_introducers(array: Bytes, starts: Places, opening: Places, introduced: Mask) -> None:
    """Accept `_binary 'x'` and N'x'; an introducer changes no byte of a Dumpling or mysqldump file."""
    for index in np.flatnonzero(introduced):
        text = array[starts[index] : opening[index]].tobytes()
        if re.fullmatch(rb"(?:_binary|_utf8(?:mb[34])?|n)\s*", text, re.IGNORECASE) is None:
            raise Malformed(f"unknown literal {text.decode('utf-8', 'replace')}'…'", int(starts[index]))


def _null(fields: Fields) -> Mask:
    """Return which values are the bare word NULL."""
    null: Mask = ~fields.quoted & (fields.ends - fields.starts == 4)
    for index, letter in enumerate(b"null"):
        null[null] = (fields.data[fields.starts[null] + index] | 0x20) == letter
    return null


def _hex_table() -> Bytes:
    table = np.full(256, 255, dtype=np.uint8)
    for value, digit in enumerate(b"0123456789abcdef"):
        table[digit] = table[ord(chr(digit).upper())] = value
    return table


_HEX = _hex_table()


def _unhexed(digits: pa.Array, starts: Places) -> pa.Array:
    """Decode a binary array of hexadecimal digits, whose literals are at `starts`."""
    offsets = np.frombuffer(digits.buffers()[1], dtype=np.int32)[: len(digits) + 1]
    data = digits.buffers()[2]
    half = _HEX[np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]]] if data else np.zeros(0, dtype=np.uint8)
    offsets = offsets - offsets[0]
    odd, other = np.flatnonzero(np.diff(offsets) % 2), np.flatnonzero(half == 255)
    if len(odd) or len(other):
        wrong = int(odd[0]) if len(odd) else int(np.searchsorted(offsets, other[0], side="right")) - 1
        text = "a hexadecimal literal has an odd number of digits or other characters"
        raise Malformed(text, int(starts[wrong]))
    whole = pa.py_buffer(np.ascontiguousarray((half[0::2] << 4) | half[1::2]))
    half_offsets = pa.py_buffer(np.ascontiguousarray(offsets // 2))
    return pa.BinaryArray.from_buffers(pa.binary(), len(digits), [digits.buffers()[0], half_offsets, whole])

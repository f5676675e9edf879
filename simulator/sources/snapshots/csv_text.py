r"""CSV as Dumpling and other tools write it, parsed a block of bytes at a time into columns of raw values.

An unquoted `\N` is NULL, a quoted one is text, and every byte between quotes is kept. Separator, delimiter, NULL and
character set come from the options of a command or the keys of a step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Bytes, Mask, Places
from simulator.errors import UserError
from simulator.settings import CHARSETS
from simulator.sources.snapshots import quoting
from simulator.sources.snapshots.quoting import UTF8, Fields, Malformed

NEWLINE, RETURN = ord("\n"), ord("\r")


@dataclass(frozen=True)
class CsvDialect:
    """The format of CSV files; the defaults are Dumpling's."""

    separator: str = ","
    """One or more characters."""

    quote: str = '"'
    """One character; empty if nothing is quoted, and a backslash escapes a separator."""

    null: str = "\\N"
    """The text of NULL when it is not quoted."""

    backslash_escapes: bool | None = None
    """Whether a backslash escapes; None: yes in files with Dumpling's names (`--escape-backslash`), else no."""

    empty_is_null: bool = True
    """Whether an unquoted empty field is NULL (as pandas, PostgreSQL and Spark write it; Dumpling never does)."""

    header: bool | None = None
    """None: yes if the first record has the names of the table's columns."""

    binary: str = "raw"
    """Binary columns: `raw` bytes, `hex` (Dumpling's redshift dialect) or `base64` (its bigquery dialect)."""


@dataclass(frozen=True)
class CsvBlock:
    """The result of parsing a block: one array a field, and the number of consumed bytes."""

    columns: tuple[pa.Array, ...]
    bare: tuple[Mask, ...]
    """For each column, which values are not quoted."""

    consumed: int


def first_record(data: bytes, dialect: CsvDialect, escape: bool) -> tuple[list[bytes | None], int]:
    """Return the fields of the first record and where the next begins; 0 if the record is not complete."""
    array = np.frombuffer(data, dtype=np.uint8)
    ends = _ends(array, dialect, escape)[1]
    lines = np.flatnonzero(array[ends] == NEWLINE)
    if not len(lines):
        return [], 0
    width = int(lines[0]) + 1
    block = read_block(data[: int(ends[lines[0]]) + 1], width, dialect, escape)
    return [column[0].as_py() for column in block.columns], block.consumed


def read_block(data: bytes, width: int, dialect: CsvDialect, escape: bool, filled: Sequence[int] = ()) -> CsvBlock:
    """Parse all complete records of a block that begins with a record; raise Malformed.

    In the columns `filled` an empty field is the empty string even if it is not quoted.
    """
    array = np.frombuffer(data, dtype=np.uint8)
    marks, ends = _ends(array, dialect, escape)
    is_line = array[ends] == NEWLINE
    lines = np.flatnonzero(is_line)
    if not len(lines):
        return CsvBlock((), (), 0)
    count = int(lines[-1]) + 1
    ends = ends[:count]
    consumed = int(ends[-1]) + 1
    lengths = np.where(is_line[: count - 1], 1, len(dialect.separator.encode()))
    starts = np.concatenate([[0], ends[:-1] + lengths])
    starts, ends = _records(array, starts, ends, width)
    if not len(starts):
        return CsvBlock((), (), consumed)
    marks = quoting.QuoteMarks(
        *(place[: np.searchsorted(place, consumed)] for place in (marks.quotes, marks.escapes, ends))
    )
    fields = _fields(array, starts, ends, dialect)
    null = _nulls(fields, width, dialect, filled)
    return _columns(_values_of_fields(array, marks, fields, dialect), width, null, consumed)


def _ends(array: Bytes, dialect: CsvDialect, escape: bool) -> tuple[quoting.QuoteMarks, Places]:
    """Return the marks of a block, and where its fields end: the separators and line ends outside quotes."""
    separator = dialect.separator.encode()
    block_marks = quoting.marks(array, dialect.quote.encode(), separator[:1] + b"\n", escape)
    ends = block_marks.outside
    if len(separator) > 1:
        ends = _whole(array, ends, separator)
    return block_marks, ends


def _whole(array: Bytes, ends: Places, separator: bytes) -> Places:
    """Return line ends, and those places where the whole separator stands."""
    is_line = array[ends] == NEWLINE
    keep = ~is_line
    for ahead, byte in enumerate(separator):
        places = ends + ahead
        keep &= (places < len(array)) & (array[np.minimum(places, len(array) - 1)] == byte)
    keep |= is_line
    ends = ends[keep]
    close = np.flatnonzero((np.diff(ends) < len(separator)) & (array[ends[:-1]] != NEWLINE))
    if len(close):  # of `|||` the first two are the separator `||`
        last, kept = -len(separator), np.ones(len(ends), np.bool_)
        for index in np.unique(np.concatenate([close, close + 1])).tolist():
            kept[index] = ends[index] >= last + len(separator)
            last = ends[index] if kept[index] else last
        ends = ends[kept]
    return ends


def _records(array: Bytes, starts: Places, ends: Places, width: int) -> tuple[Places, Places]:
    """Return the fields without those of blank lines; raise Malformed unless every record has `width` of them."""
    line = array[ends] == NEWLINE
    if not _even(line, width):
        blank = line & (ends - starts <= (array[starts] == RETURN)) & np.concatenate([[True], line[:-1]])
        starts, ends, line = starts[~blank], ends[~blank], line[~blank]
        if not _even(line, width):
            raise _wrong_width(starts, line, width)
    return starts, ends


def _even(line: Mask, width: int) -> bool:
    return bool(len(line) % width == 0 and line[width - 1 :: width].all() and line.sum() * width == len(line))


def _wrong_width(starts: Places, line: Mask, width: int) -> Malformed:
    last = np.flatnonzero(line)
    counts = np.diff(np.concatenate([[-1], last]))
    bad = int(np.flatnonzero(counts != width)[0])
    position = int(starts[last[bad] - counts[bad] + 1])
    return Malformed(f"wrong number of fields: {int(counts[bad])} instead of {width}", position)


def _fields(array: Bytes, starts: Places, ends: Places, dialect: CsvDialect) -> Fields:
    """Return the fields without their quotes and line ends, as they are written."""
    last = np.flatnonzero(array[ends] == NEWLINE)
    ends = ends.copy()
    ends[last] -= (ends[last] > starts[last]) & (array[ends[last] - 1] == RETURN)
    if not dialect.quote:
        return Fields(array, starts, ends, np.zeros(len(starts), np.bool_))
    quote = ord(dialect.quote)
    quoted = (ends - starts >= 2) & (array[starts] == quote) & (array[ends - 1] == quote)
    return Fields(array, starts + quoted, ends - quoted, quoted)


def _nulls(fields: Fields, width: int, dialect: CsvDialect, filled: Sequence[int]) -> Mask:
    bare = ~fields.quoted
    null = bare & (fields.ends == fields.starts) if dialect.empty_is_null else np.zeros(len(bare), dtype=np.bool_)
    for index in filled:
        null[index::width] = False
    null |= _equals(fields, dialect.null.encode()) & bare
    return null


def _values_of_fields(array: Bytes, marks: quoting.QuoteMarks, fields: Fields, dialect: CsvDialect) -> Fields:
    if dialect.quote:
        return quoting.unescape(array, marks, fields)
    everywhere = quoting.unescape(array, marks, replace(fields, quoted=~fields.quoted))
    return replace(everywhere, quoted=fields.quoted)


def _columns(fields: Fields, width: int, null: Mask, consumed: int) -> CsvBlock:
    bare = ~fields.quoted
    columns = tuple(fields.column(index, width, null[index::width]) for index in range(width))
    return CsvBlock(columns, tuple(bare[index::width] for index in range(width)), consumed)


def _equals(fields: Fields, text: bytes) -> Mask:
    """Return which values equal `text`."""
    same: Mask = fields.ends - fields.starts == len(text)
    for index, byte in enumerate(text):
        same[same] = fields.data[fields.starts[same] + index] == byte
    return same


_ESCAPE = re.compile(r"\\(?:t|\\|x([0-9A-Fa-f]{2}))")
"""What a shell and TOML do not easily pass on."""


@dataclass(frozen=True)
class TextFormat:
    csv: CsvDialect = CsvDialect()
    charset: str = UTF8


def text_format(
    charset: str | None = None, separator: str | None = None, delimiter: str | None = None, null: str | None = None
) -> TextFormat:
    """Return the format; None is Dumpling's default. Raises UserError."""
    if charset is not None and charset not in CHARSETS:
        raise UserError(f"charset {charset!r} is not read: accepted are {', '.join(CHARSETS)}")
    default = CsvDialect()
    between = default.separator if separator is None else _unescaped(separator)
    quote = default.quote if delimiter is None else _unescaped(delimiter)
    absent = default.null if null is None else null
    if not between or not _is_unicode(between) or set(between) & set("\r\n\\"):
        raise UserError(
            f"csv-separator {separator!r}: accepted is one or more characters of UTF-8, no line ends and no backslash"
        )
    if len(quote) > 1 or quote and (not quote.isascii() or quote.isalnum() or quote in "\r\n\\"):
        raise UserError(
            f"csv-delimiter {delimiter!r}: accepted is one ASCII character that is no letter or digit, or none"
        )
    if quote and quote in between:
        raise UserError(
            f"csv-delimiter {quote!r}{_if_default(delimiter)} is part of csv-separator {between!r}"
            f"{_if_default(separator)}: give another csv-delimiter or csv-separator"
        )
    if not _is_unicode(absent) or set(absent) & set("\r\n"):
        raise UserError(f"csv-null-value {null!r}: accepted are characters of UTF-8, and no line ends")
    if between in absent:
        raise UserError(
            f"csv-separator {between!r}{_if_default(separator)} is part of csv-null-value {absent!r}"
            f"{_if_default(null)}: give another csv-separator or csv-null-value"
        )
    return TextFormat(CsvDialect(between, quote, absent), charset or UTF8)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _if_default(given: str | None) -> str:
    return " (the default)" if given is None else ""


def _unescaped(text: str) -> str:
    r"""Return the text with `\t`, `\x01` and the like as characters."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else {"\\t": "\t"}.get(match[0], "\\"), text)

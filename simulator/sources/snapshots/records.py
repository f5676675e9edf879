"""Batches of a table's raw values from SQL and CSV files.

A batch has one binary column for each visible column of the table, whatever the order and columns of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import files, limits
from simulator.columns.cells import Mask
from simulator.errors import SnapshotError
from simulator.sources.snapshots import csv_text, quoting, sql_text, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.quoting import Malformed
from simulator.sources.snapshots.streams import FilePart
from simulator.tidb.model.table import ROW_ID, Table
from simulator.tidb.model.types import family, is_binary

NUMBERS = ("integer", "decimal", "float", "year")
"""Families of numeric types."""

FIRST = 1 << 12
"""Bytes of a file in which its first row usually ends."""

_HIDDEN = dict(zip("'\"(),;\\#-/", (1, 2, 3, 4, 5, 6, 7, 8, 14, 15)))


@dataclass(frozen=True)
class RawRows:
    """Raw values of some rows."""

    columns: tuple[pa.Array, ...]
    """The visible columns, in table order."""

    given: bool
    """Whether the file has the stored generated columns."""


@dataclass(frozen=True)
class RecordLayout:
    """The properties of a table that a reader needs."""

    table: str
    columns: tuple[str, ...]
    """Visible columns, in table order."""

    generated: tuple[int, ...]
    """Indexes of generated columns, which a file may omit."""

    bits: tuple[int, ...]
    """Indexes of BIT columns: `n5` is a number, `x…` bytes."""

    filled: tuple[int, ...]
    """Indexes of columns for which an empty CSV field is the empty string."""

    hidden: tuple[str, ...]
    """Names of columns that a file may list although they have no value: virtual generated columns."""

    schema: str = ""
    """The database; empty if any is accepted."""

    numbers: tuple[int, ...] = ()
    """Indexes of numeric columns, which do not accept a hexadecimal literal."""

    binary: tuple[int, ...] = ()
    """Indexes of columns of bytes, which have no character set."""

    clustered: bool = False

    @property
    def by_position(self) -> tuple[str, ...]:
        """The columns of rows without names; a file may have values of the stored generated ones, too."""
        return tuple(name for name in self.columns if name != ROW_ID)

    @property
    def inserted(self) -> tuple[str, ...]:
        """The columns of rows without names and without values of the generated ones."""
        generated = {self.columns[index] for index in self.generated}
        return tuple(name for name in self.by_position if name not in generated)


def layout(table: Table) -> RecordLayout:
    visible = [column for column in table.columns if column.generated != "virtual"]
    texts = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
    return RecordLayout(
        table.name,
        tuple(column.name for column in visible),
        tuple(index for index, column in enumerate(visible) if column.generated),
        tuple(index for index, column in enumerate(visible) if column.type.name == "bit"),
        tuple(index for index, column in enumerate(visible) if column.not_null and column.type.name in texts),
        tuple(column.name for column in table.columns if column.generated == "virtual"),
        table.schema,
        tuple(index for index, column in enumerate(visible) if family(column.type) in NUMBERS),
        tuple(index for index, column in enumerate(visible) if is_binary(column.type) or column.type.name == "bit"),
        table.clustered,
    )


def unknown_column(name: str, clustered: bool) -> str:
    """Return what is wrong with a column of a file that its table does not have."""
    if name.lower() != ROW_ID:
        return f"column {name!r} is not in the schema"
    if clustered:
        return f"column {name!r}: a table with a clustered primary key has none; leave it out"
    return f"column {name!r}, which other files of the table do not have: accepted is one in all of them, or in none"


def csv_batches(part: FilePart, layout: RecordLayout, dialect: CsvDialect, escape: bool) -> Iterator[RawRows]:
    """Yield batches of a part of a CSV file; raise SnapshotError."""
    names, skip = _csv_names(part, layout, dialect, escape)
    places = _places(names, layout, part.path)
    width = len(names)
    filled = [names.index(layout.columns[index]) for index in layout.filled if layout.columns[index] in names]
    offset, blocks = streams.text(part)
    carry = b""
    for data in _growing(blocks, lambda: len(carry)):
        _check_row(part, offset, carry)
        carry += data
        if skip:
            carry, offset, skip = carry[skip:], offset + min(skip, len(carry)), max(0, skip - len(carry))
        with _located(part, offset):
            block = csv_text.read_block(carry, width, dialect, escape, filled)
        if block.columns:
            yield _batch(block.columns, block.bare, (), places, layout, part)
        carry, offset = carry[block.consumed :], offset + block.consumed
    if carry.strip():
        raise error_at(part, offset, "the file ends inside quotes")


def csv_names(part: FilePart, layout: RecordLayout, dialect: CsvDialect, escape: bool) -> tuple[str, ...]:
    """Return the columns of a file; none if it is empty. Raise SnapshotError."""
    return _csv_names(part, layout, dialect, escape)[0] if _head(part, dialect, escape)[1] else ()


def _csv_names(part: FilePart, layout: RecordLayout, dialect: CsvDialect, escape: bool) -> tuple[tuple[str, ...], int]:
    """Return the columns of a file and the length of its header."""
    head = _head(part, dialect, escape)
    fields, length = head
    texts = tuple((field or b"").decode("utf-8", "replace") for field in fields)
    known = {name.lower(): name for name in (*layout.columns, *layout.hidden)}
    is_names = bool(texts) and all(text.lower() in (*known, ROW_ID) for text in texts)
    strange = [text for text in texts if text.lower() not in known]
    if len(strange) < len(texts) and all("\ufffd" in text for text in strange) and strange:
        why = f"the name of column {strange[0]!r} {files.ELSE}"
        raise SnapshotError(str(files.not_utf8(part.path, why, quoting.ACCEPTED)))
    if dialect.header or (dialect.header is None and is_names):
        return tuple(known.get(text.lower(), text) for text in texts), 0 if part.start else length
    every = len(fields) == len(layout.by_position)
    return (layout.by_position if every else layout.inserted), 0


def _head(part: FilePart, dialect: CsvDialect, escape: bool) -> tuple[list[bytes | None], int]:
    data = b""
    for block in _growing(streams.text(replace(part, start=0, end=-1))[1], lambda: len(data)):
        _check_row(part, 0, data)
        data += block
        start = data[: 1 << 16]
        with _located(part, 0):
            fields, length = csv_text.first_record(start, dialect, escape)
            if not fields:
                fields, length = csv_text.first_record(data, dialect, escape)
        if fields:
            return fields, length
    return [], 0


def sql_batches(part: FilePart, layout: RecordLayout) -> Iterator[RawRows]:
    """Yield batches of a part of a file of INSERT statements; raise SnapshotError."""
    hide = _hiding((layout.table, *layout.columns, *layout.hidden))
    width = len(layout.inserted)
    offset, blocks = streams.text(part)
    carry, header = b"", None
    for data in _growing(blocks, lambda: len(carry)):
        _check_row(part, offset, carry)
        carry, progress = hide(carry + data), True
        while progress:
            with _located(part, offset):
                block = sql_text.read_block(carry, width, header)
                places = _sql_places(block, layout, part)
            if block.columns:
                yield _batch(block.columns, block.bare, block.hexed, places, layout, part)
            progress = block.consumed > 0 and len(carry) > block.consumed and not block.open
            carry, offset, header = carry[block.consumed :], offset + block.consumed, block.open
    with _located(part, offset):
        place = 0 if header else sql_text.unfinished(carry)
        if place >= 0:
            raise Malformed("the file ends inside a statement, a comment or quotes: no ';' ends it", place)


def sql_names(part: FilePart, layout: RecordLayout) -> tuple[str, ...]:
    """Return the columns of the first rows in a file of INSERT statements; none without rows. Raise SnapshotError."""
    hide, data = _hiding((layout.table, *layout.columns, *layout.hidden)), b""
    offset, blocks = streams.text(part)
    for block in _growing(blocks, lambda: len(data)):
        _check_row(part, offset, data)
        data = hide(data + block)
        for some in (data[:FIRST], data):
            with _located(part, offset):
                header = sql_text.read_block(some, len(layout.inserted), None).header
            if header is not None:
                return layout.inserted if header.columns is None else header.columns
    return ()


def _sql_places(block: sql_text.SqlBlock, layout: RecordLayout, part: FilePart) -> list[int | None]:
    """Return the position of each visible column in the block's rows; raise Malformed."""
    header, shown = block.header, {code: letter for letter, code in _HIDDEN.items()}
    if header is None:
        return []
    first = int(block.starts[0])
    schema, table = header.schema.translate(shown), header.table.translate(shown)
    if table.lower() != layout.table.lower() or schema and schema.lower() != (layout.schema or schema).lower():
        named, of = (
            f"`{database}`.`{name}`" if schema else f"`{name}`"
            for database, name in ((schema, table), (layout.schema, layout.table))
        )
        raise Malformed(f"rows of table {named} in a file of table {of}", first)
    names = layout.inserted if header.columns is None else tuple(name.translate(shown) for name in header.columns)
    known = {name.lower(): name for name in (*layout.columns, *layout.hidden)}
    places = _places(tuple(known.get(name.lower(), name) for name in names), layout, part.path)
    for index in layout.numbers:
        place = places[index]
        if place is not None and block.hexed[place].any():
            row = int(np.argmax(block.hexed[place]))
            text = f"a hexadecimal literal for the number {layout.columns[index]!r}: write it in decimal"
            raise Malformed(text, int(block.starts[row * len(block.hexed) + place]))
    return places


def _hiding(names: Sequence[str]) -> Callable[[bytes], bytes]:
    """Return a function that replaces SQL characters in quoted names by control bytes of the same length."""
    quoted = [f"`{name.replace('`', '``')}`" for name in names if _MARKS.search(name)]
    pairs = [(name.encode(), name.translate(_HIDDEN_TEXT).encode()) for name in quoted]

    def hide(data: bytes) -> bytes:
        for name, hidden in pairs:
            data = data.replace(name, hidden)
        return data

    return hide


_MARKS = re.compile(r"""['"(),;\\#]|--|/\*""")
_HIDDEN_TEXT = {ord(letter): chr(code) for letter, code in _HIDDEN.items()}


def _places(names: tuple[str, ...], layout: RecordLayout, path: str) -> list[int | None]:
    """Return the position of each visible column in the file's rows; None for an omitted generated one."""
    unknown = [name for name in names if name not in layout.columns and name not in layout.hidden]
    missing = [name for index, name in enumerate(layout.columns) if name not in names and index not in layout.generated]
    if unknown or missing or len(set(names)) < len(names):
        problem = (
            unknown_column(unknown[0], layout.clustered)
            if unknown
            else (f"column {missing[0]!r} is missing" if missing else "a column is listed twice")
        )
        raise SnapshotError(f"{path}: table `{layout.table}`: {problem}; its columns: {', '.join(layout.columns)}")
    return [names.index(name) if name in names else None for name in layout.columns]


def _batch(
    columns: tuple[pa.Array, ...],
    bare: tuple[Mask, ...],
    hexed: tuple[Mask, ...],
    places: list[int | None],
    layout: RecordLayout,
    part: FilePart,
) -> RawRows:
    rows = len(columns[0])
    arrays = [pa.nulls(rows, pa.binary()) if place is None else columns[place] for place in places]
    if part.charset != quoting.UTF8:
        for index in layout.binary:
            place = places[index]
            if place is not None:
                arrays[index] = _bytes(arrays[index], hexed[place] if hexed else None, layout.columns[index], part)
    for index in layout.bits:
        place = places[index]
        if place is not None:
            tags = pc.if_else(pa.array(bare[place]), b"n", b"x")
            arrays[index] = pc.binary_join_element_wise(tags, arrays[index], b"")
    return RawRows(tuple(arrays), all(places[index] is not None for index in layout.generated))


def _bytes(values: pa.Array, hexed: Mask | None, name: str, part: FilePart) -> pa.Array:
    """Return the bytes of a binary column in a file with another character set than UTF-8; raise SnapshotError."""
    literal = values if hexed is None else pc.if_else(pa.array(hexed), pa.scalar(None, pa.binary()), values)
    made = quoting.bytes_of(literal, part.charset)
    if made is None:
        raise SnapshotError(
            f"{part.path}: binary column {name!r} has bytes as they are in a file with --charset {part.charset}: "
            "accepted are hexadecimal literals (mysqldump --hex-blob)"
        )
    return made if hexed is None else pc.if_else(pa.array(hexed), values, made)


def _growing(blocks: Iterator[bytes], unread: Callable[[], int]) -> Iterator[bytes]:
    """Yield the blocks of a file, with an end, joined so that each is as long as what is `unread`: a row of many blocks
    is looked through few times."""
    waiting: list[bytes] = []
    size = 0
    for block in _with_end(blocks, b"\n"):
        waiting.append(block)
        size += len(block)
        if size >= unread():
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _with_end(blocks: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Yield the blocks, and an end for the last record if it has none."""
    last = b"\n"
    for block in blocks:
        yield block
        last = block or last
    if end != b"\n" or not last.endswith(b"\n"):
        yield end


def _check_row(part: FilePart, offset: int, unread: bytes) -> None:
    """Raise SnapshotError if what is read of a row, and does not end, is too long."""
    if len(unread) > limits.ROW_BYTES:
        raise error_at(part, offset, f"a row that is too long: at most {limits.size(limits.ROW_BYTES)} are accepted")


@contextmanager
def _located(part: FilePart, offset: int) -> Iterator[None]:
    """Turn Malformed in a block at that offset into an error with file and line."""
    try:
        yield
    except Malformed as error:
        raise error_at(part, offset + error.position, error.text) from None


def error_at(part: FilePart, offset: int, text: str) -> SnapshotError:
    """Return the error with the line of that byte, counted from the beginning of the (decompressed) file."""
    line, left = 1, offset
    for block in streams.blocks(replace(part, start=0, end=-1)):
        line += block[:left].count(b"\n")
        left -= len(block)
        if left <= 0:
            break
    return SnapshotError(f"{part.path}: line {line}: {text}")

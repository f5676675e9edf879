"""The state of tables as a consumer would hold it: row images under their handle keys, counted where there is no key.

Two images are equal exactly if their rows are, as far as messages tell rows apart: floating-point text is
brought to one form, and what is not UTF-8 to U+FFFD. A cell that no message held is unknown, and equal to any other.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from simulator.columns import row_image
from simulator.consumer.contract.violations import Violation
from simulator.consumer.decode import LOST
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Column, Name, Table, visible_columns
from simulator.tidb.model.types import is_binary

Handle: TypeAlias = "tuple[str | None, ...]"
State: TypeAlias = "dict[Name, dict[Handle, bytes]]"
"""Table -> handle key -> row image. Without handle key the whole row is the key, and the image its count in decimal."""

UNKNOWN = b"\xfd"
"""For a cell that the messages did not tell: a byte that neither UTF-8 nor the row image has."""

HIDDEN = "\ufdd0"
"""The text of an unknown cell: a code point that is no character."""

INVALID = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as Python's surrogateescape writes it."""


def state_of(rows: Iterable[tuple[Table, bytes]]) -> State:
    """The state that holds those row images (`columns.row_image`)."""
    state: State = {}
    for table, image in rows:
        of_table = state.setdefault((table.schema, table.name), {})
        texts = row_of(image, table)
        if handle_key(table):
            of_table[handle_of(texts, table)] = image_of(texts, table)
        else:
            count(of_table, texts, table, 1)
    return state


def row_of(image: bytes, table: Table) -> dict[str, str | None]:
    """Column name -> TiDB text of a row image; HIDDEN for what is unknown."""
    names = [column.name for column in visible_columns(table)]
    return dict(zip(names, map(_text, row_image.cells_of(image)), strict=True))


def _text(cell: bytes | None) -> str | None:
    return None if cell is None else HIDDEN if cell == UNKNOWN else cell.decode("utf-8", "surrogatepass")


def image_of(texts: Mapping[str, str | None], table: Table, under: bytes | None = None) -> bytes:
    """The row image of those columns; those not given are as in `under`, or unknown."""
    rest = {} if under is None else row_of(under, table)
    columns = visible_columns(table)
    return row_image.joined(_cell(texts.get(column.name, rest.get(column.name, HIDDEN)), column) for column in columns)


def alike(image: bytes, other: bytes) -> bool:
    """Whether two row images may be of one row: where both are known, they are equal."""
    if image == other or UNKNOWN not in image + other:
        return image == other
    pairs = zip(row_image.cells_of(image), row_image.cells_of(other), strict=True)
    return all(a == b or UNKNOWN in (a, b) for a, b in pairs)


def unknown(state: State, tables: Mapping[Name, Table]) -> dict[Name, Counter[str]]:
    """Table -> column -> in how many rows the messages did not tell its value."""
    found: dict[Name, Counter[str]] = {}
    for name, rows in state.items():
        for image in rows.values():
            if UNKNOWN in image:
                hidden = (column for column, text in row_of(image, tables[name]).items() if text == HIDDEN)
                found.setdefault(name, Counter()).update(hidden)
    return found


def handle_of(texts: Mapping[str, str | None], table: Table) -> Handle:
    """The handle key's texts; raises KeyError where one of its columns is not given."""
    types = {column.name: column for column in table.columns}
    return tuple(_form(texts[name], types[name]) for name in handle_key(table))


def count(rows: dict[Handle, bytes], texts: Mapping[str, str | None], table: Table, by: int) -> None:
    """Adds to how often a table without handle key has that row."""
    row = tuple(_form(texts[column.name], column) for column in visible_columns(table))
    total = int(rows.get(row, b"0")) + by
    if total:
        rows[row] = b"%d" % total
    else:
        rows.pop(row, None)


def compare(state: State, expected: State, tables: Mapping[Name, Table]) -> Iterator[Violation]:
    """Point 7: where the two differ, row by row; a table that is missing is one without rows."""
    for name in sorted({*state, *expected}):
        found, wanted = state.get(name, {}), expected.get(name, {})
        for handle in wanted.keys() - found.keys():
            yield _differs(name, handle, "is missing after the replay")
        for handle, image in found.items():
            if handle not in wanted:
                yield _differs(name, handle, "is left after the replay and should not be")
            elif not alike(image, wanted[handle]):
                yield _differs(name, handle, _difference(image, wanted[handle], tables.get(name)))


def _difference(found: bytes, wanted: bytes, table: Table | None) -> str:
    if table is None or not handle_key(table):
        return f"is there {found.decode()} times, {wanted.decode()} expected"
    row, other = row_of(found, table), row_of(wanted, table)
    return "; ".join(
        f"{name} is {row[name]!r}, {other[name]!r} expected"
        for name in row
        if row[name] != other[name] and HIDDEN not in (row[name], other[name])
    )


def _differs(name: Name, handle: Handle, what: str) -> Violation:
    return Violation("row-different", "", None, None, f"{'.'.join(name)}, row {', '.join(map(str, handle))}: {what}")


def _cell(text: str | None, column: Column) -> bytes | None:
    formed = _form(text, column)
    return None if formed is None else UNKNOWN if formed == HIDDEN else formed.encode("utf-8", "surrogatepass")


def _form(text: str | None, column: Column) -> str | None:
    """One form of equal values: `1e21`, `1E+21` and the digits written out are one number.

    Bytes that are not UTF-8 are U+FFFD in most messages; in text of binary columns U+FFFD says that bytes were lost.
    """
    if text is None or text == HIDDEN or column.type.name not in ("float", "double"):
        return text if text is None or text.isascii() else _readable(text, column)
    number = float(text) + 0.0
    return repr(struct.unpack("<f", struct.pack("<f", number))[0] if column.type.name == "float" else number)


def _readable(text: str, column: Column) -> str:
    if is_binary(column.type):
        return HIDDEN if LOST in text else text
    return INVALID.sub(LOST, text)

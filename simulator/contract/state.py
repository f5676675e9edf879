"""The state of tables as a consumer would hold it: row images under their handle keys, counted where there is no key.

One law: two images are equal exactly if their rows are; floating-point text is brought to one form for that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from simulator.contract.messages import Violation
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import Column, Table

NAME: TypeAlias = "tuple[str, str]"
"""Schema and table."""

Handle: TypeAlias = "tuple[str | None, ...]"
State: TypeAlias = "dict[NAME, dict[Handle, bytes]]"
"""Table -> handle key -> row image. Without handle key the whole row is the key, and the image its count in decimal."""

JOIN, NULL = b"\xff", b"\xfe"


def state_of(rows: Iterable[tuple[Table, bytes]]) -> State:
    """The state that holds those row images (TiDB text of the visible columns joined by 0xFF, NULL as 0xFE)."""
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
    """Column name -> TiDB text of a row image."""
    names = [column.name for column in visible_columns(table)]
    texts = (None if one == NULL else one.decode("utf-8") for one in image.split(JOIN))
    return dict(zip(names, texts, strict=True))


def image_of(texts: Mapping[str, str | None], table: Table, under: bytes | None = None) -> bytes:
    """The row image of those columns; those not given are as in `under`, or NULL."""
    rest = {} if under is None else row_of(under, table)
    columns = visible_columns(table)
    return JOIN.join(_cell(texts.get(column.name, rest.get(column.name)), column) for column in columns)


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


def compare(state: State, expected: State, tables: Mapping[NAME, Table]) -> Iterator[Violation]:
    """Point 7: where the two differ, row by row; a table that is missing is one without rows."""
    for name in sorted({*state, *expected}):
        found, wanted = state.get(name, {}), expected.get(name, {})
        for handle in wanted.keys() - found.keys():
            yield _differs(name, handle, "is missing after the replay")
        for handle, image in found.items():
            if handle not in wanted:
                yield _differs(name, handle, "is left after the replay and should not be")
            elif image != wanted[handle]:
                yield _differs(name, handle, _difference(image, wanted[handle], tables.get(name)))


def _difference(found: bytes, wanted: bytes, table: Table | None) -> str:
    if table is None or not handle_key(table):
        return f"is there {found.decode()} times, {wanted.decode()} expected"
    one, other = row_of(found, table), row_of(wanted, table)
    return "; ".join(f"{name} is {one[name]!r}, {other[name]!r} expected" for name in one if one[name] != other[name])


def _differs(name: NAME, handle: Handle, what: str) -> Violation:
    return Violation(7, "", None, None, f"{'.'.join(name)}, row {', '.join(map(str, handle))}: {what}")


def _cell(text: str | None, column: Column) -> bytes:
    formed = _form(text, column)
    return NULL if formed is None else formed.encode("utf-8")


def _form(text: str | None, column: Column) -> str | None:
    """Floating-point text in one form: `1e21`, `1E+21` and the digits written out are one number."""
    if text is None or column.type.name not in ("float", "double"):
        return text
    number = float(text) + 0.0
    return repr(struct.unpack("<f", struct.pack("<f", number))[0] if column.type.name == "float" else number)

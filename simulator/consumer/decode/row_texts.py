"""Converts decoded rows to TiDB text, to compare them with row images.

The table provides only what messages lack: the names of ENUM and SET members, and the order of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.consumer.decode.stream_events import LOST, Image, RowEvent, Value
from simulator.errors import UserError
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import is_binary


def before_image(event: RowEvent) -> Image | None:
    """Return the old row; values that an UPDATE leaves out equal the new ones.

    Columns for which this is uncertain, as an old value has no name, are left out.
    """
    if event.before is None or event.after is None:
        return event.before
    same = {name: value for name, value in event.after.items() if value is not None or not event.unnamed}
    return {**same, **event.before}


def full_image(event: RowEvent) -> Image:
    """Return the row that the event leaves, or that a DELETE removes."""
    image = event.before if event.after is None else event.after
    assert image is not None
    return image


def row_text(image: Image, table: Table) -> dict[str, str | None]:
    """Return TiDB text of the image's columns, in table order; bytes as Latin-1 text.

    A binary column whose text has U+FFFD, which is not in Latin-1, has lost bytes: Canal-JSON before 5.4 writes such
    columns as text. Raises UserError for a column that the table lacks, or a number that is no member of its ENUM or
    SET.
    """
    columns = {column.name: column for column in table.columns}
    unknown = [name for name in image if name not in columns]
    if unknown:
        raise UserError(f"{table.schema}.{table.name} has no column {unknown[0]!r}; it has {', '.join(columns)}")
    return {name: value_text(image[name], column) for name, column in columns.items() if name in image}


def value_text(value: Value, column: Column) -> str | None:
    """Return the TiDB text of one value."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("latin-1") if is_binary(column.type) else value.decode("utf-8", "surrogateescape")
    if is_binary(column.type):
        return value if LOST in value else value.encode("utf-8").decode("latin-1")
    read = MEMBERS.get(column.type.name)
    return value if read is None else read(value, column)


def _enum(value: str, column: Column) -> str:
    names = ("", *column.type.elements)
    if not value.isdecimal() or int(value) >= len(names):
        raise UserError(f"column {column.name!r}: {value!r} is no member of its ENUM, 0 to {len(names) - 1} are")
    return names[int(value)]


def _set(value: str, column: Column) -> str:
    names = column.type.elements
    if not value.isdecimal() or int(value) >> len(names):
        raise UserError(f"column {column.name!r}: {value!r} is no value of its SET, 0 to {(1 << len(names)) - 1} are")
    return ",".join(name for bit, name in enumerate(names) if int(value) >> bit & 1)


MEMBERS: Mapping[str, Callable[[str, Column], str]] = {"enum": _enum, "set": _set}

"""Rows as Python values, for those who compare them with what a consumer holds.

One law: a number that messages have as a number is one here; every other value is the text that TiDB prints.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from simulator.columns.cells import unescaped
from simulator.tidb.model.types import ColumnType, family, is_binary

PythonValue = int | float | str | bytes | None

READ: dict[str, Callable[[str], PythonValue]] = {"integer": int, "bit": int, "year": int, "float": float}
"""By family of the column's type; the others are `as_text`."""


def python_values(type: ColumnType, texts: pa.Array | pa.ChunkedArray) -> list[PythonValue]:
    """The values of a column: int for integers, BIT and YEAR, float for FLOAT and DOUBLE, bytes for binary strings, str
    for everything else (DECIMAL, dates and times, ENUM and SET, JSON; a text that is no UTF-8 is bytes), None for
    NULL."""
    if is_binary(type):
        return [None if text is None else as_bytes(text) for text in texts.to_pylist()]
    read = READ.get(family(type))
    if read is None:
        return [None if text is None else as_text(text) for text in texts.to_pylist()]
    return [None if text is None else read(text.decode()) for text in texts.to_pylist()]


def as_text(text: bytes) -> str | bytes:
    """The text of a cell, or its bytes where they are no UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return unescaped(text)


def as_bytes(text: bytes) -> bytes:
    """The bytes of a binary string, of which cells hold the Latin-1 text as UTF-8."""
    return text.decode().encode("latin-1")

"""Rows as Python values: numbers for types that messages encode as numbers, else TiDB's text."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from simulator.columns.cells import unescaped
from simulator.tidb.model.types import ColumnType, family, is_binary

PythonValue = int | float | str | bytes | None

READ: dict[str, Callable[[str], PythonValue]] = {"integer": int, "bit": int, "year": int, "float": float}
"""Conversions by type family; other families use `as_text`."""


def python_values(type: ColumnType, texts: pa.Array | pa.ChunkedArray) -> list[PythonValue]:
    """Convert the values of a column.

    Integers, BIT and YEAR become int, FLOAT and DOUBLE float, binary strings bytes, NULL None, and everything else
    (DECIMAL, dates and times, ENUM and SET, JSON) str, or bytes if it is not UTF-8.
    """
    if is_binary(type):
        return [None if text is None else as_bytes(text) for text in texts.to_pylist()]
    read = READ.get(family(type))
    if read is None:
        return [None if text is None else as_text(text) for text in texts.to_pylist()]
    return [None if text is None else read(text.decode()) for text in texts.to_pylist()]


def as_text(text: bytes) -> str | bytes:
    """Return the text of a cell, or its bytes if they are not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return unescaped(text)


def as_bytes(text: bytes) -> bytes:
    """Return the bytes of a binary string, which cells hold as Latin-1 text in UTF-8."""
    return text.decode().encode("latin-1")

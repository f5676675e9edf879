"""Results of statements, and rows as Python values: numbers for types that messages encode as numbers, else TiDB's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from simulator.columns.cells import unescaped
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.model.types import ColumnType, family, is_binary


@dataclass(frozen=True)
class Result:
    """The result of a statement."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | bytes | None, ...], ...] = ()
    """The rows of a SELECT: TiDB's text, bytes for binary strings, None for NULL."""

    affected: int = 0
    warnings: tuple[str, ...] = ()
    """The lines of SHOW WARNINGS, such as `1265 Data truncated for column 'a' at row 1`."""


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


def result_of(outcome: StatementOutcome) -> Result:
    """Return the result of a statement."""
    result = outcome.result
    if result is None:
        return Result((), (), outcome.affected, outcome.warnings)
    binary = [column.binary for column in result.columns]
    rows = tuple(
        tuple(
            value if value is None or is_bytes else as_text(value) for value, is_bytes in zip(row, binary, strict=True)
        )
        for row in result.rows
    )
    return Result(tuple(column.name for column in result.columns), rows, outcome.affected, outcome.warnings)

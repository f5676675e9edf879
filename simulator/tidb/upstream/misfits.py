"""What TiDB says of a value that a column does not take.

One law: each text is TiDB's of strict mode, with the row counted in the statement's order (tidb
pkg/executor/insert_common.go, completeInsertErr; pkg/executor/update.go, handleErr; pkg/types/errors.go).
"""

from __future__ import annotations

import re

from simulator.errors import SqlError
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family
from simulator.tidb.values.decimals import NUMBER

_IS_NUMBER = re.compile(rf"\s*{NUMBER}([eE][+-]?[0-9]+)?\s*\Z")
_COUNTED = ("integer", "decimal", "float", "year")
_TIMED = ("date", "time", "datetime")
_SHOWN_OF_A_VALUE = 128
"""Characters of a value that an error shows (`%-.128s`)."""


def cannot_be_null(column: Column) -> SqlError:
    return SqlError(1048, "23000", f"Column '{column.name}' cannot be null")


def no_default(column: Column) -> SqlError:
    return SqlError(1364, "HY000", f"Field '{column.name}' doesn't have a default value")


def misfit(column: Column, value: bytes, row: int, updating: bool = False) -> SqlError:
    """The error of a value that the column does not take, given as text or bytes; `row` counts from 1."""
    kind = family(column.type)
    if kind in _COUNTED:
        return _of_number(column, value, row, updating)
    if kind in _TIMED:
        shown = f"Incorrect {column.type.name} value: '{_shown(value)}'"
        return SqlError(1292, "22007", shown if updating else f"{shown} for column '{column.name}' at row {row}")
    if kind in ("enum", "set"):
        return SqlError(1265, "01000", f"Data truncated for column '{column.name}' at row {row}")
    if kind == "json":
        return SqlError(3140, "22032", f"Invalid JSON text: {_json_fault(value)}")
    if kind == "vector":
        return SqlError(1105, "HY000", f"Invalid vector text: {_shown(value)}")
    wrong = None if kind == "bit" else _wrong_characters(column, value)
    if wrong:
        shown = "".join(f"\\x{byte:02X}" for byte in wrong)
        return SqlError(1366, "HY000", f"Incorrect string value '{shown}' for column '{column.name}'")
    return too_long(column, row)


def too_long(column: Column, row: int) -> SqlError:
    return SqlError(1406, "22001", f"Data too long for column '{column.name}' at row {row}")


def out_of_range(column: Column, row: int) -> SqlError:
    return SqlError(1264, "22003", f"Out of range value for column '{column.name}' at row {row}")


def _of_number(column: Column, value: bytes, row: int, updating: bool) -> SqlError:
    text = _shown(value)
    if _IS_NUMBER.match(text):
        return out_of_range(column, row)
    if updating:
        kind = "DECIMAL" if column.type.name == "decimal" else "DOUBLE"
        return SqlError(1292, "22007", f"Truncated incorrect {kind} value: '{text}'")
    return SqlError(1366, "HY000", f"Incorrect {column.type.name} value: '{text}' for column '{column.name}' at row "
                                   f"{row}")


def _shown(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")[:_SHOWN_OF_A_VALUE]


def _wrong_characters(column: Column, value: bytes) -> bytes:
    """The bytes of the first character that the column's charset has not."""
    charset = column.type.charset
    if charset == "binary":
        return b""
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return value[error.start:error.end]
    limit = {"ascii": 0x80, "utf8": 0x10000, "utf8mb3": 0x10000, "latin1": 0x100}.get(charset, 0x110000)
    return next((character.encode() for character in text if ord(character) >= limit), b"")


def _json_fault(value: bytes) -> str:
    text = value.decode("utf-8", "replace").strip()
    if not text:
        return "The document is empty"
    return f"invalid character '{text[0]}' looking for beginning of value" if text[0] not in '{["-0123456789tfn' else (
        "The document root must not be followed by other values.")

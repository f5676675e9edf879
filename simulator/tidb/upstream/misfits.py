"""What TiDB says of a value that a column does not take.

One law: each text is TiDB's of strict mode, with the row counted in the statement's order (tidb
pkg/executor/insert_common.go, completeInsertErr; pkg/executor/update.go, handleErr; pkg/types/errors.go).
"""

from __future__ import annotations

import re

from simulator.errors import SqlError
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family
from simulator.tidb.upstream.refusals import refused, worded
from simulator.tidb.values.decimals import NUMBER

_IS_NUMBER = re.compile(rf"\s*{NUMBER}([eE][+-]?[0-9]+)?\s*\Z")
_COUNTED = ("integer", "decimal", "float", "year")
_TIMED = ("date", "time", "datetime")
_SHOWN_OF_A_VALUE = 128
"""Characters of a value that an error shows (`%-.128s`)."""


def misfit(column: Column, value: bytes, row: int, updating: bool = False) -> SqlError:
    """The error of a value that the column does not take, given as text or bytes; `row` counts from 1."""
    kind = family(column.type)
    if kind in _COUNTED:
        return _of_number(column, value, row, updating)
    if kind in _TIMED:
        if updating:
            return worded(1292, f"Incorrect {column.type.name} value: '{_shown(value)}'")
        return refused(1292, column.type.name, _shown(value), column.name, row)
    if kind in ("enum", "set"):
        return refused(1265, column.name, row)
    if kind == "json":
        return refused(3140, _json_fault(value))
    if kind == "vector":
        return worded(1105, f"Invalid vector text: {_shown(value)}")
    wrong = None if kind == "bit" else _wrong_characters(column, value)
    if wrong:
        shown = "".join(f"\\x{byte:02X}" for byte in wrong)
        return worded(1366, f"Incorrect string value '{shown}' for column '{column.name}'")
    return refused(1406, column.name, row)


def _of_number(column: Column, value: bytes, row: int, updating: bool) -> SqlError:
    text = _shown(value)
    if _IS_NUMBER.match(text):
        return refused(1264, column.name, row)
    if updating:
        kind = "DECIMAL" if column.type.name == "decimal" else "DOUBLE"
        return worded(1292, f"Truncated incorrect {kind} value: '{text}'")
    return refused(1366, column.type.name, text, column.name, row)


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

"""The type that CAST and CONVERT name, from a cursor.

One law: the text is TiDB's for the type it makes of it (pkg/parser/types/field_type.go, RestoreAsCastType).
"""

from __future__ import annotations

from simulator.tidb.model.charsets import charset
from simulator.tidb.parser.cursor import Cursor

ACCEPTED = "BINARY, CHAR, DATE, DATETIME, DECIMAL, DOUBLE, FLOAT, JSON, REAL, SIGNED, TIME, UNSIGNED, VECTOR or YEAR"


def read_cast_type(cursor: Cursor) -> str:
    """The type's text; raises SchemaError."""
    word = cursor.word()
    if word in ("BINARY", "CHAR", "CHARACTER"):
        cursor.take()
        length = _numbers(cursor, 1)
        return f"BINARY{length}" if word == "BINARY" else _characters(cursor, length)
    if word in ("SIGNED", "UNSIGNED"):
        cursor.take()
        cursor.accept("INTEGER") or cursor.accept("INT")
        return word
    if word in ("DATETIME", "TIME"):
        cursor.take()
        return word + _numbers(cursor, 1)
    if word in ("DECIMAL", "DEC"):
        cursor.take()
        return "DECIMAL" + (_numbers(cursor, 2) if cursor.word() == "(" else "(10)")
    if word in ("FLOAT", "VECTOR"):
        return _measured(cursor)
    if word not in ("DATE", "YEAR", "JSON", "DOUBLE", "REAL"):
        cursor.unexpected(ACCEPTED)
    cursor.take()
    return "DOUBLE" if word == "REAL" else word


def _measured(cursor: Cursor) -> str:
    """FLOAT(p), a DOUBLE above 24 bits, and VECTOR(n); neither number is kept."""
    at, word = cursor.next_token(), cursor.take()
    if word == "VECTOR" and cursor.accept("<"):
        cursor.expect("FLOAT")
        cursor.expect(">")
    if cursor.word() != "(":
        return word
    numbers = cursor.comma_separated(lambda cursor: cursor.integer())
    if word == "FLOAT" and numbers[0] > 53:
        cursor.fail("FLOAT takes at most 53 bits", at)
    return "DOUBLE" if word == "FLOAT" and numbers[0] > 24 else word


def _numbers(cursor: Cursor, most: int) -> str:
    """`(3)`, `(10, 2)`; nothing where there is none or it is 0."""
    if cursor.word() != "(":
        return ""
    at = cursor.next_token()
    numbers = cursor.comma_separated(lambda cursor: cursor.integer())
    if len(numbers) > most:
        cursor.fail(f"this type takes no {len(numbers)} numbers", at)
    if not numbers[0]:
        return ""
    return f"({', '.join(str(number) for number in numbers if number)})"


def _characters(cursor: Cursor, length: str) -> str:
    """CHAR with the charset that follows it."""
    binary = cursor.accept("BINARY")
    name = ""
    if cursor.accept("CHARSET") or cursor.accept("CHARACTER SET") or cursor.accept("CHAR SET"):
        name = charset(cursor.name_or_string("a character set"), "CAST")
        binary = binary or cursor.accept("BINARY")
    if binary or name == "binary":
        return f"BINARY{length}"
    return f"CHAR{length} CHARSET {name.upper()}" if name not in ("", "utf8mb4") else f"CHAR{length}"

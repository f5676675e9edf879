"""The type that CAST and CONVERT name, from a cursor.

One law: the text is TiDB's for the type it makes of it (pkg/parser/types/field_type.go, RestoreAsCastType).
"""

from __future__ import annotations

from simulator.tidb.model.charsets import charset
from simulator.tidb.parser.cursor import TiDBParser

ACCEPTED = "BINARY, CHAR, DATE, DATETIME, DECIMAL, DOUBLE, FLOAT, JSON, REAL, SIGNED, TIME, UNSIGNED, VECTOR or YEAR"


def read_cast_type(parser: TiDBParser) -> str:
    """The type's text; raises SchemaError."""
    word = parser.word()
    if word in ("BINARY", "CHAR", "CHARACTER"):
        parser.take()
        length = _numbers(parser, 1)
        return f"BINARY{length}" if word == "BINARY" else _characters(parser, length)
    if word in ("SIGNED", "UNSIGNED"):
        parser.take()
        parser.accept("INTEGER") or parser.accept("INT")
        return word
    if word in ("DATETIME", "TIME"):
        parser.take()
        return word + _numbers(parser, 1)
    if word in ("DECIMAL", "DEC"):
        parser.take()
        return "DECIMAL" + (_numbers(parser, 2) if parser.word() == "(" else "(10)")
    if word in ("FLOAT", "VECTOR"):
        return _measured(parser)
    if word not in ("DATE", "YEAR", "JSON", "DOUBLE", "REAL"):
        parser.unexpected(ACCEPTED)
    parser.take()
    return "DOUBLE" if word == "REAL" else word


def _measured(parser: TiDBParser) -> str:
    """FLOAT(p), a DOUBLE above 24 bits, and VECTOR(n); neither number is kept."""
    at, word = parser.next_token(), parser.take()
    if word == "VECTOR" and parser.accept("<"):
        parser.expect("FLOAT")
        parser.expect(">")
    if parser.word() != "(":
        return word
    numbers = parser.comma_separated(lambda cursor: cursor.integer())
    if word == "FLOAT" and numbers[0] > 53:
        parser.fail("FLOAT takes at most 53 bits", at)
    return "DOUBLE" if word == "FLOAT" and numbers[0] > 24 else word


def _numbers(parser: TiDBParser, most: int) -> str:
    """`(3)`, `(10, 2)`; nothing where there is none or it is 0."""
    if parser.word() != "(":
        return ""
    at = parser.next_token()
    numbers = parser.comma_separated(lambda cursor: cursor.integer())
    if len(numbers) > most:
        parser.fail(f"this type takes no {len(numbers)} numbers", at)
    if not numbers[0]:
        return ""
    return f"({', '.join(str(number) for number in numbers if number)})"


def _characters(parser: TiDBParser, length: str) -> str:
    """CHAR with the charset that follows it."""
    binary = parser.accept("BINARY")
    name = ""
    if parser.accept("CHARSET") or parser.accept("CHARACTER SET") or parser.accept("CHAR SET"):
        name = charset(parser.name_or_string("a character set"), "CAST")
        binary = binary or parser.accept("BINARY")
    if binary or name == "binary":
        return f"BINARY{length}"
    return f"CHAR{length} CHARSET {name.upper()}" if name not in ("", "utf8mb4") else f"CHAR{length}"

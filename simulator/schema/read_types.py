"""Reads the type of a column, in every spelling that TiDB knows.

One law: a spelling leads to one of TiDB's own type names; sizes, charsets and flags it implies are filled in here.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.errors import did_you_mean
from simulator.schema.cursor import TiDBParser
from simulator.schema.syntax import TypeSyntax

NAMES = MappingProxyType({
    "TINYINT": "tinyint", "INT1": "tinyint", "SMALLINT": "smallint", "INT2": "smallint",
    "MEDIUMINT": "mediumint", "INT3": "mediumint", "MIDDLEINT": "mediumint",
    "INT": "int", "INTEGER": "int", "INT4": "int", "BIGINT": "bigint", "INT8": "bigint",
    "BOOL": "tinyint", "BOOLEAN": "tinyint", "SERIAL": "bigint",
    "FLOAT": "float", "FLOAT4": "float", "DOUBLE": "double", "FLOAT8": "double", "REAL": "double",
    "DECIMAL": "decimal", "DEC": "decimal", "NUMERIC": "decimal", "FIXED": "decimal",
    "BIT": "bit", "YEAR": "year", "SQL_TSI_YEAR": "year",
    "DATE": "date", "TIME": "time", "DATETIME": "datetime", "TIMESTAMP": "timestamp",
    "CHAR": "char", "CHARACTER": "char", "NCHAR": "char", "BINARY": "char",
    "VARCHAR": "varchar", "VARCHARACTER": "varchar", "NVARCHAR": "varchar", "VARBINARY": "varchar",
    "TINYTEXT": "tinytext", "TEXT": "text", "MEDIUMTEXT": "mediumtext", "LONGTEXT": "longtext",
    "TINYBLOB": "tinytext", "BLOB": "text", "MEDIUMBLOB": "mediumtext", "LONGBLOB": "longtext", "LONG": "mediumtext",
    "ENUM": "enum", "SET": "set", "JSON": "json", "VECTOR": "vector",
})

BINARY = frozenset(("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"))
VARYING = ("VARYING", "VARCHAR", "VARCHARACTER")
SHORTHANDS = MappingProxyType({"ASCII": "latin1", "BYTE": "binary"})
UNSUPPORTED = frozenset((
    "GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION",
))


def read_type(parser: TiDBParser, column: str) -> TypeSyntax:
    """The type that comes next; raises SchemaError naming the column where TiDB has no such type."""
    start = parser.next_token()
    word = parser.word()
    known = spelling(parser, column, word, start.start)
    type = attributes(parser, arguments(parser, known))
    return replace(type, spelled=parser.text_since(start))


def spelling(parser: TiDBParser, column: str, word: str, at: int) -> TypeSyntax:
    """The words of the type's name."""
    if word == "NATIONAL":
        parser.take()
        word = parser.word() if parser.word() in ("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER") else "NATIONAL"
    if word not in NAMES:
        reject(parser, column, word)
    parser.take()
    name = NAMES[word]
    if name == "double":
        parser.accept("PRECISION")
    if name == "char" and word != "BINARY" and any(parser.accept(phrase) for phrase in VARYING):
        name = "varchar"
    type = TypeSyntax(name, word, at, charset="binary" if word in BINARY else "")
    if word == "LONG":
        return long_type(parser, type)
    if word in ("BOOL", "BOOLEAN"):
        return replace(type, length=1)
    return replace(type, unsigned=True) if word == "SERIAL" else type


def reject(parser: TiDBParser, column: str, word: str) -> None:
    """Raises SchemaError for a type that TiDB does not have, or that no row of TiCDC can carry."""
    if word in UNSUPPORTED:
        parser.fail(f"column {column!r} has the spatial type {word}, which neither TiDB nor TiCDC's rows have")
    if not parser.is_name():
        parser.unexpected(f"the type of column {column!r}")
    parser.fail(
        f"column {column!r} has the unknown type {parser.next_text()}.{did_you_mean(word, NAMES)} "
        f"Accepted: {', '.join(NAMES)}"
    )


def long_type(parser: TiDBParser, type: TypeSyntax) -> TypeSyntax:
    """LONG, LONG VARCHAR, LONG CHAR VARYING and LONG VARBINARY are MEDIUMTEXT and MEDIUMBLOB."""
    if parser.accept("VARBINARY"):
        return replace(type, charset="binary")
    if parser.accept("CHAR") or parser.accept("CHARACTER"):
        parser.expect("VARYING")
    else:
        parser.accept("VARCHAR") or parser.accept("VARCHARACTER")
    return type


def arguments(parser: TiDBParser, type: TypeSyntax) -> TypeSyntax:
    """What stands in parentheses after the name."""
    if type.name in ("enum", "set"):
        return replace(type, elements=parser.comma_separated(member)) if parser.word() == "(" else type
    if type.name == "vector" and parser.accept("<"):
        parser.expect("FLOAT")
        parser.expect(">")
    if parser.word() != "(" or type.spelled in ("BOOL", "BOOLEAN", "SERIAL"):
        return type
    numbers = parser.comma_separated(lambda cursor: cursor.integer())
    if len(numbers) > (2 if type.name in ("float", "double", "decimal") else 1):
        parser.fail(f"type {type.spelled} takes no {len(numbers)} arguments")
    if type.name in ("time", "datetime", "timestamp"):
        return replace(type, decimal=numbers[0])
    return replace(type, length=numbers[0], decimal=numbers[1] if len(numbers) == 2 else -1)


def member(parser: TiDBParser) -> str:
    """One member of an ENUM or SET; TiDB drops blanks at its end."""
    if parser.kind() == "hex":
        return bytes_of("hex", parser.literal()).decode("utf-8", "replace").rstrip(" ")
    return parser.string("a member in quotes").rstrip(" ")


def bytes_of(kind: str, digits: str) -> bytes:
    """The bytes of a hexadecimal (`hex`) or binary (`bit`) literal."""
    base, width = (16, 2) if kind == "hex" else (2, 8)
    return int(digits or "0", base).to_bytes((len(digits) + width - 1) // width, "big")


def attributes(parser: TiDBParser, type: TypeSyntax) -> TypeSyntax:
    """UNSIGNED, ZEROFILL, BINARY and the character set, in any order."""
    while True:
        word = parser.word()
        if word in ("UNSIGNED", "ZEROFILL", "SIGNED"):
            type = number_attribute(parser, type, word)
        elif word == "BINARY":
            parser.take()
            type = replace(type, binary_collation=True)
        elif word in SHORTHANDS:
            parser.take()
            type = replace(type, charset=SHORTHANDS[word])
        elif word == "CHARSET" or word in ("CHARACTER", "CHAR") and parser.word_after() == "SET":
            type = replace(type, charset=read_charset(parser))
        else:
            return type


def number_attribute(parser: TiDBParser, type: TypeSyntax, word: str) -> TypeSyntax:
    """UNSIGNED, SIGNED or ZEROFILL, which implies UNSIGNED."""
    if type.name not in ("tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal"):
        parser.fail(f"{word} does not go with type {type.spelled}; numbers take it")
    parser.take()
    if word == "SIGNED":
        return type
    return replace(type, unsigned=True, zerofill=type.zerofill or word == "ZEROFILL")


def read_charset(parser: TiDBParser) -> str:
    """`CHARSET [=] x` or `CHARACTER SET [=] x`."""
    if parser.take() != "CHARSET":
        parser.expect("SET")
    parser.accept("=")
    return parser.name_or_string("a character set")

"""Parse the type of a column, in every spelling that TiDB knows.

The sizes, charsets and flags that a spelling implies are filled in here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb.model.charsets import canonical_charset
from simulator.tidb.parser.clauses import accept_charset
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.syntax.definitions import FieldType, literal_bytes

NAMES = {
    spelling: name
    for name, spellings in (
        ("tinyint", "TINYINT INT1"),
        ("smallint", "SMALLINT INT2"),
        ("mediumint", "MEDIUMINT INT3 MIDDLEINT"),
        ("int", "INT INTEGER INT4"),
        ("bigint", "BIGINT INT8"),
        ("tinyint", "BOOL BOOLEAN"),
        ("bigint", "SERIAL"),
        ("float", "FLOAT FLOAT4"),
        ("double", "DOUBLE FLOAT8 REAL"),
        ("decimal", "DECIMAL DEC NUMERIC FIXED"),
        ("bit", "BIT"),
        ("year", "YEAR SQL_TSI_YEAR"),
        ("date", "DATE"),
        ("time", "TIME"),
        ("datetime", "DATETIME"),
        ("timestamp", "TIMESTAMP"),
        ("char", "CHAR CHARACTER NCHAR BINARY"),
        ("varchar", "VARCHAR VARCHARACTER NVARCHAR VARBINARY"),
        *((name, name.upper()) for name in ("tinytext", "text", "mediumtext", "longtext")),
        *((f"{size}text", f"{size}BLOB".upper()) for size in ("tiny", "", "medium", "long")),
        ("mediumtext", "LONG"),
        *((name, name.upper()) for name in ("enum", "set", "json", "vector")),
    )
    for spelling in spellings.split()
}
"""TiDB's type names by every spelling."""

DOUBLE_LENGTH = (
    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version"
    " for the right syntax to use"
)
YEAR_LENGTH = "Supports only YEAR or YEAR(4) column"
BINARY = frozenset(("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"))
VARYING = {"CHAR": ("VARYING",), "CHARACTER": ("VARYING",), "NCHAR": ("VARYING", "VARCHAR", "VARCHARACTER")}
SHORTHANDS = {"ASCII": "latin1", "BYTE": "binary", "UNICODE": "ucs2"}
NUMBERS = frozenset(("tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal"))
TEXTS = frozenset(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"))
SIZED = frozenset(
    "tinyint smallint mediumint int bigint bit char varchar text year time datetime timestamp vector".split()
)
"""Types that may have one number in parentheses."""

SCALED = frozenset(("float", "double", "decimal"))
"""Types that may have one or two."""

UNSUPPORTED = frozenset(
    "GEOMETRY POINT LINESTRING POLYGON MULTIPOINT MULTILINESTRING MULTIPOLYGON GEOMETRYCOLLECTION".split()
)


def parse_type(cursor: Cursor, column: str) -> FieldType:
    """Parse a type; raises SchemaError with the column's name if TiDB has no such type."""
    start = cursor.next_token()
    where = f"{position(cursor.sql, start.start)}: column {column!r}"
    type = parse_type_name(cursor, column, cursor.word(), start.start)
    type = parse_type_attributes(cursor, parse_type_arguments(cursor, type), where)
    type = replace(type, spelled=cursor.text_since(start))
    if type.name == "year" and type.length not in (-1, 4):
        raise SchemaError(f"{where}: {YEAR_LENGTH}", number=1818, said=YEAR_LENGTH)
    if type.name == "double" and type.length >= 0 > type.decimal:
        raise SchemaError(
            f"{where}: {type.spelled} is not a type; accepted: DOUBLE, DOUBLE(m,d)", number=1149, said=DOUBLE_LENGTH
        )
    missing = missing_argument(type)
    if missing:
        cursor.fail(f"column {column!r}: {missing}", start)
    return type


def parse_type_name(cursor: Cursor, column: str, word: str, at: int) -> FieldType:
    """Parse the words of the type's name."""
    if word == "NATIONAL":
        cursor.take()
        word = cursor.word() if cursor.word() in ("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER") else "NATIONAL"
    if word not in NAMES:
        fail_unknown_type(cursor, column, word)
    cursor.take()
    name = "float" if word == "REAL" and cursor.real_is_float else NAMES[word]
    if word == "DOUBLE":
        cursor.accept("PRECISION")
    if any(cursor.accept(phrase) for phrase in VARYING.get(word, ())):
        name = "varchar"
    type = FieldType(name, word, at, charset="binary" if word in BINARY else "")
    if word == "LONG":
        return parse_long_type(cursor, type)
    if word in ("BOOL", "BOOLEAN"):
        return replace(type, length=1)
    return replace(type, unsigned=True) if word == "SERIAL" else type


def fail_unknown_type(cursor: Cursor, column: str, word: str) -> NoReturn:
    """Raise SchemaError for a type that TiDB does not have, or that no row of TiCDC can carry."""
    if word in UNSUPPORTED:
        cursor.fail(f"column {column!r} has the spatial type {word}, which neither TiDB nor TiCDC's rows have")
    if not cursor.is_name():
        cursor.unexpected(f"the type of column {column!r}")
    hint, accepted = did_you_mean(word, NAMES), ", ".join(NAMES)
    cursor.fail(f"column {column!r} has the unknown type {cursor.next_text()}.{hint} Accepted: {accepted}")


def parse_long_type(cursor: Cursor, type: FieldType) -> FieldType:
    """Parse the rest of LONG, which means MEDIUMTEXT, or of LONG VARBINARY, which means MEDIUMBLOB."""
    if cursor.accept("VARBINARY"):
        return replace(type, charset="binary")
    any(cursor.accept(phrase) for phrase in ("CHAR VARYING", "CHARACTER VARYING", "VARCHAR", "VARCHARACTER"))
    return type


def parse_type_arguments(cursor: Cursor, type: FieldType) -> FieldType:
    """Parse the optional parentheses after the type's name."""
    if type.name in ("enum", "set"):
        return replace(type, elements=cursor.parenthesised_list(parse_member)) if cursor.word() == "(" else type
    if type.name == "vector" and cursor.accept("<"):
        cursor.expect("FLOAT")
        cursor.expect(">")
    sized = type.name in SIZED | SCALED and type.spelled not in ("BOOL", "BOOLEAN", "SERIAL")
    if cursor.word() != "(" or not sized:
        return type
    numbers = cursor.parenthesised_list(Cursor.count)
    if len(numbers) > (2 if type.name in SCALED else 1):
        cursor.fail(f"type {type.spelled} takes no {len(numbers)} arguments")
    if type.name in ("time", "datetime", "timestamp"):
        return replace(type, decimal=numbers[0])
    return replace(type, length=numbers[0], decimal=numbers[1] if len(numbers) == 2 else -1)


def parse_member(cursor: Cursor) -> str:
    """Parse a member of an ENUM or SET. TiDB removes trailing blanks."""
    kind = cursor.kind()
    if kind in ("hex", "bit"):
        return literal_bytes(kind, cursor.literal()).decode("utf-8", "replace").rstrip(" ")
    return cursor.plain_string("a member in quotes").rstrip(" ")


def parse_type_attributes(cursor: Cursor, type: FieldType, where: str) -> FieldType:
    """Parse UNSIGNED, SIGNED and ZEROFILL of numbers, in any order, or BINARY and the charset of text.

    ZEROFILL implies UNSIGNED. YEAR ignores them.
    """
    if type.spelled == "SERIAL":
        return type
    while (word := cursor.word()) in ("UNSIGNED", "ZEROFILL", "SIGNED"):
        if type.name not in NUMBERS and type.name != "year":
            cursor.fail(f"{word} does not go with type {type.spelled}; numbers take it")
        cursor.take()
        if word != "SIGNED" and type.name != "year":
            type = replace(type, unsigned=True, zerofill=type.zerofill or word == "ZEROFILL")
    if type.name not in TEXTS or type.charset:
        return type
    if cursor.accept("BINARY"):
        return replace(type, binary_collation=True, charset=parse_optional_charset(cursor, where))
    if cursor.word() in SHORTHANDS and type.name not in ("char", "varchar"):
        return replace(type, charset=canonical_charset(SHORTHANDS[cursor.take()], where))
    charset_name = parse_optional_charset(cursor, where)
    return replace(type, charset=charset_name, binary_collation=bool(charset_name) and cursor.accept("BINARY"))


def parse_optional_charset(cursor: Cursor, where: str) -> str:
    """Parse an optional `CHARSET x` or `CHARACTER SET x`, and return the name as TiDB stores it."""
    return canonical_charset(cursor.name_or_string("a character set"), where) if accept_charset(cursor) else ""


def missing_argument(type: FieldType) -> str:
    """Return a message about the argument that TiDB's grammar requires and the type lacks, or ""."""
    if type.name == "varchar" and type.length < 0:
        return f"{type.spelled} needs a length, as in {type.spelled}(255)"
    if type.name in ("enum", "set") and not type.elements:
        return f"{type.name.upper()} needs its members, as in {type.name.upper()}('a','b')"
    return ""

"""Parse a column definition: name, type and options.

A type is read in every spelling that TiDB knows, with the sizes, charsets and flags that the spelling implies. After
DEFAULT, TiDB accepts literals, the current time, the next value of a sequence and function calls, with or without
parentheses, and no other expression (TiDB v8.5: pkg/parser/parser.y, DefaultValueExpr). ALTER COLUMN … SET DEFAULT
accepts any expression in parentheses (AlterTableSpec).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from msgspec.structs import replace

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb.model.types import INTEGER_BITS, TYPES, canonical_charset
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.expressions import (
    accept_charset,
    begins_literal,
    parse_closed_parentheses,
    parse_collation_name,
    parse_column_name,
    parse_expression,
    parse_signed_literal,
    text_in_any_mode,
)
from simulator.tidb.parser.keys_and_options import parse_check, parse_references
from simulator.tidb.restore import quote_name, restore_table_name
from simulator.tidb.syntax.definitions import (
    NOW,
    TODAY,
    ColumnDefault,
    ColumnDefinition,
    ColumnOption,
    Expression,
    FieldType,
    literal_bytes,
)

SERIAL = tuple(ColumnOption(kind) for kind in ("not null", "auto_increment", "unique"))
"""What SERIAL means as a type, and SERIAL DEFAULT VALUE as an option."""
NOT_FOR_GENERATED = ("auto_increment", "on update", "default")
"""Options that a generated column cannot have."""


def parse_column(cursor: Cursor) -> ColumnDefinition:
    """Parse a column definition, up to the first word that is no option; raises SchemaError."""
    start = cursor.next_token()
    qualifier, name = parse_column_name(cursor, "a column name")
    type = parse_type(cursor, name)
    options = list(SERIAL if type.spelled.upper() == "SERIAL" else ())
    while cursor.word() in OPTION_PHRASES:
        at, phrase = cursor.next_token(), OPTION_PHRASES[cursor.word()]
        for word in phrase.split():
            cursor.expect(word)
        option = COLUMN_OPTIONS[phrase](cursor)
        if phrase == "COLLATE" and any(other.kind == "collate" for other in options):
            cursor.fail(f"a second COLLATE of column {name!r}; a column has one", at)
        options += option if isinstance(option, tuple) else (option,)
    forbidden = next((option.kind.upper() for option in reversed(options) if option.kind in NOT_FOR_GENERATED), "")
    if forbidden and any(option.kind == "generated" for option in options):
        message = f"Incorrect usage of {forbidden} and generated column"
        raise SchemaError(f"{position(cursor.sql, start.start)}: column {name!r}: {message}", number=1221, said=message)
    return ColumnDefinition(name, type, start.start, tuple(options), qualifier)


def expect_column_end(cursor: Cursor, column: ColumnDefinition) -> None:
    """Raise SchemaError unless `,` or `)` follows."""
    if cursor.word() in (",", ")"):
        return
    options = OPTION_PHRASES if cursor.word() else ()
    cursor.unexpected(f"',' or ')' or an option of column {column.name!r}", options)


def parse_auto_random(cursor: Cursor) -> ColumnOption:
    """Parse the rest of `AUTO_RANDOM [(shard bits [, range bits])]`."""
    bits: tuple[int, ...] = ()
    if cursor.accept("("):
        bits = (cursor.count("the number of shard bits"),)
        if cursor.accept(","):
            bits += (cursor.count("the number of range bits"),)
        cursor.expect(")")
    return ColumnOption("auto_random", numbers=bits)


def parse_primary(cursor: Cursor) -> ColumnOption:
    clustered = True if cursor.accept("CLUSTERED") else False if cursor.accept("NONCLUSTERED") else None
    return ColumnOption("primary", clustered=clustered, scope=parse_scope(cursor))


def parse_unique(cursor: Cursor) -> ColumnOption:
    cursor.accept("KEY")
    return ColumnOption("unique", scope=parse_scope(cursor))


def parse_scope(cursor: Cursor) -> str:
    """Parse an optional GLOBAL or LOCAL."""
    return next((word for word in ("GLOBAL", "LOCAL") if cursor.accept(word)), "")


def parse_generated(cursor: Cursor) -> ColumnOption:
    """Parse the rest of `AS (expression) [VIRTUAL | STORED]`."""
    expression = parse_closed_parentheses(cursor)
    stored = cursor.accept("STORED")
    if not stored:
        cursor.accept("VIRTUAL")
    return ColumnOption("generated", expression=expression, stored=stored)


def parse_named_check(cursor: Cursor) -> ColumnOption:
    """Parse the rest of `CONSTRAINT [name] CHECK (…)`."""
    name = "" if cursor.word() == "CHECK" else cursor.name("the name of a constraint")
    cursor.expect("CHECK")
    return ColumnOption("check", check=parse_check(cursor, name))


def parse_attribute(cursor: Cursor, kind: str) -> ColumnOption:
    cursor.accept("=")
    return ColumnOption(kind, cursor.plain_string())


COLUMN_OPTIONS: Mapping[str, Callable[[Cursor], ColumnOption | tuple[ColumnOption, ...]]] = {
    "NOT NULL": lambda _: ColumnOption("not null"),
    "NULL": lambda _: ColumnOption("null"),
    "DEFAULT": lambda cursor: ColumnOption("default", default=parse_literal_default(cursor)),
    "ON UPDATE": lambda cursor: ColumnOption("on update", expression=parse_now(cursor)),
    "AUTO_INCREMENT": lambda _: ColumnOption("auto_increment"),
    "AUTO_RANDOM": parse_auto_random,
    "PRIMARY KEY": parse_primary,
    "KEY": parse_primary,
    "UNIQUE": parse_unique,
    "COMMENT": lambda cursor: ColumnOption("comment", cursor.plain_string("a comment in quotes")),
    "COLLATE": lambda cursor: ColumnOption("collate", parse_collation_name(cursor)),
    "GENERATED ALWAYS AS": parse_generated,
    "AS": parse_generated,
    "CONSTRAINT": parse_named_check,
    "CHECK": lambda cursor: ColumnOption("check", check=parse_check(cursor)),
    "REFERENCES": lambda cursor: ColumnOption("references", references=parse_references(cursor)),
    "COLUMN_FORMAT": lambda cursor: ColumnOption("column_format", cursor.one_of("DEFAULT", "FIXED", "DYNAMIC")),
    "STORAGE": lambda cursor: ColumnOption("storage", cursor.one_of("DEFAULT", "DISK", "MEMORY")),
    "SECONDARY_ENGINE_ATTRIBUTE": lambda cursor: parse_attribute(cursor, "secondary_engine_attribute"),
    "ENGINE_ATTRIBUTE": lambda cursor: parse_attribute(cursor, "engine_attribute"),
    "SERIAL DEFAULT VALUE": lambda _: SERIAL,
}
"""The options of a column. KEY means its primary key. TiDB ignores REFERENCES."""

OPTION_PHRASES = {phrase.split()[0]: phrase for phrase in COLUMN_OPTIONS}


CALL_ONLY = ("NOW", "CURDATE")


def parse_literal_default(cursor: Cursor) -> ColumnDefault:
    """Parse the value of DEFAULT; raises SchemaError."""
    if cursor.word() == "(":
        return cursor.sequence("(", parse_parenthesised_default, ")")[0]
    return parse_signed_literal(cursor) if begins_signed(cursor) else parse_call(cursor)


def parse_parenthesised_default(cursor: Cursor) -> ColumnDefault:
    """Parse `uuid()`, `(uuid())`, `1` or a column name, which TiDB parses and refuses later."""
    if begins_signed(cursor):
        return replace(parse_signed_literal(cursor), parenthesised=True)
    if cursor.accept("("):
        call = parse_parenthesised_default(cursor) if cursor.word() == "(" else parse_call(cursor)
        cursor.expect(")")
        return call
    if cursor.word_after() == ")" and cursor.word() not in NOW + TODAY:
        name = cursor.name("a function, a literal or a column")
        return ColumnDefault("expression", name, quote_name(name), parenthesised=True)
    return parse_call(cursor)


def begins_signed(cursor: Cursor) -> bool:
    return cursor.word() in ("+", "-") or begins_literal(cursor)


def parse_call(cursor: Cursor) -> ColumnDefault:
    """Parse a function call. TiDB writes all but CURRENT_TIMESTAMP back in parentheses."""
    start = cursor.next_token()
    if cursor.word() in NOW + TODAY:
        now = parse_now(cursor)
        restored = now.restored if now.restored.startswith("CURRENT_TIMESTAMP") else f"({now.restored})"
        return ColumnDefault("expression", now.text, restored)
    restored = _parse_function_or_sequence(cursor)
    text = text_in_any_mode(cursor, start, restored, _parse_function_or_sequence)
    return ColumnDefault("expression", text, f"({restored})")


def _parse_function_or_sequence(cursor: Cursor) -> str:
    return parse_sequence(cursor) or parse_function(cursor)


def parse_now(cursor: Cursor) -> Expression:
    """Parse CURRENT_TIMESTAMP or a synonym, with or without its precision, or CURRENT_DATE."""
    start, word = cursor.next_token(), cursor.word()
    if word not in NOW + TODAY:
        cursor.unexpected("CURRENT_TIMESTAMP, or one of its synonyms", NOW)
    cursor.take()
    digits = ""
    if word in CALL_ONLY or cursor.word() == "(":
        cursor.expect("(")
        digits = "" if cursor.word() == ")" or word in TODAY else str(cursor.count("the digits of a second"))
        cursor.expect(")")
    name = "CURRENT_DATE" if word in TODAY else "CURRENT_TIMESTAMP"
    return Expression(cursor.text_since(start), f"{name}({digits})")


def parse_sequence(cursor: Cursor) -> str:
    """Parse `NEXT VALUE FOR s` or `NEXTVAL(s)`, and return it as TiDB writes it back, or "" if neither comes."""
    if called := cursor.word_after() == "(" and cursor.accept("NEXTVAL"):
        cursor.expect("(")
    elif not cursor.accept("NEXT VALUE FOR"):
        return ""
    sequence = cursor.qualified_name("a sequence")
    if called:
        cursor.expect(")")
    return f"NEXTVAL({restore_table_name(sequence)})"


def parse_function(cursor: Cursor) -> str:
    """Parse `name(argument, …)`, and return it as TiDB writes it back."""
    name = cursor.take() if cursor.word() == "REPLACE" else cursor.name("a literal or a function").upper()
    if cursor.accept("( )"):
        return f"{name}()"
    arguments = cursor.parenthesised_list(lambda cursor: parse_expression(cursor).restored)
    return f"{name}({', '.join(arguments)})"


def parse_default(cursor: Cursor) -> ColumnDefault:
    """Parse the value of ALTER COLUMN … SET DEFAULT. Parentheses around a literal have no meaning."""
    if not cursor.accept("("):
        if not begins_signed(cursor):
            cursor.unexpected("a literal, or an expression in parentheses")
        return parse_signed_literal(cursor)
    if begins_literal(cursor) and cursor.word_after() == ")":
        default = parse_signed_literal(cursor)
    else:
        expression = parse_expression(cursor)
        default = ColumnDefault("expression", expression.text, expression.restored)
    cursor.expect(")")
    return default


NAMES = {
    spelling: row.name
    for row in TYPES.values()
    for spelling in f"{row.name} {row.synonyms} {row.binary_name}".upper().split()
}
"""TiDB's type names by every spelling."""

DOUBLE_LENGTH = (
    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version"
    " for the right syntax to use"
)
YEAR_LENGTH = "Supports only YEAR or YEAR(4) column"
BINARY = frozenset(row.binary_name.upper() for row in TYPES.values() if row.binary_name)
VARYING = {"CHAR": ("VARYING",), "CHARACTER": ("VARYING",), "NCHAR": ("VARYING", "VARCHAR", "VARCHARACTER")}
SHORTHANDS = {"ASCII": "latin1", "BYTE": "binary", "UNICODE": "ucs2"}
NUMBERS, SCALED, TEXTS = (
    frozenset(name for name, row in TYPES.items() if row.family in families.split())
    for families in ("integer float decimal", "float decimal", "string text enum set")
)
"""Types with a sign, those of them that may have two numbers in parentheses, and types with a charset."""

SIZED = frozenset((*INTEGER_BITS, *"bit char varchar text year time datetime timestamp vector".split()))
"""Types that may have one number in parentheses."""

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

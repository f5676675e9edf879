"""Reads a column definition: name, type and options.

One law: COLUMN_OPTIONS lists every option a column can have, by its first word.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_constraints import read_check, read_references
from simulator.schema.read_types import read_type
from simulator.schema.syntax import ColumnOption, ColumnSyntax, DefaultSyntax, Expression

Option = Callable[[TiDBParser], tuple[ColumnOption, ...]]

SERIAL = tuple(ColumnOption(kind) for kind in ("not null", "auto_increment", "unique"))


def read_column(parser: TiDBParser) -> ColumnSyntax:
    """A column definition, up to the comma or parenthesis that ends it; raises SchemaError."""
    at = parser.next_token().start
    name = parser.name("a column name")
    type = read_type(parser, name)
    options = list(SERIAL if type.spelled.upper() == "SERIAL" else ())
    while (word := parser.word()) in COLUMN_OPTIONS:
        parser.take()
        options.extend(COLUMN_OPTIONS[word](parser))
    if parser.word() not in (",", ")", ""):
        parser.unexpected(f"',' or ')' or an option of column {name!r}", COLUMN_OPTIONS)
    if not parser.word() and not parser.at_end():
        parser.unexpected(f"',' or ')' or an option of column {name!r}")
    return ColumnSyntax(name, type, at, tuple(options))


def not_null(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.expect("NULL")
    return (ColumnOption("not null"),)


def null(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("null"),)


def default(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("default", default=read_literal_default(parser)),)


def read_literal_default(parser: TiDBParser) -> DefaultSyntax:
    """What follows DEFAULT: a literal or an expression."""
    start = parser.next_token()
    if parser.kind() == "introducer":
        parser.take()
    kind, word = parser.kind(), parser.word()
    if kind in ("string", "number", "hex", "bit"):
        return DefaultSyntax(kind, parser.literal())
    if word in ("+", "-"):
        parser.take()
        if parser.kind() != "number":
            parser.unexpected("a number")
        return DefaultSyntax("number", ("-" if word == "-" else "") + parser.literal())
    if word in ("NULL", "TRUE", "FALSE"):
        parser.take()
        return DefaultSyntax("null" if word == "NULL" else "boolean", word)
    if word == "(":
        return DefaultSyntax("expression", parser.skip_parenthesised())
    call(parser)
    return DefaultSyntax("expression", parser.text_since(start))


def call(parser: TiDBParser) -> None:
    """Passes over `CURRENT_TIMESTAMP(3)`, `NEXT VALUE FOR s` and other functions, with or without arguments."""
    if parser.accept("NEXT VALUE FOR"):
        parser.qualified_name("a sequence")
        return
    parser.qualified_name("a value")
    if parser.word() == "(":
        parser.skip_parenthesised()


def on_update(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.expect("UPDATE")
    start = parser.next_token()
    call(parser)
    text = parser.text_since(start)
    return (ColumnOption("on update", expression=Expression(text, text)),)


def auto_increment(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("auto_increment"),)


def auto_random(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    bits = parser.comma_separated(lambda cursor: cursor.integer("the number of bits")) if parser.word() == "(" else ()
    return (ColumnOption("auto_random", numbers=bits),)


def primary(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.expect("KEY")
    return key(parser)


def key(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    """`KEY` with a column is its primary key."""
    clustered = True if parser.accept("CLUSTERED") else False if parser.accept("NONCLUSTERED") else None
    return (ColumnOption("primary", clustered=clustered, scope=scope(parser)),)


def unique(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.accept("KEY")
    return (ColumnOption("unique", scope=scope(parser)),)


def scope(parser: TiDBParser) -> str:
    """GLOBAL, LOCAL or nothing."""
    return next((word for word in ("GLOBAL", "LOCAL") if parser.accept(word)), "")


def comment(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("comment", parser.string("a comment in quotes")),)


def collate(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.accept("=")
    return (ColumnOption("collate", parser.name_or_string("a collation")),)


def generated_always(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.expect("ALWAYS AS")
    return generated(parser)


def generated(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    """`AS (expression) [VIRTUAL | STORED]`"""
    text = parser.skip_parenthesised()
    stored = parser.accept("STORED") or parser.accept("PERSISTENT")
    if not stored:
        parser.accept("VIRTUAL")
    return (ColumnOption("generated", expression=Expression(text, text), stored=stored),)


def constraint(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    name = "" if parser.word() == "CHECK" else parser.name("the name of a constraint")
    parser.expect("CHECK")
    return (ColumnOption("check", check=read_check(parser, name)),)


def check(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("check", check=read_check(parser)),)


def references(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    """TiDB takes a reference written with a column, and forgets it."""
    return (ColumnOption("references", references=read_references(parser)),)


def column_format(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("column_format", parser.name("FIXED, DYNAMIC or DEFAULT").upper()),)


def storage(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    return (ColumnOption("storage", parser.name("DISK, MEMORY or DEFAULT").upper()),)


def secondary_engine_attribute(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.accept("=")
    return (ColumnOption("secondary_engine_attribute", parser.string()),)


def engine_attribute(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    parser.accept("=")
    return (ColumnOption("engine_attribute", parser.string()),)


def serial_default(parser: TiDBParser) -> tuple[ColumnOption, ...]:
    """SERIAL DEFAULT VALUE is NOT NULL AUTO_INCREMENT UNIQUE."""
    parser.expect("DEFAULT VALUE")
    return SERIAL


COLUMN_OPTIONS: MappingProxyType[str, Option] = MappingProxyType({
    "NOT": not_null,
    "NULL": null,
    "DEFAULT": default,
    "ON": on_update,
    "AUTO_INCREMENT": auto_increment,
    "AUTO_RANDOM": auto_random,
    "PRIMARY": primary,
    "KEY": key,
    "UNIQUE": unique,
    "COMMENT": comment,
    "COLLATE": collate,
    "GENERATED": generated_always,
    "AS": generated,
    "CONSTRAINT": constraint,
    "CHECK": check,
    "REFERENCES": references,
    "COLUMN_FORMAT": column_format,
    "STORAGE": storage,
    "SECONDARY_ENGINE_ATTRIBUTE": secondary_engine_attribute,
    "ENGINE_ATTRIBUTE": engine_attribute,
    "SERIAL": serial_default,
})

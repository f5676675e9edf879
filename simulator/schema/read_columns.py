"""Reads a column definition: name, type and options.

One law: COLUMN_OPTIONS lists every option a column can have, by its first word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_constraints import skip_check, skip_references
from simulator.schema.read_types import read_type
from simulator.schema.syntax import ColumnSyntax, DefaultSyntax, KeyPart, KeySyntax

Option = Callable[[TiDBParser, ColumnSyntax], ColumnSyntax]


def read_column(parser: TiDBParser) -> ColumnSyntax:
    """A column definition, up to the comma or parenthesis that ends it; raises SchemaError."""
    at = parser.next_token().start
    name = parser.name("a column name")
    type = read_type(parser, name)
    column = ColumnSyntax(name, type, at)
    if type.spelled.upper() == "SERIAL":
        column = unique(parser, replace(column, null=False, auto_increment=True))
    while (word := parser.word()) in COLUMN_OPTIONS:
        parser.take()
        column = COLUMN_OPTIONS[word](parser, column)
    if parser.word() not in (",", ")", ""):
        parser.unexpected(f"',' or ')' or an option of column {name!r}", COLUMN_OPTIONS)
    if not parser.word() and not parser.at_end():
        parser.unexpected(f"',' or ')' or an option of column {name!r}")
    return column


def not_null(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.expect("NULL")
    return replace(column, null=False)


def null(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    return replace(column, null=True)


def default(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    return replace(column, default=read_default(parser))


def read_default(parser: TiDBParser) -> DefaultSyntax:
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


def on_update(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.expect("UPDATE")
    start = parser.next_token()
    call(parser)
    return replace(column, on_update=parser.text_since(start))


def auto_increment(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    return replace(column, auto_increment=True)


def auto_random(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    if parser.word() == "(":
        parser.comma_separated(lambda cursor: cursor.integer("the number of shard bits"))
    return replace(column, auto_random=True)


def primary(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.expect("KEY")
    return key(parser, column)


def key(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    """`KEY` with a column is its primary key."""
    clustered = True if parser.accept("CLUSTERED") else False if parser.accept("NONCLUSTERED") else None
    parser.accept("GLOBAL") or parser.accept("LOCAL")
    return add_key(column, "primary", clustered)


def unique(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.accept("KEY")
    parser.accept("GLOBAL") or parser.accept("LOCAL")
    return add_key(column, "unique", None)


def add_key(column: ColumnSyntax, kind: str, clustered: bool | None) -> ColumnSyntax:
    """The column with the key; TiDB makes one index of a key that is said twice."""
    if any(key.kind == kind for key in column.keys):
        return column
    part = KeyPart(column.name, at=column.at)
    return replace(column, keys=(*column.keys, KeySyntax(kind, "", (part,), clustered, column.at)))


def comment(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    return replace(column, comment=parser.string("a comment in quotes"))


def collate(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.accept("=")
    return replace(column, collation=parser.name_or_string("a collation"))


def generated_always(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.expect("ALWAYS AS")
    return generated(parser, column)


def generated(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    """`AS (expression) [VIRTUAL | STORED]`"""
    expression = parser.skip_parenthesised()
    stored = parser.accept("STORED") or parser.accept("PERSISTENT")
    if not stored:
        parser.accept("VIRTUAL")
    return replace(column, generated="stored" if stored else "virtual", generated_expression=expression)


def constraint(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    if parser.word() != "CHECK":
        parser.name("the name of a constraint")
    parser.expect("CHECK")
    return check(parser, column)


def check(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    """TiDB takes CHECK, and it changes nothing that TiCDC shows."""
    skip_check(parser)
    return column


def references(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    """TiDB takes a reference written with a column, and forgets it."""
    skip_references(parser)
    return column


def word_value(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    """COLUMN_FORMAT and STORAGE: TiDB takes them, and forgets them."""
    parser.name("a word")
    return column


def string_value(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    parser.accept("=")
    parser.string()
    return column


def serial_default(parser: TiDBParser, column: ColumnSyntax) -> ColumnSyntax:
    """SERIAL DEFAULT VALUE is NOT NULL AUTO_INCREMENT UNIQUE."""
    parser.expect("DEFAULT VALUE")
    return unique(parser, replace(column, null=False, auto_increment=True))


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
    "COLUMN_FORMAT": word_value,
    "STORAGE": word_value,
    "SECONDARY_ENGINE_ATTRIBUTE": string_value,
    "ENGINE_ATTRIBUTE": string_value,
    "SERIAL": serial_default,
})

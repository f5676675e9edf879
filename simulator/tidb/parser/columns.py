"""Parse a column definition: name, type and options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

from simulator.errors import SchemaError
from simulator.tidb.parser.clauses import (
    parse_closed_parentheses,
    parse_collation_name,
    parse_column_name,
    parse_count,
    parse_one_of,
    parse_plain_string,
)
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.defaults import parse_literal_default, parse_now
from simulator.tidb.parser.keys import parse_check, parse_references
from simulator.tidb.parser.types import parse_type
from simulator.tidb.syntax.definitions import ColumnDefinition, ColumnOption

Options = tuple[ColumnOption, ...]

SERIAL = tuple(ColumnOption(kind) for kind in ("not null", "auto_increment", "unique"))
NOT_FOR_GENERATED = ("auto_increment", "on update", "default")
"""Options that a generated column cannot have."""


def parse_column(cursor: Cursor, prose: bool = False) -> ColumnDefinition:
    """Parse a column definition, up to the first word that is no option; raises SchemaError.

    With `prose`, arguments that TiDB requires of a type (the length of VARCHAR) may be missing.
    """
    start = cursor.next_token()
    qualifier, name = parse_column_name(cursor, "a column name")
    type = parse_type(cursor, name, prose)
    options = list(SERIAL if type.spelled.upper() == "SERIAL" else ())
    while (word := cursor.word()) in COLUMN_OPTIONS:
        option = cursor.next_token()
        cursor.take()
        added = COLUMN_OPTIONS[word](cursor)
        if word == "COLLATE" and any(other.kind == "collate" for other in options):
            cursor.fail(f"a second COLLATE of column {name!r}; a column has one", option)
        options.extend(added)
    forbidden = next((option.kind.upper() for option in reversed(options) if option.kind in NOT_FOR_GENERATED), "")
    if forbidden and any(option.kind == "generated" for option in options):
        message = f"Incorrect usage of {forbidden} and generated column"
        raise SchemaError(f"{position(cursor.sql, start.start)}: column {name!r}: {message}", number=1221, said=message)
    return ColumnDefinition(name, type, start.start, tuple(options), qualifier)


def expect_column_end(cursor: Cursor, column: ColumnDefinition) -> None:
    """Raise SchemaError unless `,` or `)` follows."""
    if cursor.word() in (",", ")"):
        return
    options = COLUMN_OPTIONS if cursor.word() else ()
    cursor.unexpected(f"',' or ')' or an option of column {column.name!r}", options)


def parse_not_null(cursor: Cursor) -> Options:
    cursor.expect("NULL")
    return (ColumnOption("not null"),)


def parse_default(cursor: Cursor) -> Options:
    return (ColumnOption("default", default=parse_literal_default(cursor)),)


def parse_on_update(cursor: Cursor) -> Options:
    cursor.expect("UPDATE")
    return (ColumnOption("on update", expression=parse_now(cursor)),)


def parse_auto_random(cursor: Cursor) -> Options:
    """Parse `AUTO_RANDOM [(shard bits [, range bits])]`."""
    bits: tuple[int, ...] = ()
    if cursor.accept("("):
        bits = (parse_count(cursor, "the number of shard bits"),)
        if cursor.accept(","):
            bits += (parse_count(cursor, "the number of range bits"),)
        cursor.expect(")")
    return (ColumnOption("auto_random", numbers=bits),)


def parse_primary(cursor: Cursor) -> Options:
    cursor.expect("KEY")
    return parse_primary_key(cursor)


def parse_primary_key(cursor: Cursor) -> Options:
    """Parse the rest of `[PRIMARY] KEY`. KEY of a column means its primary key."""
    clustered = True if cursor.accept("CLUSTERED") else False if cursor.accept("NONCLUSTERED") else None
    return (ColumnOption("primary", clustered=clustered, scope=parse_scope(cursor)),)


def parse_unique(cursor: Cursor) -> Options:
    cursor.accept("KEY")
    return (ColumnOption("unique", scope=parse_scope(cursor)),)


def parse_scope(cursor: Cursor) -> str:
    """Parse an optional GLOBAL or LOCAL."""
    return next((word for word in ("GLOBAL", "LOCAL") if cursor.accept(word)), "")


def parse_generated_always(cursor: Cursor) -> Options:
    cursor.expect("ALWAYS AS")
    return parse_generated(cursor)


def parse_generated(cursor: Cursor) -> Options:
    """Parse `AS (expression) [VIRTUAL | STORED]`."""
    expression = parse_closed_parentheses(cursor)
    stored = cursor.accept("STORED")
    if not stored:
        cursor.accept("VIRTUAL")
    return (ColumnOption("generated", expression=expression, stored=stored),)


def parse_constraint(cursor: Cursor) -> Options:
    name = "" if cursor.word() == "CHECK" else cursor.name("the name of a constraint")
    cursor.expect("CHECK")
    return parse_check_option(cursor, name)


def parse_check_option(cursor: Cursor, name: str = "") -> Options:
    """Parse the rest of CHECK. `CHECK (…) NOT NULL` is a check and the option NOT NULL."""
    return (ColumnOption("check", check=parse_check(cursor, name)),)


def parse_references_option(cursor: Cursor) -> Options:
    """Parse the rest of REFERENCES. TiDB accepts and ignores a reference of a column."""
    return (ColumnOption("references", references=parse_references(cursor)),)


def parse_word(cursor: Cursor, kind: str, words: tuple[str, ...]) -> Options:
    return (ColumnOption(kind, parse_one_of(cursor, words)),)


def parse_attribute(cursor: Cursor, kind: str) -> Options:
    cursor.accept("=")
    return (ColumnOption(kind, parse_plain_string(cursor)),)


def parse_serial_default(cursor: Cursor) -> Options:
    """Parse SERIAL DEFAULT VALUE, which means NOT NULL AUTO_INCREMENT UNIQUE."""
    cursor.expect("DEFAULT VALUE")
    return SERIAL


COLUMN_OPTIONS: MappingProxyType[str, Callable[[Cursor], Options]] = MappingProxyType(
    {
        "NOT": parse_not_null,
        "NULL": lambda _: (ColumnOption("null"),),
        "DEFAULT": parse_default,
        "ON": parse_on_update,
        "AUTO_INCREMENT": lambda _: (ColumnOption("auto_increment"),),
        "AUTO_RANDOM": parse_auto_random,
        "PRIMARY": parse_primary,
        "KEY": parse_primary_key,
        "UNIQUE": parse_unique,
        "COMMENT": lambda cursor: (ColumnOption("comment", parse_plain_string(cursor, "a comment in quotes")),),
        "COLLATE": lambda cursor: (ColumnOption("collate", parse_collation_name(cursor)),),
        "GENERATED": parse_generated_always,
        "AS": parse_generated,
        "CONSTRAINT": parse_constraint,
        "CHECK": parse_check_option,
        "REFERENCES": parse_references_option,
        "COLUMN_FORMAT": partial(parse_word, kind="column_format", words=("DEFAULT", "FIXED", "DYNAMIC")),
        "STORAGE": partial(parse_word, kind="storage", words=("DEFAULT", "DISK", "MEMORY")),
        "SECONDARY_ENGINE_ATTRIBUTE": partial(parse_attribute, kind="secondary_engine_attribute"),
        "ENGINE_ATTRIBUTE": partial(parse_attribute, kind="engine_attribute"),
        "SERIAL": parse_serial_default,
    }
)
"""The options of a column, by their first word."""

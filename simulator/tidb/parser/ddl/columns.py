"""Parse a column definition: name, type and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.errors import SchemaError
from simulator.tidb.parser.clauses import parse_closed_parentheses, parse_collation_name, parse_column_name
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.ddl.defaults import parse_literal_default, parse_now
from simulator.tidb.parser.ddl.keys import parse_check, parse_references
from simulator.tidb.parser.ddl.types import parse_type
from simulator.tidb.syntax.definitions import ColumnDefinition, ColumnOption

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

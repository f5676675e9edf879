"""Reads a column definition: name, type and options.

One law: COLUMN_OPTIONS lists every option a column can have, by its first word.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from simulator.errors import SchemaError
from simulator.tidb.parser.clauses import (
    collation_name,
    column_name,
    read_count,
    read_enclosed,
    read_one_of,
    read_plain_string,
)
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.defaults import read_literal_default, read_now
from simulator.tidb.parser.keys import read_check, read_references
from simulator.tidb.parser.types import read_type
from simulator.tidb.syntax.definitions import ColumnDefinition, ColumnOption

Options = tuple[ColumnOption, ...]

SERIAL = tuple(ColumnOption(kind) for kind in ("not null", "auto_increment", "unique"))
NOT_FOR_GENERATED = ("auto_increment", "on update", "default")


def read_column(cursor: Cursor, prose: bool = False) -> ColumnDefinition:
    """A column definition, up to the first word that is no option of it; raises SchemaError.

    With `prose`, the arguments that TiDB demands of a type (VARCHAR's length) may be missing.
    """
    start = cursor.next_token()
    qualifier, name = column_name(cursor, "a column name")
    type = read_type(cursor, name, prose)
    options = list(SERIAL if type.spelled.upper() == "SERIAL" else ())
    while (word := cursor.word()) in COLUMN_OPTIONS:
        option = cursor.next_token()
        cursor.take()
        added = COLUMN_OPTIONS[word](cursor)
        if word == "COLLATE" and any(other.kind == "collate" for other in options):
            cursor.fail(f"a second COLLATE of column {name!r}; a column has one", option)
        options.extend(added)
    wrong = next((option.kind.upper() for option in reversed(options) if option.kind in NOT_FOR_GENERATED), "")
    if wrong and any(option.kind == "generated" for option in options):
        said = f"Incorrect usage of {wrong} and generated column"
        raise SchemaError(f"{position(cursor.sql, start.start)}: column {name!r}: {said}", number=1221, said=said)
    return ColumnDefinition(name, type, start.start, tuple(options), qualifier)


def end_column(cursor: Cursor, column: ColumnDefinition) -> None:
    """Raises SchemaError where something else follows than `,` or `)`."""
    if cursor.word() in (",", ")"):
        return
    known = COLUMN_OPTIONS if cursor.word() else ()
    cursor.unexpected(f"',' or ')' or an option of column {column.name!r}", known)


def not_null(cursor: Cursor) -> Options:
    cursor.expect("NULL")
    return (ColumnOption("not null"),)


def null(cursor: Cursor) -> Options:
    return (ColumnOption("null"),)


def default(cursor: Cursor) -> Options:
    return (ColumnOption("default", default=read_literal_default(cursor)),)


def on_update(cursor: Cursor) -> Options:
    cursor.expect("UPDATE")
    return (ColumnOption("on update", expression=read_now(cursor)),)


def auto_increment(cursor: Cursor) -> Options:
    return (ColumnOption("auto_increment"),)


def auto_random(cursor: Cursor) -> Options:
    """`AUTO_RANDOM [(shard bits [, range bits])]`"""
    bits: tuple[int, ...] = ()
    if cursor.accept("("):
        bits = (read_count(cursor, "the number of shard bits"),)
        if cursor.accept(","):
            bits += (read_count(cursor, "the number of range bits"),)
        cursor.expect(")")
    return (ColumnOption("auto_random", numbers=bits),)


def primary(cursor: Cursor) -> Options:
    cursor.expect("KEY")
    return key(cursor)


def key(cursor: Cursor) -> Options:
    """`KEY` with a column is its primary key."""
    clustered = True if cursor.accept("CLUSTERED") else False if cursor.accept("NONCLUSTERED") else None
    return (ColumnOption("primary", clustered=clustered, scope=scope(cursor)),)


def unique(cursor: Cursor) -> Options:
    cursor.accept("KEY")
    return (ColumnOption("unique", scope=scope(cursor)),)


def scope(cursor: Cursor) -> str:
    """GLOBAL, LOCAL or nothing."""
    return next((word for word in ("GLOBAL", "LOCAL") if cursor.accept(word)), "")


def comment(cursor: Cursor) -> Options:
    return (ColumnOption("comment", read_plain_string(cursor, "a comment in quotes")),)


def collate(cursor: Cursor) -> Options:
    return (ColumnOption("collate", collation_name(cursor)),)


def generated_always(cursor: Cursor) -> Options:
    cursor.expect("ALWAYS AS")
    return generated(cursor)


def generated(cursor: Cursor) -> Options:
    """`AS (expression) [VIRTUAL | STORED]`"""
    expression = read_enclosed(cursor)
    stored = cursor.accept("STORED")
    if not stored:
        cursor.accept("VIRTUAL")
    return (ColumnOption("generated", expression=expression, stored=stored),)


def constraint(cursor: Cursor) -> Options:
    name = "" if cursor.word() == "CHECK" else cursor.name("the name of a constraint")
    cursor.expect("CHECK")
    return check(cursor, name)


def check(cursor: Cursor, name: str = "") -> Options:
    """`CHECK (…) NOT NULL` is a check and NOT NULL."""
    return (ColumnOption("check", check=read_check(cursor, name)),)


def references(cursor: Cursor) -> Options:
    """TiDB takes a reference written with a column, and forgets it."""
    return (ColumnOption("references", references=read_references(cursor)),)


def column_format(cursor: Cursor) -> Options:
    return (ColumnOption("column_format", read_one_of(cursor, ("DEFAULT", "FIXED", "DYNAMIC"))),)


def storage(cursor: Cursor) -> Options:
    return (ColumnOption("storage", read_one_of(cursor, ("DEFAULT", "DISK", "MEMORY"))),)


def engine_attribute(cursor: Cursor) -> Options:
    cursor.accept("=")
    return (ColumnOption("engine_attribute", read_plain_string(cursor)),)


def secondary_engine_attribute(cursor: Cursor) -> Options:
    cursor.accept("=")
    return (ColumnOption("secondary_engine_attribute", read_plain_string(cursor)),)


def serial_default(cursor: Cursor) -> Options:
    """SERIAL DEFAULT VALUE is NOT NULL AUTO_INCREMENT UNIQUE."""
    cursor.expect("DEFAULT VALUE")
    return SERIAL


COLUMN_OPTIONS: MappingProxyType[str, Callable[[Cursor], Options]] = MappingProxyType(
    {
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
    }
)

"""Reads a column definition: name, type and options.

One law: COLUMN_OPTIONS lists every option a column can have, by its first word.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from simulator.tidb.model.charsets import charset_of, collation
from simulator.tidb.parser.constraints import read_check, read_references
from simulator.tidb.parser.cursor import TiDBParser, position
from simulator.tidb.parser.defaults import read_literal_default, read_now
from simulator.tidb.parser.parts import read_column_name
from simulator.tidb.parser.types import read_type
from simulator.tidb.parser.values import read_count, read_enclosed, read_one_of, read_plain_string
from simulator.tidb.syntax.definitions import ColumnOption, ColumnSyntax

__all__ = ["COLUMN_OPTIONS", "end_column", "read_column", "read_literal_default"]

Options = tuple[ColumnOption, ...]

SERIAL = tuple(ColumnOption(kind) for kind in ("not null", "auto_increment", "unique"))
NOT_FOR_GENERATED = ("auto_increment", "on update", "default")


def read_column(parser: TiDBParser, prose: bool = False) -> ColumnSyntax:
    """A column definition, up to the first word that is no option of it; raises SchemaError.

    With `prose`, the arguments that TiDB demands of a type (VARCHAR's length) may be missing.
    """
    start = parser.next_token()
    qualifier, name = read_column_name(parser, "a column name")
    type = read_type(parser, name, prose)
    options = list(SERIAL if type.spelled.upper() == "SERIAL" else ())
    while (word := parser.word()) in COLUMN_OPTIONS:
        option = parser.next_token()
        parser.take()
        added = COLUMN_OPTIONS[word](parser)
        if word == "COLLATE" and any(one.kind == "collate" for one in options):
            parser.fail(f"a second COLLATE of column {name!r}; a column has one", option)
        options.extend(added)
    wrong = next((one.kind.upper() for one in options if one.kind in NOT_FOR_GENERATED), "")
    if wrong and any(one.kind == "generated" for one in options):
        parser.fail(f"column {name!r} is generated and has {wrong}; accepted: one of both", start)
    return ColumnSyntax(name, type, start.start, tuple(options), qualifier)


def end_column(parser: TiDBParser, column: ColumnSyntax) -> None:
    """Raises SchemaError where something else follows than `,` or `)`."""
    if parser.word() in (",", ")"):
        return
    known = COLUMN_OPTIONS if parser.word() else ()
    parser.unexpected(f"',' or ')' or an option of column {column.name!r}", known)


def not_null(parser: TiDBParser) -> Options:
    parser.expect("NULL")
    return (ColumnOption("not null"),)


def null(parser: TiDBParser) -> Options:
    return (ColumnOption("null"),)


def default(parser: TiDBParser) -> Options:
    return (ColumnOption("default", default=read_literal_default(parser)),)


def on_update(parser: TiDBParser) -> Options:
    parser.expect("UPDATE")
    return (ColumnOption("on update", expression=read_now(parser)),)


def auto_increment(parser: TiDBParser) -> Options:
    return (ColumnOption("auto_increment"),)


def auto_random(parser: TiDBParser) -> Options:
    """`AUTO_RANDOM [(shard bits [, range bits])]`"""
    bits: tuple[int, ...] = ()
    if parser.accept("("):
        bits = (read_count(parser, "the number of shard bits"),)
        if parser.accept(","):
            bits += (read_count(parser, "the number of range bits"),)
        parser.expect(")")
    return (ColumnOption("auto_random", numbers=bits),)


def primary(parser: TiDBParser) -> Options:
    parser.expect("KEY")
    return key(parser)


def key(parser: TiDBParser) -> Options:
    """`KEY` with a column is its primary key."""
    clustered = True if parser.accept("CLUSTERED") else False if parser.accept("NONCLUSTERED") else None
    return (ColumnOption("primary", clustered=clustered, scope=scope(parser)),)


def unique(parser: TiDBParser) -> Options:
    parser.accept("KEY")
    return (ColumnOption("unique", scope=scope(parser)),)


def scope(parser: TiDBParser) -> str:
    """GLOBAL, LOCAL or nothing."""
    return next((word for word in ("GLOBAL", "LOCAL") if parser.accept(word)), "")


def comment(parser: TiDBParser) -> Options:
    return (ColumnOption("comment", read_plain_string(parser, "a comment in quotes")),)


def collate(parser: TiDBParser) -> Options:
    where = position(parser.sql, parser.next_token().start)
    name = parser.name_or_string("a collation")
    charset_of(name, where)
    return (ColumnOption("collate", collation(name)),)


def generated_always(parser: TiDBParser) -> Options:
    parser.expect("ALWAYS AS")
    return generated(parser)


def generated(parser: TiDBParser) -> Options:
    """`AS (expression) [VIRTUAL | STORED]`"""
    expression = read_enclosed(parser)
    stored = parser.accept("STORED")
    if not stored:
        parser.accept("VIRTUAL")
    return (ColumnOption("generated", expression=expression, stored=stored),)


def constraint(parser: TiDBParser) -> Options:
    name = "" if parser.word() == "CHECK" else parser.free_name("the name of a constraint")
    parser.expect("CHECK")
    return check(parser, name)


def check(parser: TiDBParser, name: str = "") -> Options:
    """`CHECK (…) NOT NULL` is a check and NOT NULL."""
    return (ColumnOption("check", check=read_check(parser, name)),)


def references(parser: TiDBParser) -> Options:
    """TiDB takes a reference written with a column, and forgets it."""
    return (ColumnOption("references", references=read_references(parser)),)


def column_format(parser: TiDBParser) -> Options:
    return (ColumnOption("column_format", read_one_of(parser, ("DEFAULT", "FIXED", "DYNAMIC"))),)


def storage(parser: TiDBParser) -> Options:
    return (ColumnOption("storage", read_one_of(parser, ("DEFAULT", "DISK", "MEMORY"))),)


def engine_attribute(parser: TiDBParser) -> Options:
    parser.accept("=")
    return (ColumnOption("engine_attribute", read_plain_string(parser)),)


def secondary_engine_attribute(parser: TiDBParser) -> Options:
    parser.accept("=")
    return (ColumnOption("secondary_engine_attribute", read_plain_string(parser)),)


def serial_default(parser: TiDBParser) -> Options:
    """SERIAL DEFAULT VALUE is NOT NULL AUTO_INCREMENT UNIQUE."""
    parser.expect("DEFAULT VALUE")
    return SERIAL


COLUMN_OPTIONS: MappingProxyType[str, Callable[[TiDBParser], Options]] = MappingProxyType({
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

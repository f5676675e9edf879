"""Reads the keys and constraints that stand beside the columns.

One law: TABLE_ELEMENTS lists their first words; whatever begins otherwise is a column.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.parser.constraints import read_check, read_references
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.key_options import KEY_OPTIONS, read_index_type, read_key_options
from simulator.tidb.parser.parts import read_part
from simulator.tidb.syntax.definitions import KeySyntax

__all__ = ["TABLE_ELEMENTS", "begins_key", "end_key", "read_key", "read_key_options", "read_part"]

TABLE_ELEMENTS = MappingProxyType({
    "CONSTRAINT": "constraint",
    "PRIMARY": "primary",
    "UNIQUE": "unique",
    "KEY": "key",
    "INDEX": "key",
    "FOREIGN": "foreign",
    "CHECK": "check",
    "FULLTEXT": "fulltext",
    "VECTOR": "vector",
    "COLUMNAR": "columnar",
})
NAMED_TYPE = ("primary", "unique", "key", "vector", "columnar")
"""Kinds that may say USING before their columns."""

MAY_EXIST = ("key", "foreign", "vector", "columnar")
"""Kinds that take IF NOT EXISTS."""


def begins_key(cursor: Cursor) -> bool:
    """Whether a key or constraint comes next, not a column."""
    word = cursor.word()
    if word in ("VECTOR", "COLUMNAR"):
        return cursor.word_after() == "INDEX"
    return word in TABLE_ELEMENTS


def read_key(cursor: Cursor) -> KeySyntax:
    """A key or constraint with its options; raises SchemaError."""
    at = cursor.next_token().start
    name = ""
    if cursor.accept("CONSTRAINT") and cursor.word() not in TABLE_ELEMENTS:
        name = cursor.name("the name of a constraint")
    if not begins_key(cursor) or cursor.word() == "CONSTRAINT":
        cursor.unexpected(f"one of {', '.join(TABLE_ELEMENTS)}", TABLE_ELEMENTS)
    kind = TABLE_ELEMENTS[cursor.take()]
    if kind == "check":
        return KeySyntax("check", name, (), at=at, check=read_check(cursor, name))
    if kind in ("primary", "foreign"):
        cursor.expect("KEY")
    elif kind in ("vector", "columnar"):
        cursor.expect("INDEX")
    elif kind != "key":
        cursor.accept("KEY") or cursor.accept("INDEX")
    return key_body(cursor, kind, name, at)


def key_body(cursor: Cursor, kind: str, constraint: str, at: int) -> KeySyntax:
    """`[IF NOT EXISTS] [name] [USING t] (part, …) options`; for a foreign key what it references."""
    exists = kind in MAY_EXIST and cursor.accept("IF NOT EXISTS")
    name = "" if cursor.word() in ("(", "USING") else cursor.name("the name of a key, or '('")
    typed = kind in NAMED_TYPE and (cursor.accept("USING") or bool(name) and cursor.accept("TYPE"))
    using = read_index_type(cursor) if typed else ""
    parts = cursor.comma_separated(read_part)
    if kind == "foreign":
        cursor.expect("REFERENCES")
        return KeySyntax(kind, constraint or name, parts, at=at, if_not_exists=exists,
                         references=read_references(cursor))
    options = read_key_options(cursor)
    if using:
        options = replace(options, using=using)
    return KeySyntax(kind, constraint or name, parts, options, at, exists)


def end_key(cursor: Cursor) -> None:
    """Raises SchemaError where something else follows than `,` or `)`."""
    if cursor.word() not in (",", ")"):
        cursor.unexpected(f"',' or ')' or one of {', '.join(KEY_OPTIONS)}", KEY_OPTIONS if cursor.word() else ())

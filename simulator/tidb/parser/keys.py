"""Reads the keys and constraints that stand beside the columns.

One law: TABLE_ELEMENTS lists their first words; whatever begins otherwise is a column.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.parser.constraints import read_check, read_references
from simulator.tidb.parser.cursor import TiDBParser
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


def begins_key(parser: TiDBParser) -> bool:
    """Whether a key or constraint comes next, not a column."""
    word = parser.word()
    if word in ("VECTOR", "COLUMNAR"):
        return parser.word_after() == "INDEX"
    return word in TABLE_ELEMENTS


def read_key(parser: TiDBParser) -> KeySyntax:
    """A key or constraint with its options; raises SchemaError."""
    at = parser.next_token().start
    name = ""
    if parser.accept("CONSTRAINT") and parser.word() not in TABLE_ELEMENTS:
        name = parser.free_name("the name of a constraint")
    if not begins_key(parser) or parser.word() == "CONSTRAINT":
        parser.unexpected(f"one of {', '.join(TABLE_ELEMENTS)}", TABLE_ELEMENTS)
    kind = TABLE_ELEMENTS[parser.take()]
    if kind == "check":
        return KeySyntax("check", name, (), at=at, check=read_check(parser, name))
    if kind in ("primary", "foreign"):
        parser.expect("KEY")
    elif kind in ("vector", "columnar"):
        parser.expect("INDEX")
    elif kind != "key":
        parser.accept("KEY") or parser.accept("INDEX")
    return key_body(parser, kind, name, at)


def key_body(parser: TiDBParser, kind: str, constraint: str, at: int) -> KeySyntax:
    """`[IF NOT EXISTS] [name] [USING t] (part, …) options`; for a foreign key what it references."""
    exists = kind in MAY_EXIST and parser.accept("IF NOT EXISTS")
    name = "" if parser.word() in ("(", "USING") else parser.free_name("the name of a key, or '('")
    typed = kind in NAMED_TYPE and (parser.accept("USING") or bool(name) and parser.accept("TYPE"))
    using = read_index_type(parser) if typed else ""
    parts = parser.comma_separated(read_part)
    if kind == "foreign":
        parser.expect("REFERENCES")
        return KeySyntax(kind, constraint or name, parts, at=at, if_not_exists=exists,
                         references=read_references(parser))
    options = read_key_options(parser)
    if using:
        options = replace(options, using=using)
    return KeySyntax(kind, constraint or name, parts, options, at, exists)


def end_key(parser: TiDBParser) -> None:
    """Raises SchemaError where something else follows than `,` or `)`."""
    if parser.word() not in (",", ")"):
        parser.unexpected(f"',' or ')' or one of {', '.join(KEY_OPTIONS)}", KEY_OPTIONS if parser.word() else ())

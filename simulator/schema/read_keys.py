"""Reads the keys and constraints that stand beside the columns.

One law: TABLE_ELEMENTS lists their first words; whatever begins otherwise is a column.
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.schema.cursor import TiDBParser
from simulator.schema.read_constraints import read_check, read_references, skip_condition, skip_value
from simulator.schema.read_parts import read_part
from simulator.schema.syntax import KeyOptions, KeySyntax

KEY_OPTIONS = (
    "KEY_BLOCK_SIZE", "USING", "TYPE", "COMMENT", "WITH", "VISIBLE", "INVISIBLE", "CLUSTERED", "NONCLUSTERED",
    "GLOBAL", "LOCAL", "PRE_SPLIT_REGIONS", "SECONDARY_ENGINE_ATTRIBUTE", "ADD_COLUMNAR_REPLICA_ON_DEMAND", "WHERE",
)


def begins_key(parser: TiDBParser) -> bool:
    """Whether a key or constraint comes next, not a column."""
    word = parser.word()
    if word in ("VECTOR", "COLUMNAR", "FULLTEXT", "SPATIAL"):
        return parser.word_after() in ("INDEX", "KEY") or word in ("FULLTEXT", "SPATIAL")
    return word in TABLE_ELEMENTS


def read_key(parser: TiDBParser) -> KeySyntax:
    """A key or constraint; raises SchemaError."""
    at = parser.next_token().start
    name = ""
    if parser.accept("CONSTRAINT") and parser.word() not in TABLE_ELEMENTS:
        name = parser.name("the name of a constraint")
    if parser.word() not in TABLE_ELEMENTS:
        parser.unexpected(f"one of {', '.join(TABLE_ELEMENTS)}", TABLE_ELEMENTS)
    kind = TABLE_ELEMENTS[parser.take()]
    if kind == "check":
        return KeySyntax("check", name, (), at=at, check=read_check(parser, name))
    if kind in ("primary", "foreign"):
        parser.expect("KEY")
    elif kind != "key":
        parser.accept("KEY") or parser.accept("INDEX")
    return key_body(parser, kind, name, at)


def key_body(parser: TiDBParser, kind: str, constraint: str, at: int) -> KeySyntax:
    """`[name] [USING t] (part, …) options`; for a foreign key what it references."""
    parser.accept("IF NOT EXISTS")
    name = "" if parser.word() in ("(", "USING", "TYPE") else parser.name("the name of a key, or '('")
    index_type(parser)
    parts = parser.comma_separated(read_part)
    if kind == "foreign":
        parser.expect("REFERENCES")
        return KeySyntax(kind, constraint or name, parts, at=at, references=read_references(parser))
    return KeySyntax(kind, name or constraint, parts, KeyOptions(clustered=key_options(parser)), at)


def index_type(parser: TiDBParser) -> None:
    """`USING BTREE` or the older `TYPE BTREE`"""
    if parser.accept("USING") or parser.accept("TYPE"):
        parser.name("BTREE, HASH, RTREE or HNSW")


def key_options(parser: TiDBParser) -> bool | None:
    """Passes over the options of a key; says whether it is CLUSTERED, None where that is not said."""
    clustered: bool | None = None
    while (word := parser.word()) in KEY_OPTIONS:
        if word in ("CLUSTERED", "NONCLUSTERED"):
            clustered = word == "CLUSTERED"
        parser.take()
        if word == "WHERE":
            skip_condition(parser)
        elif word == "WITH":
            parser.expect("PARSER")
            parser.name("a parser")
        elif word in ("KEY_BLOCK_SIZE", "USING", "TYPE", "COMMENT", "PRE_SPLIT_REGIONS", "SECONDARY_ENGINE_ATTRIBUTE"):
            skip_value(parser)
    if parser.word() not in (",", ")", ";", "") or not parser.word() and not parser.at_end():
        parser.unexpected(f"',' or ')' or one of {', '.join(KEY_OPTIONS)}", KEY_OPTIONS)
    return clustered


TABLE_ELEMENTS = MappingProxyType({
    "CONSTRAINT": "constraint",
    "PRIMARY": "primary",
    "UNIQUE": "unique",
    "KEY": "key",
    "INDEX": "key",
    "FOREIGN": "foreign",
    "CHECK": "check",
    "FULLTEXT": "fulltext",
    "SPATIAL": "spatial",
    "VECTOR": "vector",
    "COLUMNAR": "columnar",
})

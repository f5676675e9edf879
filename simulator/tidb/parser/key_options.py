"""Reads the options of a key.

One law: an option said twice counts as it is said last, but GLOBAL stays GLOBAL (TiDB: parser.y, IndexOptionList).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import read_expression
from simulator.tidb.parser.values import read_count, read_one_of, read_plain_string
from simulator.tidb.syntax.definitions import KeyOptions

INDEX_TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")


def read_key_options(cursor: Cursor) -> KeyOptions:
    """All that follow, up to the first word that is none; raises SchemaError."""
    options = KeyOptions()
    while (word := cursor.word()) in KEY_OPTIONS:
        cursor.take()
        options = KEY_OPTIONS[word](cursor, options)
    return options


def read_index_type(cursor: Cursor) -> str:
    """What follows USING or TYPE."""
    return read_one_of(cursor, INDEX_TYPES)


def key_block_size(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    cursor.accept("=")
    return replace(options, key_block_size=read_count(cursor) or options.key_block_size)


def using(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    return replace(options, using=read_index_type(cursor))


def with_parser(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    cursor.expect("PARSER")
    return replace(options, parser=cursor.name("a parser"))


def comment(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    text = read_plain_string(cursor, "a comment in quotes")
    return replace(options, comment=text or options.comment or "")


def pre_split(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    """`= n`, `= (BETWEEN (…) AND (…) REGIONS n)` or `= (BY (…), …)`"""
    cursor.accept("=")
    if not cursor.accept("("):
        return replace(options, pre_split=str(read_count(cursor)))
    text = split_by(cursor) if cursor.accept("BY") else split_between(cursor)
    cursor.expect(")")
    return replace(options, pre_split=f"({text})")


def split_by(cursor: Cursor) -> str:
    rows = [row(cursor)]
    while cursor.accept(","):
        rows.append(row(cursor))
    return f"BY {','.join(rows)}"


def split_between(cursor: Cursor) -> str:
    cursor.expect("BETWEEN")
    low = row(cursor)
    cursor.expect("AND")
    high = row(cursor)
    cursor.expect("REGIONS")
    return f"BETWEEN {low} AND {high} REGIONS {read_count(cursor)}"


def row(cursor: Cursor) -> str:
    """`(value, …)`, or `()`, as TiDB writes it back."""
    if cursor.word_after() == ")" and cursor.accept("( )"):
        return "()"
    return f"({','.join(cursor.comma_separated(lambda cursor: read_expression(cursor).restored))})"


def secondary_engine_attribute(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    cursor.accept("=")
    return replace(options, secondary_engine_attribute=read_plain_string(cursor))


def where(cursor: Cursor, options: KeyOptions) -> KeyOptions:
    """The condition of a partial index."""
    return replace(options, condition=read_expression(cursor))


KEY_OPTIONS: MappingProxyType[str, Callable[[Cursor, KeyOptions], KeyOptions]] = MappingProxyType({
    "KEY_BLOCK_SIZE": key_block_size,
    "USING": using,
    "TYPE": using,
    "COMMENT": comment,
    "WITH": with_parser,
    "VISIBLE": lambda cursor, options: replace(options, visible=True),
    "INVISIBLE": lambda cursor, options: replace(options, visible=False),
    "CLUSTERED": lambda cursor, options: replace(options, clustered=True),
    "NONCLUSTERED": lambda cursor, options: replace(options, clustered=False),
    "GLOBAL": lambda cursor, options: replace(options, scope="GLOBAL"),
    "LOCAL": lambda cursor, options: replace(options, scope=options.scope or "LOCAL"),
    "PRE_SPLIT_REGIONS": pre_split,
    "SECONDARY_ENGINE_ATTRIBUTE": secondary_engine_attribute,
    "ADD_COLUMNAR_REPLICA_ON_DEMAND": lambda cursor, options: replace(options, on_demand=True),
    "WHERE": where,
})

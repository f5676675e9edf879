"""Reads the options of a key.

One law: an option said twice counts as it is said last, but GLOBAL stays GLOBAL (TiDB: parser.y, IndexOptionList).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.expressions import read_expression
from simulator.tidb.parser.values import read_count, read_one_of, read_plain_string
from simulator.tidb.syntax.definitions import KeyOptions

INDEX_TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")


def read_key_options(parser: TiDBParser) -> KeyOptions:
    """All that follow, up to the first word that is none; raises SchemaError."""
    options = KeyOptions()
    while (word := parser.word()) in KEY_OPTIONS:
        parser.take()
        options = KEY_OPTIONS[word](parser, options)
    return options


def read_index_type(parser: TiDBParser) -> str:
    """What follows USING or TYPE."""
    return read_one_of(parser, INDEX_TYPES)


def key_block_size(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    parser.accept("=")
    return replace(options, key_block_size=read_count(parser) or options.key_block_size)


def using(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    return replace(options, using=read_index_type(parser))


def with_parser(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    parser.expect("PARSER")
    return replace(options, parser=parser.free_name("a parser"))


def comment(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    text = read_plain_string(parser, "a comment in quotes")
    return replace(options, comment=text or options.comment or "")


def pre_split(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    """`= n`, `= (BETWEEN (…) AND (…) REGIONS n)` or `= (BY (…), …)`"""
    parser.accept("=")
    if not parser.accept("("):
        return replace(options, pre_split=str(read_count(parser)))
    text = split_by(parser) if parser.accept("BY") else split_between(parser)
    parser.expect(")")
    return replace(options, pre_split=f"({text})")


def split_by(parser: TiDBParser) -> str:
    rows = [row(parser)]
    while parser.accept(","):
        rows.append(row(parser))
    return f"BY {','.join(rows)}"


def split_between(parser: TiDBParser) -> str:
    parser.expect("BETWEEN")
    low = row(parser)
    parser.expect("AND")
    high = row(parser)
    parser.expect("REGIONS")
    return f"BETWEEN {low} AND {high} REGIONS {read_count(parser)}"


def row(parser: TiDBParser) -> str:
    """`(value, …)`, or `()`, as TiDB writes it back."""
    if parser.word_after() == ")" and parser.accept("( )"):
        return "()"
    return f"({','.join(parser.comma_separated(lambda cursor: read_expression(cursor).restored))})"


def secondary_engine_attribute(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    parser.accept("=")
    return replace(options, secondary_engine_attribute=read_plain_string(parser))


def where(parser: TiDBParser, options: KeyOptions) -> KeyOptions:
    """The condition of a partial index."""
    return replace(options, condition=read_expression(parser))


KEY_OPTIONS: MappingProxyType[str, Callable[[TiDBParser, KeyOptions], KeyOptions]] = MappingProxyType({
    "KEY_BLOCK_SIZE": key_block_size,
    "USING": using,
    "TYPE": using,
    "COMMENT": comment,
    "WITH": with_parser,
    "VISIBLE": lambda parser, options: replace(options, visible=True),
    "INVISIBLE": lambda parser, options: replace(options, visible=False),
    "CLUSTERED": lambda parser, options: replace(options, clustered=True),
    "NONCLUSTERED": lambda parser, options: replace(options, clustered=False),
    "GLOBAL": lambda parser, options: replace(options, scope="GLOBAL"),
    "LOCAL": lambda parser, options: replace(options, scope=options.scope or "LOCAL"),
    "PRE_SPLIT_REGIONS": pre_split,
    "SECONDARY_ENGINE_ATTRIBUTE": secondary_engine_attribute,
    "ADD_COLUMNAR_REPLICA_ON_DEMAND": lambda parser, options: replace(options, on_demand=True),
    "WHERE": where,
})

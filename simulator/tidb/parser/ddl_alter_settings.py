"""Reads the specs that touch no column and no partition: TiFlash, character set, attributes, statistics, plain words.

One law: what TiDB reads and forgets is kept as its words.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_databases import charset_name, collation_name
from simulator.tidb.parser.ddl_names import ALGORITHMS, LOCKS, column_name, comma_list, location_labels, one_of
from simulator.tidb.restore.names import column
from simulator.tidb.restore.restoring import quoted, string
from simulator.tidb.syntax.alter import Attributes, Cache, Clause, ConvertCharset, OrderBy, TiflashReplica
from simulator.tidb.syntax.definitions import KeyPart

SECOND_WORDS = MappingProxyType({
    "FORCE": (), "ENABLE": ("KEYS",), "DISABLE": ("KEYS",), "WITH": ("VALIDATION",), "WITHOUT": ("VALIDATION",),
    "READ": ("ONLY", "WRITE"), "SECONDARY_LOAD": (), "SECONDARY_UNLOAD": (),
})
STATISTICS = ("CARDINALITY", "DEPENDENCY", "CORRELATION")


def words(parser: TiDBParser) -> Clause:
    """A spec of one or two words."""
    first = parser.take()
    second = SECOND_WORDS[first]
    if not second:
        return Clause(first)
    if parser.word() not in second:
        parser.unexpected(" or ".join(second), second)
    return Clause(f"{first} {parser.take()}")


def setting(parser: TiDBParser) -> Clause:
    """ALGORITHM or LOCK."""
    name = parser.take()
    return Clause(name, one_of(parser, ALGORITHMS if name == "ALGORITHM" else LOCKS))


def cache(parser: TiDBParser) -> Cache:
    return Cache(parser.take() == "CACHE")


def tiflash_replica(parser: TiDBParser) -> TiflashReplica:
    """SET [HYPO] TIFLASH REPLICA n [LOCATION LABELS …]"""
    parser.take()
    hypothetical = parser.accept("HYPO")
    parser.expect("TIFLASH REPLICA")
    return TiflashReplica(parser.integer("the number of replicas"), location_labels(parser), hypothetical)


def convert(parser: TiDBParser) -> ConvertCharset:
    """CONVERT TO CHARACTER SET x [COLLATE y]"""
    parser.take()
    parser.expect("TO")
    if not parser.accept("CHARSET") and not parser.accept("CHAR SET"):
        parser.expect("CHARACTER SET")
    charset = "" if parser.accept("DEFAULT") else charset_name(parser)
    return ConvertCharset(charset, collation_name(parser) if parser.accept("COLLATE") else "")


def order_by(parser: TiDBParser) -> OrderBy:
    parser.take()
    return OrderBy(comma_list(parser, order_item))


def order_item(parser: TiDBParser) -> KeyPart:
    at = 0 if parser.at_end() else parser.next_token().start
    qualifier, name = column_name(parser)
    part = KeyPart(name, at=at, restored=column(name, qualifier) if qualifier else "")
    if parser.accept("DESC"):
        return replace(part, descending=True)
    parser.accept("ASC")
    return part


def attributes(parser: TiDBParser) -> Attributes:
    parser.take()
    return Attributes(attributes_value(parser))


def attributes_value(parser: TiDBParser) -> str | None:
    """The text behind ATTRIBUTES; None for DEFAULT."""
    parser.accept("=")
    return None if parser.accept("DEFAULT") else parser.string("attributes between quotes, or DEFAULT")


def stats_options(parser: TiDBParser) -> Clause:
    parser.take()
    parser.accept("=")
    if parser.accept("DEFAULT"):
        return Clause("STATS_OPTIONS", "DEFAULT")
    return Clause("STATS_OPTIONS", string(parser.string("options between quotes, or DEFAULT")))


def add_statistics(parser: TiDBParser) -> Clause:
    """What follows ADD STATS_EXTENDED: `name kind (column, …)`"""
    exists = "IF NOT EXISTS " if parser.accept("IF NOT EXISTS") else ""
    name = parser.free_name("the name of statistics")
    if parser.word() not in STATISTICS:
        parser.unexpected(", ".join(STATISTICS), STATISTICS)
    kind = parser.take()
    columns = parser.comma_separated(column_name)
    listed = ", ".join(column(one, qualifier) for qualifier, one in columns)
    return Clause("ADD STATS_EXTENDED", f"{exists}{quoted(name)} {kind}({listed})")


def drop_statistics(parser: TiDBParser) -> Clause:
    """What follows DROP STATS_EXTENDED."""
    exists = "IF EXISTS " if parser.accept("IF EXISTS") else ""
    return Clause("DROP STATS_EXTENDED", exists + quoted(parser.free_name("the name of statistics")))

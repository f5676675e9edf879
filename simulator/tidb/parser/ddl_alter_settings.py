"""Reads the specs that touch no column and no partition: TiFlash, character set, attributes, statistics, plain words.

One law: what TiDB reads and forgets is kept as its words.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_databases import charset_name, collation_name
from simulator.tidb.parser.ddl_names import ALGORITHMS, LOCKS, column_name, comma_list, location_labels, one_of
from simulator.tidb.restore.names import column, quoted, string
from simulator.tidb.syntax.alter import Attributes, Cache, Clause, ConvertCharset, OrderBy, TiflashReplica
from simulator.tidb.syntax.definitions import KeyPart

SECOND_WORDS = MappingProxyType({
    "FORCE": (), "ENABLE": ("KEYS",), "DISABLE": ("KEYS",), "WITH": ("VALIDATION",), "WITHOUT": ("VALIDATION",),
    "READ": ("ONLY", "WRITE"), "SECONDARY_LOAD": (), "SECONDARY_UNLOAD": (),
})
STATISTICS = ("CARDINALITY", "DEPENDENCY", "CORRELATION")


def words(cursor: Cursor) -> Clause:
    """A spec of one or two words."""
    first = cursor.take()
    second = SECOND_WORDS[first]
    if not second:
        return Clause(first)
    if cursor.word() not in second:
        cursor.unexpected(" or ".join(second), second)
    return Clause(f"{first} {cursor.take()}")


def setting(cursor: Cursor) -> Clause:
    """ALGORITHM or LOCK."""
    name = cursor.take()
    return Clause(name, one_of(cursor, ALGORITHMS if name == "ALGORITHM" else LOCKS))


def cache(cursor: Cursor) -> Cache:
    return Cache(cursor.take() == "CACHE")


def tiflash_replica(cursor: Cursor) -> TiflashReplica:
    """SET [HYPO] TIFLASH REPLICA n [LOCATION LABELS …]"""
    cursor.take()
    hypothetical = cursor.accept("HYPO")
    cursor.expect("TIFLASH REPLICA")
    return TiflashReplica(cursor.integer("the number of replicas"), location_labels(cursor), hypothetical)


def convert(cursor: Cursor) -> ConvertCharset:
    """CONVERT TO CHARACTER SET x [COLLATE y]"""
    cursor.take()
    cursor.expect("TO")
    if not cursor.accept("CHARSET") and not cursor.accept("CHAR SET"):
        cursor.expect("CHARACTER SET")
    charset = "" if cursor.accept("DEFAULT") else charset_name(cursor)
    return ConvertCharset(charset, collation_name(cursor) if cursor.accept("COLLATE") else "")


def order_by(cursor: Cursor) -> OrderBy:
    cursor.take()
    return OrderBy(comma_list(cursor, order_item))


def order_item(cursor: Cursor) -> KeyPart:
    at = 0 if cursor.at_end() else cursor.next_token().start
    qualifier, name = column_name(cursor)
    part = KeyPart(name, at=at, restored=column(name, qualifier) if qualifier else "")
    if cursor.accept("DESC"):
        return replace(part, descending=True)
    cursor.accept("ASC")
    return part


def attributes(cursor: Cursor) -> Attributes:
    cursor.take()
    return Attributes(attributes_value(cursor))


def attributes_value(cursor: Cursor) -> str | None:
    """The text behind ATTRIBUTES; None for DEFAULT."""
    cursor.accept("=")
    return None if cursor.accept("DEFAULT") else cursor.string("attributes between quotes, or DEFAULT")


def stats_options(cursor: Cursor) -> Clause:
    cursor.take()
    cursor.accept("=")
    if cursor.accept("DEFAULT"):
        return Clause("STATS_OPTIONS", "DEFAULT")
    return Clause("STATS_OPTIONS", string(cursor.string("options between quotes, or DEFAULT")))


def add_statistics(cursor: Cursor) -> Clause:
    """What follows ADD STATS_EXTENDED: `name kind (column, …)`"""
    exists = "IF NOT EXISTS " if cursor.accept("IF NOT EXISTS") else ""
    name = cursor.name("the name of statistics")
    if cursor.word() not in STATISTICS:
        cursor.unexpected(", ".join(STATISTICS), STATISTICS)
    kind = cursor.take()
    columns = cursor.comma_separated(column_name)
    listed = ", ".join(column(one, qualifier) for qualifier, one in columns)
    return Clause("ADD STATS_EXTENDED", f"{exists}{quoted(name)} {kind}({listed})")


def drop_statistics(cursor: Cursor) -> Clause:
    """What follows DROP STATS_EXTENDED."""
    exists = "IF EXISTS " if cursor.accept("IF EXISTS") else ""
    return Clause("DROP STATS_EXTENDED", exists + quoted(cursor.name("the name of statistics")))

"""Reads CREATE INDEX and DROP INDEX.

One law: USING before ON counts where no USING follows the columns.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_names import lock_and_algorithm, table_name
from simulator.tidb.parser.key_options import read_key_options
from simulator.tidb.parser.parts import read_part
from simulator.tidb.syntax.definitions import KeySyntax
from simulator.tidb.syntax.statements import CreateIndex, DropIndex

TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")


def create_index(parser: TiDBParser, kind: str) -> CreateIndex:
    """What follows CREATE … INDEX."""
    at = parser.next_token().start
    if_not_exists = parser.accept("IF NOT EXISTS")
    name = parser.free_name("the name of an index")
    using = index_type(parser)
    parser.expect("ON")
    table = table_name(parser)
    parts = parser.comma_separated(read_part)
    options = read_key_options(parser)
    key = KeySyntax(kind, name, parts, replace(options, using=options.using or using), at, if_not_exists)
    return CreateIndex(table, key, *lock_and_algorithm(parser))


def index_type(parser: TiDBParser) -> str:
    """`USING BTREE`, or the older `TYPE BTREE`."""
    if not parser.accept("USING") and not parser.accept("TYPE"):
        return ""
    if parser.word() not in TYPES:
        parser.unexpected(", ".join(TYPES), TYPES)
    return parser.take()


def drop_index(parser: TiDBParser, hypothetical: bool = False) -> DropIndex:
    """What follows DROP INDEX."""
    if_exists = parser.accept("IF EXISTS")
    name = parser.free_name("the name of an index")
    parser.expect("ON")
    table = table_name(parser)
    algorithm, lock = ("", "") if hypothetical else lock_and_algorithm(parser)
    return DropIndex(table, name, if_exists, algorithm, lock, hypothetical)

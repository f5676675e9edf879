"""Reads CREATE INDEX and DROP INDEX.

One law: USING before ON counts where no USING follows the columns.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import lock_and_algorithm, table_name
from simulator.tidb.parser.key_options import read_key_options
from simulator.tidb.parser.parts import read_part
from simulator.tidb.syntax.definitions import KeySyntax
from simulator.tidb.syntax.statements import CreateIndex, DropIndex

TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")


def create_index(cursor: Cursor, kind: str) -> CreateIndex:
    """What follows CREATE … INDEX."""
    at = cursor.next_token().start
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = cursor.name("the name of an index")
    using = index_type(cursor)
    cursor.expect("ON")
    table = table_name(cursor)
    parts = cursor.comma_separated(read_part)
    options = read_key_options(cursor)
    key = KeySyntax(kind, name, parts, replace(options, using=options.using or using), at, if_not_exists)
    return CreateIndex(table, key, *lock_and_algorithm(cursor))


def index_type(cursor: Cursor) -> str:
    """`USING BTREE`, or the older `TYPE BTREE`."""
    if not cursor.accept("USING") and not cursor.accept("TYPE"):
        return ""
    if cursor.word() not in TYPES:
        cursor.unexpected(", ".join(TYPES), TYPES)
    return cursor.take()


def drop_index(cursor: Cursor, hypothetical: bool = False) -> DropIndex:
    """What follows DROP INDEX."""
    if_exists = cursor.accept("IF EXISTS")
    name = cursor.name("the name of an index")
    cursor.expect("ON")
    table = table_name(cursor)
    algorithm, lock = ("", "") if hypothetical else lock_and_algorithm(cursor)
    return DropIndex(table, name, if_exists, algorithm, lock, hypothetical)

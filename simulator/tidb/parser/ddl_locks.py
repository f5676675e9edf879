"""Reads LOCK TABLES, UNLOCK TABLES and ADMIN CLEANUP TABLE LOCK.

One law: each begins behind the words that name it.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_names import comma_list, table_name
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import LockTables, UnlockTables


def lock_tables(parser: TiDBParser) -> LockTables:
    return LockTables(comma_list(parser, lock))


def lock(parser: TiDBParser) -> tuple[TableName, str]:
    """`table READ [LOCAL]` or `table WRITE [LOCAL]`"""
    table = table_name(parser)
    if parser.word() not in ("READ", "WRITE"):
        parser.unexpected("READ or WRITE", ("READ", "WRITE"))
    kind = parser.take()
    return table, f"{kind} LOCAL" if parser.accept("LOCAL") else kind


def unlock_tables(parser: TiDBParser) -> UnlockTables:
    return UnlockTables()


def cleanup_locks(parser: TiDBParser) -> UnlockTables:
    return UnlockTables(comma_list(parser, table_name))

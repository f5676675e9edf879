"""Reads LOCK TABLES, UNLOCK TABLES and ADMIN CLEANUP TABLE LOCK.

One law: each begins behind the words that name it.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import comma_list, table_name
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import LockTables, UnlockTables


def lock_tables(cursor: Cursor) -> LockTables:
    return LockTables(comma_list(cursor, lock))


def lock(cursor: Cursor) -> tuple[TableName, str]:
    """`table READ [LOCAL]` or `table WRITE [LOCAL]`"""
    table = table_name(cursor)
    if cursor.word() not in ("READ", "WRITE"):
        cursor.unexpected("READ or WRITE", ("READ", "WRITE"))
    kind = cursor.take()
    return table, f"{kind} LOCAL" if cursor.accept("LOCAL") else kind


def unlock_tables(cursor: Cursor) -> UnlockTables:
    return UnlockTables()


def cleanup_locks(cursor: Cursor) -> UnlockTables:
    return UnlockTables(comma_list(cursor, table_name))

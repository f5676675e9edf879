"""Reads the statements on whole tables: DROP, TRUNCATE, RENAME, ADMIN REPAIR.

One law: each begins behind the words that name it.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import comma_list, restrict_or_cascade, table_name
from simulator.tidb.parser.tables import read_create_table
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import DropTable, RenameTable, RepairTable, TruncateTable


def drop_table(cursor: Cursor, temporary: str = "") -> DropTable:
    if_exists = cursor.accept("IF EXISTS")
    tables = comma_list(cursor, table_name)
    return DropTable(tables, if_exists, temporary, restrict_or_cascade(cursor))


def truncate_table(cursor: Cursor) -> TruncateTable:
    cursor.accept("TABLE")
    return TruncateTable(table_name(cursor))


def rename_table(cursor: Cursor) -> RenameTable:
    return RenameTable(comma_list(cursor, pair))


def pair(cursor: Cursor) -> tuple[TableName, TableName]:
    """`old TO new`"""
    old = table_name(cursor)
    cursor.expect("TO")
    return old, table_name(cursor)


def repair_table(cursor: Cursor) -> RepairTable:
    return RepairTable(table_name(cursor), read_create_table(cursor))

"""Reads the statements on whole tables: DROP, TRUNCATE, RENAME, ADMIN REPAIR.

One law: each begins behind the words that name it.
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_names import comma_list, restrict_or_cascade, table_name
from simulator.tidb.parser.tables import read_create_table
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import DropTable, RenameTable, RepairTable, TruncateTable


def drop_table(parser: TiDBParser, temporary: str = "") -> DropTable:
    if_exists = parser.accept("IF EXISTS")
    tables = comma_list(parser, table_name)
    return DropTable(tables, if_exists, temporary, restrict_or_cascade(parser))


def truncate_table(parser: TiDBParser) -> TruncateTable:
    parser.accept("TABLE")
    return TruncateTable(table_name(parser))


def rename_table(parser: TiDBParser) -> RenameTable:
    return RenameTable(comma_list(parser, pair))


def pair(parser: TiDBParser) -> tuple[TableName, TableName]:
    """`old TO new`"""
    old = table_name(parser)
    parser.expect("TO")
    return old, table_name(parser)


def repair_table(parser: TiDBParser) -> RepairTable:
    return RepairTable(table_name(parser), read_create_table(parser))

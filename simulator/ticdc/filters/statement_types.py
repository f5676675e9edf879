"""The event type of a DDL, for event filters.

One law: up to 7.6 it is that of its statement, read from the text, from 8.0 that of its action.
Sources: tiflow v7.5.7 and v8.5.7 pkg/filter/utils.go; ticdc v8.5.4, the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.filters.event_types import ALTER_TABLE, OF_ACTIONS, RENAME_TABLE
from simulator.tidb.ddl import actions
from simulator.tidb.parser.read import read_statement
from simulator.tidb.syntax import objects as statements_objects, statements

OF_PARTITIONS = (actions.ADD_TABLE_PARTITION, actions.DROP_TABLE_PARTITION, actions.TRUNCATE_TABLE_PARTITION)
"""Actions whose type is their own where statements decide."""

OF_STATEMENTS: Mapping[type[object], str] = {
    statements.CreateDatabase: "create database",
    statements.DropDatabase: "drop database",
    statements.AlterDatabase: "alter database",
    statements.CreateTable: "create table",
    statements.DropTable: "drop table",
    statements.TruncateTable: "truncate table",
    statements.RenameTable: RENAME_TABLE,
    statements.AlterTable: ALTER_TABLE,
    statements.CreateIndex: ALTER_TABLE,
    statements.DropIndex: ALTER_TABLE,
    statements_objects.CreateView: "create view",
    statements_objects.DropView: "drop view",
}


def of_ddl(type_code: int, query: str, release: Release) -> str:
    """The event type of a DDL, empty where it has none.

    Raises DdlError (CDC:ErrConvertDDLToEventTypeFailed) where a release reads it from a text that it cannot read.
    """
    if not release.event_type_from_sql or type_code in OF_PARTITIONS:
        return OF_ACTIONS.get(type_code, "") if type_code in release.allowed_ddl else ""
    try:
        statement = read_statement(query)
    except DdlError as error:
        text = f"failed to convert ddl '{query}' to filter event type: {error}"
        raise DdlError(text, "CDC:ErrConvertDDLToEventTypeFailed") from error
    return OF_STATEMENTS.get(type(statement), "")

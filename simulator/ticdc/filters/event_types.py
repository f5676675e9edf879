"""Event types of event filters: their names, the types of TiDB's actions and of row changes, and which type covers
which.

Names are those of TiCDC, in any letter case. Up to 7.6 a DDL has the type of its statement, which TiCDC parses from the
text, from 8.0 on that of its action. Sources: tiflow v7.5.7 and v8.5.7 pkg/filter/utils.go,
pkg/binlog-filter/{filter,util}.go; ticdc v8.5.4, the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action

ALL_DML, ALL_DDL, ALTER_TABLE, RENAME_TABLE = "all dml", "all ddl", "alter table", "rename table"
ROW_KINDS = ("delete", "update", "insert")
"""In the order of `op` in an event."""

ALIASES = {"create schema": "create database", "drop schema": "drop database", "alter schema": "alter database"}

OF_ACTIONS: Mapping[int, str] = {
    Action.CREATE_SCHEMA: "create database",
    Action.DROP_SCHEMA: "drop database",
    Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE: "modify schema charset and collate",
    Action.CREATE_TABLE: "create table",
    Action.CREATE_TABLES: "create table",
    Action.DROP_TABLE: "drop table",
    Action.TRUNCATE_TABLE: "truncate table",
    Action.RENAME_TABLE: RENAME_TABLE,
    Action.RENAME_TABLES: RENAME_TABLE,
    Action.RECOVER_TABLE: "recover table",
    Action.MODIFY_TABLE_COMMENT: "modify table comment",
    Action.MODIFY_TABLE_CHARSET_AND_COLLATE: "modify table charset and collate",
    Action.CREATE_VIEW: "create view",
    Action.DROP_VIEW: "drop view",
    Action.ADD_TABLE_PARTITION: "add table partition",
    Action.DROP_TABLE_PARTITION: "drop table partition",
    Action.TRUNCATE_TABLE_PARTITION: "truncate table partition",
    Action.EXCHANGE_TABLE_PARTITION: "exchange table partition",
    Action.REORGANIZE_PARTITION: "reorganize table partition",
    Action.ALTER_TABLE_PARTITIONING: "alter table partitioning",
    Action.REMOVE_PARTITIONING: "remove table partitioning",
    Action.ADD_COLUMN: "add column",
    Action.ADD_COLUMNS: "add column",
    Action.DROP_COLUMN: "drop column",
    Action.DROP_COLUMNS: "drop column",
    Action.MODIFY_COLUMN: "modify column",
    Action.SET_DEFAULT_VALUE: "set default value",
    Action.REBASE_AUTO_ID: "rebase auto id",
    Action.ADD_PRIMARY_KEY: "add primary key",
    Action.DROP_PRIMARY_KEY: "drop primary key",
    Action.ADD_INDEX: "create index",
    Action.DROP_INDEX: "drop index",
    Action.RENAME_INDEX: "rename index",
    Action.ALTER_INDEX_VISIBILITY: "alter index visibility",
    Action.ALTER_TTL_INFO: "alter ttl info",
    Action.ALTER_TTL_REMOVE: "alter ttl remove",
    Action.MULTI_SCHEMA_CHANGE: "multi schema change",
    Action.ADD_FOREIGN_KEY: "add foreign key",
    Action.DROP_FOREIGN_KEY: "drop foreign key",
    Action.ADD_FULLTEXT_INDEX: "add fulltext index",
    Action.CREATE_HYBRID_INDEX: "create hybrid index",
}

OF_PARTITIONS = (Action.ADD_TABLE_PARTITION, Action.DROP_TABLE_PARTITION, Action.TRUNCATE_TABLE_PARTITION)
"""Actions with their own type in releases that use the statement's type."""

OF_STATEMENTS: Mapping[type[object], str] = {
    syntax.CreateDatabase: "create database",
    syntax.DropDatabase: "drop database",
    syntax.AlterDatabase: "alter database",
    syntax.CreateTable: "create table",
    syntax.DropTable: "drop table",
    syntax.TruncateTable: "truncate table",
    syntax.RenameTable: RENAME_TABLE,
    syntax.AlterTable: ALTER_TABLE,
    syntax.CreateIndex: ALTER_TABLE,
    syntax.DropIndex: ALTER_TABLE,
    syntax.CreateView: "create view",
    syntax.DropView: "drop view",
}

NOT_ALTERING = frozenset(
    {
        *("create database", "drop database", "modify schema charset and collate", "create table", "drop table"),
        *("truncate table", "recover table", "create view", "drop view", "add foreign key", "drop foreign key"),
        *("add fulltext index", "create hybrid index"),
    }
)
"""Types of actions that `alter table` does not cover (alterTableSubType has all others)."""

COMPATIBLE = frozenset(
    {
        *("create database", "alter database", "create table", "create index", "create view", "drop view"),
        *(ALTER_TABLE, "add table partition"),
    }
)
GROUPS = frozenset({"all", ALL_DDL, ALL_DML, "none", "none ddl", "none dml", "", "incompatible ddl changes"})
NEVER_SENT = frozenset(
    {
        *("value range decrease", "precision decrease", "rename column", "drop unique key", "modify default value"),
        *("modify constraint", "modify columns order", "modify charset", "modify collation", "remove auto increment"),
        *("modify storage engine", "rebuild table partition", "coalesce table partition", "split table partition"),
    }
)
"""Types in TiCDC's list that no statement has."""

TYPES = frozenset(OF_ACTIONS.values()) | COMPATIBLE | NEVER_SENT


def alters_table(type: str) -> bool:
    """Return whether an action's event type is also covered by `alter table`."""
    return type not in NOT_ALTERING


def normalize_name(name: str, release: Release) -> str:
    """Return a name in lower case, with DATABASE for SCHEMA; raise ValueError for an unknown event type."""
    lower = name.lower()
    lower = ALIASES.get(lower, lower)
    if lower not in (TYPES | GROUPS | set(ROW_KINDS)) - release.unclassified_events:
        raise ValueError(f"event type {name} not valid")
    return lower


def event_class(type: str, release: Release) -> str:
    """Return `dml`, `ddl`, `incompatible DDL`, or '' for an empty type; raise ValueError for an unknown event type."""
    if type in ("", *ROW_KINDS):
        return type and "dml"
    if type not in (TYPES | set(ALIASES)) - release.unclassified_events:
        raise ValueError(f"event type {type} not valid")
    return "ddl" if type in COMPATIBLE or type in ("create schema", "alter schema") else "incompatible DDL"


def ddl_event_type(type_code: int, query: str, release: Release, sql_mode: frozenset[str] = frozenset()) -> str:
    """Return the event type of a DDL; empty if it has none. `sql_mode` is the one that its text is read by.

    Raise DdlError (CDC:ErrConvertDDLToEventTypeFailed) if the release cannot parse the text.
    """
    if not release.event_type_from_sql or type_code in OF_PARTITIONS:
        return OF_ACTIONS.get(type_code, "") if type_code in release.allowed_ddl else ""
    from simulator.tidb.parser.ddl.statements import parse_ddl  # the grammar of DDL takes long to import

    try:
        statement = parse_ddl(query, sql_mode)
    except DdlError as error:
        text = f"failed to convert ddl '{query}' to filter event type: {error}"
        raise DdlError(text, "CDC:ErrConvertDDLToEventTypeFailed") from error
    return OF_STATEMENTS.get(type(statement), "")

"""TiDB's DDL job types: their codes, which Open Protocol sends as `"t"`, and their names.

TiDB never reuses the code of a retired type. Sources: tidb pkg/meta/model/job.go; for 230 and 231, which are TiCDC's
own, ticdc v8.5.4 pkg/filter/ddl.go. 66 was never used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CREATE_SCHEMA = 1
DROP_SCHEMA = 2
CREATE_TABLE = 3
DROP_TABLE = 4
ADD_COLUMN = 5
DROP_COLUMN = 6
ADD_INDEX = 7
DROP_INDEX = 8
ADD_FOREIGN_KEY = 9
DROP_FOREIGN_KEY = 10
TRUNCATE_TABLE = 11
MODIFY_COLUMN = 12
REBASE_AUTO_ID = 13
RENAME_TABLE = 14
SET_DEFAULT_VALUE = 15
SHARD_ROW_ID = 16
MODIFY_TABLE_COMMENT = 17
RENAME_INDEX = 18
ADD_TABLE_PARTITION = 19
DROP_TABLE_PARTITION = 20
CREATE_VIEW = 21
MODIFY_TABLE_CHARSET_AND_COLLATE = 22
TRUNCATE_TABLE_PARTITION = 23
DROP_VIEW = 24
RECOVER_TABLE = 25
MODIFY_SCHEMA_CHARSET_AND_COLLATE = 26
LOCK_TABLE = 27
UNLOCK_TABLE = 28
REPAIR_TABLE = 29
SET_TIFLASH_REPLICA = 30
UPDATE_TIFLASH_REPLICA_STATUS = 31
ADD_PRIMARY_KEY = 32
DROP_PRIMARY_KEY = 33
CREATE_SEQUENCE = 34
ALTER_SEQUENCE = 35
DROP_SEQUENCE = 36
ADD_COLUMNS = 37
DROP_COLUMNS = 38
MODIFY_TABLE_AUTO_ID_CACHE = 39
REBASE_AUTO_RANDOM_BASE = 40
ALTER_INDEX_VISIBILITY = 41
EXCHANGE_TABLE_PARTITION = 42
ADD_CHECK_CONSTRAINT = 43
DROP_CHECK_CONSTRAINT = 44
ALTER_CHECK_CONSTRAINT = 45
ALTER_TABLE_ALTER_PARTITION = 46
RENAME_TABLES = 47
DROP_INDEXES = 48
ALTER_TABLE_ATTRIBUTES = 49
ALTER_TABLE_PARTITION_ATTRIBUTES = 50
CREATE_PLACEMENT_POLICY = 51
ALTER_PLACEMENT_POLICY = 52
DROP_PLACEMENT_POLICY = 53
ALTER_TABLE_PARTITION_PLACEMENT = 54
MODIFY_SCHEMA_DEFAULT_PLACEMENT = 55
ALTER_TABLE_PLACEMENT = 56
ALTER_CACHE_TABLE = 57
ALTER_TABLE_STATS_OPTIONS = 58
ALTER_NO_CACHE_TABLE = 59
CREATE_TABLES = 60
MULTI_SCHEMA_CHANGE = 61
FLASHBACK_CLUSTER = 62
RECOVER_SCHEMA = 63
REORGANIZE_PARTITION = 64
ALTER_TTL_INFO = 65
ALTER_TTL_REMOVE = 67
CREATE_RESOURCE_GROUP = 68
ALTER_RESOURCE_GROUP = 69
DROP_RESOURCE_GROUP = 70
ALTER_TABLE_PARTITIONING = 71
REMOVE_PARTITIONING = 72
ADD_COLUMNAR_INDEX = 73
MODIFY_ENGINE_ATTRIBUTE = 74
ALTER_TABLE_MODE = 75
REFRESH_META = 76
MODIFY_SCHEMA_READ_ONLY = 77
ADD_FULLTEXT_INDEX = 230
CREATE_HYBRID_INDEX = 231


@dataclass(frozen=True)
class Action:
    """A job type of TiDB."""

    code: int
    name: str
    """TiDB's constant without `Action` and, where it is retired, without `_DEPRECATED`: `AddColumn`."""

    text: str
    """What TiDB prints in ADMIN SHOW DDL JOBS (`ActionType.String()`): `add column`."""


_NAMES = (
    (CREATE_SCHEMA, "CreateSchema", "create schema"),
    (DROP_SCHEMA, "DropSchema", "drop schema"),
    (CREATE_TABLE, "CreateTable", "create table"),
    (DROP_TABLE, "DropTable", "drop table"),
    (ADD_COLUMN, "AddColumn", "add column"),
    (DROP_COLUMN, "DropColumn", "drop column"),
    (ADD_INDEX, "AddIndex", "add index"),
    (DROP_INDEX, "DropIndex", "drop index"),
    (ADD_FOREIGN_KEY, "AddForeignKey", "add foreign key"),
    (DROP_FOREIGN_KEY, "DropForeignKey", "drop foreign key"),
    (TRUNCATE_TABLE, "TruncateTable", "truncate table"),
    (MODIFY_COLUMN, "ModifyColumn", "modify column"),
    (REBASE_AUTO_ID, "RebaseAutoID", "rebase auto_increment ID"),
    (RENAME_TABLE, "RenameTable", "rename table"),
    (SET_DEFAULT_VALUE, "SetDefaultValue", "set default value"),
    (SHARD_ROW_ID, "ShardRowID", "shard row ID"),
    (MODIFY_TABLE_COMMENT, "ModifyTableComment", "modify table comment"),
    (RENAME_INDEX, "RenameIndex", "rename index"),
    (ADD_TABLE_PARTITION, "AddTablePartition", "add partition"),
    (DROP_TABLE_PARTITION, "DropTablePartition", "drop partition"),
    (CREATE_VIEW, "CreateView", "create view"),
    (MODIFY_TABLE_CHARSET_AND_COLLATE, "ModifyTableCharsetAndCollate", "modify table charset and collate"),
    (TRUNCATE_TABLE_PARTITION, "TruncateTablePartition", "truncate partition"),
    (DROP_VIEW, "DropView", "drop view"),
    (RECOVER_TABLE, "RecoverTable", "recover table"),
    (MODIFY_SCHEMA_CHARSET_AND_COLLATE, "ModifySchemaCharsetAndCollate", "modify schema charset and collate"),
    (LOCK_TABLE, "LockTable", "lock table"),
    (UNLOCK_TABLE, "UnlockTable", "unlock table"),
    (REPAIR_TABLE, "RepairTable", "repair table"),
    (SET_TIFLASH_REPLICA, "SetTiFlashReplica", "set tiflash replica"),
    (UPDATE_TIFLASH_REPLICA_STATUS, "UpdateTiFlashReplicaStatus", "update tiflash replica status"),
    (ADD_PRIMARY_KEY, "AddPrimaryKey", "add primary key"),
    (DROP_PRIMARY_KEY, "DropPrimaryKey", "drop primary key"),
    (CREATE_SEQUENCE, "CreateSequence", "create sequence"),
    (ALTER_SEQUENCE, "AlterSequence", "alter sequence"),
    (DROP_SEQUENCE, "DropSequence", "drop sequence"),
    (ADD_COLUMNS, "AddColumns", "add multi-columns"),
    (DROP_COLUMNS, "DropColumns", "drop multi-columns"),
    (MODIFY_TABLE_AUTO_ID_CACHE, "ModifyTableAutoIDCache", "modify auto id cache"),
    (REBASE_AUTO_RANDOM_BASE, "RebaseAutoRandomBase", "rebase auto_random ID"),
    (ALTER_INDEX_VISIBILITY, "AlterIndexVisibility", "alter index visibility"),
    (EXCHANGE_TABLE_PARTITION, "ExchangeTablePartition", "exchange partition"),
    (ADD_CHECK_CONSTRAINT, "AddCheckConstraint", "add check constraint"),
    (DROP_CHECK_CONSTRAINT, "DropCheckConstraint", "drop check constraint"),
    (ALTER_CHECK_CONSTRAINT, "AlterCheckConstraint", "alter check constraint"),
    (ALTER_TABLE_ALTER_PARTITION, "AlterTableAlterPartition", "alter partition"),
    (RENAME_TABLES, "RenameTables", "rename tables"),
    (DROP_INDEXES, "DropIndexes", "drop multi-indexes"),
    (ALTER_TABLE_ATTRIBUTES, "AlterTableAttributes", "alter table attributes"),
    (ALTER_TABLE_PARTITION_ATTRIBUTES, "AlterTablePartitionAttributes", "alter table partition attributes"),
    (CREATE_PLACEMENT_POLICY, "CreatePlacementPolicy", "create placement policy"),
    (ALTER_PLACEMENT_POLICY, "AlterPlacementPolicy", "alter placement policy"),
    (DROP_PLACEMENT_POLICY, "DropPlacementPolicy", "drop placement policy"),
    (ALTER_TABLE_PARTITION_PLACEMENT, "AlterTablePartitionPlacement", "alter table partition placement"),
    (MODIFY_SCHEMA_DEFAULT_PLACEMENT, "ModifySchemaDefaultPlacement", "modify schema default placement"),
    (ALTER_TABLE_PLACEMENT, "AlterTablePlacement", "alter table placement"),
    (ALTER_CACHE_TABLE, "AlterCacheTable", "alter table cache"),
    (ALTER_TABLE_STATS_OPTIONS, "AlterTableStatsOptions", "alter table statistics options"),
    (ALTER_NO_CACHE_TABLE, "AlterNoCacheTable", "alter table nocache"),
    (CREATE_TABLES, "CreateTables", "create tables"),
    (MULTI_SCHEMA_CHANGE, "MultiSchemaChange", "alter table multi-schema change"),
    (FLASHBACK_CLUSTER, "FlashbackCluster", "flashback cluster"),
    (RECOVER_SCHEMA, "RecoverSchema", "flashback schema"),
    (REORGANIZE_PARTITION, "ReorganizePartition", "alter table reorganize partition"),
    (ALTER_TTL_INFO, "AlterTTLInfo", "alter table ttl"),
    (ALTER_TTL_REMOVE, "AlterTTLRemove", "alter table no_ttl"),
    (CREATE_RESOURCE_GROUP, "CreateResourceGroup", "create resource group"),
    (ALTER_RESOURCE_GROUP, "AlterResourceGroup", "alter resource group"),
    (DROP_RESOURCE_GROUP, "DropResourceGroup", "drop resource group"),
    (ALTER_TABLE_PARTITIONING, "AlterTablePartitioning", "alter table partition by"),
    (REMOVE_PARTITIONING, "RemovePartitioning", "alter table remove partitioning"),
    (ADD_COLUMNAR_INDEX, "AddColumnarIndex", "add columnar index"),
    (MODIFY_ENGINE_ATTRIBUTE, "ModifyEngineAttribute", "modify engine attribute"),
    (ALTER_TABLE_MODE, "AlterTableMode", "alter table mode"),
    (REFRESH_META, "RefreshMeta", "refresh meta"),
    (MODIFY_SCHEMA_READ_ONLY, "ModifySchemaReadOnly", "modify schema read only"),
    (ADD_FULLTEXT_INDEX, "AddFullTextIndex", "none"),
    (CREATE_HYBRID_INDEX, "CreateHybridIndex", "none"),
)

ACTIONS: Mapping[int, Action] = {code: Action(code, name, text) for code, name, text in _NAMES}
"""By code. The text of TiCDC's own types is `none`, as TiDB has none for them."""

CODES: Mapping[str, int] = {action.name: action.code for action in ACTIONS.values()}
"""By TiDB's constant: `CODES["AddColumn"]` is 5."""

SCHEMA_ACTIONS = frozenset({CREATE_SCHEMA, DROP_SCHEMA, MODIFY_SCHEMA_CHARSET_AND_COLLATE})
"""Statements on a database: their event has no table (tiflow pkg/filter/filter.go IsSchemaDDL)."""

VIEW_ACTIONS = frozenset({CREATE_VIEW, DROP_VIEW})

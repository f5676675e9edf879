"""Execution of DDL statements: the jobs that TiDB queues, and the catalog after them; here the types of jobs.

Functions called `check_…` raise DdlError with TiDB's text; those that return SubJobs may, too.
"""

from __future__ import annotations

from enum import IntEnum


class Action(IntEnum):
    """A job type of TiDB: its code, which Open Protocol sends as `"t"`, and its names.

    TiDB never reuses the code of a retired type. Sources: tidb pkg/meta/model/job.go; for 230 and 231, which are TiCDC's
    own, ticdc v8.5.4 pkg/filter/ddl.go. 66 was never used.
    """

    constant: str
    """TiDB's constant without `Action` and, where it is retired, without `_DEPRECATED`: `AddColumn`."""

    text: str
    """What TiDB prints in ADMIN SHOW DDL JOBS (`ActionType.String()`): `add column`. `none` for TiCDC's own types."""

    CREATE_SCHEMA = 1, "CreateSchema", "create schema"
    DROP_SCHEMA = 2, "DropSchema", "drop schema"
    CREATE_TABLE = 3, "CreateTable", "create table"
    DROP_TABLE = 4, "DropTable", "drop table"
    ADD_COLUMN = 5, "AddColumn", "add column"
    DROP_COLUMN = 6, "DropColumn", "drop column"
    ADD_INDEX = 7, "AddIndex", "add index"
    DROP_INDEX = 8, "DropIndex", "drop index"
    ADD_FOREIGN_KEY = 9, "AddForeignKey", "add foreign key"
    DROP_FOREIGN_KEY = 10, "DropForeignKey", "drop foreign key"
    TRUNCATE_TABLE = 11, "TruncateTable", "truncate table"
    MODIFY_COLUMN = 12, "ModifyColumn", "modify column"
    REBASE_AUTO_ID = 13, "RebaseAutoID", "rebase auto_increment ID"
    RENAME_TABLE = 14, "RenameTable", "rename table"
    SET_DEFAULT_VALUE = 15, "SetDefaultValue", "set default value"
    SHARD_ROW_ID = 16, "ShardRowID", "shard row ID"
    MODIFY_TABLE_COMMENT = 17, "ModifyTableComment", "modify table comment"
    RENAME_INDEX = 18, "RenameIndex", "rename index"
    ADD_TABLE_PARTITION = 19, "AddTablePartition", "add partition"
    DROP_TABLE_PARTITION = 20, "DropTablePartition", "drop partition"
    CREATE_VIEW = 21, "CreateView", "create view"
    MODIFY_TABLE_CHARSET_AND_COLLATE = 22, "ModifyTableCharsetAndCollate", "modify table charset and collate"
    TRUNCATE_TABLE_PARTITION = 23, "TruncateTablePartition", "truncate partition"
    DROP_VIEW = 24, "DropView", "drop view"
    RECOVER_TABLE = 25, "RecoverTable", "recover table"
    MODIFY_SCHEMA_CHARSET_AND_COLLATE = 26, "ModifySchemaCharsetAndCollate", "modify schema charset and collate"
    LOCK_TABLE = 27, "LockTable", "lock table"
    UNLOCK_TABLE = 28, "UnlockTable", "unlock table"
    REPAIR_TABLE = 29, "RepairTable", "repair table"
    SET_TIFLASH_REPLICA = 30, "SetTiFlashReplica", "set tiflash replica"
    UPDATE_TIFLASH_REPLICA_STATUS = 31, "UpdateTiFlashReplicaStatus", "update tiflash replica status"
    ADD_PRIMARY_KEY = 32, "AddPrimaryKey", "add primary key"
    DROP_PRIMARY_KEY = 33, "DropPrimaryKey", "drop primary key"
    CREATE_SEQUENCE = 34, "CreateSequence", "create sequence"
    ALTER_SEQUENCE = 35, "AlterSequence", "alter sequence"
    DROP_SEQUENCE = 36, "DropSequence", "drop sequence"
    ADD_COLUMNS = 37, "AddColumns", "add multi-columns"
    DROP_COLUMNS = 38, "DropColumns", "drop multi-columns"
    MODIFY_TABLE_AUTO_ID_CACHE = 39, "ModifyTableAutoIDCache", "modify auto id cache"
    REBASE_AUTO_RANDOM_BASE = 40, "RebaseAutoRandomBase", "rebase auto_random ID"
    ALTER_INDEX_VISIBILITY = 41, "AlterIndexVisibility", "alter index visibility"
    EXCHANGE_TABLE_PARTITION = 42, "ExchangeTablePartition", "exchange partition"
    ADD_CHECK_CONSTRAINT = 43, "AddCheckConstraint", "add check constraint"
    DROP_CHECK_CONSTRAINT = 44, "DropCheckConstraint", "drop check constraint"
    ALTER_CHECK_CONSTRAINT = 45, "AlterCheckConstraint", "alter check constraint"
    ALTER_TABLE_ALTER_PARTITION = 46, "AlterTableAlterPartition", "alter partition"
    RENAME_TABLES = 47, "RenameTables", "rename tables"
    DROP_INDEXES = 48, "DropIndexes", "drop multi-indexes"
    ALTER_TABLE_ATTRIBUTES = 49, "AlterTableAttributes", "alter table attributes"
    ALTER_TABLE_PARTITION_ATTRIBUTES = 50, "AlterTablePartitionAttributes", "alter table partition attributes"
    CREATE_PLACEMENT_POLICY = 51, "CreatePlacementPolicy", "create placement policy"
    ALTER_PLACEMENT_POLICY = 52, "AlterPlacementPolicy", "alter placement policy"
    DROP_PLACEMENT_POLICY = 53, "DropPlacementPolicy", "drop placement policy"
    ALTER_TABLE_PARTITION_PLACEMENT = 54, "AlterTablePartitionPlacement", "alter table partition placement"
    MODIFY_SCHEMA_DEFAULT_PLACEMENT = 55, "ModifySchemaDefaultPlacement", "modify schema default placement"
    ALTER_TABLE_PLACEMENT = 56, "AlterTablePlacement", "alter table placement"
    ALTER_CACHE_TABLE = 57, "AlterCacheTable", "alter table cache"
    ALTER_TABLE_STATS_OPTIONS = 58, "AlterTableStatsOptions", "alter table statistics options"
    ALTER_NO_CACHE_TABLE = 59, "AlterNoCacheTable", "alter table nocache"
    CREATE_TABLES = 60, "CreateTables", "create tables"
    MULTI_SCHEMA_CHANGE = 61, "MultiSchemaChange", "alter table multi-schema change"
    FLASHBACK_CLUSTER = 62, "FlashbackCluster", "flashback cluster"
    RECOVER_SCHEMA = 63, "RecoverSchema", "flashback schema"
    REORGANIZE_PARTITION = 64, "ReorganizePartition", "alter table reorganize partition"
    ALTER_TTL_INFO = 65, "AlterTTLInfo", "alter table ttl"
    ALTER_TTL_REMOVE = 67, "AlterTTLRemove", "alter table no_ttl"
    CREATE_RESOURCE_GROUP = 68, "CreateResourceGroup", "create resource group"
    ALTER_RESOURCE_GROUP = 69, "AlterResourceGroup", "alter resource group"
    DROP_RESOURCE_GROUP = 70, "DropResourceGroup", "drop resource group"
    ALTER_TABLE_PARTITIONING = 71, "AlterTablePartitioning", "alter table partition by"
    REMOVE_PARTITIONING = 72, "RemovePartitioning", "alter table remove partitioning"
    ADD_COLUMNAR_INDEX = 73, "AddColumnarIndex", "add columnar index"
    MODIFY_ENGINE_ATTRIBUTE = 74, "ModifyEngineAttribute", "modify engine attribute"
    ALTER_TABLE_MODE = 75, "AlterTableMode", "alter table mode"
    REFRESH_META = 76, "RefreshMeta", "refresh meta"
    MODIFY_SCHEMA_READ_ONLY = 77, "ModifySchemaReadOnly", "modify schema read only"
    ALTER_TABLE_SOFT_DELETE_INFO = 79, "AlterTableSoftDeleteInfo", "alter soft delete info"
    MODIFY_SCHEMA_SOFT_DELETE = (
        80,
        "ModifySchemaSoftDeleteAndActiveActive",
        "modify schema soft delete and active active",
    )
    ADD_FULLTEXT_INDEX = 230, "AddFullTextIndex", "none"
    CREATE_HYBRID_INDEX = 231, "CreateHybridIndex", "none"

    def __new__(cls, code: int, constant: str = "", text: str = "") -> Action:
        action = int.__new__(cls, code)
        action._value_, action.constant, action.text = code, constant, text
        return action

    __repr__ = int.__repr__


SCHEMA_ACTIONS = frozenset({Action.CREATE_SCHEMA, Action.DROP_SCHEMA, Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE})
"""Statements on a database: their event has no table (tiflow pkg/filter/filter.go IsSchemaDDL)."""

VIEW_ACTIONS = frozenset({Action.CREATE_VIEW, Action.DROP_VIEW})

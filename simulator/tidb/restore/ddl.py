"""Restore DDL statements, as TiDB does for TiCDC: with keywords in upper case, quoted names, and features as comments.

Source: TiDB pkg/parser/ast/ddl.go, under the flags of tiflow cdc/owner/ddl_sink.go, addSpecialComment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.restore.alter import restore_alter_table
from simulator.tidb.restore.names import feature_comment, restore_table_name
from simulator.tidb.restore.objects import (
    restore_alter_sequence,
    restore_create_sequence,
    restore_create_view,
    restore_drop_sequence,
    restore_drop_view,
    restore_kept_placement_policy,
    restore_placement_policy,
    restore_resource_group,
)
from simulator.tidb.restore.old_releases import keep_dropped_options
from simulator.tidb.restore.statements import (
    is_placement,
    restore_alter_database,
    restore_alter_database_placement,
    restore_create_database,
    restore_create_index,
    restore_drop_database,
    restore_drop_index,
    restore_drop_table,
    restore_flashback_cluster,
    restore_flashback_database,
    restore_flashback_table,
    restore_lock_tables,
    restore_recover_table,
    restore_rename_table,
    restore_repair_table,
    restore_truncate_table,
    restore_unlock_tables,
)
from simulator.tidb.restore.tables import restore_table


def restore_statement(statement: syntax.Statement, placement: bool = False, ttl_off: bool = True) -> str:
    """Return the text that TiCDC sends, which is empty if only dropped placement options would remain.

    `placement`: whether placement options are kept (tiflow before 6.0). `ttl_off`: whether TTL is followed by TTL_ENABLE
    = 'OFF', and another TTL_ENABLE is dropped (tiflow from 7.0).
    """
    if placement and isinstance(statement, syntax.PlacementPolicy):
        return restore_kept_placement_policy(statement)
    if placement and isinstance(statement, syntax.AlterDatabase) and is_placement(statement):
        return feature_comment(restore_alter_database_placement(statement), "placement")
    if placement and isinstance(statement, syntax.AlterTable) and not statement.specs:
        return f"ALTER TABLE {restore_table_name(statement.table)}"
    if placement or not ttl_off:
        statement = keep_dropped_options(statement, placement, not ttl_off)
    return RESTORERS[type(statement)](statement)


RESTORERS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        syntax.CreateDatabase: restore_create_database,
        syntax.AlterDatabase: restore_alter_database,
        syntax.DropDatabase: restore_drop_database,
        syntax.FlashbackDatabase: restore_flashback_database,
        syntax.CreateTable: restore_table,
        syntax.DropTable: restore_drop_table,
        syntax.TruncateTable: restore_truncate_table,
        syntax.RenameTable: restore_rename_table,
        syntax.RecoverTable: restore_recover_table,
        syntax.FlashbackTable: restore_flashback_table,
        syntax.FlashbackCluster: restore_flashback_cluster,
        syntax.RepairTable: restore_repair_table,
        syntax.LockTables: restore_lock_tables,
        syntax.UnlockTables: restore_unlock_tables,
        syntax.CreateIndex: restore_create_index,
        syntax.DropIndex: restore_drop_index,
        syntax.CreateView: restore_create_view,
        syntax.DropView: restore_drop_view,
        syntax.CreateSequence: restore_create_sequence,
        syntax.AlterSequence: restore_alter_sequence,
        syntax.DropSequence: restore_drop_sequence,
        syntax.PlacementPolicy: restore_placement_policy,
        syntax.ResourceGroup: restore_resource_group,
        syntax.AlterTable: restore_alter_table,
    }
)

"""Statement → text as TiDB writes it back for TiCDC: capital keywords, back-quoted names, features as comments.

One law: what MySQL could not read is inside a comment (TiDB: pkg/parser/ast/ddl.go under the flags of tiflow
cdc/owner/ddl_sink.go addSpecialComment).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from simulator.tidb import syntax
from simulator.tidb.restore.alter import alter_table
from simulator.tidb.restore.names import feature, table
from simulator.tidb.restore.objects import (
    alter_sequence,
    create_sequence,
    create_view,
    drop_sequence,
    drop_view,
    placement_policy,
    placement_policy_of_old_releases,
    resource_group,
)
from simulator.tidb.restore.old_releases import with_dropped_options
from simulator.tidb.restore.statements import (
    alter_database,
    alter_database_placement,
    create_database,
    create_index,
    drop_database,
    drop_index,
    drop_table,
    flashback_cluster,
    flashback_database,
    flashback_table,
    is_placement,
    lock_tables,
    recover_table,
    rename_table,
    repair_table,
    truncate_table,
    unlock_tables,
)
from simulator.tidb.restore.tables import restored_table


def restored(statement: syntax.Statement, placement: bool = False, ttl_off: bool = True) -> str:
    """The text TiCDC sends; empty where nothing is left without placement.

    `placement`: whether it stays (tiflow before 6.0). `ttl_off`: whether TTL comes with TTL_ENABLE = 'OFF', and
    TTL_ENABLE not otherwise (tiflow from 7.0).
    """
    if placement and isinstance(statement, syntax.PlacementPolicy):
        return placement_policy_of_old_releases(statement)
    if placement and isinstance(statement, syntax.AlterDatabase) and is_placement(statement):
        return feature(alter_database_placement(statement), "placement")
    if placement and isinstance(statement, syntax.AlterTable) and not statement.specs:
        return f"ALTER TABLE {table(statement.table)}"
    if placement or not ttl_off:
        statement = with_dropped_options(statement, placement, not ttl_off)
    return RESTORERS[type(statement)](statement)


RESTORERS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        syntax.CreateDatabase: create_database,
        syntax.AlterDatabase: alter_database,
        syntax.DropDatabase: drop_database,
        syntax.FlashbackDatabase: flashback_database,
        syntax.CreateTable: restored_table,
        syntax.DropTable: drop_table,
        syntax.TruncateTable: truncate_table,
        syntax.RenameTable: rename_table,
        syntax.RecoverTable: recover_table,
        syntax.FlashbackTable: flashback_table,
        syntax.FlashbackCluster: flashback_cluster,
        syntax.RepairTable: repair_table,
        syntax.LockTables: lock_tables,
        syntax.UnlockTables: unlock_tables,
        syntax.CreateIndex: create_index,
        syntax.DropIndex: drop_index,
        syntax.CreateView: create_view,
        syntax.DropView: drop_view,
        syntax.CreateSequence: create_sequence,
        syntax.AlterSequence: alter_sequence,
        syntax.DropSequence: drop_sequence,
        syntax.PlacementPolicy: placement_policy,
        syntax.ResourceGroup: resource_group,
        syntax.AlterTable: alter_table,
    }
)

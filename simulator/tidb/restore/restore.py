"""Statement → text as TiDB writes it back for TiCDC: capital keywords, back-quoted names, features as comments.

One law: what MySQL could not read is inside a comment (TiDB: pkg/parser/ast/ddl.go under the flags of tiflow
cdc/owner/ddl_sink.go addSpecialComment).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

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
from simulator.tidb.syntax.objects import (
    AlterSequence,
    CreateSequence,
    CreateView,
    DropSequence,
    DropView,
    PlacementPolicy,
    ResourceGroup,
)
from simulator.tidb.syntax.statements import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateIndex,
    DropDatabase,
    DropIndex,
    DropTable,
    FlashbackCluster,
    FlashbackDatabase,
    FlashbackTable,
    LockTables,
    RecoverTable,
    RenameTable,
    RepairTable,
    Statement,
    TruncateTable,
    UnlockTables,
)
from simulator.tidb.syntax.tables import CreateTable


def restored(statement: Statement, placement: bool = False, ttl_off: bool = True) -> str:
    """The text TiCDC sends; empty where nothing is left without placement.

    `placement`: whether it stays (tiflow before 6.0). `ttl_off`: whether TTL comes with TTL_ENABLE = 'OFF', and
    TTL_ENABLE not otherwise (tiflow from 7.0).
    """
    if placement and isinstance(statement, PlacementPolicy):
        return placement_policy_of_old_releases(statement)
    if placement and isinstance(statement, AlterDatabase) and is_placement(statement):
        return feature(alter_database_placement(statement), "placement")
    if placement and isinstance(statement, AlterTable) and not statement.specs:
        return f"ALTER TABLE {table(statement.table)}"
    if placement or not ttl_off:
        statement = with_dropped_options(statement, placement, not ttl_off)
    return RESTORERS[type(statement)](statement)


RESTORERS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        CreateDatabase: create_database,
        AlterDatabase: alter_database,
        DropDatabase: drop_database,
        FlashbackDatabase: flashback_database,
        CreateTable: restored_table,
        DropTable: drop_table,
        TruncateTable: truncate_table,
        RenameTable: rename_table,
        RecoverTable: recover_table,
        FlashbackTable: flashback_table,
        FlashbackCluster: flashback_cluster,
        RepairTable: repair_table,
        LockTables: lock_tables,
        UnlockTables: unlock_tables,
        CreateIndex: create_index,
        DropIndex: drop_index,
        CreateView: create_view,
        DropView: drop_view,
        CreateSequence: create_sequence,
        AlterSequence: alter_sequence,
        DropSequence: drop_sequence,
        PlacementPolicy: placement_policy,
        ResourceGroup: resource_group,
        AlterTable: alter_table,
    }
)

"""A statement applied to a catalog: the catalog after it.

One law: STATEMENTS lists every statement; one that cannot apply raises DdlError in TiDB's words, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from simulator.tidb.ddl import evolve_databases as databases, evolve_tables as tables
from simulator.tidb.ddl.build import build_table
from simulator.tidb.ddl.catalog import Catalog, with_table, without_table
from simulator.tidb.ddl.evolve_alter import altered
from simulator.tidb.ddl.evolve_create_table import created, found
from simulator.tidb.ddl.evolve_errors import refused, tidb, worded
from simulator.tidb.ddl.evolve_tables import qualified
from simulator.tidb.syntax.alter import AddKey, DropKey
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
    CreateTable,
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

START = "1970-01-01 00:00:00.000000"


@dataclass(frozen=True)
class Saying:
    """What a statement says beside itself."""

    database: str
    """The current one; empty for none."""

    text: str
    now: str


def applied(catalog: Catalog, statement: Statement, database: str, text: str, now: str = START) -> Catalog:
    """The catalog after the statement; raises DdlError as TiDB v8.5 words it.

    `database` is the current one, empty for none; `text` is the statement's, which positions point into; `now` is what
    CURRENT_TIMESTAMP(6) gives, for rows older than a column with that default.
    """
    return STATEMENTS[type(statement)](catalog, statement, Saying(database, text, now))


def create_table(catalog: Catalog, statement: CreateTable, saying: Saying) -> Catalog:
    return created(catalog, statement, saying.database, saying.text)


def alter_table(catalog: Catalog, statement: AlterTable, saying: Saying) -> Catalog:
    name = qualified(statement.table, saying.database)
    return altered(catalog, found(catalog, *name), statement.specs, saying.text, saying.now)


def create_index(catalog: Catalog, statement: CreateIndex, saying: Saying) -> Catalog:
    """As ALTER TABLE … ADD does, but for the kinds that only CREATE INDEX refuses."""
    if statement.key.kind in ("fulltext", "spatial"):
        raise worded("ddl:8200", "FULLTEXT and SPATIAL index is not supported")
    name = qualified(statement.table, saying.database)
    if catalog.database(name.schema) is None:
        raise tidb("schema:1049", name.schema)
    return altered(catalog, found(catalog, *name), (AddKey(statement.key),), saying.text, saying.now)


def drop_index(catalog: Catalog, statement: DropIndex, saying: Saying) -> Catalog:
    name = qualified(statement.table, saying.database)
    if statement.hypothetical or statement.if_exists and catalog.table(*name) is None:
        return catalog
    spec = DropKey("index", statement.name, statement.if_exists)
    return altered(catalog, found(catalog, *name), (spec,), saying.text, saying.now)


def repair_table(catalog: Catalog, statement: RepairTable, saying: Saying) -> Catalog:
    """The table as the statement defines it."""
    table = found(catalog, *qualified(statement.table, saying.database))
    with refused("ddl:1105"):
        new = build_table(statement.definition, table.schema, saying.text, saying.text)
    return with_table(without_table(catalog, table), new)


def nothing(catalog: Catalog, statement: Statement, saying: Saying) -> Catalog:
    """Locks, placement policies, resource groups and FLASHBACK CLUSTER: no definition changes."""
    return catalog


STATEMENTS: MappingProxyType[type, Callable[[Catalog, Any, Saying], Catalog]] = MappingProxyType({
    CreateDatabase: lambda catalog, statement, saying: databases.create_database(catalog, statement),
    AlterDatabase: lambda catalog, statement, saying: databases.alter_database(catalog, statement, saying.database),
    DropDatabase: lambda catalog, statement, saying: databases.drop_database(catalog, statement),
    FlashbackDatabase: lambda catalog, statement, saying: databases.flashback_database(catalog, statement),
    CreateTable: create_table,
    DropTable: lambda catalog, statement, saying: tables.drop_table(catalog, statement, saying.database),
    TruncateTable: lambda catalog, statement, saying: tables.truncate_table(catalog, statement, saying.database),
    RenameTable: lambda catalog, statement, saying: tables.rename_table(catalog, statement, saying.database),
    RecoverTable: lambda catalog, statement, saying: tables.recover_table(catalog, statement, saying.database),
    FlashbackTable: lambda catalog, statement, saying: tables.recover_table(catalog, statement, saying.database),
    RepairTable: repair_table,
    CreateIndex: create_index,
    DropIndex: drop_index,
    AlterTable: alter_table,
    CreateView: lambda catalog, statement, saying: databases.create_view(catalog, statement, saying.database),
    DropView: lambda catalog, statement, saying: databases.drop_view(catalog, statement, saying.database),
    CreateSequence: lambda catalog, statement, saying: databases.create_sequence(catalog, statement, saying.database),
    AlterSequence: lambda catalog, statement, saying: databases.alter_sequence(catalog, statement, saying.database),
    DropSequence: lambda catalog, statement, saying: databases.drop_sequence(catalog, statement, saying.database),
    FlashbackCluster: nothing,
    LockTables: nothing,
    UnlockTables: nothing,
    PlacementPolicy: nothing,
    ResourceGroup: nothing,
})

"""The DDL statements of TiDB (tidb pkg/parser/ast/ddl.go). Names without a schema stay unqualified."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.alter import Spec
from simulator.tidb.syntax.definitions import KeyDefinition, TableName
from simulator.tidb.syntax.objects import (
    AlterSequence,
    CreateSequence,
    CreateView,
    DropSequence,
    DropView,
    PlacementPolicy,
    ResourceGroup,
)
from simulator.tidb.syntax.tables import CreateTable, TableOption

# -- databases ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateDatabase:
    name: str
    options: tuple[TableOption, ...] = ()
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY."""

    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase:
    name: str
    """Empty for the current database."""

    options: tuple[TableOption, ...]
    """The options of CREATE DATABASE, and `TIFLASH REPLICA` and `READ ONLY`."""


@dataclass(frozen=True)
class DropDatabase:
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class FlashbackDatabase:
    name: str
    new_name: str = ""


# -- tables ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DropTable:
    tables: tuple[TableName, ...]
    if_exists: bool = False
    temporary: str = ""
    """`local`, `global` or empty."""

    behaviour: str = ""
    """RESTRICT, CASCADE or empty."""


@dataclass(frozen=True)
class TruncateTable:
    table: TableName


@dataclass(frozen=True)
class RenameTable:
    pairs: tuple[tuple[TableName, TableName], ...]


@dataclass(frozen=True)
class RecoverTable:
    """RECOVER TABLE t [n] | RECOVER TABLE BY JOB n."""

    table: TableName | None
    job: int = 0
    number: int = 0


@dataclass(frozen=True)
class FlashbackTable:
    table: TableName
    new_name: str = ""


@dataclass(frozen=True)
class FlashbackCluster:
    """FLASHBACK CLUSTER | TABLE … | DATABASE … TO TIMESTAMP '…' | TO TSO n."""

    timestamp: str = ""
    tso: int = 0
    tables: tuple[TableName, ...] = ()
    database: str = ""


@dataclass(frozen=True)
class RepairTable:
    """ADMIN REPAIR TABLE t CREATE TABLE …"""

    table: TableName
    definition: CreateTable


@dataclass(frozen=True)
class LockTables:
    locks: tuple[tuple[TableName, str], ...]
    """Table and `READ`, `READ LOCAL`, `WRITE`, `WRITE LOCAL`."""


@dataclass(frozen=True)
class UnlockTables:
    tables: tuple[TableName, ...] = ()
    """The tables of ADMIN CLEANUP TABLE LOCK. Empty for UNLOCK TABLES."""


@dataclass(frozen=True)
class CreateIndex:
    table: TableName
    key: KeyDefinition
    """`kind` is key, unique, spatial, fulltext, vector or columnar."""

    algorithm: str = ""
    lock: str = ""


@dataclass(frozen=True)
class DropIndex:
    table: TableName
    name: str
    if_exists: bool = False
    algorithm: str = ""
    lock: str = ""
    hypothetical: bool = False


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AlterTable:
    table: TableName
    specs: tuple[Spec, ...]
    """The specs between commas. Consecutive table options without commas are one SetOptions."""

    ignore: bool = False


Statement = (
    CreateDatabase
    | AlterDatabase
    | DropDatabase
    | FlashbackDatabase
    | CreateTable
    | DropTable
    | TruncateTable
    | RenameTable
    | RecoverTable
    | FlashbackTable
    | FlashbackCluster
    | RepairTable
    | LockTables
    | UnlockTables
    | CreateIndex
    | DropIndex
    | CreateView
    | DropView
    | CreateSequence
    | AlterSequence
    | DropSequence
    | PlacementPolicy
    | ResourceGroup
    | AlterTable
)

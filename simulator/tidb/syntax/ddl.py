"""The DDL statements of TiDB (tidb pkg/parser/ast/ddl.go). Names without a schema stay unqualified."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.alter import Spec
from simulator.tidb.syntax.definitions import KeyDefinition, Statement, TableName
from simulator.tidb.syntax.tables import CreateTable, EmbeddedQuery, TableOption

# -- databases ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateDatabase(Statement):
    name: str
    options: tuple[TableOption, ...] = ()
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY."""

    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase(Statement):
    name: str
    """Empty for the current database."""

    options: tuple[TableOption, ...]
    """The options of CREATE DATABASE, and `TIFLASH REPLICA` and `READ ONLY`."""


@dataclass(frozen=True)
class DropDatabase(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class FlashbackDatabase(Statement):
    name: str
    new_name: str = ""


# -- tables ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DropTable(Statement):
    tables: tuple[TableName, ...]
    if_exists: bool = False
    temporary: str = ""
    """`local`, `global` or empty."""

    behaviour: str = ""
    """RESTRICT, CASCADE or empty."""


@dataclass(frozen=True)
class TruncateTable(Statement):
    table: TableName


@dataclass(frozen=True)
class RenameTable(Statement):
    pairs: tuple[tuple[TableName, TableName], ...]


@dataclass(frozen=True)
class RecoverTable(Statement):
    """RECOVER TABLE t [n] | RECOVER TABLE BY JOB n."""

    table: TableName | None
    job: int = 0
    number: int = 0


@dataclass(frozen=True)
class FlashbackTable(Statement):
    table: TableName
    new_name: str = ""


@dataclass(frozen=True)
class FlashbackCluster(Statement):
    """FLASHBACK CLUSTER | TABLE … | DATABASE … TO TIMESTAMP '…' | TO TSO n."""

    timestamp: str = ""
    tso: int = 0
    tables: tuple[TableName, ...] = ()
    database: str = ""


@dataclass(frozen=True)
class RepairTable(Statement):
    """ADMIN REPAIR TABLE t CREATE TABLE …"""

    table: TableName
    definition: CreateTable


@dataclass(frozen=True)
class LockTables(Statement):
    locks: tuple[tuple[TableName, str], ...]
    """Table and `READ`, `READ LOCAL`, `WRITE`, `WRITE LOCAL`."""


@dataclass(frozen=True)
class UnlockTables(Statement):
    tables: tuple[TableName, ...] = ()
    """The tables of ADMIN CLEANUP TABLE LOCK. Empty for UNLOCK TABLES."""


@dataclass(frozen=True)
class CreateIndex(Statement):
    table: TableName
    key: KeyDefinition
    """`kind` is key, unique, spatial, fulltext, vector or columnar."""

    algorithm: str = ""
    lock: str = ""


@dataclass(frozen=True)
class DropIndex(Statement):
    table: TableName
    name: str
    if_exists: bool = False
    algorithm: str = ""
    lock: str = ""
    hypothetical: bool = False


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AlterTable(Statement):
    table: TableName
    specs: tuple[Spec, ...]
    """The specs between commas. Consecutive table options without commas are one SetOptions."""

    ignore: bool = False


# -- views and sequences -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateView(Statement):
    view: TableName
    query: EmbeddedQuery
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: str = "CURRENT_USER"
    """As TiDB writes it back: CURRENT_USER or `user`@`host`."""

    security: str = "DEFINER"
    check_option: str = "CASCADED"
    """CASCADED or LOCAL."""


@dataclass(frozen=True)
class DropView(Statement):
    views: tuple[TableName, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class SequenceOption:
    name: str
    """`INCREMENT BY`, `START WITH`, `MINVALUE`, `MAXVALUE`, `CACHE`, `CYCLE`, `NO MINVALUE`, …, `RESTART`."""

    value: int | None = None


@dataclass(frozen=True)
class CreateSequence(Statement):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    table_options: tuple[TableOption, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterSequence(Statement):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True)
class DropSequence(Statement):
    sequences: tuple[TableName, ...]
    if_exists: bool = False


# -- cluster objects ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacementPolicy(Statement):
    """CREATE, ALTER or DROP PLACEMENT POLICY."""

    verb: str
    """CREATE, ALTER or DROP."""

    name: str
    options: tuple[TableOption, ...] = ()
    or_replace: bool = False
    exists: bool = False
    """Whether the statement has IF EXISTS, or IF NOT EXISTS after CREATE."""


@dataclass(frozen=True)
class ResourceGroup(Statement):
    """CREATE, ALTER or DROP RESOURCE GROUP."""

    verb: str
    name: str
    exists: bool = False

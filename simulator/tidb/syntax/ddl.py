"""The DDL statements of TiDB (tidb pkg/parser/ast/ddl.go). Names without a schema stay unqualified."""

from __future__ import annotations

from msgspec import Struct

from simulator.tidb.syntax.alter import Spec
from simulator.tidb.syntax.definitions import CreateTable, EmbeddedQuery, KeyDefinition, Statement, TableOption
from simulator.tidb.syntax.expressions import TableName

# -- databases ---------------------------------------------------------------------------------------------------


class CreateDatabase(Statement, frozen=True):
    name: str
    options: tuple[TableOption, ...] = ()
    """CHARSET, COLLATE, ENCRYPTION, PLACEMENT POLICY."""

    if_not_exists: bool = False


class AlterDatabase(Statement, frozen=True):
    name: str
    """Empty for the current database."""

    options: tuple[TableOption, ...]
    """The options of CREATE DATABASE, and `TIFLASH REPLICA` and `READ ONLY`."""


class DropDatabase(Statement, frozen=True):
    name: str
    if_exists: bool = False


class FlashbackDatabase(Statement, frozen=True):
    name: str
    new_name: str = ""


# -- tables ------------------------------------------------------------------------------------------------------


class DropTable(Statement, frozen=True):
    tables: tuple[TableName, ...]
    if_exists: bool = False
    temporary: str = ""
    """`local`, `global` or empty."""

    behaviour: str = ""
    """RESTRICT, CASCADE or empty."""


class TruncateTable(Statement, frozen=True):
    table: TableName


class RenameTable(Statement, frozen=True):
    pairs: tuple[tuple[TableName, TableName], ...]


class RecoverTable(Statement, frozen=True):
    """RECOVER TABLE t [n] | RECOVER TABLE BY JOB n."""

    table: TableName | None
    job: int = 0
    number: int = 0


class FlashbackTable(Statement, frozen=True):
    table: TableName
    new_name: str = ""


class FlashbackCluster(Statement, frozen=True):
    """FLASHBACK CLUSTER | TABLE … | DATABASE … TO TIMESTAMP '…' | TO TSO n."""

    timestamp: str = ""
    tso: int = 0
    tables: tuple[TableName, ...] = ()
    database: str = ""


class RepairTable(Statement, frozen=True):
    """ADMIN REPAIR TABLE t CREATE TABLE …"""

    table: TableName
    definition: CreateTable


class LockTables(Statement, frozen=True):
    locks: tuple[tuple[TableName, str], ...]
    """Table and `READ`, `READ LOCAL`, `WRITE`, `WRITE LOCAL`."""


class UnlockTables(Statement, frozen=True):
    tables: tuple[TableName, ...] = ()
    """The tables of ADMIN CLEANUP TABLE LOCK. Empty for UNLOCK TABLES."""


class CreateIndex(Statement, frozen=True):
    table: TableName
    key: KeyDefinition
    """`kind` is key, unique, spatial, fulltext, vector or columnar."""

    algorithm: str = ""
    lock: str = ""


class DropIndex(Statement, frozen=True):
    table: TableName
    name: str
    if_exists: bool = False
    algorithm: str = ""
    lock: str = ""
    hypothetical: bool = False


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


class AlterTable(Statement, frozen=True):
    table: TableName
    specs: tuple[Spec, ...]
    """The specs between commas. Consecutive table options without commas are one SetOptions."""

    ignore: bool = False


# -- views and sequences -----------------------------------------------------------------------------------------


class CreateView(Statement, frozen=True):
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


class DropView(Statement, frozen=True):
    views: tuple[TableName, ...]
    if_exists: bool = False


class SequenceOption(Struct, frozen=True):
    name: str
    """`INCREMENT BY`, `START WITH`, `MINVALUE`, `MAXVALUE`, `CACHE`, `CYCLE`, `NO MINVALUE`, …, `RESTART`."""

    value: int | None = None


class CreateSequence(Statement, frozen=True):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    table_options: tuple[TableOption, ...] = ()
    if_not_exists: bool = False


class AlterSequence(Statement, frozen=True):
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    if_exists: bool = False


class DropSequence(Statement, frozen=True):
    sequences: tuple[TableName, ...]
    if_exists: bool = False


# -- cluster objects ---------------------------------------------------------------------------------------------


class PlacementPolicy(Statement, frozen=True):
    """CREATE, ALTER or DROP PLACEMENT POLICY."""

    verb: str
    """CREATE, ALTER or DROP."""

    name: str
    options: tuple[TableOption, ...] = ()
    or_replace: bool = False
    exists: bool = False
    """Whether the statement has IF EXISTS, or IF NOT EXISTS after CREATE."""


class ResourceGroup(Statement, frozen=True):
    """CREATE, ALTER or DROP RESOURCE GROUP."""

    verb: str
    name: str
    exists: bool = False

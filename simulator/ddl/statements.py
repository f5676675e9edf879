"""Every DDL statement of TiDB as a frozen value, as its text says it.

One law: a statement knows its text's words and nothing of tables that exist. Names without a schema stay so. Source:
tidb pkg/parser/ast/ddl.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.schema.syntax import (
    ColumnSyntax, DefaultSyntax, Expression, KeyPart, KeySyntax, PartitionDefinition,
    PartitionSyntax, Query, TableName, TableOption, TableSyntax,
)


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
    """Empty where the statement means the current database."""

    options: tuple[TableOption, ...]
    """As of CREATE DATABASE, and `TIFLASH REPLICA`, `READ ONLY`."""


@dataclass(frozen=True)
class DropDatabase:
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class FlashbackDatabase:
    name: str
    new_name: str = ""


# -- tables ------------------------------------------------------------------------------------------------------


CreateTable = TableSyntax


@dataclass(frozen=True)
class DropTable:
    tables: tuple[TableName, ...]
    if_exists: bool = False
    temporary: str = ""
    """`local`, `global` or nothing."""

    behaviour: str = ""
    """RESTRICT, CASCADE or nothing."""


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
    definition: TableSyntax


@dataclass(frozen=True)
class LockTables:
    locks: tuple[tuple[TableName, str], ...]
    """Table and `READ`, `READ LOCAL`, `WRITE`, `WRITE LOCAL`."""


@dataclass(frozen=True)
class UnlockTables:
    tables: tuple[TableName, ...] = ()
    """Of ADMIN CLEANUP TABLE LOCK; empty for UNLOCK TABLES."""


@dataclass(frozen=True)
class CreateIndex:
    table: TableName
    key: KeySyntax
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


# -- views and sequences -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateView:
    view: TableName
    query: Query
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: str = "CURRENT_USER"
    """As TiDB restores it: CURRENT_USER or `user`@`host`."""

    security: str = "DEFINER"
    check_option: str = "CASCADED"
    """CASCADED or LOCAL."""


@dataclass(frozen=True)
class DropView:
    views: tuple[TableName, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class SequenceOption:
    name: str
    """`INCREMENT BY`, `START WITH`, `MINVALUE`, `MAXVALUE`, `CACHE`, `CYCLE`, `NO MINVALUE`, …, `RESTART`."""

    value: int | None = None


@dataclass(frozen=True)
class CreateSequence:
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    table_options: tuple[TableOption, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterSequence:
    sequence: TableName
    options: tuple[SequenceOption, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True)
class DropSequence:
    sequences: tuple[TableName, ...]
    if_exists: bool = False


# -- cluster objects ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacementPolicy:
    """CREATE, ALTER and DROP PLACEMENT POLICY."""

    verb: str
    """CREATE, ALTER or DROP."""

    name: str
    options: tuple[TableOption, ...] = ()
    or_replace: bool = False
    exists: bool = False
    """IF EXISTS, or IF NOT EXISTS of CREATE."""


@dataclass(frozen=True)
class ResourceGroup:
    """CREATE, ALTER and DROP RESOURCE GROUP."""

    verb: str
    name: str
    options: tuple[tuple[str, str], ...] = ()
    """Name and restored value."""

    exists: bool = False


# -- ALTER TABLE -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a column goes: FIRST (`after` empty) or AFTER a column."""

    after: str = ""
    qualifier: str = ""
    """What stands before that column's name, as in ColumnSyntax."""


@dataclass(frozen=True)
class AddColumns:
    columns: tuple[ColumnSyntax, ...]
    place: Place | None = None
    keys: tuple[KeySyntax, ...] = ()
    """Constraints inside the parentheses."""

    parenthesised: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumn:
    name: str
    if_exists: bool = False
    at: int = 0
    qualifier: str = ""


@dataclass(frozen=True)
class ModifyColumn:
    column: ColumnSyntax
    place: Place | None = None
    if_exists: bool = False


@dataclass(frozen=True)
class ChangeColumn:
    old: str
    column: ColumnSyntax
    place: Place | None = None
    if_exists: bool = False
    qualifier: str = ""
    """Of the old name."""


@dataclass(frozen=True)
class RenameColumn:
    old: str
    new: str


@dataclass(frozen=True)
class AlterDefault:
    """ALTER [COLUMN] c SET DEFAULT x | DROP DEFAULT (`default` None)."""

    column: str
    default: DefaultSyntax | None
    qualifier: str = ""


@dataclass(frozen=True)
class AddKey:
    """ADD INDEX, UNIQUE, PRIMARY KEY, FOREIGN KEY, FULLTEXT, VECTOR, COLUMNAR, CHECK."""

    key: KeySyntax


@dataclass(frozen=True)
class DropKey:
    kind: str
    """`primary`, `index`, `foreign` or `check`."""

    name: str = ""
    if_exists: bool = False


@dataclass(frozen=True)
class RenameIndex:
    old: str
    new: str


@dataclass(frozen=True)
class IndexVisibility:
    name: str
    visible: bool


@dataclass(frozen=True)
class AlterCheck:
    name: str
    enforced: bool


@dataclass(frozen=True)
class SetOptions:
    """Table options, one or several in a row without commas."""

    options: tuple[TableOption, ...]


@dataclass(frozen=True)
class ConvertCharset:
    """CONVERT TO CHARACTER SET x [COLLATE y]; `charset` empty for DEFAULT."""

    charset: str
    collation: str = ""


@dataclass(frozen=True)
class RenameTo:
    table: TableName


@dataclass(frozen=True)
class AddPartitions:
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    no_write_to_binlog: bool = False
    at: int = 0


@dataclass(frozen=True)
class LastPartition:
    """The specs of INTERVAL partitioning: `verb` is LAST, FIRST, MERGE FIRST or SPLIT MAXVALUE … LESS THAN (bound)."""

    verb: str
    bound: Expression
    no_write_to_binlog: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class PartitionAction:
    """A verb on partitions by name: DROP, TRUNCATE, CHECK, REBUILD, OPTIMIZE, REPAIR, IMPORT, DISCARD."""

    verb: str
    names: tuple[str, ...]
    """Empty for ALL."""

    if_exists: bool = False
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class CoalescePartition:
    count: int
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class ReorganizePartition:
    names: tuple[str, ...]
    """Empty for a REORGANIZE PARTITION of all."""

    definitions: tuple[PartitionDefinition, ...] = ()
    no_write_to_binlog: bool = False
    at: int = 0


@dataclass(frozen=True)
class ExchangePartition:
    partition: str
    table: TableName
    validation: bool = True


@dataclass(frozen=True)
class PartitionBy:
    partitioning: PartitionSyntax


@dataclass(frozen=True)
class RemovePartitioning:
    pass


@dataclass(frozen=True)
class PartitionOptions:
    """PARTITION p [PLACEMENT POLICY x | ATTRIBUTES …]."""

    partition: str
    options: tuple[TableOption, ...]
    """`PLACEMENT POLICY` or `ATTRIBUTES`."""


@dataclass(frozen=True)
class Attributes:
    """ATTRIBUTES of the table; `value` None for DEFAULT."""

    value: str | None


@dataclass(frozen=True)
class Cache:
    on: bool


@dataclass(frozen=True)
class RemoveTtl:
    pass


@dataclass(frozen=True)
class TiflashReplica:
    count: int
    labels: tuple[str, ...] = ()
    hypothetical: bool = False


@dataclass(frozen=True)
class OrderBy:
    parts: tuple[KeyPart, ...]
    """`restored` holds a qualified column's whole name."""


@dataclass(frozen=True)
class Clause:
    """A spec without anything to know but its words: FORCE, ALGORITHM, LOCK, STATS_OPTIONS, ADD and DROP STATS_EXTENDED
    (with a value), ENABLE KEYS, DISABLE KEYS, WITH VALIDATION, WITHOUT VALIDATION, SECONDARY_LOAD, SECONDARY_UNLOAD,
    IMPORT TABLESPACE, DISCARD TABLESPACE, READ ONLY, READ WRITE."""

    words: str
    """In upper case."""

    value: str = ""
    """As TiDB writes it back."""


Spec = (
    AddColumns | DropColumn | ModifyColumn | ChangeColumn | RenameColumn | AlterDefault | AddKey | DropKey | RenameIndex
    | IndexVisibility | AlterCheck | SetOptions | ConvertCharset | RenameTo | AddPartitions | LastPartition
    | PartitionAction | CoalescePartition | ReorganizePartition | ExchangePartition | PartitionBy | RemovePartitioning
    | PartitionOptions | Attributes | Cache | RemoveTtl | TiflashReplica | OrderBy | Clause
)


@dataclass(frozen=True)
class AlterTable:
    table: TableName
    specs: tuple[Spec, ...]
    """As commas separate them; table options that follow each other without a comma are one SetOptions."""

    ignore: bool = False


Statement = (
    CreateDatabase | AlterDatabase | DropDatabase | FlashbackDatabase | CreateTable | DropTable | TruncateTable
    | RenameTable | RecoverTable | FlashbackTable | FlashbackCluster | RepairTable | LockTables | UnlockTables
    | CreateIndex | DropIndex | CreateView | DropView | CreateSequence | AlterSequence | DropSequence | PlacementPolicy
    | ResourceGroup | AlterTable
)

"""Every spec of ALTER TABLE as a frozen value, as its text says it; those of partitions are in `specs_partitions`.

One law: a spec knows its text's words and nothing of the table. Source: tidb pkg/parser/ast/ddl.go AlterTableSpec.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.syntax.alter_partitions import (
    AddPartitions,
    CoalescePartition,
    ExchangePartition,
    LastPartition,
    PartitionAction,
    PartitionBy,
    PartitionOptions,
    RemovePartitioning,
    ReorganizePartition,
)
from simulator.tidb.syntax.definitions import ColumnSyntax, DefaultSyntax, KeyPart, KeySyntax, TableName
from simulator.tidb.syntax.tables import TableOption


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

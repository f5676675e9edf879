"""The specs of ALTER TABLE (tidb pkg/parser/ast/ddl.go, AlterTableSpec)."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.tidb.syntax.definitions import (
    ColumnDefault,
    ColumnDefinition,
    Expression,
    KeyDefinition,
    KeyPart,
    TableName,
)
from simulator.tidb.syntax.tables import PartitionClause, PartitionDefinition, TableOption


class Spec:
    """A spec of ALTER TABLE."""


# -- columns and keys ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnPosition:
    """The position of a column: AFTER a column, or FIRST (`after` empty)."""

    after: str = ""
    qualifier: str = ""
    """The qualifier of that column, as in ColumnDefinition."""


@dataclass(frozen=True)
class AddColumns(Spec):
    columns: tuple[ColumnDefinition, ...]
    place: ColumnPosition | None = None
    keys: tuple[KeyDefinition, ...] = ()
    """Constraints inside the parentheses."""

    parenthesised: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumn(Spec):
    name: str
    if_exists: bool = False
    qualifier: str = ""


@dataclass(frozen=True)
class ModifyColumn(Spec):
    column: ColumnDefinition
    place: ColumnPosition | None = None
    if_exists: bool = False


@dataclass(frozen=True)
class ChangeColumn(Spec):
    old: str
    column: ColumnDefinition
    place: ColumnPosition | None = None
    if_exists: bool = False
    qualifier: str = ""
    """The qualifier of the old name."""


@dataclass(frozen=True)
class RenameColumn(Spec):
    old: str
    new: str


@dataclass(frozen=True)
class AlterDefault(Spec):
    """ALTER [COLUMN] c SET DEFAULT x, or DROP DEFAULT (`default` None)."""

    column: str
    default: ColumnDefault | None
    qualifier: str = ""


@dataclass(frozen=True)
class AddKey(Spec):
    """ADD INDEX, UNIQUE, PRIMARY KEY, FOREIGN KEY, FULLTEXT, VECTOR, COLUMNAR, CHECK."""

    key: KeyDefinition


@dataclass(frozen=True)
class DropKey(Spec):
    kind: str
    """`primary`, `index`, `foreign` or `check`."""

    name: str = ""
    if_exists: bool = False


@dataclass(frozen=True)
class RenameIndex(Spec):
    old: str
    new: str


@dataclass(frozen=True)
class IndexVisibility(Spec):
    name: str
    visible: bool


@dataclass(frozen=True)
class AlterCheck(Spec):
    name: str
    enforced: bool


# -- partitions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AddPartitions(Spec):
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class IntervalPartitionSpec(Spec):
    """A spec of INTERVAL partitioning: `verb` PARTITION LESS THAN (bound).

    `verb` is LAST, FIRST, MERGE FIRST or SPLIT MAXVALUE.
    """

    verb: str
    bound: Expression
    no_write_to_binlog: bool = False
    if_exists: bool = False
    start: int = field(default=0, compare=False)
    """Where it begins in the statement."""

    end: int = field(default=0, compare=False)
    """Where what follows it begins."""


@dataclass(frozen=True)
class PartitionAction(Spec):
    """DROP, TRUNCATE, CHECK, REBUILD, OPTIMIZE, REPAIR, IMPORT or DISCARD of partitions."""

    verb: str
    names: tuple[str, ...]
    """Empty for ALL."""

    if_exists: bool = False
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class CoalescePartition(Spec):
    count: int
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class ReorganizePartition(Spec):
    names: tuple[str, ...]
    """Empty for all partitions."""

    definitions: tuple[PartitionDefinition, ...] = ()
    no_write_to_binlog: bool = False


@dataclass(frozen=True)
class ExchangePartition(Spec):
    partition: str
    table: TableName
    validation: bool = True


@dataclass(frozen=True)
class PartitionBy(Spec):
    partitioning: PartitionClause


@dataclass(frozen=True)
class RemovePartitioning(Spec):
    pass


@dataclass(frozen=True)
class PartitionOptions(Spec):
    """PARTITION p [PLACEMENT POLICY x | ATTRIBUTES …]."""

    partition: str
    options: tuple[TableOption, ...]
    """`PLACEMENT POLICY` or `ATTRIBUTES`."""


# -- everything else ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetOptions(Spec):
    """One or several consecutive table options without commas."""

    options: tuple[TableOption, ...]


@dataclass(frozen=True)
class ConvertCharset(Spec):
    """CONVERT TO CHARACTER SET x [COLLATE y], with an empty `charset` for DEFAULT."""

    charset: str
    collation: str = ""


@dataclass(frozen=True)
class RenameTo(Spec):
    table: TableName


@dataclass(frozen=True)
class Attributes(Spec):
    """ATTRIBUTES of the table, None for DEFAULT."""

    value: str | None


@dataclass(frozen=True)
class Cache(Spec):
    on: bool


@dataclass(frozen=True)
class RemoveTtl(Spec):
    pass


@dataclass(frozen=True)
class TiflashReplica(Spec):
    count: int
    labels: tuple[str, ...] = ()
    hypothetical: bool = False


@dataclass(frozen=True)
class OrderBy(Spec):
    parts: tuple[KeyPart, ...]
    """`restored` is the whole name of a qualified column."""


@dataclass(frozen=True)
class Clause(Spec):
    """A spec of plain words.

    FORCE, ALGORITHM, LOCK, STATS_OPTIONS, ADD and DROP STATS_EXTENDED (with a value), ENABLE KEYS, DISABLE KEYS, WITH
    VALIDATION, WITHOUT VALIDATION, SECONDARY_LOAD, SECONDARY_UNLOAD, IMPORT TABLESPACE, DISCARD TABLESPACE, READ ONLY,
    READ WRITE.
    """

    words: str
    """In upper case."""

    value: str = ""
    """As TiDB writes it back."""

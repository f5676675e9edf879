"""The specs of ALTER TABLE (tidb pkg/parser/ast/ddl.go, AlterTableSpec)."""

from __future__ import annotations

from msgspec import Struct

from simulator.tidb.syntax.definitions import (
    ColumnDefault,
    ColumnDefinition,
    Expression,
    KeyDefinition,
    KeyPart,
    PartitionClause,
    PartitionDefinition,
    TableOption,
)
from simulator.tidb.syntax.expressions import TableName


class Spec(Struct, frozen=True):
    """A spec of ALTER TABLE."""


# -- columns and keys ---------------------------------------------------------------------------------------------


class ColumnPosition(Struct, frozen=True):
    """The position of a column: AFTER a column, or FIRST (`after` empty)."""

    after: str = ""
    qualifier: str = ""
    """The qualifier of that column, as in ColumnDefinition."""


class AddColumns(Spec, frozen=True):
    columns: tuple[ColumnDefinition, ...]
    place: ColumnPosition | None = None
    keys: tuple[KeyDefinition, ...] = ()
    """Constraints inside the parentheses."""

    parenthesised: bool = False
    if_not_exists: bool = False


class DropColumn(Spec, frozen=True):
    name: str
    if_exists: bool = False
    qualifier: str = ""


class ModifyColumn(Spec, frozen=True):
    column: ColumnDefinition
    place: ColumnPosition | None = None
    if_exists: bool = False


class ChangeColumn(Spec, frozen=True):
    old: str
    column: ColumnDefinition
    place: ColumnPosition | None = None
    if_exists: bool = False
    qualifier: str = ""
    """The qualifier of the old name."""


class RenameColumn(Spec, frozen=True):
    old: str
    new: str


class AlterDefault(Spec, frozen=True):
    """ALTER [COLUMN] c SET DEFAULT x, or DROP DEFAULT (`default` None)."""

    column: str
    default: ColumnDefault | None
    qualifier: str = ""


class AddKey(Spec, frozen=True):
    """ADD INDEX, UNIQUE, PRIMARY KEY, FOREIGN KEY, FULLTEXT, VECTOR, COLUMNAR, CHECK."""

    key: KeyDefinition


class DropKey(Spec, frozen=True):
    kind: str
    """`primary`, `index`, `foreign` or `check`."""

    name: str = ""
    if_exists: bool = False


class RenameIndex(Spec, frozen=True):
    old: str
    new: str


class IndexVisibility(Spec, frozen=True):
    name: str
    visible: bool


class AlterCheck(Spec, frozen=True):
    name: str
    enforced: bool


# -- partitions ---------------------------------------------------------------------------------------------------


class AddPartitions(Spec, frozen=True):
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    no_write_to_binlog: bool = False


class IntervalPartitionSpec(Spec, frozen=True):
    """A spec of INTERVAL partitioning: `verb` PARTITION LESS THAN (bound).

    `verb` is LAST, FIRST, MERGE FIRST or SPLIT MAXVALUE.
    """

    verb: str
    bound: Expression
    no_write_to_binlog: bool = False
    if_exists: bool = False
    start: int = 0
    """Where it begins in the statement."""

    end: int = 0
    """Where what follows it begins."""


class PartitionAction(Spec, frozen=True):
    """DROP, TRUNCATE, CHECK, REBUILD, OPTIMIZE, REPAIR, IMPORT or DISCARD of partitions."""

    verb: str
    names: tuple[str, ...]
    """Empty for ALL."""

    if_exists: bool = False
    no_write_to_binlog: bool = False


class CoalescePartition(Spec, frozen=True):
    count: int
    no_write_to_binlog: bool = False


class ReorganizePartition(Spec, frozen=True):
    names: tuple[str, ...]
    """Empty for all partitions."""

    definitions: tuple[PartitionDefinition, ...] = ()
    no_write_to_binlog: bool = False


class ExchangePartition(Spec, frozen=True):
    partition: str
    table: TableName
    validation: bool = True


class PartitionBy(Spec, frozen=True):
    partitioning: PartitionClause


class RemovePartitioning(Spec, frozen=True):
    pass


class PartitionOptions(Spec, frozen=True):
    """PARTITION p [PLACEMENT POLICY x | ATTRIBUTES …]."""

    partition: str
    options: tuple[TableOption, ...]
    """`PLACEMENT POLICY` or `ATTRIBUTES`."""


# -- everything else ----------------------------------------------------------------------------------------------


class SetOptions(Spec, frozen=True):
    """One or several consecutive table options without commas."""

    options: tuple[TableOption, ...]


class ConvertCharset(Spec, frozen=True):
    """CONVERT TO CHARACTER SET x [COLLATE y], with an empty `charset` for DEFAULT."""

    charset: str
    collation: str = ""


class RenameTo(Spec, frozen=True):
    table: TableName


class Attributes(Spec, frozen=True):
    """ATTRIBUTES of the table, None for DEFAULT."""

    value: str | None


class Cache(Spec, frozen=True):
    on: bool


class RemoveTtl(Spec, frozen=True):
    pass


class TiflashReplica(Spec, frozen=True):
    count: int
    labels: tuple[str, ...] = ()
    hypothetical: bool = False


class OrderBy(Spec, frozen=True):
    parts: tuple[KeyPart, ...]
    """`restored` is the whole name of a qualified column."""


class Clause(Spec, frozen=True):
    """A spec of plain words.

    FORCE, ALGORITHM, LOCK, STATS_OPTIONS, ADD and DROP STATS_EXTENDED (with a value), ENABLE KEYS, DISABLE KEYS, WITH
    VALIDATION, WITHOUT VALIDATION, SECONDARY_LOAD, SECONDARY_UNLOAD, IMPORT TABLESPACE, DISCARD TABLESPACE, READ ONLY,
    READ WRITE.
    """

    words: str
    """In upper case."""

    value: str = ""
    """As TiDB writes it back."""

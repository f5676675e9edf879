"""What CREATE TABLE says beside its columns and keys: options, partitions, the whole statement.

One law: everything is kept as the text has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.tidb.syntax.definitions import ColumnDefinition, Expression, KeyDefinition, KeyOptions, TableName
from simulator.tidb.syntax.queries import QueryTree


@dataclass(frozen=True)
class TableOption:
    name: str
    """In upper case, as TiDB restores it: ENGINE, CHARSET, COLLATE, COMMENT, TTL, PLACEMENT POLICY, …"""

    value: str
    """The word or the literal without its quotes; of TTL the interval expression as TiDB restores it."""

    quoted: bool = False
    """Whether the value is a string literal."""

    default: bool = False
    """Whether DEFAULT or CHARACTER SET DEFAULT stood for the value."""

    force: bool = False
    """FORCE before AUTO_INCREMENT and AUTO_RANDOM_BASE."""


@dataclass(frozen=True)
class PartitionDefinition:
    name: str
    values: tuple[tuple[str, ...], ...] = ()
    """SQL text, as `simulator.tidb.model.table.Partition` has it."""

    kind: str = ""
    """`less than`, `in`, `default`, `history`, `current` or nothing."""

    restored: str = ""
    """The values as TiDB writes them back: `(10)`, `(MAXVALUE)`, `((1, 2), (3, 4))`, …"""

    options: tuple[TableOption, ...] = ()
    subpartitions: tuple[PartitionDefinition, ...] = ()


@dataclass(frozen=True)
class PartitionInterval:
    """RANGE … INTERVAL (…) [FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…) …]."""

    every: Expression
    unit: str = ""
    first: Expression | None = None
    last: Expression | None = None
    null_partition: bool = False
    maxvalue_partition: bool = False
    at: int = 0
    length: int = field(default=0, compare=False)
    """How much of the statement it takes from there on."""


@dataclass(frozen=True)
class PartitionMethod:
    """How rows are spread: RANGE, LIST, HASH, KEY, SYSTEM_TIME."""

    kind: str
    expression: str = ""
    """SQL text of RANGE, LIST and HASH over an expression, and of SYSTEM_TIME INTERVAL."""

    restored: str = ""
    """The expression or the list of columns as TiDB writes it back."""

    columns: tuple[str, ...] = ()
    unit: str = ""
    """The unit of time of SYSTEM_TIME INTERVAL."""

    limit: int = 0
    """Of SYSTEM_TIME LIMIT."""

    linear: bool = False
    algorithm: int | None = None
    count: int = 0
    """PARTITIONS or SUBPARTITIONS n, 0 where it is not said."""


@dataclass(frozen=True)
class PartitionClause:
    method: PartitionMethod
    definitions: tuple[PartitionDefinition, ...] = ()
    at: int = 0
    subpartition: PartitionMethod | None = None
    interval: PartitionInterval | None = None
    update_indexes: tuple[tuple[str, KeyOptions], ...] = ()

    @property
    def kind(self) -> str:
        return self.method.kind

    @property
    def expression(self) -> str:
        return self.method.expression

    @property
    def columns(self) -> tuple[str, ...]:
        return self.method.columns

    @property
    def count(self) -> int:
        return self.method.count

    @property
    def partitions(self) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
        """Name and values of each."""
        return tuple((partition.name, partition.values) for partition in self.definitions)


@dataclass(frozen=True)
class EmbeddedQuery:
    """A SELECT inside another statement."""

    text: str
    restored: str
    tree: QueryTree | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE."""

    schema: str
    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[KeyDefinition, ...]
    """Keys and constraints beside the columns, in the order written."""

    options: tuple[TableOption, ...]
    partitioning: PartitionClause | None = None
    at: int = 0
    temporary: str = ""
    """`local`, `global` or nothing."""

    if_not_exists: bool = False
    like: TableName | None = None
    query: EmbeddedQuery | None = None
    """CREATE TABLE … SELECT, which TiDB parses and refuses."""

    on_duplicate: str = ""
    """IGNORE, REPLACE or nothing, before the query."""

    source_at: int = 0
    """Where LIKE or what leads to the query stands."""

    on_commit_delete: bool | None = None

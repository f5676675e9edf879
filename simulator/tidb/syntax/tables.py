"""CREATE TABLE, its options and its partitions, as written."""

from __future__ import annotations

from msgspec import Struct

from simulator.tidb.syntax.definitions import (
    ColumnDefinition,
    Expression,
    KeyDefinition,
    KeyOptions,
    Statement,
    TableName,
)
from simulator.tidb.syntax.queries import QueryTree


class TableOption(Struct, frozen=True):
    name: str
    """In upper case, as TiDB writes it back: ENGINE, CHARSET, COLLATE, COMMENT, TTL, PLACEMENT POLICY, …"""

    value: str
    """The word, or the literal without its quotes. For TTL the interval expression as TiDB writes it back."""

    quoted: bool = False
    """Whether the value is a string literal."""

    default: bool = False
    """Whether the value is DEFAULT."""

    force: bool = False
    """Whether FORCE precedes AUTO_INCREMENT or AUTO_RANDOM_BASE."""


class PartitionDefinition(Struct, frozen=True):
    name: str
    values: tuple[tuple[str, ...], ...] = ()
    """SQL text, as in `simulator.tidb.model.table.Partition`."""

    kind: str = ""
    """`less than`, `in`, `default`, `history`, `current` or empty."""

    restored: str = ""
    """The values as TiDB writes them back: `(10)`, `(MAXVALUE)`, `((1, 2), (3, 4))`, …"""

    options: tuple[TableOption, ...] = ()
    subpartitions: tuple[PartitionDefinition, ...] = ()


class PartitionInterval(Struct, frozen=True):
    """RANGE … INTERVAL (…) [FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…) …]."""

    every: Expression
    unit: str = ""
    first: Expression | None = None
    last: Expression | None = None
    null_partition: bool = False
    maxvalue_partition: bool = False
    at: int = 0
    length: int = 0
    """The length of the clause in the text."""


class PartitionMethod(Struct, frozen=True):
    """The method of partitioning: RANGE, LIST, HASH, KEY, SYSTEM_TIME."""

    kind: str
    expression: str = ""
    """The SQL text of the expression of RANGE, LIST, HASH and SYSTEM_TIME INTERVAL."""

    restored: str = ""
    """The expression or the list of columns as TiDB writes it back."""

    columns: tuple[str, ...] = ()
    unit: str = ""
    """The unit of time of SYSTEM_TIME INTERVAL."""

    limit: int = 0
    """The number of SYSTEM_TIME LIMIT."""

    linear: bool = False
    algorithm: int | None = None
    count: int = 0
    """The number of PARTITIONS or SUBPARTITIONS, 0 if it is not written."""


class PartitionClause(Struct, frozen=True):
    method: PartitionMethod
    definitions: tuple[PartitionDefinition, ...] = ()
    at: int = 0
    subpartition: PartitionMethod | None = None
    interval: PartitionInterval | None = None
    update_indexes: tuple[tuple[str, KeyOptions], ...] = ()


class EmbeddedQuery(Struct, frozen=True):
    """A query inside another statement."""

    text: str
    restored: str
    tree: QueryTree | None = None


class CreateTable(Statement, frozen=True):
    """CREATE TABLE."""

    schema: str
    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[KeyDefinition, ...]
    """Keys and constraints that are not options of a column, in the order written."""

    options: tuple[TableOption, ...]
    partitioning: PartitionClause | None = None
    at: int = 0
    temporary: str = ""
    """`local`, `global` or empty."""

    if_not_exists: bool = False
    like: TableName | None = None
    query: EmbeddedQuery | None = None
    """The query of CREATE TABLE … SELECT, which TiDB parses and refuses."""

    on_duplicate: str = ""
    """IGNORE, REPLACE or empty, before the query."""

    source_at: int = 0
    """The offset of LIKE, or of the first word before the query."""

    on_commit_delete: bool | None = None

"""Tables as TiDB keeps them: plain frozen values, no parsing and no protocol.

One law: everything a codec, a dispatcher or a reader asks of a table follows from these fields alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.tidb.model.types import ColumnType, family

Name = tuple[str, str]
"""Schema and name of a table, as they were given."""


@dataclass(frozen=True)
class Column:
    name: str
    type: ColumnType
    not_null: bool = False
    default: str | None = None
    """The default as TiDB text; None where there is none or it is NULL."""

    default_expression: bool = False
    """Whether `default` is an expression (CURRENT_TIMESTAMP, a function), not a value."""

    default_dropped: bool = field(default=False, compare=False)
    """Whether ALTER COLUMN … DROP DEFAULT took the default: a row has to give the column a value, be it NULL (TiDB:
    mysql.NoDefaultValueFlag)."""

    on_update: str = ""
    """The expression of ON UPDATE (CURRENT_TIMESTAMP), or nothing."""

    generated: str = ""
    """`virtual`, `stored`, or nothing."""

    generated_expression: str = ""
    auto_increment: bool = False
    auto_random: bool = False
    comment: str = ""
    shard_bits: int = 0
    """Of AUTO_RANDOM; 0 elsewhere."""

    id: int = field(default=0, compare=False)
    """Counted from 1 in the order TiDB makes them; never given twice in a table."""

    origin_default: str | None = field(default=None, compare=False)
    """What rows older than the column hold in it, as TiDB text; None for NULL, and where there are no such rows."""


@dataclass(frozen=True)
class IndexColumn:
    name: str
    """As the column is spelled; of a functional index the name of TiDB's hidden column, which `Table.columns` lacks."""

    length: int = -1
    """Prefix length in characters, -1 for the whole column."""

    expression: str = ""
    """SQL text of a part of a functional index."""


@dataclass(frozen=True)
class Index:
    id: int
    """Counted from 1 in the order TiDB creates them; a clustered integer primary key has none and is not listed."""

    name: str
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    primary: bool = False
    visible: bool = True
    comment: str = ""
    unpartitioned: bool = False
    """Whether it is one index over all partitions: GLOBAL."""

    unmarked: bool = field(default=False, compare=False)
    """Whether TiDB has made it for a foreign key of CREATE TABLE: it marks no column of it as part of a key."""


@dataclass(frozen=True)
class ForeignKey:
    id: int
    """Counted from 1 in the order TiDB makes them."""

    name: str
    columns: tuple[str, ...]
    schema: str
    """Of the table it refers to."""

    table: str
    references: tuple[str, ...]
    """Columns of the table it refers to."""

    on_delete: str = ""
    """CASCADE, SET NULL, …, or nothing."""

    on_update: str = ""


@dataclass(frozen=True)
class CheckConstraint:
    name: str
    expression: str
    """SQL text."""

    enforced: bool = True


@dataclass(frozen=True)
class TimeToLive:
    column: str
    interval: str
    """SQL text behind INTERVAL: `3 MONTH`."""

    enabled: bool = True
    job_interval: str = ""
    """Of TTL_JOB_INTERVAL; empty for TiDB's default."""


@dataclass(frozen=True)
class Partition:
    name: str
    values: tuple[tuple[str, ...], ...] = ()
    """RANGE: one tuple of upper bounds (`MAXVALUE` spelled so); LIST: one tuple per list member (`NULL` and
    `DEFAULT` spelled so); HASH, KEY: none."""


@dataclass(frozen=True)
class Partitioning:
    kind: str
    """`range`, `list`, `hash` or `key`."""

    expression: str
    """SQL text of the partitioning expression; empty where `columns` says all (RANGE COLUMNS, LIST COLUMNS, KEY)."""

    columns: tuple[str, ...]
    partitions: tuple[Partition, ...]


@dataclass(frozen=True)
class LastIds:
    """The highest id that a table has ever given: its next column or key gets the one after it."""

    column: int = 0
    index: int = 0
    foreign_key: int = 0


@dataclass(frozen=True)
class Table:
    schema: str
    name: str
    columns: tuple[Column, ...]
    """All columns in table order, virtual generated ones included."""

    indexes: tuple[Index, ...] = ()
    primary_key: tuple[str, ...] = ()
    """Column names of the primary key, in key order; empty without one."""

    clustered: bool = False
    """Whether rows are stored under the primary key (`/*T![clustered_index] CLUSTERED */`, TiDB's default)."""

    partitioning: Partitioning | None = None
    charset: str = "utf8mb4"
    collation: str = "utf8mb4_bin"
    comment: str = ""
    statement: str = ""
    """The CREATE TABLE text as it was read; of a table that a statement has changed, the text before it."""

    foreign_keys: tuple[ForeignKey, ...] = ()
    ttl: TimeToLive | None = None
    columnar_indexes: tuple[Index, ...] = ()
    """Vector and columnar indexes: they take ids and names, and change no flag and no row."""

    temporary: str = ""
    """`local`, `global` or nothing."""

    cached: bool = False
    options: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """AUTO_INCREMENT, AUTO_ID_CACHE, AUTO_RANDOM_BASE, SHARD_ROW_ID_BITS, PRE_SPLIT_REGIONS and their values, in this
    order, as far as they were said: they change no row."""

    checks: tuple[CheckConstraint, ...] = field(default=(), compare=False)
    """Those of the statement; TiDB forgets them where tidb_enable_check_constraint is off."""

    last_ids: LastIds = field(default=LastIds(), compare=False)


def visible_columns(table: Table) -> tuple[Column, ...]:
    """The columns that rows on the wire have, in table order: all but the virtual generated ones."""
    return tuple(column for column in table.columns if column.generated != "virtual")


def row_id_column(table: Table) -> str | None:
    """The clustered primary key of one integer column, whose value is the row id; None for every other table."""
    if not table.clustered or len(table.primary_key) != 1:
        return None
    name = table.primary_key[0]
    return name if any(column.name == name and family(column.type) == "integer" for column in table.columns) else None


def common_handle(table: Table) -> bool:
    """Whether rows are stored under a primary key that is not one integer: they have no row id."""
    return table.clustered and row_id_column(table) is None

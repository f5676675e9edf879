"""Tables as TiDB stores them, as frozen values, with their unique keys and what is computed once of a definition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from simulator.tidb.model.types import ColumnType, family

Name = tuple[str, str]
"""Schema and name of a table, as written."""

Cells = list[bytes | None]
"""The TiDB text of each visible column of a row, None for NULL."""

ROW_ID = "_tidb_rowid"
"""The name of the handle of rows without a clustered key, which no column can have."""

ORIGIN_TS, SOFT_DELETE_TIME = INTERNAL_COLUMNS = ("_tidb_origin_ts", "_tidb_softdelete_time")
"""Columns that TiDB adds to tables with ACTIVE_ACTIVE and with SOFTDELETE: the commit-ts in the cluster that a row comes
from, and the time of its soft delete."""


@dataclass(frozen=True)
class Column:
    name: str
    type: ColumnType
    not_null: bool = False
    default: str | None = None
    """The default as TiDB text. None for NULL or no default."""

    default_expression: bool = False
    """Whether `default` is an expression (CURRENT_TIMESTAMP, a function), not a value."""

    default_dropped: bool = field(default=False, compare=False)
    """Whether ALTER COLUMN … DROP DEFAULT removed the default, so that a row must have a value for the column, maybe NULL
    (TiDB: mysql.NoDefaultValueFlag)."""

    on_update: str = ""
    """The expression of ON UPDATE (CURRENT_TIMESTAMP), or empty."""

    generated: str = ""
    """`virtual`, `stored`, or empty."""

    generated_expression: str = ""
    auto_increment: bool = False
    auto_random: bool = False
    comment: str = ""
    shard_bits: int = 0
    """The shard bits of AUTO_RANDOM, else 0."""

    range_bits: int = 64
    """The bits of an AUTO_RANDOM id."""

    id: int = field(default=0, compare=False)
    """Counted from 1 in the order of creation. A table never reuses an id."""

    origin_default: str | None = field(default=None, compare=False)
    """The value, as TiDB text, of rows that are older than the column. None for NULL, and if there are no such rows."""


@dataclass(frozen=True)
class IndexColumn:
    name: str
    """The column's name. In a functional index the name of TiDB's hidden column, which is not in `Table.columns`."""

    length: int = -1
    """Prefix length in characters, -1 for the whole column."""

    expression: str = ""
    """The SQL text of a part of a functional index."""


@dataclass(frozen=True)
class Index:
    id: int
    """Counted from 1 in the order of creation. A clustered integer primary key has no id and is not listed."""

    name: str
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    primary: bool = False
    visible: bool = True
    comment: str = ""
    unpartitioned: bool = False
    """Whether the index is GLOBAL: one index over all partitions."""

    unmarked: bool = field(default=False, compare=False)
    """Whether TiDB created the index for a foreign key of CREATE TABLE. It sets no key flags on the columns."""


@dataclass(frozen=True)
class ForeignKey:
    id: int
    """Counted from 1 in the order of creation."""

    name: str
    columns: tuple[str, ...]
    schema: str
    """The schema of the referenced table."""

    table: str
    references: tuple[str, ...]
    """The referenced columns."""

    on_delete: str = ""
    """CASCADE, SET NULL, …, or empty."""

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
    """The SQL text after INTERVAL: `3 MONTH`."""

    enabled: bool = True
    job_interval: str = ""
    """The value of TTL_JOB_INTERVAL. Empty for TiDB's default."""


@dataclass(frozen=True)
class SoftDelete:
    """The settings of SOFTDELETE, of a table or of new tables of a database."""

    retention: str
    """The SQL text after RETENTION: `7 DAY`."""

    job_enabled: bool = True
    job_interval: str = "24h"
    active_active: bool = False
    """Whether ACTIVE_ACTIVE is on, which needs SOFTDELETE."""


@dataclass(frozen=True)
class Partition:
    name: str
    values: tuple[tuple[str, ...], ...] = ()
    """RANGE: one tuple of upper bounds, maybe `MAXVALUE`. LIST: one tuple per list member, maybe `NULL` or `DEFAULT`.
    HASH, KEY: empty."""

    comment: str = field(default="", compare=False)


@dataclass(frozen=True)
class Partitioning:
    kind: str
    """`range`, `list`, `hash` or `key`."""

    expression: str
    """The SQL text of the partitioning expression. Empty for RANGE COLUMNS, LIST COLUMNS and KEY."""

    columns: tuple[str, ...]
    partitions: tuple[Partition, ...]
    implied: bool = field(default=False, compare=False)
    """Whether the columns are those of the primary key because KEY () names none."""


@dataclass(frozen=True)
class LastIds:
    """The highest ids that a table has ever used."""

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
    """The column names of the primary key, in key order."""

    clustered: bool = False
    """Whether rows are stored by primary key (`/*T![clustered_index] CLUSTERED */`, TiDB's default)."""

    partitioning: Partitioning | None = None
    charset: str = "utf8mb4"
    collation: str = "utf8mb4_bin"
    comment: str = ""
    statement: str = ""
    """The text of CREATE TABLE. After ALTER TABLE, the text before it."""

    foreign_keys: tuple[ForeignKey, ...] = ()
    ttl: TimeToLive | None = None
    soft_delete: SoftDelete | None = None
    columnar_indexes: tuple[Index, ...] = ()
    """Vector and columnar indexes. They have ids and names, and affect no flag and no row."""

    temporary: str = ""
    """`local`, `global` or empty."""

    cached: bool = False
    options: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """The values of AUTO_INCREMENT, AUTO_ID_CACHE, AUTO_RANDOM_BASE, SHARD_ROW_ID_BITS, PRE_SPLIT_REGIONS and COMPRESSION,
    in this order, if they were set. They affect no row."""

    checks: tuple[CheckConstraint, ...] = field(default=(), compare=False)
    """The checks of the statement. TiDB ignores them while tidb_enable_check_constraint is off."""

    last_ids: LastIds = field(default=LastIds(), compare=False)

    @cached_property
    def _visible(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.generated != "virtual")


def visible_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns of rows on the wire, in table order: all but the virtual generated ones."""
    return table._visible


def shown_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns that `*`, SHOW and an INSERT without names mean: all but TiDB's own."""
    if table.soft_delete is None:
        return table.columns
    return tuple(column for column in table.columns if column.name not in INTERNAL_COLUMNS)


def names_untold_columns(text: str, table: Table) -> bool:
    """Return whether a JSON text names columns of TiDB's own that the table lacks, as those of a table with SOFTDELETE of
    which a CREATE TABLE of TiCDC does not tell."""
    known = {column.name for column in table.columns}
    return any(f'"{name}"' in text for name in INTERNAL_COLUMNS if name not in known)


def row_id_column(table: Table) -> str | None:
    """Return the integer column that is the clustered primary key, and whose value is the row id, or None."""
    if not table.clustered or len(table.primary_key) != 1:
        return None
    name = table.primary_key[0]
    return name if any(column.name == name and family(column.type) == "integer" for column in table.columns) else None


def has_common_handle(table: Table) -> bool:
    """Whether rows are stored by a primary key that is not one integer. Such rows have no row id."""
    return table.clustered and row_id_column(table) is None


CACHED_TABLES = 1024
"""The number of tables whose computed properties are cached."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class UniqueKey:
    name: str
    """The key's name in errors: `PRIMARY`, or the name of the index."""

    columns: tuple[IndexColumn, ...]
    clustered: bool = False
    """Whether it is the handle."""


def cached_by_table(compute: Callable[[Table], Result]) -> Callable[[Table], Result]:
    """Cache a function of a table by the table's identity. Tables are immutable, and hashing one is slow."""
    cache: dict[int, tuple[Table, Result]] = {}

    @functools.wraps(compute)
    def cached(table: Table) -> Result:
        entry = cache.get(id(table))
        if entry is None or entry[0] is not table:
            if len(cache) >= CACHED_TABLES:
                cache.clear()
            entry = cache[id(table)] = table, compute(table)
        return entry[1]

    return cached


@cached_by_table
def places_of(table: Table) -> dict[str, int]:
    """Return the places of the visible columns in rows, by name."""
    return {column.name: number for number, column in enumerate(visible_columns(table))}


@cached_by_table
def mark_place(table: Table) -> int | None:
    """Return the place, in rows, of the time at which a row was marked as deleted; None without SOFTDELETE."""
    if table.soft_delete is None:
        return None
    return [column.name for column in visible_columns(table)].index(SOFT_DELETE_TIME)


@cached_by_table
def unique_keys(table: Table) -> tuple[UniqueKey, ...]:
    """Return the unique keys in the order in which TiDB looks for duplicates: the handle, then unique indexes in their
    order (tidb pkg/executor/batch_checker.go, getKeysNeedCheckOneRow). Those of arrays have `array_keys`."""
    keys = []
    if table.clustered:
        primary = next((index for index in table.indexes if index.primary), None)
        columns = primary.columns if primary else tuple(IndexColumn(name) for name in table.primary_key)
        keys.append(UniqueKey("PRIMARY", columns, clustered=True))
    for index in table.indexes:
        if index.unique and not (index.primary and table.clustered) and not any(map(is_array, index.columns)):
            keys.append(UniqueKey("PRIMARY" if index.primary else index.name, index.columns))
    return tuple(keys)


def is_array(part: IndexColumn) -> bool:
    """Return whether a part of an index is `CAST(… AS … ARRAY)`."""
    return part.expression.rstrip(" )").upper().endswith(" ARRAY")


@cached_by_table
def columns_by_name(table: Table) -> Mapping[str, Column]:
    """Return the columns by their names in lower case."""
    return {column.name.lower(): column for column in table.columns}

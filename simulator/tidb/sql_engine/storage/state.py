"""A TiDB between two statements: what exists, every table's rows, the session and its open transaction.

One law: none of it ever changes; a statement gives another one, so that a rollback is the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from simulator.releases import Release
from simulator.tidb.ddl.catalog import Catalog, Key
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.allocators import Counters

DEFAULT_SQL_MODE = (
    "ONLY_FULL_GROUP_BY",
    "STRICT_TRANS_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_AUTO_CREATE_USER",
    "NO_ENGINE_SUBSTITUTION",
)
"""TiDB's default sql_mode (tidb pkg/parser/mysql/const.go, DefaultSQLMode)."""

ROW_ID = "_tidb_rowid"
"""What statements call the number of a row of a table without a clustered key."""


@dataclass(frozen=True)
class RowKeys:
    """The keys of the rows of a table: made once, then carried on by what is written (`stored.keyed`)."""

    table: Table
    cells: pa.Table
    """What they were made of: they hold for these two objects alone."""

    handles: pa.Array
    """binary, ascending: `unique.handles`, by which the rows lie sorted."""

    unique: Mapping[str, pa.Array]
    """Bytes of each other unique key by its name in lower case, null where a column of it is NULL."""


@dataclass(frozen=True)
class StoredRows:
    """The rows of one table, in the order in which TiKV keeps them only where somebody sorted them."""

    table: Table
    cells: pa.Table
    """TiDB text (binary, one chunk or many) of each visible column, by its name."""

    row_ids: pa.Array
    """int64: `_tidb_rowid`, or the integer of a clustered key as signed bits; null for a common handle."""

    counters: Counters = Counters()
    """What was given, whatever becomes of the rows."""

    keys: RowKeys | None = field(default=None, compare=False, repr=False)
    """None where no statement has needed them yet."""


@dataclass(frozen=True)
class PreparedStatement:
    text: str
    parameters: int
    """How many `?` it has."""

    sql_mode: frozenset[str]
    """In which PREPARE read it."""


@dataclass(frozen=True)
class SqlSession:
    """What SET and USE say."""

    database: str = ""
    sql_mode: frozenset[str] = frozenset(DEFAULT_SQL_MODE)
    time_zone: str = "UTC"
    """As Python's zoneinfo knows it, or `+08:00`; TIMESTAMP cells are UTC whatever it is."""

    timestamp: float | None = None
    """SET TIMESTAMP: seconds since 1970; None for simulated time."""

    autocommit: bool = True
    foreign_key_checks: bool = True
    check_constraints: bool = False
    """tidb_enable_check_constraint, which is global."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """System variables that were set and that no row feels, by name in lower case."""

    variables: Mapping[str, bytes | None] = field(default_factory=dict)
    """User variables (@a) by name in lower case, as TiDB text."""

    variable_kinds: Mapping[str, str] = field(default_factory=dict)
    """What each user variable holds, as `Literal` has its kinds."""

    prepared: Mapping[str, PreparedStatement] = field(default_factory=dict)
    """By the name that PREPARE gave them."""

    last_insert_id: int = 0


@dataclass(frozen=True)
class RowWrites:
    """The writes of one statement to one table: what each key was before and is after it."""

    place: Key
    table: Table
    partition: pa.Array
    """int32 ordinal; 0 for a table without partitions."""

    key: pa.Array
    """binary: the row's key in TiKV without its table: sorts as TiKV does."""

    row_id: pa.Array
    before: pa.Array
    """binary row images; null where the row was not there."""

    after: pa.Array


@dataclass(frozen=True)
class OpenTransaction:
    rows: Mapping[Key, StoredRows]
    """Those of all tables when it began."""

    writes: tuple[RowWrites, ...] = ()
    """Of its statements, in order."""

    savepoints: tuple[tuple[str, Mapping[Key, StoredRows], int], ...] = ()
    """Name, the rows then, how many `writes` there were."""

    explicit: bool = True
    """Whether BEGIN opened it; with autocommit = 0 a statement does."""


@dataclass(frozen=True)
class Upstream:
    release: Release
    catalog: Catalog = Catalog()
    rows: Mapping[Key, StoredRows] = field(default_factory=dict)
    """As the open transaction sees them; a table that is not here has no rows."""

    session: SqlSession = SqlSession()
    transaction: OpenTransaction | None = None
    seed: int = 0
    """Of AUTO_RANDOM, RAND() and UUID()."""

    dropped: Mapping[Key, StoredRows] = field(default_factory=dict)
    """Of the last table of each name that was dropped or truncated: what RECOVER and FLASHBACK bring back."""

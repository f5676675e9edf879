"""The state of a TiDB between two statements (catalog, rows, session, open transaction), and the outcome of a statement.

All objects are immutable. A statement returns a new `Upstream`, so a rollback takes an earlier one. Its events are in
the order of their commits. An event has everything that a changefeed sees of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from simulator.errors import DdlError, SqlError
from simulator.releases import Release
from simulator.tidb.ddl.catalog import Catalog, Key
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.result_columns import ResultColumn
from simulator.tidb.sql_engine.storage.allocators import Counters
from simulator.tidb.sql_engine.storage.keyed_rows import RowKeys
from simulator.tidb.syntax.definitions import Statement

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


class StoredRows:
    """The rows of one table. They are in the order of TiKV once they have keys."""

    def __init__(
        self,
        table: Table,
        cells: pa.Table | None,
        row_ids: pa.Array | None,
        counters: Counters = Counters(),
        keys: RowKeys | None = None,
    ) -> None:
        """`cells` and `row_ids` are None if `keys` has them."""
        self.table, self._cells, self._row_ids, self.counters = table, cells, row_ids, counters
        self.keys = keys
        """None until a statement needs them."""

    @property
    def cells(self) -> pa.Table:
        """TiDB text (binary, one chunk or many) of each visible column, by its name; maybe LACKING."""
        return self._cells if self.keys is None else self.keys.cells

    @property
    def row_ids(self) -> pa.Array:
        """int64: `_tidb_rowid`, or the integer of a clustered key as signed bits; null for a common handle."""
        return self._row_ids if self.keys is None else self.keys.row_ids

    def with_counters(self, counters: Counters) -> StoredRows:
        """Return the same rows with other counters: the ids allocated so far. Deleted rows do not free their ids."""
        if counters is self.counters:
            return self
        return StoredRows(self.table, self._cells, self._row_ids, counters, self.keys)

    def has_rows_of(self, other: StoredRows | None) -> bool:
        """Return whether these are the rows of an earlier state, unchanged."""
        return other is not None and self.keys is other.keys and (self.keys is not None or self._cells is other._cells)

    def with_keys(self, keys: RowKeys) -> StoredRows:
        """Return other rows, which have keys, with the same counters."""
        return StoredRows(keys.table, None, None, self.counters, keys)


@dataclass(frozen=True)
class PreparedStatement:
    text: str
    parameters: int
    """The number of `?` in the text."""

    sql_mode: frozenset[str]
    """The sql_mode in which PREPARE parsed the text."""


@dataclass(frozen=True)
class LastStatement:
    """What a session remembers of its last statement, for SHOW WARNINGS, ROW_COUNT() and FOUND_ROWS()."""

    warnings: tuple[str, ...] = ()
    """As `StatementOutcome.warnings`."""

    error: SqlError | DdlError | None = None
    affected: int = 0
    """-1 behind a query."""

    found: int = 0
    """The rows of the last query."""


@dataclass(frozen=True)
class SqlSession:
    """The variables of a session, and its current database."""

    database: str = ""
    sql_mode: frozenset[str] = frozenset(DEFAULT_SQL_MODE)
    time_zone: str = "UTC"
    """A name of Python's zoneinfo, or an offset such as `+08:00`. Stored TIMESTAMP cells are always UTC."""

    timestamp: float | None = None
    """SET TIMESTAMP: seconds since 1970; None for simulated time."""

    autocommit: bool = True
    foreign_key_checks: bool = True
    check_constraints: bool = False
    """tidb_enable_check_constraint, a global variable."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """System variables without an effect on rows, as set, by name in lower case."""

    global_settings: Mapping[str, str] = field(default_factory=dict)
    """System variables that SET GLOBAL has set, of all sessions, by name in lower case."""

    variables: Mapping[str, bytes | None] = field(default_factory=dict)
    """User variables (@a) by name in lower case, as TiDB text."""

    variable_kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each user variable, named as the kinds of `Literal`."""

    prepared: Mapping[str, PreparedStatement] = field(default_factory=dict)
    """Prepared statements by name."""

    last_insert_id: int = 0
    last: LastStatement = field(default=LastStatement(), compare=False)
    connection_id: int = 1
    user: str = "root@%"
    """Name and host of the client, as USER() has them."""

    @property
    def account(self) -> str:
        """The account that the server took the client for, as CURRENT_USER() has it. It is of any host."""
        return f"{self.user.partition('@')[0]}@%"


@dataclass(frozen=True)
class TableChanges:
    """The rows of one table that a statement writes, or the net changes of a transaction, one for each key of TiKV. All
    arrays have equal length."""

    table: Table
    """Its definition at the statement or at the commit."""

    partition: pa.Array
    """int32 ordinal; 0 for a table without partitions. A row that changes its partition is deleted from one and
    inserted into the other."""

    handle: pa.Array
    """binary: the clustered key, else `_tidb_rowid`, in the sort order of TiKV's keys within a table."""

    row_id: pa.Array
    """int64, as `StoredRows.row_ids`."""

    before: pa.Array
    """binary row images; null for an INSERT. Equal to `after` for a row that was written without a change."""

    after: pa.Array
    """null for a DELETE."""

    lacking: pa.Array | None = None
    """binary: the ids of the columns that the bytes of the row before do not have, because it was last written before they
    were added, with commas between them; null for none. None if no row lacks a column."""

    gone: pa.Array | None = None
    """binary: the last image of rows that a transaction inserts and deletes, null for others. None if there are none."""

    are_rewritten: bool = False
    """Whether MODIFY COLUMN writes the rows as they are, so that they lack the same columns after it."""


@dataclass(frozen=True)
class OpenTransaction:
    rows: Mapping[Key, StoredRows]
    """The rows of all tables at the start of the transaction."""

    writes: tuple[TableChanges, ...] = ()
    """The writes of its statements, in order."""

    savepoints: tuple[tuple[str, Mapping[Key, StoredRows], int], ...] = ()
    """Name, rows at the savepoint, and the number of `writes` before it."""

    explicit: bool = True
    """True if BEGIN opened the transaction. With autocommit = 0 a statement opens it."""

    started_ms: int = field(default=0, compare=False)
    """The simulated time of the statement that opened it; 0 during that statement."""


class Process(NamedTuple):
    """A client, as SHOW PROCESSLIST shows it."""

    number: int
    user: str
    host: str
    database: str | None
    command: str
    seconds: int
    state: str
    statement: str | None


class FinishedJob(NamedTuple):
    """A DDL job that is done, for ADMIN SHOW DDL JOBS."""

    job: Job
    end_ms: int


@dataclass(frozen=True)
class Upstream:
    """The upstream TiDB: the source of the changefeed."""

    release: Release
    catalog: Catalog = Catalog()
    rows: Mapping[Key, StoredRows] = field(default_factory=dict)
    """Rows as the open transaction sees them. A table without an entry is empty."""

    session: SqlSession = SqlSession()
    transaction: OpenTransaction | None = None
    seed: int = 0
    """The seed of AUTO_RANDOM, RAND() and UUID()."""

    dropped: Mapping[Key, StoredRows] = field(default_factory=dict)
    """The rows of the last table of each name that was dropped or truncated. RECOVER and FLASHBACK restore them."""

    finished_jobs: tuple[FinishedJob, ...] = field(default=(), compare=False)
    """The newest DDL jobs, the last one last."""

    job_count: int = field(default=0, compare=False)

    processes: tuple[Process, ...] = field(default=(), compare=False)
    """The clients of a server; without one the session is the only one."""


@dataclass(frozen=True)
class CommittedTransaction:
    """A transaction with changes."""

    changes: tuple[TableChanges, ...]


@dataclass(frozen=True)
class CompletedDdl:
    """A DDL statement that ran jobs."""

    statement: Statement
    text: str
    database: str
    """The current database."""

    jobs: tuple[Job, ...]
    before: Catalog
    after: Catalog


@dataclass(frozen=True)
class ResultSet:
    columns: tuple[ResultColumn, ...]
    rows: pa.Table
    """TiDB text (binary) of each column, null for NULL; binary strings as they are. The names of its columns are not those
    of the result."""


@dataclass(frozen=True)
class StatementOutcome:
    """The outcome of a statement that TiDB executes."""

    upstream: Upstream
    events: tuple[CommittedTransaction | CompletedDdl, ...] = ()
    result: ResultSet | None = None
    affected: int = 0
    matched: int = 0
    """The rows that UPDATE found, changed or not, or that INSERT was given."""

    insert_id: int = 0
    """The first id that the statement generated, or else the last one that it inserted into an AUTO_INCREMENT column."""

    warnings: tuple[str, ...] = ()
    """As SHOW WARNINGS prints them: `1292 Incorrect datetime value: …`."""


@dataclass(frozen=True)
class FailedStatement:
    """A statement that TiDB refuses, and its side effects."""

    error: SqlError | DdlError
    """In TiDB's words."""

    upstream: Upstream
    """The state before the statement without the ids that it used up, and after DDL without an open transaction."""

    events: tuple[CommittedTransaction | CompletedDdl, ...] = ()
    """The transaction that DDL commits first, and the jobs before the failed one."""

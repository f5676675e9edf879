"""The outcome of a statement: the state after it, the events that it committed, the rows that it shows.

Events are in the order of their commits. An event has everything that a changefeed sees of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from simulator.errors import DdlError, SqlError
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.definitions import Statement


@dataclass(frozen=True)
class TableChanges:
    """The net changes of one table in one transaction, one for each written key. All arrays have equal length."""

    table: Table
    """Its definition at the commit."""

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
    names: tuple[str, ...]
    rows: pa.Table
    """TiDB text (binary) of each column, null for NULL; binary strings as they are."""

    binary: tuple[bool, ...]
    """Which columns hold binary strings."""


@dataclass(frozen=True)
class StatementOutcome:
    """The outcome of a statement that TiDB executes."""

    upstream: Upstream
    events: tuple[CommittedTransaction | CompletedDdl, ...] = ()
    result: ResultSet | None = None
    affected: int = 0
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

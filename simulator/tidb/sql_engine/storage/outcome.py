"""What a statement comes to: the state behind it, what it committed, the rows it shows.

One law: events come in the order in which they are committed; an event has all that a changefeed sees of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from simulator.errors import DdlError, SqlError
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.ddl import Statement


@dataclass(frozen=True)
class TableChanges:
    """The net changes of one table in one transaction, one for each key that was written; all arrays equally long."""

    table: Table
    """Its definition when they were committed."""

    partition: pa.Array
    """int32 ordinal; 0 for a table without partitions. A row that moves is deleted in one and inserted in another."""

    handle: pa.Array
    """binary: sorts as TiKV's keys do inside a table: the clustered key, else `_tidb_rowid`."""

    row_id: pa.Array
    """int64, as `StoredRows.row_ids`."""

    before: pa.Array
    """binary row images; null for an INSERT. Equal to `after` for a row that was written and is as it was."""

    after: pa.Array
    """null for a DELETE."""


@dataclass(frozen=True)
class CommittedTransaction:
    """A transaction with changes."""

    changes: tuple[TableChanges, ...]


@dataclass(frozen=True)
class CompletedDdl:
    """A statement of DDL that made jobs."""

    statement: Statement
    text: str
    database: str
    """The current one."""

    jobs: tuple[Job, ...]
    before: Catalog
    after: Catalog


@dataclass(frozen=True)
class ResultSet:
    names: tuple[str, ...]
    rows: pa.Table
    """TiDB text (binary) of each column, null for NULL; binary strings as they are."""

    binary: tuple[bool, ...]
    """Which columns hold bytes that are no text."""


@dataclass(frozen=True)
class StatementOutcome:
    upstream: Upstream
    events: tuple[CommittedTransaction | CompletedDdl, ...] = ()
    result: ResultSet | None = None
    affected: int = 0
    warnings: tuple[str, ...] = ()
    """`1292 Incorrect datetime value: …`, as SHOW WARNINGS says them."""


@dataclass(frozen=True)
class FailedStatement:
    """A statement that TiDB refuses, and what it leaves behind nevertheless."""

    error: SqlError | DdlError
    """In TiDB's words."""

    upstream: Upstream
    """As it was before, but without the ids that the statement used up, and for DDL without an open transaction."""

    events: tuple[CommittedTransaction | CompletedDdl, ...] = ()
    """The transaction that DDL commits before it is looked at, and jobs before the one that stops it."""

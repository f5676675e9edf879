"""What a statement does: its result, and the events that a changefeed sees of it.

Events are in the order of their commits. An event has everything that a changefeed sees of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

import pyarrow as pa

from simulator.errors import DdlError, SqlError
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job
from simulator.tidb.engine.sessions.result_columns import ResultColumn
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.definitions import Statement


@dataclass(frozen=True)
class TableChanges:
    """The net changes of a transaction in one table, one for each key of TiKV. All arrays have equal length."""

    table: Table
    """Its definition at the commit."""

    partition: pa.Array
    """int32 ordinal; 0 for a table without partitions. A row that changes its partition is deleted from one and
    inserted into the other."""

    handle: pa.Array
    """binary: the clustered key, else `_tidb_rowid`, in the sort order of TiKV's keys within a table."""

    row_id: pa.Array
    """int64: `_tidb_rowid`, or the integer of a clustered key as signed bits; null for a common handle."""

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


Event: TypeAlias = Union[CommittedTransaction, CompletedDdl]


@dataclass(frozen=True)
class ResultSet:
    columns: tuple[ResultColumn, ...]
    rows: list[tuple[bytes | None, ...]]
    """What a client is sent of each value: its text, or the bytes of a binary string; None for NULL."""


@dataclass(frozen=True)
class StatementOutcome:
    """The outcome of a statement that TiDB executes."""

    events: tuple[Event, ...] = ()
    result: ResultSet | None = None
    affected: int = 0
    matched: int = 0
    """The rows that UPDATE found, changed or not, or that INSERT was given."""

    insert_id: int = 0
    """The first id that the statement generated, or else the last one that it inserted into an AUTO_INCREMENT column."""

    warnings: tuple[str, ...] = ()
    """As SHOW WARNINGS prints them: `1292 Incorrect datetime value: …`."""

    message: str = ""
    """What a client is told beside the counts: `Records: 2  Duplicates: 0  Warnings: 0`."""


@dataclass(frozen=True)
class FailedStatement:
    """A statement that TiDB refuses."""

    error: SqlError | DdlError
    """In TiDB's words."""

    events: tuple[Event, ...] = ()
    """The transaction that DDL commits first, and the jobs before the failed one."""

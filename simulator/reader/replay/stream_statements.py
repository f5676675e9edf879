"""The statements of a stream, and what each may have done to its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import DDL, Ints
from simulator.errors import DdlError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Catalog, Key, object_key, with_table
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.model.table import INTERNAL_COLUMNS, Name, Table
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.alter import RenameTo
from simulator.tidb.syntax.definitions import Statement as DdlSyntax
from simulator.tidb.syntax.statements import AlterTable, RenameTable

ANY = replace(V8_5, soft_deletes=True)
"""A release that reads all statements of streams."""

LENIENT = Session("", None, ANY, sql_mode=frozenset(), foreign_key_checks=False)
"""The session of the replay, which refuses nothing that the upstream may have accepted."""


@dataclass(frozen=True)
class StreamStatement:
    ts: int
    schema: str
    query: str
    after: Table | None = None
    """The table after it, if a truth tells."""

    sql_mode: frozenset[str] = frozenset()
    """The modes of its session that its text needs and that TiCDC did not know, if a truth tells."""


def stream_statements(batches: Iterable[pa.RecordBatch]) -> list[StreamStatement]:
    """Return the statements among decoded events (EVENT_SCHEMA), each once, ordered by commit-ts."""
    rows = (
        {name: batch.column(name)[place].as_py() for name in ("commit_ts", "schema", "text")}
        for batch in batches
        for place in np.flatnonzero(batch.column("kind").to_numpy() == DDL)
    )
    return statements_in_order(StreamStatement(row["commit_ts"], row["schema"] or "", row["text"]) for row in rows)


def statements_in_order(statements: Iterable[StreamStatement]) -> list[StreamStatement]:
    """Return the statements, each once, ordered by commit-ts."""
    return sorted(dict.fromkeys(statements), key=lambda sent: sent.ts)


def statement_readings(sent: StreamStatement, statement: DdlSyntax, catalog: Catalog) -> Sequence[ExecutionResult]:
    """Return what a statement did to the tables, or all that it may have done; raises DdlError.

    The classic architecture tells of a RENAME the database of the new name alone, whatever the current one was
    (tiflow v8.5: cdc/model/sink.go FromJobWithArgs). An old name without a database may be one of any then.
    """
    session = replace(LENIENT, database=sent.schema, catalog=catalog, now=tso.sql_time(sent.ts))
    others = list[ExecutionResult]()
    if _leaves_old_database_open(statement):
        for name in {database: None for database, _ in catalog.tables if database != sent.schema.lower()}:
            with suppress(DdlError):
                others.append(execute(statement, sent.query, replace(session, database=name)))
        others = [each for each in others if all(_comes_to(sent.schema, job) for job in each.jobs)]
    try:
        return [execute(statement, sent.query, session), *others]
    except DdlError:
        if not others:
            raise
        return others


def _leaves_old_database_open(statement: DdlSyntax) -> bool:
    """Return whether a statement names the database of a table's new name, and not that of its old one."""
    if isinstance(statement, RenameTable):
        return any(new.schema and not old.schema for old, new in statement.pairs)
    if isinstance(statement, AlterTable):
        return not statement.table.schema and any(
            isinstance(spec, RenameTo) and spec.table.schema for spec in statement.specs
        )
    return False


def _comes_to(schema: str, job: Job) -> bool:
    return bool(job.renames) and all(new.schema.lower() == schema.lower() for _, new in job.renames)


def databases(sent: StreamStatement) -> Iterator[str]:
    """Yield the databases that must be there for a statement about a table."""
    named = (schema for schema, table in named_tables(sent) if table)
    yield from dict.fromkeys(name for name in (sent.schema, *named) if name)


def renames(sent: StreamStatement) -> list[tuple[Name, Name]]:
    jobs = reversed(statement_jobs(sent))
    return [((old.schema, old.name), (new.schema, new.name)) for job in jobs for old, new in job.renames]


def exchanged_tables(sent: StreamStatement) -> Iterator[Name]:
    """Yield the tables between which EXCHANGE PARTITION moves rows."""
    for job in statement_jobs(sent):
        if job.exchanged_table:
            yield job.schema, job.table
            yield job.exchanged_table.schema, job.exchanged_table.name


@lru_cache(4096)
def statement_jobs(sent: StreamStatement) -> Sequence[Job]:
    """Return the jobs of a statement, as far as its text determines them."""
    try:
        statement = parse_ddl(sent.query, sent.sql_mode)
        return execute(statement, sent.query, Session(sent.schema, None, ANY)).jobs if statement else ()
    except DdlError:
        return ()


def named_tables(sent: StreamStatement) -> Iterator[Name]:
    """Yield the tables that a statement is about, under their old and new names."""
    for job in statement_jobs(sent):
        yield job.schema, job.table
        if job.exchanged_table:
            yield job.exchanged_table.schema, job.exchanged_table.name
        for pair in job.renames:
            yield from ((name.schema, name.name) for name in pair)


def statement_times(statements: Iterable[StreamStatement]) -> dict[Key, Ints]:
    times_of_key: dict[Key, set[int]] = {}
    for sent in statements:
        for name in named_tables(sent):
            times_of_key.setdefault(object_key(*name), set()).add(sent.ts)
    return {table_key: np.array(sorted(times), np.int64) for table_key, times in times_of_key.items()}


def as_told(sent: StreamStatement, executed: ExecutionResult) -> ExecutionResult:
    """Return the result with the table that a truth tells, if TiCDC read the statement without its sql_mode, or without
    its SOFTDELETE."""
    told, catalog = sent.after, executed.catalog
    if told is None or catalog is None:
        return executed
    table = catalog.tables.get(object_key(told.schema or sent.schema, told.name))
    if table is not None:
        known = {column.name for column in table.columns}
        internal = [each for each in told.columns if each.name in INTERNAL_COLUMNS and each.name not in known]
        if internal:
            table = replace(table, columns=(*table.columns, *internal))
            executed = replace(executed, catalog=(catalog := with_table(catalog, table)))
    if (
        not sent.sql_mode
        or table is None
        or [column.name for column in table.columns] != [column.name for column in told.columns]
    ):
        return executed
    columns = (replace(right, id=column.id) for column, right in zip(table.columns, told.columns, strict=True))
    right = replace(table, columns=tuple(columns), checks=told.checks, partitioning=told.partitioning)
    return replace(executed, catalog=with_table(catalog, right))


def touched_names(jobs: Sequence[Job], before: Catalog, after: Catalog) -> Iterable[Key]:
    """Yield the names of tables that a statement may have changed."""
    for job in jobs:
        if job.schema and not job.table:
            schema = job.schema.lower()
            yield from (
                table_key for catalog in (before, after) for table_key in catalog.tables if table_key[0] == schema
            )
        yield object_key(job.schema, job.table)
        for old, new in job.renames:
            yield object_key(*old)
            yield object_key(*new)

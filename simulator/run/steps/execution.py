"""Executes a statement of scripted SQL: the changes of its rows, the jobs that TiCDC sees, and the versions of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.change_frame import Ints, row_changes_schema
from simulator.errors import DdlError, SqlError
from simulator.run.plan.statements import (
    FIRST_OTHER_ID,
    IN_SCRIPT,
    AppliedStatement,
    EmittedJob,
    PendingStatement,
    TableIds,
    emit_jobs,
    follow_jobs,
    ids_of,
    renamed_tables,
    stamp_versions,
)
from simulator.run.plan.step import ChangefeedStopped, PlanContext, RunPosition, StepResult
from simulator.run.plan.upstream_rows import read_rows, still_unread
from simulator.run.plan.versions import EVERYTHING, ExchangedPartition, TableVersions
from simulator.ticdc.codecs import TableInfo
from simulator.ticdc.mounter import filled_images, zone_of_rows
from simulator.ticdc.rules import ChangefeedRules
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.ddl.session import Job
from simulator.tidb.engine import CompletedDdl, Event, FailedStatement, StatementOutcome, TableChanges
from simulator.tidb.engine.execution import Upstream, new_upstream
from simulator.tidb.engine.session_statements import resolve_execute
from simulator.tidb.engine.settings import DEFAULT_SQL_MODE
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax.alter import ExchangePartition, PartitionAction, ReorganizePartition
from simulator.tidb.syntax.statements import (
    AlterTable,
    FlashbackDatabase,
    FlashbackTable,
    RecoverTable,
    SessionStatement,
    SqlStatement,
    TruncateTable,
)

MOVING = frozenset({Action.ALTER_TABLE_PARTITIONING, Action.REMOVE_PARTITIONING})
"""Jobs that copy all rows to a table with a new id (tidb v8.0.0: pkg/ddl/partition.go)."""

PARTITION_ACTIONS = (Action.ADD_TABLE_PARTITION, Action.DROP_TABLE_PARTITION, Action.TRUNCATE_TABLE_PARTITION)
"""Jobs that TiCDC's updatePartition handles (tiflow v4.0.15 cdc/entry/schema_storage.go)."""

EMPTYING = ("DROP", "TRUNCATE")

READ = 16_384
"""Statements that are kept as they were read."""

FIRST_DATABASE = "test"
"""The current database at the start of a script; every new TiDB has it."""

DEFAULT_MODES = frozenset(DEFAULT_SQL_MODE)

BRING_BACK = (RecoverTable, FlashbackTable, FlashbackDatabase)


def execute_statement(
    text: str, position: RunPosition, context: PlanContext, origin: str = "", job_logical: int = tso.ROW_LOGICAL + 1
) -> tuple[RunPosition, StepResult, StatementOutcome | FailedStatement]:
    """Execute one statement at `position.now_ms`; the position advances by a millisecond if it ends a transaction.

    `job_logical` is the logical part of the commit-ts of DDL. Raises SqlError for an unknown prepared statement,
    ChangefeedStopped, and SnapshotError for an unreadable snapshot.
    """
    position = with_upstream(position, context)
    upstream = position.state
    assert isinstance(upstream, Upstream)
    try:
        statement = read_statement(text, upstream.settings.sql_mode - DEFAULT_MODES)
    except (SqlError, DdlError) as error:
        after = upstream.refuse(error)
        return replace(position, state=after, session=after.settings), StepResult(), FailedStatement(error)
    if statement is None:
        return position, StepResult(), StatementOutcome()
    resolved, _ = resolve_execute(statement, text, upstream.settings)
    unread = read_rows(position, upstream, resolved)
    after, outcome = upstream.execute(statement, text, position.now_ms)
    stop = None
    try:
        behind, result = apply_events(outcome.events, position, context, origin, job_logical)
    except ChangefeedStopped as error:
        stop, behind, result = error, error.behind, error.result
    ended = outcome.events or not (
        isinstance(outcome, FailedStatement) or isinstance(resolved, SessionStatement) or after.writes is not None
    )
    behind = replace(
        behind, state=after, catalog=after.catalog, session=after.settings, unread=still_unread(unread, after.catalog)
    )
    behind = behind.passed(1) if ended else behind
    if stop is not None:
        raise ChangefeedStopped(stop, behind, result)
    return behind, result, outcome


@lru_cache(READ)
def read_statement(text: str, modes: frozenset[str]) -> SqlStatement | None:
    return parse_sql(text, modes)


def with_upstream(position: RunPosition, context: PlanContext) -> RunPosition:
    """Return the position with an upstream as its state: that of the snapshot before, or of a new TiDB."""
    if isinstance(position.state, Upstream):
        return position
    catalog = None if position.state is None else position.catalog
    upstream = new_upstream(context.rules.release, catalog, context.seed)
    upstream = upstream.with_settings(position.session or replace(upstream.settings, database=FIRST_DATABASE))
    return replace(position, state=upstream, catalog=upstream.catalog, unread=position.state)


def apply_events(
    events: tuple[Event, ...],
    position: RunPosition,
    context: PlanContext,
    origin: str,
    job_logical: int = tso.ROW_LOGICAL + 1,
) -> tuple[RunPosition, StepResult]:
    """Return the position after the events of a statement that begins at `position.now_ms`, and their result.

    Rows of one transaction share a commit-ts. Jobs follow the rows of their millisecond. The position is in the last
    millisecond that the events take. `origin` is the statement's source, for error messages, `job_logical` the logical
    part of a job's commit-ts. Raises ChangefeedStopped.
    """
    rows: list[pa.RecordBatch] = []
    jobs: list[EmittedJob] = []
    for number, event in enumerate(events):
        if isinstance(event, CompletedDdl):
            try:
                position, emitted = apply_ddl(event, position, context, origin, job_logical)
            except ChangefeedStopped as stop:
                result = StepResult((*jobs, *stop.result.jobs), rows=tuple(rows))
                raise ChangefeedStopped(stop, stop.behind, result) from None
            jobs += emitted
            continue
        position = position.passed(1) if number else position
        ts = tso.compose(position.now_ms, tso.ROW_LOGICAL)
        for changes in event.changes:
            rows += scripted_changes(changes, np.full(len(changes.handle), ts), position, context)
    return position, StepResult(tuple(jobs), rows=tuple(rows))


def scripted_changes(
    changes: TableChanges, commit_ts: Ints, position: RunPosition, context: PlanContext
) -> Iterator[pa.RecordBatch]:
    """Yield the changes of a table with their commit-ts (ROW_CHANGES with row_id) if it is replicated."""
    version = position.versions.get((changes.table.schema, changes.table.name))
    if version is not None and len(commit_ts):
        physical_tables = np.array(context.versions.places[version].indexes, np.int32)
        table = pa.array(physical_tables[changes.partition.to_numpy()])
        rules = context.rules
        zone = zone_of_rows(rules.changefeed.codec.time_zone, rules.release)
        before = filled_images(changes.before, changes.lacking, changes.table, rules.release, zone)
        if changes.gone is not None and _sends_empty_deletes(changes.table, rules):
            before = pc.coalesce(before, changes.gone)
        after = before if changes.are_rewritten else changes.after
        columns = [pa.array(commit_ts), table, changes.handle, before, after, changes.row_id]
        rows = pa.RecordBatch.from_arrays(columns, schema=row_changes_schema("row_id"))
        if before.null_count and after.null_count and not sends_empty_changes(rules):
            rows = rows.filter(pc.or_(before.is_valid(), after.is_valid()))
        yield from [rows] * (rows.num_rows > 0)


def sends_empty_changes(rules: ChangefeedRules) -> bool:
    """Return whether the changefeed has a message without columns of a row that a transaction inserts and deletes."""
    codec = rules.changefeed.codec
    return codec.enable_old_value and codec.protocol in rules.release.empty_changes


def _sends_empty_deletes(table: Table, rules: ChangefeedRules) -> bool:
    """Return whether such a row is a DELETE. The mounter takes its handle key from the key that TiDB deletes."""
    if rules.changefeed.codec.enable_old_value or rules.release.empty_deletes == "none":
        return False
    return table.clustered or rules.release.empty_deletes == "keyed" and bool(handle_key(table))


def apply_ddl(
    event: CompletedDdl, position: RunPosition, context: PlanContext, origin: str, logical: int
) -> tuple[RunPosition, list[EmittedJob]]:
    """Return the position after a DDL statement and the jobs that TiCDC sees.

    `origin` is the statement's source, for error messages, `logical` the logical part of the first job's commit-ts.
    Raises ChangefeedStopped.
    """
    versions = _versions(event, position, context)
    emitted, stop = list[EmittedJob](), None
    try:
        emitted.extend(_jobs(event, position, context, origin, logical))
    except DdlError as error:
        stop = error
    ids = TableIds(ids_of(position.versions, context.versions), ids_of(versions, context.versions))
    jobs, infos = follow_jobs(emitted, position.infos, ids, position.start_ts)
    stamp_versions(versions, infos, position.start_ts, context.versions)
    behind = replace(position, versions=versions, infos=infos)
    if stop is not None:
        raise ChangefeedStopped(stop, behind, StepResult(tuple(jobs)))
    return behind, jobs


def _jobs(
    event: CompletedDdl, position: RunPosition, context: PlanContext, origin: str, logical: int
) -> Iterator[EmittedJob]:
    pending = PendingStatement(event.text, event.database, IN_SCRIPT, origin)
    applied = AppliedStatement(pending, event.statement, event.jobs, event.before, event.after)
    first_ts = tso.compose(position.now_ms, logical)
    return emit_jobs([applied], lambda pending: first_ts, context.rules)


def _versions(event: CompletedDdl, position: RunPosition, context: PlanContext) -> Mapping[Name, int]:
    """Return the versions after a statement: each table that it touches has a new one, one that it creates its first."""
    known = {object_key(*name): number for name, number in position.versions.items()}
    touched: set[Key] = set()
    for old, new in (pair for job in event.jobs for pair in renamed_tables(job).items()):
        version = known.pop(object_key(*old), None)
        touched.add(object_key(*new))
        if version is not None:
            known[object_key(*new)] = version
    exchanged = _exchanged(event, known, context.versions)
    touched |= exchanged.keys()
    emptied, before = _emptied(event), event.before.tables
    versions: dict[Name, int] = {}
    for place, table in event.after.tables.items():
        version = known.get(place)
        if place in touched or before.get(place) is not table:
            earlier = position.infos.get(place)
            if _loses_rows(before.get(place), table, version, event, context.rules):
                continue
            version = _version(table, version, emptied, exchanged.get(place), event, earlier, context)
        if version is not None:
            versions[table.schema, table.name] = version
    return versions


def _loses_rows(
    before: Table | None, table: Table, version: int | None, event: CompletedDdl, rules: ChangefeedRules
) -> bool:
    """Return whether TiCDC has no rows of a replicated table from a statement on, until TRUNCATE or DROP TABLE."""
    if before is None or isinstance(event.statement, TruncateTable) or not is_replicated(before, rules):
        return False
    lost = version is None and rules.release.partition_ddl_loses_rows and not handle_key(table)
    return lost or any(makes_ineligible(job, table, rules) for job in event.jobs)


def makes_ineligible(job: Job, table: Table, rules: ChangefeedRules) -> bool:
    """Return whether a job on partitions makes them ineligible in spite of force-replicate."""
    return rules.release.partition_ddl_loses_rows and job.code in PARTITION_ACTIONS and not handle_key(table)


def _version(
    table: Table,
    version: int | None,
    emptied: frozenset[str],
    exchanged: ExchangedPartition | None,
    event: CompletedDdl,
    earlier: TableInfo | None,
    context: PlanContext,
) -> int | None:
    """Return the version of a table after a statement; None for a table that is not replicated.

    `earlier` has the id of a table that was not replicated before the statement.
    """
    if not is_replicated(table, context.rules):
        return None
    if version is None and isinstance(event.statement, BRING_BACK):
        version = _dropped_version(table, event.before.dropped.values(), context.versions)
    if version is None:
        keeps_id = earlier is not None and earlier.table_id < FIRST_OTHER_ID
        return context.versions.created(table, earlier.table_id if earlier and keeps_id else None)
    moved = any(job.code in MOVING for job in event.jobs)
    return context.versions.altered(table, version, emptied, exchanged, moved)


def _dropped_version(table: Table, dropped: Iterable[Table], versions: TableVersions) -> int | None:
    """Return the last version of a table that was dropped or truncated, and now exists again; its name may differ."""
    were = [gone for gone in dropped if gone == replace(table, schema=gone.schema, name=gone.name)]
    every = versions.every
    return next((number for number in reversed(range(len(every))) if every[number].table in were), None)


def is_replicated(table: Table, rules: ChangefeedRules) -> bool:
    """Return whether a running changefeed sends the rows of a table: it passes the filter and has a valid index.

    With force-replicate it needs no index (tiflow v8.5.3: cdc/entry/schema/snapshot.go, IsIneligibleTableID).
    """
    return rules.replicates(table) and (rules.changefeed.force_replicate or bool(handle_key(table)))


def _emptied(event: CompletedDdl) -> frozenset[str]:
    """Return the partitions, in lower case, that get new ids; `*` for the whole table. All partitions of a HASH or KEY table
    are new after ADD and COALESCE (tidb pkg/ddl/executor.go, hashPartitionManagement)."""
    if isinstance(event.statement, TruncateTable):
        return frozenset(EVERYTHING)
    specs = event.statement.specs if isinstance(event.statement, AlterTable) else ()
    names = set[str]()
    for spec in specs:
        if isinstance(spec, ReorganizePartition) or isinstance(spec, PartitionAction) and spec.verb in EMPTYING:
            names.update(spec.names or _partitions(event))
        elif any(job.code == Action.REORGANIZE_PARTITION for job in event.jobs):
            names.update(_partitions(event))
    return frozenset(map(str.lower, names))


def _partitions(event: CompletedDdl) -> Iterator[str]:
    for job in event.jobs:
        table = event.before.table(job.schema, job.table)
        if table is not None and table.partitioning is not None:
            yield from (partition.name for partition in table.partitioning.partitions)


def _exchanged(event: CompletedDdl, known: Mapping[Key, int], versions: TableVersions) -> dict[Key, ExchangedPartition]:
    """Return both sides of EXCHANGE PARTITION if both tables are replicated."""
    specs = event.statement.specs if isinstance(event.statement, AlterTable) else ()
    for job, spec in ((job, spec) for job in event.jobs for spec in specs if isinstance(spec, ExchangePartition)):
        if job.exchanged_table is not None:
            plain, parted = object_key(*job.exchanged_table), object_key(job.schema, job.table)
            if plain in known and parted in known:
                return _exchange_ids(plain, parted, spec.partition.lower(), known, versions)
    return {}


def _exchange_ids(
    plain: Key, parted: Key, partition: str, known: Mapping[Key, int], versions: TableVersions
) -> dict[Key, ExchangedPartition]:
    its_id, partitions = versions.ids(known[plain])[""], versions.ids(known[parted])
    return {plain: ExchangedPartition(partition, partitions[partition]), parted: ExchangedPartition(partition, its_id)}

"""The versions of tables, and the jobs that TiCDC sees, after a DDL statement of scripted SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from simulator import tso
from simulator.errors import DdlError
from simulator.run.plan.snapshot_pairs import renamed_tables
from simulator.run.plan.statements import IN_SCRIPT, AppliedStatement, EmittedJob, PendingStatement, emit_jobs
from simulator.run.plan.step import ChangefeedStopped, PlanContext, RunPosition, StepResult
from simulator.run.plan.table_infos import FIRST_OTHER_ID, TableIds, follow_jobs, ids_of, stamp_versions
from simulator.run.plan.versions import EVERYTHING, ExchangedPartition, TableVersions
from simulator.ticdc.codecs import TableInfo
from simulator.ticdc.rules import ChangefeedRules
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.ddl.session import Job
from simulator.tidb.engine.outcome import CompletedDdl
from simulator.tidb.model.table import Name, Table
from simulator.tidb.syntax.alter import ExchangePartition, PartitionAction, ReorganizePartition
from simulator.tidb.syntax.ddl import AlterTable, FlashbackDatabase, FlashbackTable, RecoverTable, TruncateTable

MOVING = frozenset({Action.ALTER_TABLE_PARTITIONING, Action.REMOVE_PARTITIONING})
"""Jobs that copy all rows to a table with a new id (tidb v8.0.0: pkg/ddl/partition.go)."""

PARTITION_ACTIONS = (Action.ADD_TABLE_PARTITION, Action.DROP_TABLE_PARTITION, Action.TRUNCATE_TABLE_PARTITION)
"""Jobs that TiCDC's updatePartition handles (tiflow v4.0.15 cdc/entry/schema_storage.go)."""

EMPTYING = ("DROP", "TRUNCATE")

BRING_BACK = (RecoverTable, FlashbackTable, FlashbackDatabase)


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

"""Plans a run on the driver before anything starts: its tables, statements, topics and times.

Planning uses neither Spark nor Kafka, and checks the input as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import row_changes_schema
from simulator.engines.stages import RowRules
from simulator.engines.tasks.control_events import WatermarkSchedule
from simulator.errors import UserError, shortened
from simulator.faults.fault import Fault
from simulator.releases import Release
from simulator.run.plan.snapshot_pairs import SnapshotPair, pair, spelled_name, tables_with_row_ids
from simulator.run.plan.statements import AMONG_ROWS, EmittedJob, renamed_tables, tables_of
from simulator.run.plan.step import (
    ChangefeedStopped,
    PlanContext,
    PlannedExpectation,
    RunPosition,
    ScenarioStep,
    StepResult,
    starting,
)
from simulator.run.plan.versions import PlannedTable, TableVersions
from simulator.sources.diff import OlderRows
from simulator.sources.snapshots import PhysicalTable, PlacedTable, Snapshot
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.dispatch import Route
from simulator.ticdc.dispatch.destinations import Destinations, TopicGrowth
from simulator.ticdc.filters.event_filters import EventFilters
from simulator.ticdc.mounter import zone_of_rows
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules, check_tables
from simulator.ticdc.split import SplitRule, split_rule
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Name, Table


@dataclass(frozen=True)
class RunSpec:
    """The steps and settings of a run."""

    steps: tuple[ScenarioStep, ...]
    over_ms: int | None
    """The duration of a step without one of its own; None for the default of its kind."""

    start_ts: int | None
    """None for the time of the first snapshot, if that is recorded."""

    resolved_interval_ms: int
    seed: int
    speed: float
    first: int = 0
    """The first step, from 0, that is sent; the steps before it change only the state."""


@dataclass(frozen=True)
class Plan:
    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    """Parallel to `tables`."""

    places: tuple[PlacedTable, ...]
    """All versions of tables, in the order in which statements made them."""

    snapshot_pairs: tuple[SnapshotPair, ...]
    statements: tuple[DdlEvent, ...]
    statement_topics: tuple[str, ...]
    """Parallel to `statements`."""

    topics: tuple[str, ...]
    """Those of earlier plans first, then the default one."""

    active: tuple[tuple[int, int], ...]
    """Parallel to `topics`: the first and last TSO at which a topic has tables, and so watermarks."""

    timeline: WatermarkSchedule
    left_out: tuple[Name, ...]
    """Tables that the changefeed's filter excludes."""

    notes: tuple[str, ...]
    """Messages: statements of schema changes, statements that are not sent, and notes of steps."""

    event_filters: EventFilters
    ignored_start_ts: frozenset[int]
    """Transactions that are not sent."""

    split: SplitRule
    """Which UPDATEs are sent as DELETE and INSERT, and the order of rows inside a transaction."""

    rows: pa.RecordBatch | None = None
    """Changes (ROW_CHANGES with row_id) that scripted SQL committed; None without scripted SQL."""

    expected: tuple[PlannedExpectation, ...] = ()
    jobs: tuple[EmittedJob, ...] = ()
    """The jobs of all statements, including those that are not sent."""

    faults: tuple[Fault, ...] = ()

    grown: tuple[TopicGrowth, ...] = ()
    """Topics that get more partitions, ordered by time."""

    positions: tuple[RunPosition, ...] = ()
    """The positions before, between and after the steps; those between have no rows."""

    older_rows: OlderRows | None = None
    """The old values of rows that are older than a column; None if those of diffs are as TiDB reads them."""

    stopped: ChangefeedStopped | None = None
    """The statement at which the changefeed stops; everything before it is sent."""

    whole: Plan | None = None
    """The plan of these steps and those before, on which `older_rows` depend; None if they depend on these alone."""

    @property
    def input_bytes(self) -> int:
        """The size of all files that the comparisons read."""
        pairs = (self.whole or self).snapshot_pairs
        return sum(snapshot.size for pair in pairs for snapshot in (pair.before, pair.after))

    def row_rules(self, scripted: frozenset[int] = frozenset(), to: Destinations | None = None) -> RowRules:
        """Return the changefeed's rules for row changes; without destinations a topic has one partition."""
        to = to or Destinations(self.topics, (1,) * len(self.topics), self.active)
        return RowRules(self.tables, self.routes, self.event_filters, self.ignored_start_ts, self.split, to, scripted)

    def present_tables(self, since: int = 0) -> tuple[int, ...]:
        """Return the replicated physical tables at a checkpoint, 0 for the start of the plan, as indexes of `tables`."""
        first = self.positions[0]
        catalogs = [first.catalog, *(job.applied.after for job in self.jobs if job.commit_ts <= since)]
        last, found = since or first.start_ts, dict[tuple[str, str], tuple[int, ...]]()
        for place in self.places:
            name = object_key(place.table.schema, place.table.name)
            if name in catalogs[-1].tables and self.tables[place.indexes[0]].snapshot_version <= last:
                found[name] = place.indexes
        return tuple(index for indexes in found.values() for index in indexes)


def plan(script: RunSpec, changefeed: Changefeed, release: Release) -> Plan:
    """Plan a run; raises UserError for an unfit snapshot, schema or rule."""
    context = PlanContext(changefeed_rules(changefeed, release), script.start_ts, script.over_ms, script.seed)
    positions, results, met, stopped = _steps(script, context)
    _check(context.versions, context.rules, positions[1])
    sent = positions[script.first :]
    timeline = WatermarkSchedule(
        sent[0].now_ms, sent[-1].now_ms, changefeed.checkpoint_interval_ms(script.resolved_interval_ms)
    )
    planned = assemble_plan(sent, results[script.first :], context, timeline, older=met[script.first])
    if script.first and context.rules.release.older_rows_differ:
        planned = _after(planned, assemble_plan(positions, results, context, timeline))
    return replace(planned, stopped=stopped)


def _after(planned: Plan, whole: Plan) -> Plan:
    """Return the plan of the last steps of a whole one, with the old values of rows that the steps before leave."""
    if whole.older_rows is None:
        return planned
    older_rows = replace(whole.older_rows, since=tso.compose(planned.positions[0].now_ms))
    return replace(planned, tables=whole.tables, places=whole.places, older_rows=older_rows, whole=whole)


def assemble_plan(
    positions: Sequence[RunPosition],
    results: Sequence[StepResult],
    context: PlanContext,
    timeline: WatermarkSchedule,
    known_topics: Sequence[str] = (),
    older: int = 0,
) -> Plan:
    """Return the plan of some steps, given their results and the positions before, between and after them.

    `known_topics` are topics of earlier plans, which keep their indexes. Of the first `older` table versions, which
    precede these steps, only those that still exist count.
    """
    first, last, rules = positions[0], positions[-1], context.rules
    changefeed, versions = rules.changefeed, context.versions
    jobs = [job for result in results for job in result.jobs]
    tables = [version.table for version in (*_at(first, versions), *versions.every[older:])]
    topics = _topics(tables, jobs, rules, known_topics)
    pair_drafts = [pair_draft for result in results for pair_draft in result.pair_drafts]
    told = tables_with_row_ids(pair_drafts, versions.places)
    physical, places = versions.tables, versions.places
    if told:
        physical = [replace(each, row_ids=index in told) for index, each in enumerate(physical)]
        places = [replace(place, row_ids=not told.isdisjoint(place.indexes)) for place in places]
    pairs = tuple(pair(draft, places) for draft in pair_drafts)
    rows = _rows(positions, results)
    return Plan(
        tuple(physical),
        _routes(context),
        tuple(places),
        pairs,
        tuple(event for job in jobs for event in job.events),
        tuple(topic for job in jobs for topic in job.topics),
        topics,
        _active(topics, known_topics, first, last, jobs, rules),
        timeline,
        _left_out(positions, rules),
        tuple(_notes(results)),
        rules.event_filters,
        rules.replication.ignored_start_ts,
        split_rule(
            rules.release,
            changefeed.output_raw_change_event,
            changefeed.codec.enable_old_value,
            changefeed.active_active,
        ),
        rows,
        tuple(expected for result in results for expected in result.expected),
        tuple(jobs),
        tuple(fault for result in results for fault in result.faults),
        tuple(growth for result in results for growth in result.grown),
        (first, *(replace(position, state=None, unread=None) for position in positions[1:-1]), last),
        _older_rows(pairs, rows, context),
    )


def _older_rows(pairs: Sequence[SnapshotPair], rows: pa.RecordBatch | None, context: PlanContext) -> OlderRows | None:
    rules, versions = context.rules, context.versions
    if not pairs or not rules.release.older_rows_differ:
        return None
    added, spans = versions.added_columns(), tuple(each.span for each in pairs)
    last = tso.compose(spans[-1].start_ms)
    earlier = rows is not None or any(commit_ts < last for columns in added.values() for _, commit_ts in columns)
    zone = zone_of_rows(rules.changefeed.codec.time_zone, rules.release)
    return OlderRows(tuple(versions.tables), added, spans, rules.release, zone, earlier) if added else None


def _routes(context: PlanContext) -> tuple[Route, ...]:
    """Return the route of each physical table; the context caches them."""
    known = context.routes
    for table in context.versions.tables[len(known) :]:
        known.append(dispatch.route(context.rules.router, table.table))
    return tuple(known)


def _rows(positions: Iterable[RunPosition], results: Iterable[StepResult]) -> pa.RecordBatch | None:
    """Return the changes of scripted SQL; None without scripted SQL."""
    if not any(isinstance(position.state, Upstream) for position in positions):
        return None
    batches = [changes for result in results for changes in result.rows]
    return batches[0] if len(batches) == 1 else pa.concat_batches([NO_ROWS, *batches])


NO_ROWS = pa.RecordBatch.from_pylist([], row_changes_schema("row_id"))


def _at(position: RunPosition, versions: TableVersions) -> list[PlannedTable]:
    return [versions.every[number] for number in position.versions.values()]


def _steps(
    script: RunSpec, context: PlanContext
) -> tuple[list[RunPosition], list[StepResult], list[int], ChangefeedStopped | None]:
    """Plan each step; return the positions around the steps, their results, the number of table versions before each, and
    the statement at which the changefeed stops. A snapshot with which a run starts exists before the first step."""
    positions = [starting(script.start_ts or tso.DEFAULT_START_TS)]
    results: list[StepResult] = []
    met: list[int] = []
    stopped: ChangefeedStopped | None = None
    for number, step in enumerate(script.steps):
        met.append(len(context.versions.every) if number else 0)
        try:
            position, result = step.plan(positions[-1], context)
        except ChangefeedStopped as error:
            if number < script.first:
                raise
            stopped, position, result = error, error.last, error.result
        if not number and isinstance(position.state, Snapshot):
            positions = [position]
        if number == script.first:
            dispatch.verify_routes(context.rules.router, positions[-1].versions)
        positions.append(position)
        results.append(result)
        if stopped is not None:
            break
    return positions, results, met, stopped


def _check(versions: TableVersions, rules: ChangefeedRules, first: RunPosition) -> None:
    """Check all tables of the run as TiCDC does when a changefeed starts; raises UserError."""
    if not versions.every and isinstance(first.state, Snapshot):
        raise UserError(f"no table to replicate: the changefeed's filter leaves out every table of {first.state.path}")
    replicated = [version for version in versions.every if rules.replicates(version.table)]
    compared = (version.table for version in replicated if not version.scripted)
    require_valid_index(compared, rules.changefeed.force_replicate)
    firsts = [version.table for version in replicated if version.of is None]
    dispatch.verify_tables(rules.router, firsts)
    check_tables(rules, firsts)


def require_valid_index(tables: Iterable[Table], force_replicate: bool) -> None:
    """Without a valid index TiCDC wants force-replicate (tiflow v8.5.3: cdc/model/schema_storage.go); raises UserError."""
    names = [f"{table.schema}.{table.name}" for table in tables if not handle_key(table)]
    if names and not force_replicate:
        raise UserError(
            f"no primary key and no unique key of NOT NULL columns: {', '.join(names[:5])}"
            f"{' …' if len(names) > 5 else ''}; "
            "TiCDC does not replicate such tables: leave them out with [filter] rules, or set force-replicate = true"
        )


def _topics(
    every: Iterable[Table], jobs: Iterable[EmittedJob], rules: ChangefeedRules, known: Iterable[str]
) -> tuple[str, ...]:
    """Return every topic that gets events: the known ones, the default one, then new ones."""
    names = [(table.schema, table.name) for table in every if rules.replicates(table)]
    active = dispatch.active_topics(rules.router, names)
    sent = (topic for job in jobs for topic in job.topics)
    return tuple(dict.fromkeys([*known, rules.changefeed.topic, *active, *sent]))


def _active(
    topics: Sequence[str],
    known: Iterable[str],
    first: RunPosition,
    last: RunPosition,
    jobs: Iterable[EmittedJob],
    rules: ChangefeedRules,
) -> tuple[tuple[int, int], ...]:
    """Return for each topic the commit-ts of the statements that give it its first table and take its last.

    A topic of an earlier plan has no watermarks without a table.

    The default topic always has watermarks (tiflow v8.5.3: cdc/sink/ddlsink/mq/mq_ddl_sink.go, WriteCheckpointTs).
    """
    default = rules.changefeed.topic
    before, after = (
        [dispatch.topic_of(rules.router, *name) for name in position.versions] for position in (first, last)
    )
    since = {**dict.fromkeys(known, tso.FOREVER), **dict.fromkeys((default, *before), 0)}
    until = {**dict.fromkeys(known, 0), **dict.fromkeys((default, *after), tso.FOREVER)}
    for job in jobs:
        for name in _moved(job):
            if rules.replication.table(*name):
                topic = dispatch.topic_of(rules.router, *name)
                since[topic] = min(since.get(topic, job.commit_ts), job.commit_ts)
                until[topic] = max(until.get(topic, job.commit_ts), job.commit_ts)
    return tuple((since.get(topic, 0), until.get(topic, tso.FOREVER)) for topic in topics)


def _moved(job: EmittedJob) -> Iterator[Name]:
    """Yield the names of tables that a job adds or removes; a job on a database may do so with all its tables."""
    if not (job.job.table or job.job.tables or job.job.renames):
        yield from sorted(tables_of(job.applied.before).keys() ^ tables_of(job.applied.after).keys())
        return
    for old, new in renamed_tables(job.job).items():
        there, then = spelled_name(job.applied.before, old), spelled_name(job.applied.after, new)
        yield from (name for name in (there, then) if name and there != then)


def _left_out(positions: Iterable[RunPosition], rules: ChangefeedRules) -> tuple[Name, ...]:
    tables = (table for position in positions for table in position.catalog.tables.values())
    return tuple(sorted({(table.schema, table.name) for table in tables if not rules.replicates(table)}))


def _notes(results: Iterable[StepResult]) -> Iterator[str]:
    for result in results:
        yield from (_note(job) for job in result.jobs if job.applied.pending.place == AMONG_ROWS or not job.events)
        yield from result.notes


def _note(job: EmittedJob) -> str:
    text = shortened(job.applied.pending.text, 200)
    return f"at {tso.describe(job.commit_ts)}: {text}" + ("" if job.events else f"; not sent: {job.why}")

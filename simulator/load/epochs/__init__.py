"""The schema epochs of a load plan, which are the parts between two DDL statements, and the windows in them.

Statements are executed in order as in `run`. An epoch depends only on the plan, wherever a run begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import ints
from simulator.engines.stages import RowRules
from simulator.engines.tasks import TaskSpec
from simulator.engines.tasks.control_events import PlacedDdl, WatermarkSchedule
from simulator.engines.tasks.messages import with_schemas_of
from simulator.errors import UserError
from simulator.generate.stream import Stream
from simulator.generate.transactions import Segment
from simulator.generate.values.table_values import table_values
from simulator.load.epochs import statements
from simulator.load.epochs.statements import TIMED, DdlChooser, OwnIds, ScheduledDdl
from simulator.load.epochs.states import (
    PlanState,
    RowLayouts,
    execute,
    following_layouts,
    following_state,
    settled,
    tables_named,
)
from simulator.load.epochs.timed import play_timed
from simulator.load.load_plan import TRUNCATE, LoadPlan
from simulator.releases import Release
from simulator.run import plan as plans
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.run.plan.statements import EmittedJob
from simulator.run.plan.step import PlanContext, RunPosition, StepResult, starting
from simulator.run.steps.execution import with_upstream
from simulator.sources.snapshots.pieces import PlacedTable
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules, check_tables
from simulator.tidb.model.table import Table
from simulator.tidb.restore import quote_name

if TYPE_CHECKING:
    from simulator.generate.values.table_values import TableValues


@dataclass(frozen=True)
class PreparedLoad:
    """A load run before its first row."""

    load: LoadPlan
    plan: Plan
    """The plan that an Output is opened for: its topics are those of the whole run."""

    stream: Stream
    start_ms: int
    """The start of the stream, in milliseconds since 1970."""

    state: PlanState

    @property
    def rules(self) -> ChangefeedRules:
        """The changefeed and its release."""
        return self.state.context.rules

    def at_rate(self, segments: Sequence[Segment]) -> PreparedLoad:
        """Return the run with other rates."""
        return replace(self, stream=Stream(self.load.model, tuple(segments)))


def prepare_load(
    load: LoadPlan, segments: Sequence[Segment], changefeed: Changefeed, release: Release, start_ts: int | None = None
) -> PreparedLoad:
    """Execute the definitions; raise UserError or ChangefeedError if the plan cannot be played, or if TiCDC refuses it."""
    seed = load.model.seed
    context = PlanContext(changefeed_rules(changefeed, release), start_ts, None, seed)
    first = starting(start_ts or tso.DEFAULT_START_TS)
    position, results = _create_tables(load, first, context)
    if load.model.present:
        position, results = replace(position, now_ms=first.now_ms), ()
        first = position
    names = tuple((table.schema, table.name) for table in load.created)
    tables = tables_named(names, position.catalog)
    statements.check_truncate(load.statements, tables, load.tables)
    _verify_changefeed(tables, context.rules, position)
    timeline = WatermarkSchedule(position.now_ms, position.now_ms, 1000)
    plan = plans.assemble_plan((first, position), results, context, timeline)
    values = table_values(tables, load.tables, load.model, position.now_ms)
    jobs = tuple(job for result in results for job in result.jobs)
    own, layouts = (OwnIds(),) * len(values), (RowLayouts(),) * len(values)
    state = settled(
        PlanState(position, context, names, values, (0,) * len(values), own, layouts, jobs), position, context
    )
    prepared = PreparedLoad(load, plan, Stream(load.model, tuple(segments)), position.now_ms, state)
    for number, each in enumerate(load.timed):
        state = play_timed(load, state, each, prepared.start_ms + each.at_ms + number, 1, plan.topics)
    return prepared


def _create_tables(
    load: LoadPlan, position: RunPosition, context: PlanContext
) -> tuple[RunPosition, tuple[StepResult, ...]]:
    """Create databases and tables, each statement in a millisecond of its own."""
    results: list[StepResult] = []

    def play(text: str) -> None:
        nonlocal position
        position, result = execute(text, position, context, tso.ROW_LOGICAL + 1)
        results.append(result)

    position = with_upstream(position, context)
    for table, definition in zip(load.model.tables, load.definitions, strict=True):
        if position.catalog.database(table.schema) is None:
            play(f"CREATE DATABASE {quote_name(table.schema)}")
        play(f"USE {quote_name(table.schema)}")
        play(definition)
    return position, tuple(results)


def _verify_changefeed(tables: Iterable[Table], rules: ChangefeedRules, position: RunPosition) -> None:
    """Run the checks of TiCDC when a changefeed starts."""
    replicated = [table for table in tables if rules.replicates(table)]
    if not replicated:
        raise UserError("no table to replicate: the changefeed's filter leaves out every table of the plan")
    plans.require_valid_index(replicated, rules.changefeed.force_replicate)
    dispatch.verify_routes(rules.router, position.versions)
    dispatch.verify_tables(rules.router, replicated)
    check_tables(rules, replicated)


def schema_epochs(prepared: PreparedLoad, output: Output, from_ms: int = 0) -> Iterator[SchemaEpoch]:
    """Yield the epochs from that of a simulated millisecond on, without end if the plan has DDL at intervals.

    Raise UserError for a statement that TiDB refuses, or that stops the changefeed.
    """
    for number, (state, first_ms, end_ms) in enumerate(plan_states(prepared)):
        if end_ms is None or end_ms > from_ms:
            yield _schema_epoch(prepared, state, output, number, first_ms, end_ms)


def jobs_until(prepared: PreparedLoad, ms: int) -> Iterator[EmittedJob]:
    """Yield the jobs of all statements up to a simulated millisecond, in order; raise UserError as `schema_epochs`."""
    for state, first_ms, _ in plan_states(prepared):
        if first_ms > ms:
            return
        yield from state.jobs


def plan_states(prepared: PreparedLoad) -> Iterator[tuple[PlanState, int, int | None]]:
    """Yield the states of the plan, each with its first millisecond and that of the next one; raise UserError as
    `schema_epochs`.
    """
    load, stream, state = prepared.load, prepared.stream, prepared.state
    chooser = DdlChooser(
        load.statements,
        load.model.seed,
        [table.last_ids for table in state.tables],
        statements.truncate_refusals(state.tables, load.tables),
    )
    first_ms = 0
    if load.statements or load.timed:
        filled = int(stream.milliseconds(np.array([stream.fill_transactions], np.int64))[0])
        for turn in statements.schedule_ddl(load.statements, load.model.seed, filled, load.timed):
            yield state, first_ms, turn.ms
            state, first_ms = _next_state(prepared, state, chooser, turn), turn.ms
    yield state, first_ms, None


def _next_state(prepared: PreparedLoad, state: PlanState, chooser: DdlChooser, turn: ScheduledDdl) -> PlanState:
    """Return the state after a statement."""
    begun, now_ms = prepared.stream.timetable.transactions_before(turn.ms), prepared.start_ms + turn.ms
    if turn.entry == TIMED:
        return play_timed(prepared.load, state, prepared.load.timed[turn.number], now_ms, begun)
    chosen = replace(chooser, own=state.own).choose(turn, state.tables, not begun)
    behind, position, context = following_state(state, chosen.text, now_ms)
    since = list(state.since)
    if chosen.kind == TRUNCATE:
        since[chosen.table] = begun
    values = tuple(
        known if before is table else known.altered(table)
        for known, before, table in zip(
            state.values, state.tables, tables_named(state.names, position.catalog), strict=True
        )
    )
    layouts = following_layouts(state, values, since, begun)
    return settled(replace(behind, since=tuple(since), values=values, layouts=layouts), position, context)


def _schema_epoch(
    prepared: PreparedLoad, state: PlanState, output: Output, number: int, first_ms: int, end_ms: int | None
) -> SchemaEpoch:
    plan, versions, release = prepared.plan, state.context.versions, state.context.rules.release
    tables, routes = tuple(versions.tables), tuple(state.context.routes)
    spec = output.task_spec(
        (pair for job in state.jobs for pair in zip(job.events, job.topics, strict=True)),
        WatermarkSchedule(prepared.start_ms, prepared.start_ms, 1000),
        release,
        tables=tables,
        routes=routes,
        options=replace(output.options, claim_check_seed=prepared.load.model.seed),
        settings=output.settings_for(tables, routes),
        start_ms=prepared.start_ms,
    )
    placed = spec.control_events.statements
    # the driver sends them, and each window ends the flushes of its rows
    spec = replace(
        spec, control_events=replace(spec.control_events, statements=(), watermarks=False, watermark_after_ddl=False)
    )
    rules = RowRules(tables, routes, plan.event_filters, plan.ignored_start_ts, plan.split, output.destinations)
    since_by_name = {name: versions.places[place] for name, place in state.position.versions.items()}
    loaded = tuple(
        EpochTable(since_by_name[table.schema, table.name], values, since, layouts)
        if (table.schema, table.name) in since_by_name
        else None
        for table, values, since, layouts in zip(state.tables, state.values, state.since, state.layouts, strict=True)
    )
    if CODECS[spec.options.protocol].needs_registry:
        loading = [index for table in loaded if table is not None for index in table.place.indexes]
        spec = with_schemas_of(spec, product(loading, (False, True)))
    return SchemaEpoch(number, first_ms, end_ms, prepared.stream, loaded, rules, spec, placed)


def epoch_control_events(epoch: SchemaEpoch, ms: int) -> pa.RecordBatch:
    """Return the control events (EVENTS) that the driver sends when all rows below a simulated millisecond are
    acknowledged.

    They are the DDL statements of the epoch, if it begins there, and then the watermark, if the protocol has any; for
    all destinations, in order.
    """
    spec, release = epoch.spec, epoch.spec.release
    has_watermarks = spec.storage is not None or CODECS[spec.options.protocol].has_watermarks(spec.options, release)
    placed = epoch.statements if ms == epoch.first_ms else ()
    every = range(spec.destinations.total)
    control_events = replace(spec.control_events, statements=placed)
    parts = [*control_events.of(every)]
    if has_watermarks:
        behind = control_events.barriers.tolist() if release.watermark_after_ddl else []
        times = dict.fromkeys((*behind, tso.compose(spec.start_ms + ms)))
        parts += (control_events.watermark(commit_ts, every) for commit_ts in times)
    events = pa.concat_batches(parts) if parts else control_events.watermark(0, ())
    order = np.lexsort([ints(events, name) for name in ("destination", "table", "kind", "commit_ts")])
    return events.take(pa.array(order))


@dataclass(frozen=True)
class EpochTable:
    """A table of the stream in a schema epoch."""

    place: PlacedTable
    """Its definition, and the run's physical tables that hold its partitions."""

    values: TableValues
    since: int
    """The transaction before which it was empty (`TableRows.since`)."""

    layouts: RowLayouts
    """What rows may lack; nothing if old values of older rows are as TiDB reads them."""


@dataclass(frozen=True)
class SchemaEpoch:
    """The part of the stream between two DDL statements. It is sent to the tasks."""

    number: int
    first_ms: int
    """The start, in simulated milliseconds since the start of the stream. The DDL statement commits there, after all
    older rows.
    """

    end_ms: int | None
    """The start of the next epoch; None if there is none."""

    stream: Stream
    tables: tuple[EpochTable | None, ...]
    """Parallel to `stream.model.tables`; None for a table that the filter of the changefeed excludes."""

    rules: RowRules
    spec: TaskSpec
    """Without control events, which the driver sends."""

    statements: tuple[PlacedDdl, ...]
    """The DDL events before its first row. `index` refers to `spec.statements`."""


@dataclass(frozen=True)
class Pace:
    speed: float
    """Simulated seconds for each real one; 0 means as fast as the sink takes rows."""

    behind: float
    """How many seconds late the window was handed out; negative if it was early."""


@dataclass(frozen=True)
class Window:
    """The rows between two watermarks, from `first_ms` up to but excluding `end_ms`."""

    epoch: SchemaEpoch
    first_ms: int
    end_ms: int
    pace: Pace

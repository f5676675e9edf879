"""The step `snapshot`: a snapshot becomes the state of all tables.

The first snapshot is the state in which the run starts. The changes that lead to a later one are spread over the step's
time, with its statements at one point of it. Planning looks at names and definitions only, not at rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.errors import DdlError
from simulator.files import location_beside
from simulator.run.plan.snapshot_pairs import TableOrigin, UnplacedPair, table_origins
from simulator.run.plan.statements import (
    AFTER_ROWS,
    AMONG_ROWS,
    AppliedStatement,
    EmittedJob,
    PendingStatement,
    TableIds,
    emit_jobs,
    follow_jobs,
    ids_of,
    stamp_versions,
    tables_of,
)
from simulator.run.plan.step import ChangefeedStopped, PlanContext, RunPosition, StepResult, starting
from simulator.run.plan.upstream_rows import as_snapshot
from simulator.run.steps.derivation import SchemaChangeOptions, statements_between
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace
from simulator.settings import (
    CHARSETS,
    DEFAULT_OVER_MS,
    DURATION,
    PLACES,
    TEXT,
    TEXTS,
    Key,
    to_duration_ms,
    to_path,
    to_place,
    to_text,
    to_texts,
)
from simulator.sources import snapshots
from simulator.sources.row_changes import ChangePeriod
from simulator.sources.snapshots import Snapshot, TextFormat, text_format
from simulator.sources.transition import SchemaChangePoint
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Name, Table


@dataclass(frozen=True)
class SnapshotStep:
    directory: Path
    over_ms: int | None = None
    """None for the duration that the run gives to all steps."""

    schema_change: SchemaChangeOptions = SchemaChangeOptions()
    format: TextFormat = TextFormat()

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Plan the step; raises UserError for an unreadable snapshot, and for statements that do not lead to it."""
        snapshot = snapshots.open(self.directory, self.format.csv, charset=self.format.charset)
        if position.state is None:
            return _start(snapshot, position, context), StepResult()
        before = position.state
        if isinstance(before, Upstream):
            before = as_snapshot(before, position.unread)
        span = ChangePeriod(position.now_ms, self.over_ms or context.over_ms or DEFAULT_OVER_MS)
        return _plan_changes(before, snapshot, span, self.schema_change, position, context)


def _step(directory: str, values: Mapping[str, Any], place: StepPlace) -> SnapshotStep:
    statements = place.file.parent / values["ddl"] if "ddl" in values else None
    change = SchemaChangeOptions(statements, values.get("ddl_at", "middle"), values.get("rename", ()))
    names = ("charset", "separator", "delimiter", "null")
    format = text_format(*(values.get(name) for name in names))
    return SnapshotStep(location_beside(place.file, directory), values.get("over_ms"), change, format)


TIME = {"over": Key("over_ms", to_duration_ms, DURATION, "Simulated time over which its changes are spread.")}

DEFINITIONS = {
    "ddl": Key("ddl", to_path, TEXT, "A file of the statements that lead to its definitions of tables."),
    "ddl-at": Key("ddl_at", to_place, {"enum": [*PLACES]}, "Where in the step's time these statements run."),
    "rename": Key("rename", to_texts, TEXTS, "What has another name, as OLD=NEW, where statements are derived."),
}

FILES = {
    "charset": Key("charset", to_text, {"enum": [*CHARSETS]}, "The character set of its SQL and CSV files."),
    "csv-separator": Key("separator", to_text, TEXT, "What separates the values in its CSV files."),
    "csv-delimiter": Key("delimiter", to_text, TEXT, "The quote around texts in its CSV files; empty for none."),
    "csv-null-value": Key("null", to_text, TEXT, "NULL in its CSV files, without quotes."),
}

KIND = StepKind(
    to_path,
    _step,
    (
        KeyGroup(TIME, "only a snapshot that follows another takes time"),
        KeyGroup(DEFINITIONS, "only a snapshot that follows another can have other definitions"),
        KeyGroup(FILES, "only a snapshot has text files", first=True),
    ),
    starts=True,
    changes=True,
    says="A directory with the rows of tables. The first one is where the run starts; the difference to a later one is "
    "what happens.",
)


def _start(snapshot: Snapshot, position: RunPosition, context: PlanContext) -> RunPosition:
    """Return the position at which the run starts: at the time of the snapshot, unless the user gives a start-ts."""
    if context.start_ts is None and snapshot.start_ts:
        position = starting(snapshot.start_ts)
    known = build_catalog((entry.table for entry in snapshot.tables), snapshot.databases)
    versions = {
        name: context.versions.first(table)
        for name, table in sorted(tables_of(known).items(), key=itemgetter(0))
        if context.rules.replicates(table)
    }
    stamp_versions(versions, {}, position.start_ts, context.versions)
    return replace(position, catalog=known, versions=versions, state=snapshot)


def _plan_changes(
    before: Snapshot,
    after: Snapshot,
    span: ChangePeriod,
    change: SchemaChangeOptions,
    position: RunPosition,
    context: PlanContext,
) -> tuple[RunPosition, StepResult]:
    """Plan the statements and row changes between two snapshots; raises ChangefeedStopped for a statement at which TiCDC
    stops."""
    behind = position.passed(span.next_ms - span.start_ms)
    rules = context.rules
    wanted = {(entry.table.schema, entry.table.name): entry.table for entry in after.tables}
    known, target = _comparable_tables(position.catalog, wanted, change, rules)
    point = _point(change.at, span)
    now = tso.sql_time(tso.compose(span.start_ms + point.slot))
    applied = statements_between(known, target, change, now, rules.release)
    jobs, stop = _emitted(applied, span, point, rules)
    left = applied[-1].after if applied else known
    reached = tables_of(left)
    among = (statement for statement in applied if statement.pending.place == AMONG_ROWS)
    origins = table_origins((statement, job) for statement in among for job in statement.jobs)
    changed = tuple(
        _changed_tables(origins, tables_of(known), {name: reached[name] for name in target}, position, context)
    )
    same = _unchanged_tables({name: reached[name] for name in target if name not in origins}, position, context)
    reached_versions = {**same, **{name: number for _, name, _, number in changed}}
    ids = TableIds(ids_of(position.versions, context.versions), ids_of(reached_versions, context.versions))
    followed, infos = follow_jobs(jobs, position.infos, ids, position.start_ts)
    stamp_versions(reached_versions, infos, position.start_ts, context.versions)
    every, changed_names = context.versions.every, {origin.name for origin, *_ in changed}
    sent = {number: rules.replicates(every[number].table) for _, _, *pair in changed for number in pair}
    unchanged = {name: number for name, number in position.versions.items() if name not in changed_names}
    pair_draft = UnplacedPair(before, after, span, point, (unchanged, same), changed, sent)
    tables = [reached.get(name, table) for name, table in wanted.items()]
    following = replace(
        behind,
        catalog=build_catalog(tables, [*left.databases.values(), *sorted(after.databases - _names(left))]),
        versions={**same, **{name: number for _, name, _, number in changed if sent[number]}},
        infos=infos,
        state=after,
        unread=None,
    )
    result = StepResult(tuple(followed), (pair_draft,))
    if stop is not None:
        error, until = stop
        raise ChangefeedStopped(error, following, result, replace(following, now_ms=tso.physical(until)), until)
    return following, result


def _emitted(
    applied: Sequence[AppliedStatement], span: ChangePeriod, point: SchemaChangePoint, rules: ChangefeedRules
) -> tuple[list[EmittedJob], tuple[DdlError, int] | None]:
    """Return the jobs that TiCDC sees, and the error of the statement at which it stops, with a commit-ts of which all rows
    below precede that statement; None if it does not."""
    jobs: list[EmittedJob] = []
    try:
        jobs.extend(emit_jobs(applied, lambda pending: _first_ts(pending, span, point), rules))
    except DdlError as error:
        stopping = [statement.pending for statement in applied for _ in statement.jobs][len(jobs)]
        text = f"{error.text}: TiDB executes it, and the changefeed stops"
        return jobs, (DdlError(text, error.code), _first_ts(stopping, span, point))
    return jobs, None


def _comparable_tables(
    known: Catalog, wanted: Mapping[Name, Table], change: SchemaChangeOptions, rules: ChangefeedRules
) -> tuple[Catalog, Mapping[Name, Table]]:
    """Return the tables that statements may change: those that pass the filter, unless the user gives statements."""
    if change.file or change.renamed:
        return known, wanted
    tables = {key: table for key, table in known.tables.items() if rules.replicates(table)}
    return replace(known, tables=tables), {name: table for name, table in wanted.items() if rules.replicates(table)}


def _point(at: str, span: ChangePeriod) -> SchemaChangePoint:
    """Return the point of the schema change; the end leaves a tenth of the time to rows of the new definition."""
    slots = {"start": 0, "middle": span.over_ms // 2, "end": span.over_ms - max(1, span.over_ms // 10)}
    return SchemaChangePoint(slots[at], at == "end")


def _first_ts(pending: PendingStatement, span: ChangePeriod, point: SchemaChangePoint) -> int:
    """Return the first commit-ts of a statement: after the rows of its millisecond, whose logical part is 1."""
    if pending.place == AFTER_ROWS:
        return tso.compose(span.end_ms + 1, 1)
    slot = point.slot if pending.place == AMONG_ROWS else 0
    return tso.compose(span.start_ms + slot, 2 if slot else 1)


def _changed_tables(
    origins: Mapping[Name, TableOrigin],
    had: Mapping[Name, Table],
    reached: Mapping[Name, Table],
    position: RunPosition,
    context: PlanContext,
) -> Iterator[tuple[TableOrigin, Name, int, int]]:
    """Yield `UnplacedPair.changed`, in the order in which statements touch the tables."""
    for name, origin in origins.items():
        if name in reached:
            pair = _versions_of(origin, had, reached[name], position, context)
            if pair is not None:
                yield (origin, name, *pair)


def _unchanged_tables(untouched: Mapping[Name, Table], position: RunPosition, context: PlanContext) -> dict[Name, int]:
    """Return the versions of the replicated tables that no statement touches."""
    return {
        name: position.versions[name] if name in position.versions else context.versions.first(table)
        for name, table in untouched.items()
        if context.rules.replicates(table)
    }


def _versions_of(
    origin: TableOrigin, had: Mapping[Name, Table], table: Table, position: RunPosition, context: PlanContext
) -> tuple[int, int] | None:
    """Return the versions of a table before and after; None if the changefeed's filter excludes both names."""
    rules, versions = context.rules, context.versions
    was = table if origin.name is None else had[origin.name]
    if not rules.replicates(table) and not rules.replicates(was):
        return None
    first = position.versions.get(origin.name) if origin.name else None
    first = versions.first(was) if first is None else first
    return first, first if origin.name is None else versions.next(table, first, origin.emptied)


def _names(catalog: Catalog) -> set[str]:
    return {database.name for database in catalog.databases.values()}

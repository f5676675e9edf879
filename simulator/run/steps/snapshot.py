"""The step `snapshot`: a snapshot becomes the state of all tables. The first one is where the run starts; the changes
that lead to a later one are spread over its time, with its statements at one point of it.

One law: whatever is decided here, is decided by names and definitions; no row is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.files import beside
from simulator.run.plan.comparisons import Draft, TableOrigin, table_origins
from simulator.run.plan.cursor import Addition, Cursor, Planning, starting
from simulator.run.plan.scripted import as_snapshot
from simulator.run.plan.statements import AFTER_ROWS, AMONG_ROWS, PendingStatement, emit_jobs, tables_of
from simulator.run.steps.derivation import SchemaChange, statements_between
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace
from simulator.settings import (
    DEFAULT_OVER_MS,
    DURATION,
    PLACES,
    TEXT,
    TEXTS,
    Key,
    to_duration_ms,
    to_place,
    to_text,
    to_texts,
)
from simulator.sources import snapshots
from simulator.sources.schema_change import SchemaChangePoint
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.catalog import Catalog, catalog
from simulator.tidb.model.table import Name, Table
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tso import Span


@dataclass(frozen=True)
class SnapshotStep:
    directory: Path
    over_ms: int | None = None
    """As long as every step takes, where it does not say it."""

    schema_change: SchemaChange = SchemaChange()

    def plan(self, cursor: Cursor, planning: Planning) -> tuple[Cursor, Addition]:
        """Raises UserError for a snapshot that cannot be read, and for statements that do not lead to it."""
        snapshot = snapshots.open(self.directory)
        if cursor.state is None:
            return _start(snapshot, cursor, planning), Addition()
        before = cursor.state
        if isinstance(before, Upstream):
            before = as_snapshot(before, cursor.unread)
        span = Span(cursor.now_ms, self.over_ms or planning.over_ms or DEFAULT_OVER_MS)
        return _move(before, snapshot, span, self.schema_change, cursor, planning)


def _step(directory: str, values: Mapping[str, Any], place: StepPlace) -> SnapshotStep:
    statements = place.file.parent / values["ddl"] if "ddl" in values else None
    change = SchemaChange(statements, values.get("ddl_at", "middle"), values.get("rename", ()))
    return SnapshotStep(beside(place.file, directory), values.get("over_ms"), change)


KIND = StepKind(
    to_text,
    _step,
    (
        KeyGroup(
            {"over": Key("over_ms", to_duration_ms, DURATION, "Simulated time over which its changes are spread.")},
            "only a snapshot that follows another takes time",
        ),
        KeyGroup(
            {
                "ddl": Key("ddl", to_text, TEXT, "A file of the statements that lead to its definitions of tables."),
                "ddl-at": Key(
                    "ddl_at", to_place, {"enum": list(PLACES)}, "Where in the step's time these statements run."
                ),
                "rename": Key(
                    "rename", to_texts, TEXTS, "What has another name, as OLD=NEW, where statements are derived."
                ),
            },
            "only a snapshot that follows another can have other definitions",
        ),
    ),
    starts=True,
    changes=True,
    says="A directory with the rows of tables. The first one is where the run starts; the difference to a later one is "
    "what happens.",
)


def _start(snapshot: Snapshot, cursor: Cursor, planning: Planning) -> Cursor:
    """The state in which the run starts; the time at which it was taken, unless the user says another."""
    if planning.start_ts is None and snapshot.start_ts:
        cursor = starting(snapshot.start_ts)
    known = catalog((entry.table for entry in snapshot.tables), snapshot.databases)
    versions = {
        name: planning.versions.first(table)
        for name, table in sorted(tables_of(known).items(), key=itemgetter(0))
        if planning.rules.replicates(table)
    }
    return replace(cursor, catalog=known, versions=versions, state=snapshot)


def _move(
    before: Snapshot, after: Snapshot, span: Span, change: SchemaChange, cursor: Cursor, planning: Planning
) -> tuple[Cursor, Addition]:
    """From one snapshot to the next."""
    behind = cursor.passed(span.next_ms - span.start_ms)
    rules = planning.rules
    wanted = {(entry.table.schema, entry.table.name): entry.table for entry in after.tables}
    known, target = _compared(cursor.catalog, wanted, change, rules)
    point = _point(change.at, span)
    now = tso.sql_time(tso.compose(span.start_ms + point.slot))
    applied = statements_between(known, target, change, now, rules.release)
    jobs = tuple(emit_jobs(applied, lambda pending: _first_ts(pending, span, point), rules))
    left = applied[-1].after if applied else known
    reached = tables_of(left)
    origins = table_origins((job.applied, job.job) for job in jobs if job.applied.pending.place == AMONG_ROWS)
    changed = tuple(_changed(origins, tables_of(known), {name: reached[name] for name in target}, cursor, planning))
    same = _same({name: reached[name] for name in target if name not in origins}, cursor, planning)
    every, gone = planning.versions.every, {origin.name for origin, *_ in changed}
    sent = {number: rules.replicates(every[number].table) for _, _, *pair in changed for number in pair}
    stay = {name: number for name, number in cursor.versions.items() if name not in gone}
    draft = Draft(before, after, span, point, (stay, same), changed, sent)
    tables = [reached.get(name, table) for name, table in wanted.items()]
    following = replace(
        behind,
        catalog=catalog(tables, [*left.databases.values(), *sorted(after.databases - _names(left))]),
        versions={**same, **{name: number for _, name, _, number in changed if sent[number]}},
        state=after,
        unread=None,
    )
    return following, Addition(jobs, (draft,))


def _compared(
    known: Catalog, wanted: Mapping[Name, Table], change: SchemaChange, rules: ChangefeedRules
) -> tuple[Catalog, Mapping[Name, Table]]:
    """What statements may be about: only what the filter lets through, unless the user speaks of statements."""
    if change.file or change.renamed:
        return known, wanted
    tables = {key: table for key, table in known.tables.items() if rules.replicates(table)}
    return replace(known, tables=tables), {name: table for name, table in wanted.items() if rules.replicates(table)}


def _point(at: str, span: Span) -> SchemaChangePoint:
    """The middle; or the end, with a tenth of the time left for what only the new definition can say."""
    slots = {"start": 0, "middle": span.over_ms // 2, "end": span.over_ms - max(1, span.over_ms // 10)}
    return SchemaChangePoint(slots[at], at == "end")


def _first_ts(pending: PendingStatement, span: Span, point: SchemaChangePoint) -> int:
    """The first commit-ts of a statement; rows have the logical part 1, those of its millisecond come before it."""
    if pending.place == AFTER_ROWS:
        return tso.compose(span.end_ms + 1, 1)
    slot = point.slot if pending.place == AMONG_ROWS else 0
    return tso.compose(span.start_ms + slot, 2 if slot else 1)


def _changed(
    origins: Mapping[Name, TableOrigin],
    had: Mapping[Name, Table],
    reached: Mapping[Name, Table],
    cursor: Cursor,
    planning: Planning,
) -> Iterator[tuple[TableOrigin, Name, int, int]]:
    """`Draft.changed`, in the order in which statements touch the tables."""
    for name, origin in origins.items():
        if name in reached:
            pair = _versions_of(origin, had, reached[name], cursor, planning)
            if pair is not None:
                yield (origin, name, *pair)


def _same(untouched: Mapping[Name, Table], cursor: Cursor, planning: Planning) -> dict[Name, int]:
    """The versions of the tables that are replicated, as they were or new."""
    return {
        name: cursor.versions[name] if name in cursor.versions else planning.versions.first(table)
        for name, table in untouched.items()
        if planning.rules.replicates(table)
    }


def _versions_of(
    origin: TableOrigin, had: Mapping[Name, Table], table: Table, cursor: Cursor, planning: Planning
) -> tuple[int, int] | None:
    """The versions of a table before and after; None where the changefeed's filter knows neither name."""
    rules, versions = planning.rules, planning.versions
    was = table if origin.name is None else had[origin.name]
    if not rules.replicates(table) and not rules.replicates(was):
        return None
    first = cursor.versions.get(origin.name) if origin.name else None
    first = versions.first(was) if first is None else first
    return first, first if origin.name is None else versions.next(table, first, origin.emptied)


def _names(catalog: Catalog) -> set[str]:
    return {database.name for database in catalog.databases.values()}

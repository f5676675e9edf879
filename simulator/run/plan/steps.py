"""One step: its statements played and decided on, and which version each table is before and behind them.

One law: whatever is decided here, is decided by names and definitions; no row is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from simulator import tso
from simulator.run.plan.events import Sender, Told, told
from simulator.run.plan.lineage import Descent, descents
from simulator.run.plan.statements import TURN, step_statements, tables_of
from simulator.run.plan.versions import Versions
from simulator.run.script import SchemaChange
from simulator.sources.schema_change import SchemaChangePoint
from simulator.sources.snapshots import Snapshot
from simulator.tidb.ddl.catalog import Catalog, catalog
from simulator.tidb.model.table import Table
from simulator.tso import Span

Name = tuple[str, str]


@dataclass(frozen=True)
class Draft:
    """A move whose tables are still version numbers."""

    before: Snapshot
    after: Snapshot
    span: Span
    turn: SchemaChangePoint
    told: tuple[Told, ...]
    before_names: Mapping[Name, int]
    same: tuple[Mapping[Name, int], Mapping[Name, int]]
    changed: tuple[tuple[Descent, Name, int, int], ...]
    """What each table that changes was, its name now, and its versions before and after."""

    sent: Mapping[int, bool]
    """Of the versions in `changed`: whether their rows are replicated."""


def begin(first: Snapshot, versions: Versions, sender: Sender) -> Catalog:
    known = catalog((entry.table for entry in first.tables), first.databases)
    for name, table in tables_of(known).items():
        if sender.replicates(table):
            versions.now[name] = versions.first(table)
    return known


def draft_step(
    before: Snapshot, after: Snapshot, known: Catalog, span: Span, change: SchemaChange, versions: Versions,
    sender: Sender,
) -> tuple[Draft, Catalog]:
    """One step, and the catalog behind it."""
    wanted = {(entry.table.schema, entry.table.name): entry.table for entry in after.tables}
    had, meant = _looked_at(known, wanted, change, sender)
    turn = _turn(change.at, span)
    now = tso.sql_time(tso.compose(span.start_ms + turn.slot))
    played = step_statements(had, meant, change, now)
    said = tuple(told(played, span, turn, sender))
    behind = played[-1].after if played else had
    reached = tables_of(behind)
    origin = descents((one.played, one.job) for one in said if one.played.spoken.place == TURN)
    changed = tuple(_changed(origin, tables_of(had), {name: reached[name] for name in meant}, versions, sender))
    same = _standing(origin, meant, reached, versions, sender)
    stay = {descent.name for descent, *_ in changed}
    made = Draft(
        before, after, span, turn, said, versions.now,
        ({name: number for name, number in versions.now.items() if name not in stay}, same), changed,
        {number: sender.replicates(versions.every[number].table) for _, _, *pair in changed for number in pair},
    )
    versions.now = {**same, **{name: number for _, name, _, number in changed if made.sent[number]}}
    tables = [reached.get(name, table) for name, table in wanted.items()]
    return made, catalog(tables, [*behind.databases.values(), *sorted(after.databases - _names(behind))])


def _looked_at(
    known: Catalog, wanted: Mapping[Name, Table], change: SchemaChange, sender: Sender
) -> tuple[Catalog, Mapping[Name, Table]]:
    """What statements may be about: only what the filter lets through, unless the user speaks of statements."""
    if change.file or change.renamed:
        return known, wanted
    tables = {key: table for key, table in known.tables.items() if sender.replicates(table)}
    return replace(known, tables=tables), {name: one for name, one in wanted.items() if sender.replicates(one)}


def _changed(
    origin: Mapping[Name, Descent], had: Mapping[Name, Table], reached: Mapping[Name, Table], versions: Versions,
    sender: Sender,
) -> Iterator[tuple[Descent, Name, int, int]]:
    for name, descent in origin.items():
        if name in reached:
            pair = _versions_of(descent, had, reached[name], versions, sender)
            if pair is not None:
                yield (descent, name, *pair)


def _standing(
    origin: Mapping[Name, Descent], meant: Iterable[Name], reached: Mapping[Name, Table], versions: Versions,
    sender: Sender,
) -> dict[Name, int]:
    """The tables that are there afterwards as they were, or new."""
    names = (name for name in meant if name not in origin and sender.replicates(reached[name]))
    return {
        name: versions.now[name] if name in versions.now else versions.first(reached[name]) for name in names
    }


def _names(catalog: Catalog) -> set[str]:
    return {database.name for database in catalog.databases.values()}


def _versions_of(
    descent: Descent, had: Mapping[Name, Table], table: Table, versions: Versions, sender: Sender
) -> tuple[int, int] | None:
    """The versions of a table before and after; None where the changefeed's filter knows neither name."""
    origin = table if descent.name is None else had[descent.name]
    if not sender.replicates(table) and not sender.replicates(origin):
        return None
    first = versions.now.get(descent.name) if descent.name else None
    first = versions.first(origin) if first is None else first
    return first, first if descent.name is None else versions.next(table, first, descent.emptied)


def _turn(at: str, span: Span) -> SchemaChangePoint:
    """The middle; or the end, with a tenth of the time left for what only the new definition can say."""
    slots = {"start": 0, "middle": span.over_ms // 2, "end": span.over_ms - max(1, span.over_ms // 10)}
    return SchemaChangePoint(slots[at], at == "end")

"""What a run will do, decided on the driver before anything starts: tables, statements, destinations' topics, time.

One law: pure, no Spark and no Kafka; whatever is wrong with the input as a whole is said here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from simulator import dispatch, snapshots, tso
from simulator.changefeed import Changefeed
from simulator.changes import TableFacts
from simulator.codecs import DdlEvent
from simulator.dispatch import Route
from simulator.errors import UserError
from simulator.filters import Replication, replication
from simulator.releases import Release
from simulator.schema.keys import handle_key
from simulator.schema.table import Table
from simulator.snapshots import Snapshot
from simulator.snapshots.physical import PhysicalTable, physical_tables
from simulator.tso import Span, Timeline

CREATE_DATABASE, CREATE_TABLE, DROP_TABLE = 1, 3, 4
"""Action types (tidb: pkg/meta/model/job.go)."""

Name = tuple[str, str]


@dataclass(frozen=True)
class Becomes:
    """A step: the snapshot in `directory` becomes the new state, its changes spread over so much simulated time."""

    directory: Path
    over_ms: int


@dataclass(frozen=True)
class Wait:
    """A step: so much simulated time passes, and only watermarks with it."""

    milliseconds: int


@dataclass(frozen=True)
class Script:
    """What a user asks to be played, from `diff` or from a scenario file."""

    start: Path
    steps: tuple[Becomes | Wait, ...]
    start_ts: int | None = None
    resolved_interval_ms: int = 1000
    seed: int = 0
    speed: float = 0.0


@dataclass(frozen=True)
class Move:
    """From one snapshot to the next."""

    before: Snapshot
    after: Snapshot
    span: Span
    facts: TableFacts


@dataclass(frozen=True)
class Plan:
    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    """As long as `tables`."""

    moves: tuple[Move, ...]
    statements: tuple[DdlEvent, ...]
    statement_topics: tuple[str, ...]
    """As long as `statements`."""

    topics: tuple[str, ...]
    """The default topic first."""

    active: tuple[tuple[int, int], ...]
    """As long as `topics`: from which to which TSO a topic has tables, and so watermarks; the default one always."""

    timeline: Timeline
    left_out: tuple[Name, ...]
    """Tables that the changefeed's filter leaves out."""

    @property
    def input_bytes(self) -> int:
        """Size of all files that the comparisons read."""
        return sum(snapshot.size for move in self.moves for snapshot in (move.before, move.after))


def plan(script: Script, changefeed: Changefeed, release: Release) -> Plan:
    """The plan; raises UserError for a snapshot, a schema or a rule that does not fit."""
    opened = [
        snapshots.open(path)
        for path in (script.start, *(step.directory for step in script.steps if isinstance(step, Becomes)))
    ]
    filtered = replication(changefeed.rules, changefeed.case_sensitive, changefeed.ignore_txn_start_ts)
    states = [_replicated(snapshot, filtered) for snapshot in opened]
    every = _same_everywhere(opened, states)
    _eligible(every.values(), changefeed.force_replicate)
    tables = physical_tables(every.values())
    router = dispatch.router(changefeed)
    dispatch.verify_tables(router, every.values())
    spans, timeline = _times(script, opened[0])
    statements = [
        event
        for snapshot, before, after, span in zip(opened, states, states[1:], spans)
        for event in _statements(snapshot.databases, before, after, span)
    ]
    names = [(table.schema, table.name) for table in every.values()]
    topics = tuple(dict.fromkeys([changefeed.topic, *dispatch.active_topics(router, names)]))
    statement_topics = tuple(dispatch.topic_of_ddl(router, event.schema, event.table) for event in statements)
    first, last = (
        {changefeed.topic, *(dispatch.topic_of(router, *name) for name in state)} for state in (states[0], states[-1])
    )
    return Plan(
        tables,
        tuple(dispatch.route(router, physical.table, release) for physical in tables),
        tuple(
            Move(before, after, span, _facts(tables, state))
            for before, after, span, state in zip(opened, opened[1:], spans, states[1:])
        ),
        tuple(statements),
        statement_topics,
        topics,
        _active(topics, first, last, zip(statement_topics, statements)),
        timeline,
        tuple(sorted({name for snapshot in opened for name in _names(snapshot)} - set(names))),
    )


def _names(snapshot: Snapshot) -> list[Name]:
    return [(entry.table.schema, entry.table.name) for entry in snapshot.tables]


def _replicated(snapshot: Snapshot, filtered: Replication) -> dict[Name, Table]:
    tables = (entry.table for entry in snapshot.tables)
    return {(table.schema, table.name): table for table in tables if filtered.table(table.schema, table.name)}


def _same_everywhere(opened: Sequence[Snapshot], states: Sequence[dict[Name, Table]]) -> dict[Name, Table]:
    """All tables of the run; raises UserError where one is defined differently in two snapshots."""
    every: dict[Name, Table] = {}
    first: dict[Name, Snapshot] = {}
    for snapshot, state in zip(opened, states, strict=True):
        for name, table in state.items():
            known = every.setdefault(name, table)
            difference = _difference(known, table)
            if difference:
                places = f"{first[name].path} and {snapshot.path}"
                raise UserError(
                    f"table {name[0]}.{name[1]} differs between {places}: {difference}; the schemas must be the same"
                )
            first.setdefault(name, snapshot)
    if not every:
        raise UserError(f"no table to replicate: the changefeed's filter leaves out every table of {opened[0].path}")
    return every


def _difference(one: Table, other: Table) -> str:
    """What differs in two definitions of a table, by column; nothing where only comments or options do."""
    ours, theirs = ({column.name: column for column in table.columns} for table in (one, other))
    changed = [
        name for name in ours if name in theirs and replace(ours[name], comment="") != replace(theirs[name], comment="")
    ]
    said = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("columns only in the first:", [name for name in ours if name not in theirs]),
            ("columns only in the second:", [name for name in theirs if name not in ours]),
            ("columns of another definition:", changed),
        )
        if names
    ]
    if not said and list(ours) != list(theirs):
        said = ["columns in another order"]
    keys = [(table.primary_key, table.clustered, table.indexes, table.partitioning) for table in (one, other)]
    return "; ".join(said) or ("keys or partitions differ" if keys[0] != keys[1] else "")


def _eligible(tables: Iterable[Table], force_replicate: bool) -> None:
    """Without a valid index TiCDC wants force-replicate (tiflow v8.5.3: cdc/model/schema_storage.go)."""
    names = [f"{table.schema}.{table.name}" for table in tables if not handle_key(table)]
    if names and not force_replicate:
        raise UserError(
            f"no primary key and no unique key of NOT NULL columns: {', '.join(names[:5])}"
            f"{' …' if len(names) > 5 else ''}; "
            "TiCDC does not replicate such tables: leave them out with [filter] rules, or set force-replicate = true"
        )


def _times(script: Script, first: Snapshot) -> tuple[list[Span], Timeline]:
    origin = script.start_ts or first.start_ts or tso.DEFAULT_START_TS
    # Everything that happens lies above the start, as a changefeed sends what is committed after its start-ts.
    begin = now = tso.physical(origin) + 1
    spans = []
    for step in script.steps:
        if isinstance(step, Wait):
            now += step.milliseconds
        else:
            spans.append(Span(now, step.over_ms))
            now = spans[-1].next_ms
    return spans, Timeline(begin, now, script.resolved_interval_ms)


def _facts(tables: Sequence[PhysicalTable], after: dict[Name, Table]) -> TableFacts:
    return TableFacts(
        tuple(zlib.crc32(f"{one.table.schema}.{one.table.name}".encode()) for one in tables),
        tuple(bool(handle_key(one.table)) for one in tables),
        tuple((one.table.schema, one.table.name) in after for one in tables),
    )


def _statements(
    known: Set[str], before: dict[Name, Table], after: dict[Name, Table], span: Span
) -> list[DdlEvent]:
    """CREATE statements ahead of all rows of the step, DROP statements behind them; `known` databases exist before."""
    created = [table for name, table in sorted(after.items()) if name not in before]
    made = [
        (schema, "", f"CREATE DATABASE {quoted(schema)}", CREATE_DATABASE)
        for schema in sorted({t.schema for t in created} - known)
    ]
    made += [(table.schema, table.name, one_line(table.statement), CREATE_TABLE) for table in created]
    dropped = [
        (schema, name, f"DROP TABLE {quoted(schema)}.{quoted(name)}", DROP_TABLE)
        for schema, name in sorted(before.keys() - after.keys())
    ]
    early = [DdlEvent(tso.compose(span.start_ms, number), *event) for number, event in enumerate(made, 1)]
    return early + [DdlEvent(tso.compose(span.end_ms + 1, number), *event) for number, event in enumerate(dropped, 1)]


def _active(
    topics: Iterable[str], first: Set[str], last: Set[str], statements: Iterable[tuple[str, DdlEvent]]
) -> tuple[tuple[int, int], ...]:
    """From the statement that gives a topic its first table to the one that takes its last
    (tiflow v8.5.3: cdc/sink/ddlsink/mq/mq_ddl_sink.go, WriteCheckpointTs)."""
    times: dict[str, list[int]] = {}
    for topic, event in statements:
        times.setdefault(topic, []).append(event.commit_ts)
    return tuple(
        (0 if topic in first else min(times[topic]), tso.FOREVER if topic in last else max(times[topic]))
        for topic in topics
    )


def quoted(name: str) -> str:
    """An identifier in back-quotes."""
    return "`" + name.replace("`", "``") + "`"


def one_line(statement: str) -> str:
    """A statement as its file has it, its lines joined by blanks."""
    return " ".join(line.strip() for line in statement.strip().rstrip(";").splitlines())

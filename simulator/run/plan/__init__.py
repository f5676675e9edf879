"""What a run will do, decided on the driver before anything starts: tables, statements, destinations' topics, time.

One law: pure, no Spark and no Kafka; whatever is wrong with the input as a whole is said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simulator import tso
from simulator.errors import UserError
from simulator.releases import Release
from simulator.run.plan.activity import active_spans
from simulator.run.plan.events import Sender, Told
from simulator.run.plan.moves import Changed, Move, move
from simulator.run.plan.statements import TURN
from simulator.run.plan.steps import Draft, begin, draft_step
from simulator.run.plan.versions import Versions, physical
from simulator.run.script import Becomes, Script, Wait
from simulator.sources import snapshots
from simulator.sources.snapshots import PhysicalTable, Snapshot
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.dispatch import Route
from simulator.ticdc.filters import replication
from simulator.ticdc.filters.event_filters import EventFilters, event_filters
from simulator.ticdc.filters.row_expressions import verify
from simulator.ticdc.split import SplitRule, split_rule
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table
from simulator.tso import Span, Timeline

__all__ = ["Changed", "Move", "Plan", "plan"]

Name = tuple[str, str]


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

    said: tuple[str, ...]
    """For people: the statements at the turn from one schema to another, and those that are not sent."""

    event_filters: EventFilters
    ignored_start_ts: frozenset[int]
    """Transactions that are not sent."""

    split: SplitRule
    """Which UPDATEs are sent as DELETE and INSERT, and the order of rows inside a transaction."""

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
    spans, timeline = _times(script, opened[0])
    sender, versions = _sender(changefeed, release), Versions()
    drafts = _drafts(script, opened, spans, versions, sender)
    if not versions.every:
        raise UserError(f"no table to replicate: the changefeed's filter leaves out every table of {opened[0].path}")
    _check(versions, sender)
    tables, places = physical(versions.every)
    said = [one for draft in drafts for one in draft.told]
    topics = _topics(changefeed.topic, versions, said, sender)
    routes = tuple(dispatch.route(sender.router, physical.table) for physical in tables)
    return Plan(
        tables,
        routes,
        tuple(move(draft, places) for draft in drafts),
        tuple(event for one in said for event in one.events),
        tuple(topic for one in said for topic in one.topics),
        topics,
        active_spans(topics, changefeed.topic, drafts[0].before_names, versions.now, said, sender),
        timeline,
        _left_out(opened, sender),
        tuple(_note(one) for one in said if one.played.spoken.place == TURN or not one.events),
        sender.event_filters,
        sender.replication.ignored_start_ts,
        split_rule(release, changefeed.output_raw_change_event, changefeed.codec.enable_old_value),
    )


def _drafts(
    script: Script, opened: Sequence[Snapshot], spans: Sequence[Span], versions: Versions, sender: Sender
) -> list[Draft]:
    known = begin(opened[0], versions, sender)
    dispatch.verify_routes(sender.router, versions.now)
    drafts: list[Draft] = []
    changes = [step.schema_change for step in script.steps if isinstance(step, Becomes)]
    for before, after, span, change in zip(opened, opened[1:], spans, changes, strict=False):
        draft, known = draft_step(before, after, known, span, change, versions, sender)
        drafts.append(draft)
    return drafts


def _check(versions: Versions, sender: Sender) -> None:
    """What TiCDC checks when a changefeed starts, of all tables that the run begins with or creates."""
    _eligible((one.table for one in versions.every if sender.replicates(one.table)), sender.force_replicate)
    firsts = [one.table for one in versions.every if one.of is None and sender.replicates(one.table)]
    dispatch.verify_tables(sender.router, firsts)
    verify(sender.event_filters, firsts)


def _topics(default: str, versions: Versions, said: Iterable[Told], sender: Sender) -> tuple[str, ...]:
    """Every topic that gets something, the default one first."""
    names = [(one.table.schema, one.table.name) for one in versions.every if sender.replicates(one.table)]
    active = dispatch.active_topics(sender.router, names)
    return tuple(dict.fromkeys([default, *active, *(topic for one in said for topic in one.topics)]))


def _left_out(opened: Iterable[Snapshot], sender: Sender) -> tuple[Name, ...]:
    names = {(entry.table.schema, entry.table.name) for snapshot in opened for entry in snapshot.tables}
    return tuple(sorted(name for name in names if not sender.replication.table(*name)))


def _note(one: Told) -> str:
    text = " ".join(one.played.spoken.text.split())
    return f"at {tso.describe(one.commit_ts)}: {text}" + ("" if one.events else f"; not sent: {one.why}")


def _sender(changefeed: Changefeed, release: Release) -> Sender:
    return Sender(
        replication(changefeed.rules, changefeed.case_sensitive, changefeed.ignore_txn_start_ts, release),
        event_filters(changefeed.event_filters, release, changefeed.case_sensitive),
        changefeed.force_replicate,
        dispatch.router(changefeed, release),
        release,
    )


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
    if now > tso.physical(tso.FOREVER):
        raise UserError(
            f"the run would end after the last TSO there is, {tso.describe(tso.FOREVER)}: it starts at "
            f"{tso.describe(origin)} and takes {now - begin} ms of simulated time; let it start earlier or be shorter"
        )
    return spans, Timeline(begin, now, script.resolved_interval_ms)

"""What TiCDC sends of the statements of a run: DDL events with their time and topic.

One law: statements run in the order they were played, each job at a commit-ts of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator import tso
from simulator.errors import DdlError
from simulator.releases import Release
from simulator.run.plan.statements import FIRST, Played, TURN
from simulator.sources.schema_change import Turn
from simulator.ticdc import dispatch
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.ddl.classify import decided
from simulator.ticdc.dispatch import Router
from simulator.ticdc.filters import Replication
from simulator.ticdc.filters.event_filters import EventFilters
from simulator.tidb.ddl.jobs import Job, jobs
from simulator.tidb.model.table import Table
from simulator.tso import Span


@dataclass(frozen=True)
class Sender:
    """All that decides what becomes of a statement."""

    replication: Replication
    event_filters: EventFilters
    force_replicate: bool
    router: Router
    release: Release

    def replicates(self, table: Table) -> bool:
        """Whether the changefeed's filter lets the table's rows through."""
        return self.replication.table(table.schema, table.name)


@dataclass(frozen=True)
class Told:
    """A job that ran, and what of it is sent."""

    played: Played
    job: Job
    commit_ts: int
    events: tuple[DdlEvent, ...]
    topics: tuple[str, ...]
    """As long as `events`."""

    why: str
    """Why nothing is sent, or what decided."""


def told(played: Sequence[Played], span: Span, turn: Turn, sender: Sender) -> Iterator[Told]:
    """Each job of the statements, in order; raises DdlError where TiCDC stops the changefeed."""
    numbers: Counter[int] = Counter()
    for one in played:
        millisecond = _millisecond(one.spoken.place, span, turn)
        for job in jobs(one.statement, one.spoken.text, one.spoken.database, one.before, sender.release):
            numbers[millisecond] += 1
            # Rows have the logical part 1: statements of the same millisecond run behind them.
            behind = one.spoken.place == TURN and turn.slot > 0
            yield _told(one, job, tso.compose(millisecond, numbers[millisecond] + behind), sender)


def _millisecond(place: int, span: Span, turn: Turn) -> int:
    return {FIRST: span.start_ms, TURN: span.start_ms + turn.slot}.get(place, span.end_ms + 1)


def _told(one: Played, job: Job, commit_ts: int, sender: Sender) -> Told:
    decision = decided(
        job, one.before, one.after, sender.replication, sender.event_filters, sender.force_replicate, sender.release,
        commit_ts - tso.BEFORE_COMMIT, sender.router.routes,
    )
    if decision.error is not None:
        raise DdlError(f"{decision.error.text} ({one.spoken.origin or one.spoken.text})", decision.error.code)
    events = tuple(
        DdlEvent(commit_ts, *made.told, query, made.type_code)
        for made, query in zip(decision.events, decision.queries, strict=True)
    )
    topics = tuple(
        dispatch.topic_of_ddl(sender.router, made.schema, made.table, made.old) for made in decision.events
    )
    return Told(one, job, commit_ts, events, topics, decision.why)

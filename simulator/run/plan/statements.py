"""Statements of a run: applied to the catalog, and what TiCDC sends of their jobs.

One law: statements run in the order they are given, each job at a commit-ts of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from simulator import tso
from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc import dispatch
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.ddl.classify import decide
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.ddl import Statement

BEFORE_ROWS, AMONG_ROWS, AFTER_ROWS, IN_SCRIPT = range(4)
"""Where a statement stands: before all rows of its step, at the schema change among them, behind all rows; or between
statements that change rows."""


@dataclass(frozen=True)
class PendingStatement:
    """A statement, not yet applied."""

    text: str
    database: str
    """The current one."""

    place: int
    origin: str = ""
    """Where it is from, for errors."""


@dataclass(frozen=True)
class AppliedStatement:
    """A statement, its jobs, and what it makes of the catalog."""

    pending: PendingStatement
    statement: Statement
    jobs: tuple[Job, ...]
    before: Catalog
    after: Catalog


@dataclass(frozen=True)
class EmittedJob:
    """A job that ran, and what of it is sent."""

    applied: AppliedStatement
    job: Job
    commit_ts: int
    events: tuple[DdlEvent, ...]
    topics: tuple[str, ...]
    """As long as `events`."""

    why: str
    """Why nothing is sent, or what decided."""


def tables_of(catalog: Catalog) -> dict[Name, Table]:
    """Its tables by the names they were given."""
    return {(table.schema, table.name): table for table in catalog.tables.values()}


def apply(statements: Iterable[PendingStatement], known: Catalog, now: str, release: Release) -> list[AppliedStatement]:
    """The statements applied one after the other; raises DdlError as TiDB words it, with where it stands.

    `now` is what CURRENT_TIMESTAMP(6) gives.
    """
    done: list[AppliedStatement] = []
    for pending in statements:
        before = done[-1].after if done else known
        try:
            statement = parse_ddl(pending.text)
            assert statement is not None
            session = Session(pending.database, None, release, now)
            jobs, after = execute_in_catalog(before, statement, pending.text, session)
            done.append(AppliedStatement(pending, statement, jobs, before, after))
        except DdlError as error:
            raise DdlError(f"{error.text} ({pending.origin or 'statement'}: {pending.text})", error.code) from error
    return done


def emit_jobs(
    statements: Iterable[AppliedStatement], first_ts: Callable[[PendingStatement], int], rules: ChangefeedRules
) -> Iterator[EmittedJob]:
    """Each job of the statements, in order; raises DdlError where TiCDC stops the changefeed.

    `first_ts` is the first commit-ts that a statement's jobs may have; those of one TSO follow each other from there.
    """
    taken: Counter[int] = Counter()
    for statement in statements:
        first = first_ts(statement.pending)
        for job in statement.jobs:
            yield _emitted(statement, job, first + taken[first], rules)
            taken[first] += 1


def _emitted(applied: AppliedStatement, job: Job, commit_ts: int, rules: ChangefeedRules) -> EmittedJob:
    decision = decide(job, applied.before, applied.after, rules, commit_ts - tso.BEFORE_COMMIT)
    if decision.error is not None:
        origin = applied.pending.origin or applied.pending.text
        reads = "TiCDC parses DDL without sql_mode, and stops: " if decision.error.code == "parser:1064" else ""
        raise DdlError(f"{reads}{decision.error.text} ({origin})", decision.error.code)
    events = tuple(
        DdlEvent(commit_ts, *event.sent_name, query, event.type_code)
        for event, query in zip(decision.events, decision.queries, strict=True)
    )
    topics = tuple(
        dispatch.topic_of_ddl(rules.router, event.schema, event.table, event.old) for event in decision.events
    )
    return EmittedJob(applied, job, commit_ts, events, topics, decision.why)

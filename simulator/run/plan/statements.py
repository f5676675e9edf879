"""Applies DDL statements to the catalog, and derives the events that TiCDC sends for their jobs.

Each job has a commit-ts of its own, in the order of the statements.
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
from simulator.ticdc.ddl.classify import DISCARD, decide
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.ddl.statements import parse_ddl
from simulator.tidb.syntax.definitions import Statement

BEFORE_ROWS, AMONG_ROWS, AFTER_ROWS, IN_SCRIPT = range(4)
"""The place of a statement in its step: before all rows, at the schema change among them, after all rows, or in a
script of SQL."""


UNREADABLE = ("parser:1064", "CDC:ErrConvertDDLToEventTypeFailed")
"""The codes with which TiCDC stops at a text that it cannot parse."""

READ_BY = {
    "default": "without the session's sql_mode",
    "changefeed": "by the sql-mode of the changefeed instead of the session's",
}
"""By which sql_mode a release reads DDL, if not by that of its session."""


@dataclass(frozen=True)
class PendingStatement:
    """A statement, not yet applied."""

    text: str
    database: str
    """The current database."""

    place: int
    origin: str = ""
    """Its source, for error messages."""


@dataclass(frozen=True)
class AppliedStatement:
    """A statement with its jobs, and the catalog before and after it."""

    pending: PendingStatement
    statement: Statement
    jobs: tuple[Job, ...]
    before: Catalog
    after: Catalog


@dataclass(frozen=True)
class EmittedJob:
    """A job that ran, with the events that are sent for it."""

    applied: AppliedStatement
    job: Job
    commit_ts: int
    events: tuple[DdlEvent, ...]
    topics: tuple[str, ...]
    """Parallel to `events`."""

    why: str
    """The reason for the decision to send it or not."""

    discarded: bool = False
    """Whether TiCDC's schema stays as it was before the job."""


def tables_of(catalog: Catalog) -> dict[Name, Table]:
    """Return the tables of a catalog by schema and name as they are spelled."""
    return {(table.schema, table.name): table for table in catalog.tables.values()}


def apply(statements: Iterable[PendingStatement], known: Catalog, now: str, release: Release) -> list[AppliedStatement]:
    """Apply statements one after the other; raises DdlError with TiDB's text and the statement's origin.

    `now` is the value of CURRENT_TIMESTAMP(6).
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
    """Yield the jobs of the statements, in order; raises DdlError if TiCDC would stop the changefeed.

    `first_ts` returns the first commit-ts that a statement's jobs may have; jobs with the same one count up from it.
    """
    used: Counter[int] = Counter()
    for statement in statements:
        first = first_ts(statement.pending)
        for job in statement.jobs:
            yield _emit_job(statement, job, first + used[first], rules)
            used[first] += 1


def _emit_job(applied: AppliedStatement, job: Job, commit_ts: int, rules: ChangefeedRules) -> EmittedJob:
    decision = decide(job, applied.before, applied.after, rules, commit_ts - tso.BEFORE_COMMIT)
    if decision.error is not None:
        origin = applied.pending.origin or applied.pending.text
        read_by = rules.release.ddl_text_mode
        differs = read_by != "job" and job.sql_mode != rules.changefeed.sql_mode and decision.error.code in UNREADABLE
        reads = f"TiCDC {rules.release.name} reads DDL {READ_BY[read_by]}, and stops: " if differs else ""
        raise DdlError(f"{reads}{decision.error.text} ({origin})", decision.error.code)
    events = tuple(
        DdlEvent(commit_ts, *event.sent_name, query, event.type_code)
        for event, query in zip(decision.events, decision.queries, strict=True)
    )
    topics = tuple(
        dispatch.topic_of_ddl(rules.router, event.schema, event.table, event.old) for event in decision.events
    )
    return EmittedJob(applied, job, commit_ts, events, topics, decision.why, decision.outcome == DISCARD)

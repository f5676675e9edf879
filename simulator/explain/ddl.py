"""A statement under a changefeed: its jobs, what TiCDC decides about each, what is sent, and how tables change.

One law: it asks the modules that the pipeline asks, and works nothing out itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from simulator.errors import DdlError
from simulator.explain.ddl_messages import MessageExplained, messages
from simulator.explain.ddl_schema import SchemaChange, schema_changes
from simulator.releases import Release
from simulator.ticdc.ddl.classify import Decision, decided
from simulator.ticdc.ddl.events import Event
from simulator.ticdc.ddl.jobs_text import text_jobs, text_statements
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.actions import ACTIONS
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.evolve import applied
from simulator.tidb.ddl.evolve_create_checks import check_alone
from simulator.tidb.ddl.jobs import Job, notes
from simulator.tso import DEFAULT_START_TS


@dataclass(frozen=True)
class EventExplained:
    """An event that is sent."""

    type_code: int
    action: str
    schema: str
    table: str
    sent_as: str
    """Full name in messages, where table routing gives another one."""

    topic: str
    query: str
    holds_back: str
    """Whose later rows wait for it: `its own table` or `all tables`."""

    messages: tuple[MessageExplained, ...]
    """One for each protocol."""


@dataclass(frozen=True)
class JobExplained:
    type_code: int
    action: str
    """TiDB's constant."""

    text: str
    """What ADMIN SHOW DDL JOBS prints."""

    schema: str
    table: str
    renamed: tuple[tuple[str, str], ...]
    """Old and new full name of each table of a RENAME."""

    exchanged: str
    """Full name of the plain table of EXCHANGE PARTITION."""

    sub_jobs: tuple[str, ...]
    """Actions of the parts of a multi-schema change."""

    outcome: str
    """As `simulator.ticdc.ddl.classify.Decision` has it."""

    why: str
    events: tuple[EventExplained, ...]


@dataclass(frozen=True)
class DdlExplained:
    statement: str
    release: str
    architecture: str
    jobs: tuple[JobExplained, ...]
    notes: tuple[str, ...]
    """What of the statement is no job, and why."""

    schema_changes: tuple[SchemaChange, ...]
    """Of the tables that are known."""


def explain_ddl(text: str, database: str, catalog: Catalog | None, rules: ChangefeedRules) -> DdlExplained:
    """What becomes of a statement; raises DdlError for one that TiDB does not take, or that does not fit the tables.

    Without a catalog, nothing is said of tables, and every table is taken for one with a valid index.
    """
    return _explained(text, database, catalog, _after(text, database, catalog, rules.release), rules)


def explain_each(
    statements: Sequence[tuple[str, str]], catalog: Catalog | None, rules: ChangefeedRules,
) -> Iterator[DdlExplained]:
    """What becomes of statements (current database and text), each seeing the tables as the one before leaves them.

    Raises DdlError, with the statement's number, at the first that is not taken.
    """
    for number, (database, text) in enumerate(statements, 1):
        try:
            after = _after(text, database, catalog, rules.release)
            yield _explained(text, database, catalog, after, rules)
        except DdlError as error:
            if len(statements) == 1:
                raise
            raise DdlError(f"statement {number} of {len(statements)}: {error.text}", error.code) from error
        catalog = after


def _explained(
    text: str, database: str, catalog: Catalog | None, after: Catalog | None, rules: ChangefeedRules,
) -> DdlExplained:
    found = text_jobs(text, database, catalog, rules.release)
    renamed = [pair for job in found for pair in job.pairs]
    said = [note for one in text_statements(text, rules.release)
            for note in notes(one, text, database, catalog, rules.release)]
    return DdlExplained(
        text, rules.release.name, rules.release.architecture,
        tuple(_job(job, catalog, after, rules) for job in found), tuple(said),
        schema_changes(catalog, after, renamed, rules.release) if catalog and after else (),
    )


def _after(text: str, database: str, catalog: Catalog | None, release: Release) -> Catalog | None:
    for statement in text_statements(text, release):
        if catalog is None:
            check_alone(statement)
        else:
            catalog = applied(catalog, statement, database, text)
    return catalog


def _job(job: Job, before: Catalog | None, after: Catalog | None, rules: ChangefeedRules) -> JobExplained:
    decision = decided(
        job, before, after, rules.replication, rules.event_filters, rules.changefeed.force_replicate, rules.release,
        routes=rules.router.routes)
    action = ACTIONS[job.code]
    return JobExplained(
        job.code, action.name, action.text, job.schema, job.table,
        tuple((".".join(old), ".".join(new)) for old, new in job.pairs),
        ".".join(job.exchanged) if job.exchanged else "", tuple(ACTIONS[code].name for code in job.steps),
        decision.outcome, decision.why, tuple(_events(decision, rules)),
    )


def _events(decision: Decision, rules: ChangefeedRules) -> Iterator[EventExplained]:
    for event, query in zip(decision.events, decision.queries, strict=True):
        yield _event(replace(event, query=query), rules)


def _event(event: Event, rules: ChangefeedRules) -> EventExplained:
    topic, sent = messages(event, rules.router, rules.changefeed, rules.release, DEFAULT_START_TS + 1)
    action = ACTIONS[event.type_code].name
    holds_back = "its own table" if event.type_code in rules.release.single_table_ddl else "all tables"
    called = ".".join(name for name in event.sent_as or () if name)
    return EventExplained(
        event.type_code, action, event.schema, event.table, called, topic, event.query, holds_back, sent)

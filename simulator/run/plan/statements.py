"""Applies DDL statements to the catalog, and derives the events that TiCDC sends for their jobs, with the table infos before
and after each.

Each job has a commit-ts of its own, in the order of the statements. Sources of table infos: tiflow v8.0.0
cdc/entry/schema_storage.go BuildDDLEvents, cdc/entry/schema/snapshot.go PreTableInfo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from simulator import tso
from simulator.errors import DdlError
from simulator.releases import Release
from simulator.run.plan.versions import TableVersions
from simulator.ticdc import dispatch
from simulator.ticdc.codecs import DdlEvent, TableInfo
from simulator.ticdc.ddl import DISCARD, decide
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Catalog, Key, ViewInfo, object_key
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.ddl import parse_ddl
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

FIRST_OTHER_ID = 1 << 20
"""The first id of views, and of tables that are not replicated."""

KEEPING = frozenset({Action.RENAME_TABLE, Action.RENAME_TABLES, Action.TRUNCATE_TABLE, Action.EXCHANGE_TABLE_PARTITION})
"""Jobs that keep the schema version (tidb v8.0.0: pkg/ddl/table.go, pkg/ddl/partition.go)."""

CREATING = frozenset({Action.CREATE_TABLE, Action.CREATE_TABLES, Action.CREATE_VIEW, Action.RECOVER_TABLE})
"""Jobs whose events have no table before them."""


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


def renamed_tables(job: Job) -> dict[Name, Name]:
    """Return the tables of a job: new names by old ones, which are equal unless the job renames the table."""
    names = [(job.schema, table.name) for table in job.tables] or [(job.schema, job.table)]
    return dict(job.renames or zip(names, names, strict=True))


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


@dataclass(frozen=True)
class TableIds:
    """The ids of the replicated tables before and after a statement."""

    before: Mapping[Key, int]
    after: Mapping[Key, int]


def ids_of(numbers: Mapping[Name, int], versions: TableVersions) -> dict[Key, int]:
    """Return the table ids of some versions."""
    return {object_key(*name): versions.table_id(number) for name, number in numbers.items()}


def stamp_versions(
    numbers: Mapping[Name, int], infos: Mapping[Key, TableInfo], first_version: int, versions: TableVersions
) -> None:
    """Set the schema versions of some versions; tables that are not in `infos` have `first_version`."""
    for name, number in numbers.items():
        info = infos.get(object_key(*name))
        known = (info.version, info.snapshot_version) if info else (first_version, first_version)
        versions.stamp(number, *known)


def follow_jobs(
    jobs: Iterable[EmittedJob], infos: Mapping[Key, TableInfo], ids: TableIds, first_version: int
) -> tuple[list[EmittedJob], dict[Key, TableInfo]]:
    """Return the jobs with table infos in their events, and the infos after them.

    Tables that are not in `infos` have `first_version`.
    """
    known, done = dict(infos), []
    for emitted in jobs:
        before = _known(known, emitted, ids, first_version)
        after = _unchanged(before, emitted) if emitted.discarded else _after(before, emitted, ids)
        done.append(
            replace(emitted, events=tuple(_with_infos(event, emitted, before, after) for event in emitted.events))
        )
        known = after
    return done, known


def _known(known: dict[Key, TableInfo], emitted: EmittedJob, ids: TableIds, first_version: int) -> dict[Key, TableInfo]:
    """Return the infos with those of the job's tables that are not known yet."""
    infos = dict(known)
    for place in (object_key(*old) for old in _names(emitted.job)):
        table = _object(emitted.applied.before, place)
        if place not in infos and table is not None:
            infos[place] = TableInfo(table, ids.before.get(place) or _other_id(infos), first_version, first_version)
    return infos


def _names(job: Job) -> list[Name]:
    return [*renamed_tables(job), *([job.exchanged_table] if job.exchanged_table else [])]


def _after(before: Mapping[Key, TableInfo], emitted: EmittedJob, ids: TableIds) -> dict[Key, TableInfo]:
    """Return the infos after a job."""
    job, catalog = emitted.job, emitted.applied.after
    version = emitted.commit_ts - tso.BEFORE_COMMIT
    if job.code == Action.DROP_SCHEMA:
        return {place: info for place, info in before.items() if place[0] != job.schema.lower()}
    after = dict(before)
    pairs = renamed_tables(job)
    for old in pairs:
        after.pop(object_key(*old), None)
    for old, new in (*pairs.items(), *((job.exchanged_table,) * 2 for _ in [0] if job.exchanged_table)):
        was, place = before.get(object_key(*old)), object_key(*new)
        table = _object(catalog, place)
        if table is None or job.code in (Action.DROP_TABLE, Action.DROP_VIEW):
            continue
        keeps = was is not None and job.code in KEEPING
        known_id = None if was is None or job.code in CREATING else was.table_id
        table_id = ids.after.get(place) or known_id or _other_id(before)
        kept = was.version if was is not None and keeps else version
        after[place] = TableInfo(table, table_id, kept, emitted.commit_ts)
    return after


def _unchanged(before: Mapping[Key, TableInfo], emitted: EmittedJob) -> dict[Key, TableInfo]:
    """Return the infos of the tables that are still there after a job that TiCDC discards."""
    return {place: info for place, info in before.items() if emitted.applied.after.has(*place)}


def _object(catalog: Catalog, place: Key) -> Table | ViewInfo | None:
    return catalog.tables.get(place) or catalog.views.get(place)


def _other_id(known: Mapping[Key, TableInfo]) -> int:
    return max(
        (info.table_id + 1 for info in known.values() if info.table_id >= FIRST_OTHER_ID), default=FIRST_OTHER_ID
    )


def _with_infos(
    event: DdlEvent, emitted: EmittedJob, before: Mapping[Key, TableInfo], after: Mapping[Key, TableInfo]
) -> DdlEvent:
    """Return the event with the infos of its table. Table routing changes an event's name, not its job's."""
    job, index = emitted.job, emitted.events.index(event)
    if job.exchanged_table:
        place, old = object_key(job.schema, job.table), object_key(*job.exchanged_table)
    else:
        pairs = [*renamed_tables(job).items()]
        old, place = (object_key(*name) for name in pairs[min(index, len(pairs) - 1)])
    was = None if job.code in CREATING else before.get(old)
    return replace(event, after=after.get(place) or was, before=was)

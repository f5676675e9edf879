"""A job under a changefeed: whether its events are sent, and by which rule not.

One law: the steps are TiCDC's, in TiCDC's order: allow-list, table filter and rename rule, eligibility, event filters.
Sources: tiflow v8.5.3 cdc/puller/ddl_puller.go handleJob, cdc/owner/ddl_manager.go; ticdc v8.5.7
logservice/schemastore/persist_storage_ddl_handlers.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.ddl.allow import allowed, eligibility, eligible
from simulator.ticdc.ddl.classify_filter import Kept, kept, renaming_text
from simulator.ticdc.ddl.classify_routes import routed
from simulator.ticdc.ddl.events import Event, events, sent_query
from simulator.ticdc.filters.event_filters import EventFilters, EventRule, ignoring_ddl
from simulator.ticdc.filters.replication import Replication
from simulator.ticdc.filters.table_routes import TableRoutes, conflict
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.jobs_shape import Job
from simulator.tidb.syntax.definitions import TableName

SEND, IGNORE, DISCARD, INELIGIBLE, ERROR = "send", "ignore", "discard", "ineligible", "error"


@dataclass(frozen=True)
class Decision:
    outcome: str
    """`send`; `ignore`: not sent, but TiCDC's schema changes; `discard`: not sent, and TiCDC's schema stays;
    `ineligible`: not sent, for the table has no valid index; `error`: the changefeed stops."""

    why: str
    """The rule that decides."""

    events: tuple[Event, ...] = ()
    """What is sent."""

    queries: tuple[str, ...] = ()
    """The text that is sent with each event."""

    error: DdlError | None = None

    @property
    def applies(self) -> bool:
        """Whether TiCDC's own schema changes, so that rows after the job are read with the new one."""
        return self.outcome in (SEND, IGNORE, INELIGIBLE)


@dataclass(frozen=True)
class View:
    """What TiCDC looks at."""

    before: Catalog | None
    after: Catalog | None
    replication: Replication
    event_filters: EventFilters | None
    force_replicate: bool
    release: Release
    start_ts: int
    routes: TableRoutes = TableRoutes()


def decided(
    job: Job, catalog_before: Catalog | None, catalog_after: Catalog | None, replication: Replication,
    event_filters: EventFilters | None, force_replicate: bool, release: Release, start_ts: int = 0,
    routes: TableRoutes = TableRoutes(),
) -> Decision:
    """What TiCDC does with a job; tables that no catalog knows are taken for eligible.

    `start_ts` is that of the job, for ignore-txn-start-ts; 0 is in no list.
    """
    view = View(catalog_before, catalog_after, replication, event_filters, force_replicate, release, start_ts, routes)
    try:
        found = passing(job, view)
        _require_apart(job, found, view)
        sent = [routed(event, sent_query(event, release), routes) for event in found.events]
        return replace(found, events=tuple(event for event, _ in sent), queries=tuple(query for _, query in sent))
    except DdlError as error:
        return Decision(ERROR, str(error), error=error)


def passing(job: Job, view: View) -> Decision:
    """What of a job passes every rule, without the texts; raises DdlError where TiCDC stops."""
    if not allowed(job.code, view.release):
        name = actions.ACTIONS[job.code].name
        return Decision(DISCARD, f"{name} ({job.code}) is not in the allow-list of TiCDC {view.release.name}")
    ignored_ts = view.start_ts in view.replication.ignored_start_ts
    if ignored_ts and view.release.start_ts_discards_ddl:
        return Decision(DISCARD, f"start-ts {view.start_ts} is in ignore-txn-start-ts")
    found: Kept = kept(job, view.before, view.replication, view.release, partial(_ignored_rename, job, view))
    if found.job is None:
        return Decision(DISCARD, found.why)
    if rule := _discarding(job, view):
        return Decision(DISCARD, rule)
    if ignored_ts:
        return Decision(IGNORE, f"start-ts {view.start_ts} is in ignore-txn-start-ts")
    if not _eligible(found.job, view):
        _, looked_at = _names(found.job)
        return Decision(INELIGIBLE, f"{'.'.join(looked_at)} has no valid index, and force-replicate is off")
    return _past_event_filters(job, found, view)


def _discarding(job: Job, view: View) -> str:
    """The event filter that discards a job, by the statement's whole text, in words; empty for none, and in releases
    whose event filters discard nothing. A RENAME has a rule of its own."""
    if view.event_filters is None or not view.release.event_filter_discards or job.pairs:
        return ""
    schema = job.exchanged.schema if job.exchanged else job.schema
    return _worded(ignoring_ddl(view.event_filters, schema, job.table, job.query, job.code))


def _ignored_rename(job: Job, view: View, schema: str, table: str) -> bool:
    """Whether event filters discard a RENAME of that name, where they judge both names; the statement's whole text
    counts (tiflow v6.5.4 cdc/puller/ddl_puller.go handleRenameTables)."""
    if view.event_filters is None or view.release.event_filter_rename != "both-names":
        return False
    return ignoring_ddl(view.event_filters, schema, table, job.query, job.code, (schema, table)) is not None


def _require_apart(job: Job, found: Decision, view: View) -> None:
    """Raises DdlError where table routing would give a table that gets its name the name of another one."""
    if not view.routes.rules or job.code not in NAMING or found.outcome not in (SEND, IGNORE):
        return
    if view.before is None or view.after is None:
        return
    were = set(view.before.tables)
    tables = sorted(view.after.tables.items(), key=lambda item: item[0] not in were)
    text = conflict(view.routes, (
        (table.schema, table.name) for _, table in tables
        if view.replication.table(table.schema, table.name) and eligible(table, view.force_replicate)))
    if text:
        raise DdlError(text, "CDC:ErrTableRouteConflict")


def _eligible(job: Job, view: View) -> bool:
    """Raises DdlError where a table loses its last valid index in a release that then stops."""
    if view.before is None or view.after is None or job.code in NEVER_INELIGIBLE:
        return True
    old, new = _names(job)
    before = view.before.table(*old) if view.replication.table(*old) else None
    return eligibility(before, view.after.table(*new), view.force_replicate, view.release, job.query) == "send"


def _names(job: Job) -> tuple[TableName, TableName]:
    """The table's name before and after, of several the last one's (TiDB's Job.BinlogInfo.TableInfo)."""
    name = TableName(job.schema, job.table)
    return job.pairs[-1] if job.pairs else (job.exchanged or name, name)


def _past_event_filters(job: Job, found: Kept, view: View) -> Decision:
    assert found.job is not None
    made = [event for event in events(found.job, view.release) if _creates_eligible(event, found.job, view)]
    if not made:
        return Decision(INELIGIBLE, "none of its tables has a valid index, and force-replicate is off")
    past, ignored = [], ""
    for event in made:
        rule = _ignoring(event, job, view)
        if rule:
            ignored = rule
        else:
            past.append(event)
    if not past:
        return Decision(IGNORE, ignored)
    return Decision(SEND, found.why, tuple(past))


def _creates_eligible(event: Event, job: Job, view: View) -> bool:
    """Whether an event of CREATE TABLES is of an eligible table; others are not asked."""
    table = view.after.table(event.schema, event.table) if view.after and job.tables else None
    return table is None or eligible(table, view.force_replicate)


def _ignoring(event: Event, job: Job, view: View) -> str:
    """The event filter that ignores an event, in words; empty for none. The new architecture looks at restored text,
    in a RENAME at that of all pairs."""
    if view.event_filters is None or not view.release.event_filter_ddl:
        return ""
    of = replace(event, schema=job.schema, table=job.table) if job.exchanged else event
    query, old = event.query, None
    if event.type_code == actions.RENAME_TABLE:
        query, old = query if view.release.architecture == "classic" else renaming_text(job, view.release), event.old
    elif view.release.architecture == "new":
        query = sent_query(event, view.release)
    return _worded(ignoring_ddl(view.event_filters, of.schema, of.table, query, event.type_code, old))


def _worded(rule: EventRule | None) -> str:
    return rule.where if rule else ""


NAMING = (
    actions.CREATE_TABLE, actions.CREATE_TABLES, actions.RENAME_TABLE, actions.RENAME_TABLES, actions.RECOVER_TABLE,
)
"""Actions that give tables their names (ticdc v8.5.7: the AddName of TableNameChange)."""

NEVER_INELIGIBLE = actions.SCHEMA_ACTIONS | actions.VIEW_ACTIONS | {actions.CREATE_TABLES}

"""A job under a changefeed: whether its events are sent, and by which rule not.

One law: the steps are TiCDC's, in TiCDC's order: allow-list, table filter and rename rule, eligibility, event filters.
RENAME has a rule of its own; everything else passes the table filter by the name that TiCDC gives the job.
Sources: tiflow v8.5.3 cdc/puller/ddl_puller.go handleJob, cdc/owner/ddl_manager.go; ticdc v8.5.7
logservice/schemastore/persist_storage_ddl_handlers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.ddl.allow import allowed, eligibility, eligible
from simulator.ticdc.ddl.events import Event, events, sent_query
from simulator.ticdc.ddl.rename import Rename, SchemaSnapshot, kept_pairs, rename_texts, schema_snapshot
from simulator.ticdc.ddl.routes import routed
from simulator.ticdc.filters.event_filters import EventFilters, EventRule, ignoring_ddl
from simulator.ticdc.filters.replication import Replication, filter_rule
from simulator.ticdc.filters.table_routes import TableRoutes, conflict
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job
from simulator.tidb.syntax.definitions import Pair, TableName

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


@dataclass(frozen=True)
class JobContext:
    """What TiCDC looks at beside the job: the tables before and after it, and the changefeed's rules."""

    before: Catalog | None
    after: Catalog | None
    replication: Replication
    event_filters: EventFilters | None
    force_replicate: bool
    release: Release
    start_ts: int
    routes: TableRoutes = TableRoutes()


def decided(
    job: Job,
    catalog_before: Catalog | None,
    catalog_after: Catalog | None,
    replication: Replication,
    event_filters: EventFilters | None,
    force_replicate: bool,
    release: Release,
    start_ts: int = 0,
    routes: TableRoutes = TableRoutes(),
) -> Decision:
    """What TiCDC does with a job; tables that no catalog knows are taken for eligible.

    `start_ts` is that of the job, for ignore-txn-start-ts; 0 is in no list.
    """
    context = JobContext(
        catalog_before, catalog_after, replication, event_filters, force_replicate, release, start_ts, routes
    )
    try:
        found = passing(job, context)
        _require_apart(job, found, context)
        sent = [routed(event, sent_query(event, release), routes) for event in found.events]
        return replace(found, events=tuple(event for event, _ in sent), queries=tuple(query for _, query in sent))
    except DdlError as error:
        return Decision(ERROR, str(error), error=error)


def passing(job: Job, context: JobContext) -> Decision:
    """What of a job passes every rule, without the texts; raises DdlError where TiCDC stops."""
    if not allowed(job.code, context.release):
        name = actions.ACTIONS[job.code].name
        return Decision(DISCARD, f"{name} ({job.code}) is not in the allow-list of TiCDC {context.release.name}")
    ignored_ts = context.start_ts in context.replication.ignored_start_ts
    if ignored_ts and context.release.start_ts_discards_ddl:
        return Decision(DISCARD, f"start-ts {context.start_ts} is in ignore-txn-start-ts")
    found = _filtered(job, context)
    if found.job is None:
        return Decision(DISCARD, found.why)
    if rule := _discarding(job, context):
        return Decision(DISCARD, rule)
    if ignored_ts:
        return Decision(IGNORE, f"start-ts {context.start_ts} is in ignore-txn-start-ts")
    if not _eligible(found.job, context):
        _, looked_at = _names(found.job)
        return Decision(INELIGIBLE, f"{'.'.join(looked_at)} has no valid index, and force-replicate is off")
    return _past_event_filters(job, found, context)


def _discarding(job: Job, context: JobContext) -> str:
    """The event filter that discards a job, by the statement's whole text, in words; empty for none, and in releases
    whose event filters discard nothing. A RENAME has a rule of its own."""
    if context.event_filters is None or not context.release.event_filter_discards or job.pairs:
        return ""
    schema = job.exchanged.schema if job.exchanged else job.schema
    return _worded(ignoring_ddl(context.event_filters, schema, job.table, job.query, job.code))


def _ignored_rename(job: Job, context: JobContext, schema: str, table: str) -> bool:
    """Whether event filters discard a RENAME of that name, where they judge both names; the statement's whole text
    counts (tiflow v6.5.4 cdc/puller/ddl_puller.go handleRenameTables)."""
    if context.event_filters is None or context.release.event_filter_rename != "both-names":
        return False
    return ignoring_ddl(context.event_filters, schema, table, job.query, job.code, (schema, table)) is not None


def _require_apart(job: Job, found: Decision, context: JobContext) -> None:
    """Raises DdlError where table routing would give a table that gets its name the name of another one."""
    if not context.routes.rules or job.code not in NAMING or found.outcome not in (SEND, IGNORE):
        return
    if context.before is None or context.after is None:
        return
    were = set(context.before.tables)
    tables = sorted(context.after.tables.items(), key=lambda item: item[0] not in were)
    text = conflict(
        context.routes,
        (
            (table.schema, table.name)
            for _, table in tables
            if context.replication.table(table.schema, table.name) and eligible(table, context.force_replicate)
        ),
    )
    if text:
        raise DdlError(text, "CDC:ErrTableRouteConflict")


def _eligible(job: Job, context: JobContext) -> bool:
    """Raises DdlError where a table loses its last valid index in a release that then stops."""
    if context.before is None or context.after is None or job.code in NEVER_INELIGIBLE:
        return True
    old, new = _names(job)
    before = context.before.table(*old) if context.replication.table(*old) else None
    return eligibility(before, context.after.table(*new), context.force_replicate, context.release, job.query) == "send"


def _names(job: Job) -> tuple[TableName, TableName]:
    """The table's name before and after, of several the last one's (TiDB's Job.BinlogInfo.TableInfo)."""
    name = TableName(job.schema, job.table)
    return job.pairs[-1] if job.pairs else (job.exchanged or name, name)


def _past_event_filters(job: Job, found: Filtered, context: JobContext) -> Decision:
    assert found.job is not None
    made = [event for event in events(found.job, context.release) if _creates_eligible(event, found.job, context)]
    if not made:
        return Decision(INELIGIBLE, "none of its tables has a valid index, and force-replicate is off")
    past, ignored = [], ""
    for event in made:
        rule = _ignoring(event, job, context)
        if rule:
            ignored = rule
        else:
            past.append(event)
    if not past:
        return Decision(IGNORE, ignored)
    return Decision(SEND, found.why, tuple(past))


def _creates_eligible(event: Event, job: Job, context: JobContext) -> bool:
    """Whether an event of CREATE TABLES is of an eligible table; others are not asked."""
    table = context.after.table(event.schema, event.table) if context.after and job.tables else None
    return table is None or eligible(table, context.force_replicate)


def _ignoring(event: Event, job: Job, context: JobContext) -> str:
    """The event filter that ignores an event, in words; empty for none. `ignore-sql` may look at the text
    that is sent, in a RENAME at that of all pairs."""
    if context.event_filters is None or not context.release.event_filter_ddl:
        return ""
    of = replace(event, schema=job.schema, table=job.table) if job.exchanged else event
    query, old = event.query, None
    if event.type_code == actions.RENAME_TABLE:
        query, old = _rename_text(job, context.release) if context.release.rebuilds_rename else query, event.old
    elif context.release.event_filter_sees_sent_text:
        query = sent_query(event, context.release)
    return _worded(ignoring_ddl(context.event_filters, of.schema, of.table, query, event.type_code, old))


def _worded(rule: EventRule | None) -> str:
    return rule.where if rule else ""


@dataclass(frozen=True)
class Filtered:
    """What of a job passes the table filter: all, nothing, or some of its tables."""

    job: Job | None
    """With only those tables that pass; None where none does."""

    why: str
    """The rule that decides."""


def _filtered(job: Job, context: JobContext) -> Filtered:
    """What the table filter lets through; raises DdlError where TiCDC stops at a RENAME."""
    rule = _by_names if job.pairs else FILTERING.get(job.code, _by_table)
    return rule(job, context)


def _by_table(job: Job, context: JobContext) -> Filtered:
    passes = context.replication.table(job.schema, job.table)
    return Filtered(job if passes else None, filter_rule(context.replication, job.schema, job.table))


def _by_schema(job: Job, context: JobContext) -> Filtered:
    if context.replication.schema(job.schema):
        return Filtered(job, f"the rules have tables of database {job.schema}")
    return Filtered(None, f"the rules have no tables of database {job.schema}")


def _by_each_table(job: Job, context: JobContext) -> Filtered:
    through = tuple(table for table in job.tables if context.replication.table(job.schema, table.name))
    named = (through or job.tables)[0].name
    first = replace(job, tables=through, table=named) if through else None
    return Filtered(first, filter_rule(context.replication, job.schema, named))


def _by_either_table(job: Job, context: JobContext) -> Filtered:
    """By either of the two tables, or by the database of the plain one and the name of the partitioned one."""
    assert job.exchanged is not None
    if context.release.exchange_passes_by_either:
        names = [(job.schema, job.table), (job.exchanged.schema, job.exchanged.name)]
    else:
        names = [(job.exchanged.schema, job.table)]
    first = next((name for name in names if context.replication.table(*name)), None)
    return Filtered(job if first else None, filter_rule(context.replication, *(first or names[0])))


def _by_names(job: Job, context: JobContext) -> Filtered:
    replication, release = context.replication, context.release
    snapshot = _snapshot(job.pairs, context.before, replication)

    def discards(schema: str, table: str) -> bool:
        return not replication.table(schema, table) or _ignored_rename(job, context, schema, table)

    found = kept_pairs(Rename(job.pairs, _rename_text(job, release)), discards, snapshot, release)
    if not found:
        named = any(replication.table(*name) for pair in job.pairs for name in pair)
        of = "passes rules and event filters" if named else "is in the rules"
        return Filtered(None, f"neither the old name nor the new one {of}")
    why = f"the old name is in the rules: {filter_rule(replication, *found[0][0])}"
    written = tuple(names for pair, names in zip(job.pairs, job.written, strict=True) if pair in found)
    return Filtered(replace(job, pairs=found, written=written), why)


def _rename_text(job: Job, release: Release) -> str:
    """What TiCDC takes for the text of a RENAME: the job's, or what it writes for all pairs."""
    return "".join(rename_texts(job.pairs, job.written, release)) if release.rebuilds_rename else job.query


def _snapshot(pairs: Sequence[Pair], catalog: Catalog | None, replication: Replication) -> SchemaSnapshot:
    """What TiCDC knows of the tables and databases that the pairs name."""
    there = (old for old, _ in pairs if catalog is None or catalog.has(*old))
    tables = [name for name in there if replication.table(*name)]
    schemas = {new.schema for _, new in pairs if catalog is None or catalog.database(new.schema)}
    return schema_snapshot(tables, filter(replication.schema, schemas))


FILTERING: Mapping[int, Callable[[Job, JobContext], Filtered]] = {
    **dict.fromkeys(actions.SCHEMA_ACTIONS, _by_schema),
    actions.CREATE_TABLES: _by_each_table,
    actions.EXCHANGE_TABLE_PARTITION: _by_either_table,
}

NAMING = (
    actions.CREATE_TABLE,
    actions.CREATE_TABLES,
    actions.RENAME_TABLE,
    actions.RENAME_TABLES,
    actions.RECOVER_TABLE,
)
"""Actions that give tables their names (ticdc v8.5.7: the AddName of TableNameChange)."""

NEVER_INELIGIBLE = actions.SCHEMA_ACTIONS | actions.VIEW_ACTIONS | {actions.CREATE_TABLES}

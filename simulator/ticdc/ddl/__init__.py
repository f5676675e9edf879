"""Whether the events of a DDL job are sent, and which rule decides; as which `events`, with which text (`sent_text`).

The steps are TiCDC's, in TiCDC's order: allow-list, table filter or rename rule, eligibility, event filters. RENAME
has its own rule; all other jobs pass the table filter by the job's table name. A table without a valid index (a
primary key, or a unique key whose columns are all NOT NULL and not virtual) is replicated with force-replicate only:
rows without a key cannot be replayed.

Sources: tiflow v8.5.3 cdc/puller/ddl_puller.go handleJob, cdc/owner/ddl_manager.go; ticdc v8.5.7
logservice/schemastore/persist_storage_ddl_handlers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.ddl.events import JobEvent, job_events, route_event, sent_query
from simulator.ticdc.ddl.rename import Rename, SchemaSnapshot, rename_texts, replicated_pairs, schema_snapshot
from simulator.ticdc.dispatch import find_conflict
from simulator.ticdc.filters.event_filters import EventRule, rule_ignoring_ddl
from simulator.ticdc.rules import ChangefeedRules, Replication, filter_rule, mode_problem
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import SCHEMA_ACTIONS, VIEW_ACTIONS, Action
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.definitions import CreateTable, Pair
from simulator.tidb.syntax.expressions import TableName

SEND, IGNORE, DISCARD, INELIGIBLE, ERROR = "send", "ignore", "discard", "ineligible", "error"


@dataclass(frozen=True)
class Decision:
    """TiCDC's decision about a job."""

    outcome: str
    """`send`; `ignore`: not sent, but TiCDC's schema changes; `discard`: not sent, and TiCDC's schema stays;
    `ineligible`: not sent, because the table has no valid index; `error`: the changefeed stops."""

    why: str
    """The rule that decides."""

    events: tuple[JobEvent, ...] = ()
    """The events that are sent."""

    queries: tuple[str, ...] = ()
    """The text that is sent with each event."""

    error: DdlError | None = None


@dataclass(frozen=True)
class JobContext:
    """The tables before and after a job, and the changefeed's rules."""

    before: Catalog | None
    after: Catalog | None
    rules: ChangefeedRules
    start_ts: int

    def sql_mode(self, job: Job) -> frozenset[str]:
        """Return the sql_mode that the release reads the job's text by."""
        return job.sql_mode if self.rules.release.ddl_text_mode == "job" else self.rules.changefeed.sql_mode


def decide(
    job: Job, before: Catalog | None, after: Catalog | None, rules: ChangefeedRules, start_ts: int = 0
) -> Decision:
    """Return what TiCDC does with a job; tables that are in no catalog count as eligible.

    `start_ts` is the job's, for ignore-txn-start-ts; 0 is in no list.
    """
    context = JobContext(before, after, rules, start_ts)
    try:
        decision = filter_job(job, context)
        _require_apart(job, decision, context)
        _require_copied(job, decision, context)
        _require_mode(job, decision, context)
        routes = rules.router.routes
        mode = context.sql_mode(job)
        sent = [
            route_event(event, sent_query(event, rules.release, job.charset, mode), routes) for event in decision.events
        ]
        return replace(decision, events=tuple(event for event, _ in sent), queries=tuple(query for _, query in sent))
    except DdlError as error:
        return Decision(ERROR, str(error), error=error)


def filter_job(job: Job, context: JobContext) -> Decision:
    """Return the decision without the texts; raise DdlError if TiCDC stops."""
    if job.code not in context.rules.release.allowed_ddl:
        name = Action(job.code).constant
        return Decision(DISCARD, f"{name} ({job.code}) is not in the allow-list of TiCDC {context.rules.release.name}")
    ignored_ts = context.start_ts in context.rules.replication.ignored_start_ts
    if ignored_ts and context.rules.release.start_ts_discards_ddl:
        return Decision(DISCARD, f"start-ts {context.start_ts} is in ignore-txn-start-ts")
    filtered = _filtered(job, context)
    if filtered.job is None:
        return Decision(DISCARD, filtered.why)
    if rule := _discarding(job, context):
        return Decision(DISCARD, rule)
    if ignored_ts:
        return Decision(IGNORE, f"start-ts {context.start_ts} is in ignore-txn-start-ts")
    if not _eligible(filtered.job, context):
        _, looked_at = _names(filtered.job)
        return Decision(INELIGIBLE, f"{'.'.join(looked_at)} has no valid index, and force-replicate is off")
    return _apply_event_filters(job, filtered, context)


def _discarding(job: Job, context: JobContext) -> str:
    """Return the event filter that discards a job, by the statement's whole text; empty if none does.

    Event filters of some releases discard nothing. RENAME has its own rule.
    """
    if not context.rules.release.event_filter_discards or job.renames:
        return ""
    schema = job.exchanged_table.schema if job.exchanged_table else job.schema
    return _worded(rule_ignoring_ddl(context.rules.event_filters, (schema, job.table), job.query, job.code))


def _ignored_rename(job: Job, context: JobContext, schema: str, table: str) -> bool:
    """Return whether event filters discard a RENAME of that name, in releases that check both names.

    The statement's whole text counts (tiflow v6.5.4 cdc/puller/ddl_puller.go handleRenameTables).
    """
    if context.rules.release.event_filter_rename != "both-names":
        return False
    rule = rule_ignoring_ddl(context.rules.event_filters, (schema, table), job.query, job.code, (schema, table))
    return rule is not None


def _require_apart(job: Job, decision: Decision, context: JobContext) -> None:
    """Raise DdlError if table routing gives a table that gets its name the name of another one."""
    if not context.rules.router.routes.rules or job.code not in NAMING or decision.outcome not in (SEND, IGNORE):
        return
    if context.before is None or context.after is None:
        return
    existing = set(context.before.tables)
    tables = sorted(context.after.tables.items(), key=lambda item: item[0] not in existing)
    text = find_conflict(
        context.rules.router.routes,
        (
            (table.schema, table.name)
            for _, table in tables
            if context.rules.replication.table(table.schema, table.name)
            and is_eligible(table, context.rules.changefeed.force_replicate)
        ),
    )
    if text:
        raise DdlError(text, "CDC:ErrTableRouteConflict")


def _require_copied(job: Job, decision: Decision, context: JobContext) -> None:
    """Raise DdlError if CREATE TABLE … LIKE waits for a table that is filtered out, so that the checkpoint stays."""
    release = context.rules.release
    if not release.create_like_waits or job.like is None or decision.outcome not in (SEND, IGNORE):
        return
    assert isinstance(job.statement, CreateTable) and job.statement.like is not None
    schema = job.like.schema if release.create_like_finds_schema else job.statement.like.schema or job.schema
    known = context.before is None or context.before.has(schema, job.like.name)  # TiCDC waits for what it finds
    if known and not context.rules.replication.table(schema, job.like.name):
        raise DdlError(
            f"TiCDC {release.name} of the new architecture waits for table {schema}.{job.like.name}, which is filtered "
            "out, and its checkpoint stays (ticdc issue 5150)"
        )


def _require_mode(job: Job, decision: Decision, context: JobContext) -> None:
    """Raise DdlError CDC:ErrInvalidReplicaConfig if the job's table is none of those of the changefeed's mode."""
    if decision.outcome not in (SEND, IGNORE):
        return
    _, name = _names(job)
    table = context.after.table(*name) if context.after else None
    if not table and job.code not in VIEW_ACTIONS:
        return
    if problem := mode_problem(context.rules, (name.schema, name.name), table.soft_delete if table else None):
        raise DdlError(problem, "CDC:ErrInvalidReplicaConfig")


def _eligible(job: Job, context: JobContext) -> bool:
    """Return whether the job's table is eligible; raise DdlError if TiCDC stops, as it loses its last valid index."""
    if context.before is None or context.after is None or job.code in NEVER_INELIGIBLE:
        return True
    old, new = _names(job)
    before = context.before.table(*old) if context.rules.replication.table(*old) else None
    force_replicate, release = context.rules.changefeed.force_replicate, context.rules.release
    return is_sent(before, context.after.table(*new), force_replicate, release, job.query)


def _names(job: Job) -> tuple[TableName, TableName]:
    """Return the table's name before and after, of several tables the last one's (TiDB's Job.BinlogInfo.TableInfo)."""
    name = TableName(job.schema, job.table)
    return job.renames[-1] if job.renames else (job.exchanged_table or name, name)


def _apply_event_filters(job: Job, filtered: FilteredJob, context: JobContext) -> Decision:
    assert filtered.job is not None
    events = job_events(filtered.job, context.rules.release)
    candidates = [event for event in events if _creates_eligible(event, filtered.job, context)]
    if not candidates:
        return Decision(INELIGIBLE, "none of its tables has a valid index, and force-replicate is off")
    ignoring = [_ignoring(event, job, context) for event in candidates]
    sent_events = tuple(event for event, rule in zip(candidates, ignoring) if not rule)
    return Decision(SEND, filtered.why, sent_events) if sent_events else Decision(IGNORE, ignoring[-1])


def _creates_eligible(event: JobEvent, job: Job, context: JobContext) -> bool:
    """Return whether an event of CREATE TABLES is of an eligible table; True for other events."""
    table = context.after.table(event.schema, event.table) if context.after and job.tables else None
    return table is None or is_eligible(table, context.rules.changefeed.force_replicate)


def _ignoring(event: JobEvent, job: Job, context: JobContext) -> str:
    """Return the event filter that ignores an event; empty if none does.

    `ignore-sql` may match the text that is sent, in a RENAME the text of all pairs.
    """
    if not context.rules.release.event_filter_ddl:
        return ""
    name = (job.schema, job.table) if job.exchanged_table else (event.schema, event.table)
    query, old = event.query, None
    if event.type_code == Action.RENAME_TABLE:
        query, old = _rename_text(job, context.rules.release, query), event.old
    elif context.rules.release.event_filter_sees_sent_text:
        query = sent_query(event, context.rules.release, job.charset, context.sql_mode(job))
    return _worded(rule_ignoring_ddl(context.rules.event_filters, name, query, event.type_code, old))


def _worded(rule: EventRule | None) -> str:
    return rule.where if rule else ""


@dataclass(frozen=True)
class FilteredJob:
    """The part of a job that passes the table filter: all, nothing, or some of its tables."""

    job: Job | None
    """The job with only the tables that pass; None if none does."""

    why: str
    """The rule that decides."""


def _filtered(job: Job, context: JobContext) -> FilteredJob:
    """Return what the table filter passes; raise DdlError if TiCDC stops at a RENAME."""
    rule = _by_names if job.renames else FILTERING.get(job.code, _by_table)
    return rule(job, context)


def _by_table(job: Job, context: JobContext) -> FilteredJob:
    passes = context.rules.replication.table(job.schema, job.table)
    return FilteredJob(job if passes else None, filter_rule(context.rules.replication, job.schema, job.table))


def _by_schema(job: Job, context: JobContext) -> FilteredJob:
    if context.rules.replication.schema(job.schema):
        return FilteredJob(job, f"the rules have tables of database {job.schema}")
    return FilteredJob(None, f"the rules have no tables of database {job.schema}")


def _by_each_table(job: Job, context: JobContext) -> FilteredJob:
    through = tuple(table for table in job.tables if context.rules.replication.table(job.schema, table.name))
    named = (through or job.tables)[0].name
    first = replace(job, tables=through, table=named) if through else None
    return FilteredJob(first, filter_rule(context.rules.replication, job.schema, named))


def _by_either_table(job: Job, context: JobContext) -> FilteredJob:
    """Match either of the two tables, or the database of the plain table with the name of the partitioned one."""
    assert job.exchanged_table is not None
    if context.rules.release.exchange_passes_by_either:
        names = [(job.schema, job.table), (job.exchanged_table.schema, job.exchanged_table.name)]
    else:
        names = [(job.exchanged_table.schema, job.table)]
    first = next((name for name in names if context.rules.replication.table(*name)), None)
    return FilteredJob(job if first else None, filter_rule(context.rules.replication, *(first or names[0])))


def _by_names(job: Job, context: JobContext) -> FilteredJob:
    replication, release = context.rules.replication, context.rules.release
    snapshot = _snapshot(job.renames, context.before, replication)

    def discards(schema: str, table: str) -> bool:
        return not replication.table(schema, table) or _ignored_rename(job, context, schema, table)

    pairs = replicated_pairs(Rename(job.renames, _rename_text(job, release, job.query)), discards, snapshot, release)
    if not pairs:
        named = any(replication.table(*name) for pair in job.renames for name in pair)
        of = "passes rules and event filters" if named else "is in the rules"
        return FilteredJob(None, f"neither the old name nor the new one {of}")
    why = f"the old name is in the rules: {filter_rule(replication, *pairs[0][0])}"
    written = tuple(names for pair, names in zip(job.renames, job.renames_as_written, strict=True) if pair in pairs)
    return FilteredJob(replace(job, renames=pairs, renames_as_written=written), why)


def _rename_text(job: Job, release: Release, query: str) -> str:
    """Return TiCDC's text of a RENAME: `query`, or the one that it writes for all pairs."""
    return "".join(rename_texts(job.renames, job.renames_as_written, release)) if release.rebuilds_rename else query


def _snapshot(pairs: Sequence[Pair], catalog: Catalog | None, replication: Replication) -> SchemaSnapshot:
    """Return TiCDC's schema snapshot of the tables and databases in the pairs."""
    there = (old for old, _ in pairs if catalog is None or catalog.has(*old))
    tables = [name for name in there if replication.table(*name)]
    schemas = {new.schema for _, new in pairs if catalog is None or catalog.database(new.schema)}
    return schema_snapshot(tables, filter(replication.schema, schemas))


FILTERING: Mapping[int, Callable[[Job, JobContext], FilteredJob]] = {
    **dict.fromkeys(SCHEMA_ACTIONS, _by_schema),
    Action.CREATE_TABLES: _by_each_table,
    Action.EXCHANGE_TABLE_PARTITION: _by_either_table,
}

NAMING = (Action.CREATE_TABLE, Action.CREATE_TABLES, Action.RENAME_TABLE, Action.RENAME_TABLES, Action.RECOVER_TABLE)
"""Actions that give tables their names (ticdc v8.5.7: the AddName of TableNameChange)."""

NEVER_INELIGIBLE = SCHEMA_ACTIONS | VIEW_ACTIONS | {Action.CREATE_TABLES}


STOPPED_BY_INELIGIBLE = (
    "An eligible table become ineligible after DDL: [{query}] it is a dangerous operation and may cause data loss. If "
    "you want to replicate this ddl safely, pelase pause the changefeed and update the `force-replicate=true` in the "
    "changefeed configuration, then resume the changefeed."
)
"""TiCDC's text, with its spelling (tiflow v8.5.3 cdc/puller/ddl_puller.go)."""


def is_eligible(table: Table | None, force_replicate: bool) -> bool:
    """Return whether rows of the table are replicated; None is a view."""
    return table is None or force_replicate or bool(handle_key(table))


def is_sent(
    before: Table | None, after: Table | None, force_replicate: bool, release: Release, query: str = ""
) -> bool:
    """Return whether a DDL that changes `before` into `after` is sent.

    `before` is None if TiCDC knows no such table (it is being created, or was filtered out), `after` if the table is
    dropped; both are for views. Raise DdlError CDC:ErrOwnerUnknown if TiCDC stops because the statement removes the
    table's last valid index (Release.eligibility `error`).
    """
    was = before is None or is_eligible(before, force_replicate)
    stays = is_eligible(after, force_replicate)
    match release.eligibility:
        case "stays":  # an ineligible table stays so until it is dropped; the drop is sent
            sent = after is None or was and stays
        case "silent":  # a dropped table needs a valid index
            sent = was if after is None else stays
        case "after" | "error" as rule:  # the table after the statement decides; a dropped one counts as eligible
            if rule == "error" and not stays and before is not None and was:
                raise DdlError(STOPPED_BY_INELIGIBLE.format(query=query), "CDC:ErrOwnerUnknown")
            sent = stays
        case other:
            raise ValueError(f"unknown eligibility {other!r}")
    return sent

"""A consumer of scripted SQL: a TiDB that applies the statements and row changes that a changefeed sends.

Changes that event filters drop do not reach it; a dropped DROP or TRUNCATE leaves its rows. A table whose CREATE TABLE
is dropped exists all the same, because its rows are sent. A table that a rename took out of the changefeed stays as it
was then. A truth also says which statements the stream has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns import row_image
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.engines import stages
from simulator.errors import UserError, shortened
from simulator.reader import decode as reading
from simulator.reader.decode import DECODERS
from simulator.reader.truth_metadata import IGNORED, ExpectedStatement
from simulator.releases import Release
from simulator.run.plan import Plan
from simulator.run.plan.snapshot_pairs import spelled_name
from simulator.run.plan.statements import EmittedJob, renamed_tables
from simulator.run.plan.step import PlanContext, RunPosition
from simulator.run.plan.upstream_rows import as_snapshot, read_rows, still_unread
from simulator.run.steps.execution import is_replicated, with_upstream
from simulator.sources.snapshots import Snapshot, SnapshotTable
from simulator.ticdc import table_info
from simulator.ticdc.cloud_storage import schema_event_file, schema_events
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent
from simulator.ticdc.codecs.schema_registry import SchemaManager
from simulator.ticdc.ddl import decide
from simulator.ticdc.dispatch import route, sent_table
from simulator.ticdc.filters.event_filters import EventFilters
from simulator.ticdc.rules import ChangefeedRules
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import SCHEMA_ACTIONS, Action
from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.engine import FailedStatement
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Name, Table, visible_columns
from simulator.tidb.syntax.definitions import CreateTable
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.system_variables import READING_MODES


@dataclass(frozen=True)
class ConsumerState:
    position: RunPosition
    """Its state is an Upstream, which may have tables that the consumer does not know."""

    known: frozenset[Key]
    """The consumer's tables in that Upstream."""

    kept: Mapping[Key, SnapshotTable] = field(default_factory=dict)
    """The consumer's tables that left the changefeed, as they were before a statement on them that is not sent."""


def apply_sent(position: RunPosition, plan: Plan, rules: ChangefeedRules, after: int, until: int) -> ConsumerState:
    """Return the state of a consumer that began with a position's tables and applied what was sent in (after, until].

    Raises UserError for a watermark between the jobs of one statement, and for rows that a consumer cannot apply because
    event filters dropped a statement.
    """
    position = with_upstream(position, PlanContext(rules, None, None))
    upstream = position.state
    assert isinstance(upstream, Upstream)
    known = frozenset(place for place, table in upstream.catalog.tables.items() if is_replicated(table, rules))
    done = ConsumerState(replace(position, state=upstream.rolled_back().copy()), known)
    changes = sent_changes(plan, after, until)
    for jobs in statements(plan, after, until):
        ahead = int(np.searchsorted(ints(changes, "commit_ts"), jobs[0].commit_ts))
        done = _apply_statement(_apply_changes(done, changes.slice(0, ahead), plan), jobs, rules)
        changes = changes.slice(ahead)
    return _apply_changes(done, changes, plan)


def statements(plan: Plan, after: int, until: int) -> Iterator[list[EmittedJob]]:
    """Yield the jobs of each statement with a commit-ts in (after, until]."""
    of: dict[int, list[EmittedJob]] = {}
    for job in plan.jobs:
        of.setdefault(id(job.applied), []).append(job)
    for jobs in of.values():
        if after < jobs[0].commit_ts <= until < jobs[-1].commit_ts:
            raise UserError(
                f"no truth at {tso.describe(until)}: the statement {shortened(jobs[0].applied.pending.text)!r} is then half done; "
                f"it ends at {jobs[-1].commit_ts}"
            )
        if after < jobs[0].commit_ts <= until:
            yield jobs


def sent_changes(plan: Plan, after: int, until: int) -> pa.RecordBatch:
    """Return the row changes of scripted SQL that are sent, ordered by commit-ts and rank."""
    assert plan.rows is not None
    commit_ts = ints(plan.rows, "commit_ts")
    changes = plan.rows.filter(pa.array((after < commit_ts) & (commit_ts <= until)))
    scripted = frozenset(pc.unique(changes["table"]).to_pylist())
    sent = stages.filter_and_split(changes, plan.row_rules(scripted))
    return sent.take(pc.sort_indices(sent, [("commit_ts", "ascending"), ("rank", "ascending")]))


# -- statements --------------------------------------------------------------------------------------------------------


def _apply_statement(consumer: ConsumerState, jobs: list[EmittedJob], rules: ChangefeedRules) -> ConsumerState:
    applied = jobs[0].applied
    is_filtered = any(_is_filtered(job, rules) for job in jobs)
    if is_filtered and not isinstance(applied.statement, CreateTable):
        return consumer
    position = consumer.position
    upstream = position.state
    assert isinstance(upstream, Upstream)
    unread = read_rows(position, upstream, applied.statement)
    left = _left_tables(consumer, jobs, rules)
    entries = tables_by_key(as_snapshot(upstream, unread)) if left else {}
    kept = {**consumer.kept, **{place: entries[place] for place in left}}
    _require_free(consumer, jobs)
    upstream = upstream.with_settings(replace(upstream.settings, database=applied.pending.database))
    after, outcome = upstream.execute(applied.statement, applied.pending.text, tso.physical(jobs[0].commit_ts))
    if isinstance(outcome, FailedStatement):
        if is_filtered:
            return consumer
        raise UserError(
            f"no truth after {shortened(applied.pending.text)!r}: a consumer that never got what event filters keep back "
            f"refuses it: {outcome.error}"
        )
    told = frozenset(place for job in jobs for place in _changed_tables(job, rules, told=True))
    known = _known(consumer.known - left, jobs, after, rules)
    return ConsumerState(
        replace(position, state=after, catalog=after.catalog, unread=still_unread(unread, after.catalog)),
        known,
        {place: kept[place] for place in kept.keys() - told},
    )


def _require_free(consumer: ConsumerState, jobs: list[EmittedJob]) -> None:
    """Raise UserError for a rename that is sent to the name of a table which only the consumer still has."""
    for job in (job for job in jobs if job.events):
        for old, new in renamed_tables(job.job).items():
            if old != new and object_key(*new) in consumer.kept:
                raise UserError(
                    f"no truth after {shortened(job.applied.pending.text)!r}: a consumer still has {'.'.join(new)}, because "
                    "it left the changefeed, and what became of it then was not sent"
                )


def _is_filtered(job: EmittedJob, rules: ChangefeedRules) -> bool:
    """Return whether only event filters or ignored transactions keep a job from being sent."""
    if job.events:
        return False
    unfiltered = replace(
        rules,
        replication=replace(rules.replication, ignored_start_ts=frozenset()),
        event_filters=EventFilters((), rules.release),
    )
    return bool(decide(job.job, job.applied.before, job.applied.after, unfiltered).events)


def _known(known: frozenset[Key], jobs: list[EmittedJob], upstream: Upstream, rules: ChangefeedRules) -> frozenset[Key]:
    came: set[Key] = set()
    for job in jobs:
        for old, new in renamed_tables(job.job).items():
            if _is_told(job, old, new, rules) and object_key(*new) in upstream.catalog.tables:
                came.add(object_key(*new))
    return frozenset(place for place in known | came if place in upstream.catalog.tables)


def _left_tables(consumer: ConsumerState, jobs: list[EmittedJob], rules: ChangefeedRules) -> frozenset[Key]:
    """Return the consumer's tables outside of the changefeed that a statement changes without being sent for them."""
    changed = frozenset(place for job in jobs for place in _changed_tables(job, rules, told=False))
    tables = jobs[0].applied.before.tables
    return frozenset(
        place for place in changed & consumer.known if place in tables and not is_replicated(tables[place], rules)
    )


def _changed_tables(emitted: EmittedJob, rules: ChangefeedRules, told: bool) -> Iterator[Key]:
    """Yield the tables that a job changes and is sent for, or those that it is not sent for."""
    job = emitted.job
    for old, new in renamed_tables(job).items():
        if _is_told(emitted, old, new, rules) == told:
            yield object_key(*old)
    if bool(emitted.events) == told:
        if job.code == Action.DROP_SCHEMA:
            yield from (place for place in emitted.applied.before.tables if place[0] == job.schema.lower())
        if job.exchanged_table:
            yield object_key(*job.exchanged_table)


def _is_told(emitted: EmittedJob, old: Name, new: Name, rules: ChangefeedRules) -> bool:
    """Return whether a job is sent for one of its tables: of several renames, those in the changefeed are."""
    if emitted.job.code == Action.RENAME_TABLES and rules.release.splits_renames:
        return bool(emitted.events) and _concerns_one(emitted, old, new, rules)
    return bool(emitted.events)


def tables_by_key(snapshot: Snapshot) -> dict[Key, SnapshotTable]:
    """Return the tables of a snapshot by their names in lower case."""
    return {object_key(entry.table.schema, entry.table.name): entry for entry in snapshot.tables}


# -- rows --------------------------------------------------------------------------------------------------------------


def _apply_changes(consumer: ConsumerState, changes: pa.RecordBatch, plan: Plan) -> ConsumerState:
    """Apply row changes between two statements."""
    if not changes.num_rows:
        return consumer
    names: dict[Key, list[Ints]] = {}
    tables: dict[Key, Table] = {}
    for number, places in by_table(ints(changes, "table")):
        table = plan.tables[number].table
        names.setdefault(object_key(table.schema, table.name), []).append(places)
        tables[object_key(table.schema, table.name)] = table
    for place, of_table in names.items():
        rows = changes.take(pa.array(np.sort(np.concatenate(of_table))))
        consumer = _apply_table_changes(consumer, place, tables[place], rows)
    return replace(consumer, known=consumer.known | names.keys())


def _apply_table_changes(consumer: ConsumerState, place: Key, sent: Table, changes: pa.RecordBatch) -> ConsumerState:
    position = consumer.position
    upstream = position.state
    assert isinstance(upstream, Upstream)
    table = upstream.catalog.tables.get(place)
    if table is None or _names(table) != _names(sent):
        raise UserError(
            f"no truth of {sent.schema}.{sent.name}: its rows are sent, and event filters keep back a statement "
            "without which a consumer cannot take them"
        )
    unread = read_rows(position, upstream, TableName(table.schema, table.name))
    images = (_upsert if handle_key(table) else _count_rows)(table, upstream.rows(table).images, changes)
    upstream.load(table, images, _row_ids(table, images))
    return replace(consumer, position=replace(position, unread=unread))


def _names(table: Table) -> list[str]:
    return [column.name for column in visible_columns(table)]


def _row_ids(table: Table, images: pa.Array) -> pa.Array:
    if handle_key(table):
        return table_info.row_ids(table, _handles(table, images), 0)
    return pa.array(np.arange(1, len(images) + 1))


def _handles(table: Table, images: pa.Array) -> pa.Array:
    texts: Mapping[str, pa.Array] = row_image.LazyCells(images, _names(table))
    return table_info.handles_of_rows(table, {name: texts[name].view(pa.string()) for name in handle_key(table)})


def _upsert(table: Table, now: pa.Array, changes: pa.RecordBatch) -> pa.Array:
    """Apply changes by key: the last change of a key counts, and within a transaction a new row wins over a delete."""
    before, after = changes["before"], changes["after"]
    goes, comes = (np.flatnonzero(np.asarray(image.is_valid())) for image in (before, after))
    written = after.take(pa.array(comes))
    keys = pa.concat_arrays([_handles(table, before.take(pa.array(goes))), _handles(table, written)])
    commit_ts = ints(changes, "commit_ts")
    kind = np.repeat([0, 1], [len(goes), len(comes)])
    order = np.lexsort((np.arange(len(keys)), kind, commit_ts[np.concatenate([goes, comes])]))
    encoded = keys.dictionary_encode()
    last = np.empty(len(encoded.dictionary), np.int64)
    last[encoded.indices.to_numpy()[order]] = order
    put = last[last >= len(goes)] - len(goes)
    stays = pc.invert(pc.is_in(_handles(table, now), encoded.dictionary))
    images = pa.concat_arrays([now.filter(stays), written.take(pa.array(put))])
    return images.take(pc.sort_indices(_handles(table, images)))


def _count_rows(table: Table, now: pa.Array, changes: pa.RecordBatch) -> pa.Array:
    """Apply changes of a table without a handle key, by counting equal rows."""
    parts = [now, changes["after"].drop_null(), changes["before"].drop_null()]
    encoded = pa.concat_arrays(parts).dictionary_encode()
    by = np.repeat([1, 1, -1], [len(part) for part in parts])
    counts = np.zeros(len(encoded.dictionary), np.int64)
    np.add.at(counts, encoded.indices.to_numpy(), by)
    images = encoded.dictionary.take(pa.array(np.repeat(np.arange(len(counts)), np.maximum(counts, 0))))
    return images.take(pc.sort_indices(images))


EMPTYING = frozenset(
    {
        Action.DROP_TABLE,
        Action.TRUNCATE_TABLE,
        Action.DROP_SCHEMA,
        Action.DROP_TABLE_PARTITION,
        Action.TRUNCATE_TABLE_PARTITION,
    }
)
"""Jobs that take rows out of tables."""


@dataclass(frozen=True)
class StatementMessages:
    """How a changefeed sends statements."""

    rules: ChangefeedRules
    options: CodecOptions

    @property
    def release(self) -> Release:
        return self.rules.release

    def of_jobs(self, jobs: Iterable[EmittedJob]) -> Iterator[ExpectedStatement]:
        """Yield the statements of jobs on replicated tables and on databases, in their order."""
        for emitted in jobs:
            sent = [
                each
                for event, topic in zip(emitted.events, emitted.topics, strict=True)
                for each in self._of_event(event, topic)
            ]
            has_no_file = self.rules.changefeed.storage is not None and bool(emitted.events)
            held_back = self._tells_statements and emitted.job.code in EMPTYING
            concerns = emitted.job.code in SCHEMA_ACTIONS or _concerns_replicated(emitted, self.rules)
            if not sent and (has_no_file or not held_back and concerns):
                sent = [ExpectedStatement(emitted.commit_ts, emitted.job.database, "", emitted.job.query)]
            modes = emitted.job.sql_mode & READING_MODES
            needs_modes = modes and not (sent and sent[0].is_sent and self.release.ddl_text_mode == "job")
            yield from (replace(each, sql_mode=",".join(sorted(modes))) for each in sent) if needs_modes else sent

    @property
    def _tells_statements(self) -> bool:
        """Whether statements are sent, so that of those which event filters keep back a consumer knows nothing."""
        is_stored = self.rules.changefeed.storage is not None
        return is_stored or CODECS[self.options.protocol].sends_ddl(self.options, self.release)

    def tables(self, catalog: Catalog) -> tuple[Table, ...]:
        """Return the replicated tables under their names in messages."""
        tables = (table for table in catalog.tables.values() if is_replicated(table, self.rules))
        return tuple(sent_table(route(self.rules.router, table), table) for table in tables)

    def _of_event(self, event: DdlEvent, topic: str) -> Iterator[ExpectedStatement]:
        after = None if event.after is None else event.after.table
        definition = show_create(after) if isinstance(after, Table) else ""
        if (storage := self.rules.changefeed.storage) is not None:
            for each in schema_events([event], storage, self.release):
                path, content = schema_event_file(each, storage, self.release)
                texts = path, content.decode("utf-8", "replace")
                yield ExpectedStatement(
                    each.commit_ts, each.schema, each.table, each.query, str(each.type_code), topic, *texts, definition
                )
            return
        codec = CODECS[self.options.protocol]
        if not codec.ddl_partitions(event, range(1), self.options, self.release):
            return
        manager = SchemaManager()
        entry = codec.statement_entry(event, manager, self.options, self.release)
        (key, value), schemas = codec.message(entry, self.options, self.release), manager.texts
        decoded = reading.decode(key, value, self.options.protocol, schemas)
        text = DECODERS[self.options.protocol].comparable
        for ddl in (each for each in decoded if isinstance(each, reading.DdlEvent)):
            ((entry_key, entry_value),) = DECODERS[self.options.protocol].texts(key, value)
            shown = text(entry_key, entry_value, IGNORED, schemas)
            yield ExpectedStatement(
                reading.time_of(ddl),
                *(ddl.schema, ddl.table, ddl.query, str(ddl.type), topic),
                *(shown.key, shown.value, definition),
            )


def _concerns_replicated(emitted: EmittedJob, rules: ChangefeedRules) -> bool:
    """Return whether a replicated table exists before or after a job that touches it."""
    return any(_concerns_one(emitted, old, new, rules) for old, new in renamed_tables(emitted.job).items())


def _concerns_one(emitted: EmittedJob, old: Name, new: Name, rules: ChangefeedRules) -> bool:
    for catalog, name in ((emitted.applied.before, old), (emitted.applied.after, new)):
        if (spelled := spelled_name(catalog, name)) is not None and is_replicated(
            catalog.tables[object_key(*spelled)], rules
        ):
            return True
    return False

"""The tables that a correct consumer holds at a watermark, the sources of their rows, and their writing as a truth.

A truth has the replicated tables under the names that messages use, without the changes that event filters drop. Its
directory appears when it is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow.compute as pc

from simulator import tso
from simulator.columns.hashing import ChangeSums
from simulator.engines.in_process import ROWS, differing_rows, in_order, read_side, require_small
from simulator.engines.work import RowPlacement
from simulator.errors import DeliveryError, UserError
from simulator.reader.truth_metadata import TruthMetadata
from simulator.run.outputs import codec_options
from simulator.run.plan import Plan
from simulator.run.plan.snapshot_pairs import SnapshotPair, spelled_name
from simulator.run.plan.statements import EmittedJob, renamed_tables
from simulator.run.plan.step import RunPosition
from simulator.run.plan.upstream_rows import as_snapshot
from simulator.run.steps.execution import is_replicated, makes_ineligible
from simulator.sources import snapshots
from simulator.sources.snapshots import PlacedTable, SnapshotTable, TableScan
from simulator.ticdc import dispatch
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Table
from simulator.truth import PlayedRun
from simulator.truth import directory as directories
from simulator.truth.between_snapshots import BetweenSnapshots, between_snapshots, rows_at
from simulator.truth.directory import TruthFiles, write_rows
from simulator.truth.filtered_rows import StatementMessages, apply_sent, tables_by_key

SMALL = 1 << 20
"""Files of up to this many bytes are read to see whether they have rows."""


@dataclass(frozen=True)
class ExpectedRows:
    tables: tuple[Table, ...]
    """Ordered by schema and name; rows refer to them by index."""

    scans: tuple[TableScan, ...]
    """Tables whose rows are copied as they are, in this order."""

    between: BetweenSnapshots | None = None
    """Two snapshots from which the rows of other tables are computed."""

    @property
    def input_bytes(self) -> int:
        in_memory: int = sum(scan.table.rows.nbytes for scan in self.scans if scan.table.rows is not None)
        files = sum(file.size for scan in self.scans for each in scan.table.files.values() for file in each)
        return in_memory + files + (self.between.input_bytes if self.between else 0)


def expected_rows(run: PlayedRun, watermark: int) -> ExpectedRows:
    """Return the rows at a watermark of a run, under the names of messages; raises UserError if they are unknown."""
    expected = _expected_rows(run.plan, run.rules, run.seed, watermark)
    return replace(expected, tables=tuple(as_sent(table, run.rules) for table in expected.tables))


def as_sent(table: Table, rules: ChangefeedRules) -> Table:
    """Return the table under its name in messages."""
    return dispatch.sent_table(dispatch.route(rules.router, table), table)


def _expected_rows(plan: Plan, rules: ChangefeedRules, seed: int, watermark: int) -> ExpectedRows:
    marked = any(each.table.soft_delete for each in plan.tables)
    filtered = marked or bool(plan.event_filters.rules or plan.ignored_start_ts)
    snapshot_pairs = [pair for pair in plan.snapshot_pairs if tso.compose(pair.span.start_ms) <= watermark]
    if filtered and plan.snapshot_pairs and (len(plan.snapshot_pairs) > 1 or plan.rows is not None):
        raise UserError(
            "no truth of a run in which event filters or soft deletes keep rows back before or after a snapshot that "
            "others lead to: let the run have two snapshots alone, or SQL alone"
        )
    if snapshot_pairs and (filtered or watermark < tso.compose(snapshot_pairs[-1].span.next_ms)):
        return ExpectedRows(
            *between_snapshots(plan, snapshot_pairs[-1], len(snapshot_pairs) - 1, watermark, seed, filtered)
        )
    if (
        watermark >= last_change(plan)
        and not filtered
        and not any(_changes_replication(job, rules) for job in plan.jobs)
    ):
        last = plan.positions[-1]
        places = {place for place, table in last.catalog.tables.items() if is_replicated(table, rules)}
        return _rows_at_position(last, frozenset(places))
    base = _position_after(snapshot_pairs[-1], plan) if snapshot_pairs else plan.positions[0]
    if plan.rows is None:
        return _rows_at_position(base, frozenset(object_key(*name) for name in base.versions))
    consumer = apply_sent(base, plan, rules, tso.compose(base.now_ms) if snapshot_pairs else 0, watermark)
    return _rows_at_position(consumer.position, consumer.known, consumer.kept)


def last_change(plan: Plan) -> int:
    """Return the commit-ts of the last change or statement; 0 if there is none."""
    rows = (pc.max(plan.rows["commit_ts"]).as_py() or 0) if plan.rows is not None else 0
    jobs = max((job.commit_ts for job in plan.jobs), default=0)
    snapshot_pairs = max((tso.compose(pair.span.next_ms) for pair in plan.snapshot_pairs), default=0)
    return max(rows, jobs, snapshot_pairs)


def empty_tables(plan: Plan, rules: ChangefeedRules) -> tuple[str, ...]:
    """Return the replicated tables that have no rows where the stream begins, with those whose CREATE TABLE is not
    sent."""
    first = plan.positions[0]
    created = (as_sent(table, rules) for table in _silently_created(plan, rules))
    return (*_empty_at(first, rules), *(f"{table.schema}.{table.name}" for table in created))


def _tells_statements(rules: ChangefeedRules) -> bool:
    """Return whether the stream has statements; a storage has them as schema files."""
    options = rules.changefeed.codec
    return options.stores_rows or CODECS[options.protocol].sends_ddl(options, rules.release)


def _silently_created(plan: Plan, rules: ChangefeedRules) -> Iterator[Table]:
    if _tells_statements(rules):
        return
    known = {object_key(*name) for name in plan.positions[0].versions}
    renames = (pair for job in plan.jobs for pair in renamed_tables(job.job).items())
    known |= {object_key(*new) for old, new in renames if old != new}
    for place, table in plan.positions[-1].catalog.tables.items():
        if place not in known and is_replicated(table, rules):
            yield table


EMPTYING = frozenset(
    {
        *(Action.DROP_TABLE, Action.TRUNCATE_TABLE),
        *(Action.DROP_TABLE_PARTITION, Action.TRUNCATE_TABLE_PARTITION, Action.EXCHANGE_TABLE_PARTITION),
    }
)
"""Statements that take rows out of a table, or put others in."""


def emptied_tables(plan: Plan, rules: ChangefeedRules) -> tuple[str, ...]:
    """Return the replicated tables that lost rows by statements which are not sent."""
    if _tells_statements(rules):
        return ()
    emptied = set[Key]()
    for emitted in plan.jobs:
        pairs = [(object_key(*old), object_key(*new)) for old, new in renamed_tables(emitted.job).items()]
        if emitted.job.code in EMPTYING:
            emptied |= {old for old, _ in pairs}
            emptied |= {object_key(*emitted.job.exchanged_table)} if emitted.job.exchanged_table else set()
        if emitted.job.code == Action.DROP_SCHEMA:
            emptied |= {key for key in emitted.applied.before.tables if key[0] == emitted.job.schema.lower()}
        emptied |= {new for old, new in pairs if old in emptied}
    tables = (table for place, table in plan.positions[-1].catalog.tables.items() if place in emptied)
    names = (as_sent(table, rules) for table in tables if is_replicated(table, rules))
    return tuple(f"{table.schema}.{table.name}" for table in names)


def _empty_at(first: RunPosition, rules: ChangefeedRules) -> tuple[str, ...]:
    if first.state is None:
        return ()
    known = frozenset(object_key(*name) for name in first.versions)
    begun = _rows_at_position(first, known)
    names = (as_sent(table, rules) for table in begun.tables)
    return tuple(
        f"{table.schema}.{table.name}" for table, scan in zip(names, begun.scans, strict=True) if not _has_rows(scan)
    )


def _has_rows(scan: TableScan) -> bool:
    if sum(file.size for files in scan.table.files.values() for file in files) > SMALL:
        return True
    batches = (batch for pieces in snapshots.divide_into_tasks([scan]) for batch in snapshots.state_batches(pieces))
    return any(batch.num_rows for batch in batches)


def _position_after(pair: SnapshotPair, plan: Plan) -> RunPosition:
    """Return the position of the run when it reaches the second snapshot."""
    position_after = next(position for position in plan.positions if position.now_ms >= pair.span.next_ms)
    return replace(position_after, state=pair.after, unread=None)


def _changes_replication(job: EmittedJob, rules: ChangefeedRules) -> bool:
    """Return whether a job changes whether a table with rows is replicated."""
    for old, new in renamed_tables(job.job).items():
        there, then = spelled_name(job.applied.before, old), spelled_name(job.applied.after, new)
        if there and then:
            was, now = job.applied.before.tables[object_key(*there)], job.applied.after.tables[object_key(*then)]
            if is_replicated(was, rules) != is_replicated(now, rules) or makes_ineligible(job.job, now, rules):
                return True
    return False


def _rows_at_position(
    position: RunPosition, places: frozenset[Key], kept: Mapping[Key, SnapshotTable] = MappingProxyType({})
) -> ExpectedRows:
    """Return the rows of tables at a position, and of tables that a consumer kept from before it."""
    state, unread = position.state, position.unread
    if state is None:
        return ExpectedRows((), ())
    snapshot = as_snapshot(state.rolled_back(), unread) if isinstance(state, Upstream) else state
    entries = tables_by_key(snapshot)
    definition = {place: position.catalog.tables.get(place, entry.table) for place, entry in entries.items()}
    entries |= kept
    definition |= {place: entry.table for place, entry in kept.items()}
    ordered = sorted(place for place in places | kept.keys() if place in entries)
    definitions = [definition[place] for place in ordered]
    scans = [
        scan_as_table(entries[place], table, number)
        for number, (place, table) in enumerate(zip(ordered, definitions, strict=True))
    ]
    return ExpectedRows(tuple(definitions), tuple(scans))


def scan_as_table(entry: SnapshotTable, table: Table, number: int) -> TableScan:
    """Return a scan that gives a table of a snapshot that number."""
    count = len(table.partitioning.partitions) if table.partitioning else 1
    return TableScan(entry, PlacedTable(table, (number,) * count))


TruthEngine = Callable[[ExpectedRows, TruthFiles], Counter[int]]
"""Writes all rows into files, and returns the counts by table index."""


def write(
    expected: ExpectedRows, about: TruthMetadata, engine: TruthEngine, files: TruthFiles, lines: Sequence[str] = ()
) -> Mapping[str, int]:
    """Write the rows and their metadata, which includes `lines`; return the number of rows by `schema.table`.

    Raises UserError for a directory with other files, SnapshotError for unreadable files, and DeliveryError for errors
    of the disk.
    """
    with files.staged() as staged:
        directories.write_definitions(staged.directory, expected.tables)
        counts = engine(expected, staged)
        rows = {f"{table.schema}.{table.name}": counts[number] for number, table in enumerate(expected.tables)}
        directories.write_about(staged.directory, replace(about, rows=rows), lines)
    return rows


def about_run(
    run: PlayedRun,
    topics: Mapping[str, int],
    watermark: int,
    sums: ChangeSums = MappingProxyType({}),
    begins: Mapping[str, int] = MappingProxyType({}),
) -> TruthMetadata:
    """Return the metadata of a run's truth; `topics` has the number of partitions by topic, `begins` that of topics before
    they grew, if it is not the changefeed's, and `sums` are those of `RunResult`."""
    plan, rules = run.plan, run.rules
    grown: dict[str, dict[str, int]] = {}
    for growth in plan.grown:
        first = begins.get(growth.topic, rules.changefeed.kafka.partitions)
        grown.setdefault(growth.topic, {"0": first})[str(growth.commit_ts)] = growth.partitions
    messages = StatementMessages(rules, codec_options(rules.changefeed))
    return directories.about(
        rules,
        messages.tables(plan.positions[0].catalog),
        sums,
        command=run.command,
        played=run.name,
        topics=dict(topics),
        start_ts=tso.compose(plan.positions[0].now_ms),
        watermark=watermark,
        final_watermark=tso.compose(plan.timeline.end_ms),
        empty=empty_tables(plan, rules),
        seed=run.seed,
        emptied=emptied_tables(plan, rules),
        statements=tuple(messages.of_jobs(plan.jobs)),
        grown=grown,
    )


def write_in_process(expected: ExpectedRows, files: TruthFiles) -> Counter[int]:
    """Implement `TruthEngine`; raises UserError if compared snapshots are too large."""
    try:
        batches = (
            batch for pieces in snapshots.divide_into_tasks(expected.scans) for batch in snapshots.state_batches(pieces)
        )
        rows = write_rows(batches, expected.tables, files, lambda number: None)
        if expected.between is not None:
            rows += _write_compared(expected, expected.between, files, frozenset(rows))
    except MemoryError as error:
        raise DeliveryError("the memory of this process is full, so that no truth was written") from error
    return rows


def _write_compared(
    expected: ExpectedRows, between: BetweenSnapshots, files: TruthFiles, begun: frozenset[int]
) -> Counter[int]:
    """Write the rows computed from two snapshots; tables in `begun` already have a file."""
    require_small(between.input_bytes)
    placing = RowPlacement(between.comparison, between.rules)
    before, after = (read_side(scans, placing, None) for scans in (between.before, between.after))
    every = differing_rows(before, after, every=True)
    rows = rows_at(every, replace(between, comparison=in_order(every, between.comparison)))
    rows = rows.take(pc.sort_indices(rows["table"]))  # stable, and by handle already
    slices = (rows.slice(start, ROWS) for start in range(0, rows.num_rows, ROWS))
    return write_rows(slices, expected.tables, files, lambda number: 1 if number in begun else None)

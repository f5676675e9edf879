"""BOOTSTRAP of Simple: the schema of a table before its first row, then again and again; if asked, of all at the start.

TiCDC looks every 5 s whether a table's last BOOTSTRAP is too old or too many rows ago, and forgets tables without rows
for 30 minutes (tiflow v8.0.0: pkg/sink/codec/bootstraper.go). Simulated time passes here, by the commit-ts of events. A
BOOTSTRAP precedes all events of its time. It follows from the rows of all partitions, counted before any is sent, so
that every task knows the BOOTSTRAPs of its own.

With send-all-bootstrap-at-start every table of the changefeed has one before all other messages, whenever it starts
(tiflow v8.5.3: cdc/owner/ddl_manager.go trySendBootstrap, ticdc v8.5.4: event_dispatcher.go EmitBootstrap).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import BOOTSTRAP, EVENTS, ROW, Ints, ints, picked
from simulator.engines.tasks import TaskSpec
from simulator.ticdc.codecs import CODECS
from simulator.tso import LOGICAL_BITS, compose

TICK_MS = 5_000
INACTIVE_MS = 30 * 60_000

TABLE_ROWS = pa.schema(
    [("tick", pa.int64()), ("table", pa.int32()), ("first", pa.int64()), ("last", pa.int64()), ("rows", pa.int64())]
)
"""The rows of a physical table between two ticks, with the first and the last commit-ts."""


def table_rows(changes: pa.RecordBatch, since: int = 0) -> pa.RecordBatch:
    """Return TABLE_ROWS of changes above a commit-ts."""
    if since:
        changes = changes.filter(pc.greater(changes["commit_ts"], since))
    commit_ts = changes["commit_ts"]
    tick = pc.divide(pc.shift_right(commit_ts, LOGICAL_BITS), TICK_MS)
    counted = pa.table({"tick": tick, "table": changes["table"], "first": commit_ts, "last": commit_ts})
    return summed(counted.append_column("rows", pa.repeat(pa.scalar(1, pa.int64()), counted.num_rows)))


def summed(rows: pa.Table) -> pa.RecordBatch:
    """Return TABLE_ROWS from those of several parts."""
    found = rows.group_by(["tick", "table"]).aggregate([("first", "min"), ("last", "max"), ("rows", "sum")])
    found = found.rename_columns(["tick", "table", "first", "last", "rows"]).select(TABLE_ROWS.names).cast(TABLE_ROWS)
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in found.columns], schema=TABLE_ROWS)


@dataclass
class ActiveTable:
    number: int
    """The physical table whose schema is told, an index in `TaskSpec.tables`."""

    topic: str
    """The topic of its first row, to which BOOTSTRAP goes even if the table gets another name."""

    sent_ms: int
    """When its last BOOTSTRAP was sent, in simulated milliseconds since 1970."""

    row_ms: int
    rows: int = 0
    """Rows since then."""


@dataclass(frozen=True)
class Due:
    """A BOOTSTRAP to send before the events of its commit-ts."""

    commit_ts: int
    number: int
    topic: str


def sends_bootstraps(spec: TaskSpec) -> bool:
    """Return whether the protocol has BOOTSTRAP, and the changefeed sends it with rows."""
    options = spec.options
    intervals = options.send_bootstrap_interval_in_sec, options.send_bootstrap_in_msg_count
    return CODECS[options.protocol].bootstrap is not None and min(intervals) > 0


def starts_with_bootstraps(spec: TaskSpec) -> bool:
    """Return whether the changefeed sends BOOTSTRAP of all tables when it starts."""
    has_any = CODECS[spec.options.protocol].bootstrap is not None
    alone = has_any and spec.release.simple_start_bootstraps == "partitions"
    return spec.options.send_all_bootstrap_at_start and (alone or sends_bootstraps(spec))


@dataclass
class Bootstraps:
    """The tables that have had rows so far. It outlives a part of a changefeed that stays open."""

    active: dict[int, ActiveTable] = field(default_factory=dict)
    """By table id, or by that of the partition."""

    tick: int = 0
    """Number of the last tick."""

    started: bool = False
    """Whether the changefeed has started."""

    told: dict[tuple[int, int], int] = field(default_factory=dict)
    """That of `TaskSpec.told`, which the specs of all parts share."""

    def at_start(
        self, commit_ts: int, spec: TaskSpec, numbers: Iterable[int], owned: Iterable[int]
    ) -> list[pa.RecordBatch]:
        """Return the BOOTSTRAPs (EVENTS) that these physical tables have when the changefeed starts at a commit-ts, for
        those of the owned destinations; none if it has started before."""
        if self.started or not starts_with_bootstraps(spec):
            return []
        self.started = True
        by_partition = spec.release.simple_start_bootstraps == "partitions"
        default = spec.destinations.topics[0]
        chosen: dict[int, int] = {}
        for number in numbers:
            table = spec.tables[number]
            chosen.setdefault(table.partition_id or table.table_id if by_partition else table.table_id, number)
        due = [
            Due(commit_ts, number, default if by_partition else spec.routes[number].topic)
            for _, number in sorted(chosen.items())
        ]
        return _events(_placed(due, spec, _sorted(owned), everywhere=True))

    def scheduled(self, spec: TaskSpec, owned: Iterable[int]) -> list[pa.RecordBatch]:
        """Return the BOOTSTRAPs (EVENTS) with the rows of the spec, in order, for those of the owned destinations."""
        if spec.table_rows is None or not sends_bootstraps(spec):
            return []
        end_tick = spec.control_events.timeline.end_ms // TICK_MS
        due: list[Due] = []
        order = [("tick", "ascending"), ("first", "ascending"), ("table", "ascending")]
        rows = spec.table_rows.sort_by(order).to_pylist()
        for tick, group in groupby(rows, lambda row: int(row["tick"])):
            due += self._until(tick, spec)
            due += self._met(list(group), spec)
        due += self._until(end_tick, spec)
        self._tell(due, spec)
        return _events(_placed(due, spec, _sorted(owned)))

    def between(self, commit_ts: int, spec: TaskSpec, numbers: Iterable[int]) -> list[pa.RecordBatch]:
        """Return the BOOTSTRAPs (EVENTS) to send at a commit-ts, before later rows of these physical tables: for the
        tables that are new, and those for which it is repeated."""
        if not sends_bootstraps(spec):
            return []
        now_ms, due = commit_ts >> LOGICAL_BITS, list[ActiveTable]()
        tables = {_bootstrapped_id(spec, number): number for number in numbers}
        self.active = {id: table for id, table in self.active.items() if id in tables}
        for id, number in tables.items():
            if id not in self.active:
                self.active[id] = ActiveTable(number, spec.routes[number].topic, now_ms, now_ms)
                due.append(self.active[id])
            self.active[id].number, self.active[id].row_ms = number, now_ms
        if now_ms // TICK_MS > self.tick:
            due += self._repeated(now_ms // TICK_MS, spec)
        every = np.arange(spec.destinations.total)
        sent = [Due(commit_ts, table.number, table.topic) for table in due]
        self._tell(sent, spec)
        return _events(_placed(sent, spec, every))

    def count(self, spec: TaskSpec, rows: Mapping[int, int]) -> None:
        """Count rows, given by physical table."""
        for number, count in rows.items():
            if (table := self.active.get(_bootstrapped_id(spec, number))) is not None:
                table.rows += count

    def _tell(self, due: Iterable[Due], spec: TaskSpec) -> None:
        """Note of which schema versions BOOTSTRAPs are sent."""
        for each in due:
            table = spec.tables[each.number]
            spec.told.setdefault((table.table_id, table.version), each.commit_ts)

    def _until(self, tick: int, spec: TaskSpec) -> Iterator[Due]:
        """Yield what is repeated up to a tick."""
        while self.active and self.tick < tick:
            next_ms = min(self._next_ms(table, spec) for table in self.active.values())
            next_tick = max(self.tick + 1, -(-next_ms // TICK_MS))
            if next_tick > tick:
                break
            yield from (
                Due(int(compose(next_tick * TICK_MS)), table.number, table.topic)
                for table in self._repeated(next_tick, spec)
            )
        self.tick = max(self.tick, tick)

    def _next_ms(self, table: ActiveTable, spec: TaskSpec) -> int:
        """Return the time from which on a tick repeats a table's BOOTSTRAP, or forgets the table."""
        if table.rows >= spec.options.send_bootstrap_in_msg_count:
            return 0
        return min(table.sent_ms + spec.options.send_bootstrap_interval_in_sec * 1000, table.row_ms + INACTIVE_MS + 1)

    def _repeated(self, tick: int, spec: TaskSpec) -> Iterator[ActiveTable]:
        """Yield the tables whose BOOTSTRAP is repeated at a tick."""
        now_ms, options = tick * TICK_MS, spec.options
        self.tick = tick
        self.active = {id: table for id, table in self.active.items() if now_ms - table.row_ms <= INACTIVE_MS}
        for table in self.active.values():
            is_old = now_ms - table.sent_ms >= options.send_bootstrap_interval_in_sec * 1000
            if is_old or table.rows >= options.send_bootstrap_in_msg_count:
                table.sent_ms, table.rows = now_ms, 0
                yield table

    def _met(self, rows: Sequence[Mapping[str, int]], spec: TaskSpec) -> Iterator[Due]:
        """Count the rows between two ticks, given as TABLE_ROWS by the first commit-ts; yield the BOOTSTRAP of each new
        table."""
        for row in rows:
            id, number, count = _bootstrapped_id(spec, row["table"]), row["table"], row["rows"]
            first_ms, last_ms = row["first"] >> LOGICAL_BITS, row["last"] >> LOGICAL_BITS
            if id not in self.active:
                topic = spec.routes[number].topic
                yield Due(row["first"], number, topic)
                self.active[id] = ActiveTable(number, topic, first_ms, first_ms)
                count -= 1
            active = self.active[id]
            active.row_ms, active.rows = max(active.row_ms, last_ms), active.rows + count
            active.number = _told(active.number, number, spec)


def with_bootstraps(
    batches: Iterable[pa.RecordBatch], bootstraps: list[pa.RecordBatch], spec: TaskSpec
) -> Iterator[pa.RecordBatch]:
    """Yield ordered events with those of the BOOTSTRAPs before them that are due, which are taken out of the list."""
    for batch in batches:
        if not bootstraps or not batch.num_rows:
            yield batch
            continue
        waiting, latest = bootstraps.pop(), np.maximum.accumulate(ints(batch, "commit_ts"))
        begun = int(np.searchsorted(ints(waiting, "commit_ts"), latest[-1], "right"))
        places = _places(batch, latest, waiting.slice(0, begun), spec)
        due = places < batch.num_rows
        left = pa.concat_batches([waiting.slice(0, begun).filter(pa.array(~due)), waiting.slice(begun)])
        bootstraps += [left] if left.num_rows else []
        place = np.concatenate((np.arange(batch.num_rows), places[due]))
        order = np.lexsort((np.arange(len(place)) < batch.num_rows, place))
        added = waiting.slice(0, begun).filter(pa.array(due))
        yield picked(pa.concat_batches([batch, added]), order) if due.any() else batch


def _places(batch: pa.RecordBatch, latest: Ints, bootstraps: pa.RecordBatch, spec: TaskSpec) -> Ints:
    """Return the place of the event that each BOOTSTRAP precedes in a batch, the end for those that are not due.

    At its commit-ts it precedes the rows of its table and of later ones, in each destination on its own. `latest` has the
    highest commit-ts up to each event.
    """
    times, numbers, destinations = (ints(bootstraps, name) for name in ("commit_ts", "table", "destination"))
    first, end = (np.searchsorted(latest, times, side) for side in ("left", "right"))
    places = np.where(first < end, end, first)
    if (first < end).any():
        ids = np.array([_bootstrapped_id(spec, number) for number in range(len(spec.tables))], np.int64)
        kind, table, destination = (ints(batch, name) for name in ("kind", "table", "destination"))
    for each in np.flatnonzero(first < end).tolist():
        part = slice(first[each], end[each])
        rows, own = kind[part] == ROW, table[part].copy()
        own[~rows] = numbers[each]
        behind = (own >= numbers[each]) | (ids[own] == ids[numbers[each]])
        found = np.flatnonzero(behind & (destination[part] == destinations[each]))
        places[each] = first[each] + found[0] if len(found) else end[each]
    return places


def _told(number: int, later: int, spec: TaskSpec) -> int:
    """Return the physical table whose schema is told after rows of a later one: TiCDC takes the schema of a row with
    another version, or another name, if it minds that."""
    was, table = spec.tables[number], spec.tables[later]
    renamed = was.table.name != table.table.name and not spec.release.simple_first_form
    return later if was.version != table.version or renamed else number


def _bootstrapped_id(spec: TaskSpec, number: int) -> int:
    """Return the id by which TiCDC knows a table of which it sends BOOTSTRAP."""
    table, release = spec.tables[number], spec.release
    if table.partition_id is None:
        return table.table_id
    own = release.simple_bootstraps_partitions or release.simple_bootstrap_ids and table.repartitioned
    return table.partition_id if own else table.table_id


def _sorted(destinations: Iterable[int]) -> Ints:
    return np.array(sorted(destinations), np.int64)


Cell = tuple[int, int, int]
"""The commit-ts, physical table and destination of a BOOTSTRAP."""


def _placed(due: Iterable[Due], spec: TaskSpec, mine: Ints, everywhere: bool = False) -> list[Cell]:
    """Return BOOTSTRAPs for some destinations, `everywhere` to all partitions of a topic whatever the setting."""
    to_all = (everywhere or spec.options.send_bootstrap_to_all_partition) and not spec.release.simple_first_partition
    return [
        (each.commit_ts, each.number, destination)
        for each in sorted(due, key=lambda each: each.commit_ts)
        for topic in [spec.destinations.of_topic(each.topic, each.commit_ts)]
        for destination in np.intersect1d(topic if to_all else topic[:1], mine).tolist()
    ]


def _events(cells: list[Cell]) -> list[pa.RecordBatch]:
    """Return BOOTSTRAPs as EVENTS; no batch is empty."""
    if not cells:
        return []
    times, numbers, destinations = np.array(cells, np.int64).T
    kind = np.full(len(cells), BOOTSTRAP)
    values = {"commit_ts": times, "kind": kind, "table": numbers, "destination": destinations}
    columns = [
        pa.array(values[name.name]).cast(name.type) if name.name in values else pa.nulls(len(cells), name.type)
        for name in EVENTS
    ]
    return [pa.RecordBatch.from_arrays(columns, schema=EVENTS)]

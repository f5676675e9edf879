"""BOOTSTRAP of Simple: the schema of a table before its first row, then again and again; if asked, of all at the start.

TiCDC looks every 5 s whether a table's last BOOTSTRAP is too old or too many rows ago, and forgets tables without rows
for 30 minutes (tiflow v8.0.0: pkg/sink/codec/bootstraper.go). Simulated time passes here, by the commit-ts of events.

With send-all-bootstrap-at-start every table of the changefeed has one before all other messages, whenever it starts
(tiflow v8.5.3: cdc/owner/ddl_manager.go trySendBootstrap, ticdc v8.5.4: event_dispatcher.go EmitBootstrap).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import BOOTSTRAP, EVENTS, ROW, Ints, ints, picked
from simulator.engines.tasks.task import TaskSpec
from simulator.ticdc.codecs import CODECS
from simulator.tso import LOGICAL_BITS

TICK_MS = 5_000
INACTIVE_MS = 30 * 60_000


@dataclass
class ActiveTable:
    """A table with rows."""

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
    """A BOOTSTRAP to send before the event at a place."""

    place: int
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

    def at_start(
        self, commit_ts: int, spec: TaskSpec, numbers: Iterable[int], owned: Iterable[int]
    ) -> pa.RecordBatch | None:
        """Return the BOOTSTRAPs (EVENTS) that these physical tables have when the changefeed starts at a commit-ts, for
        those of the owned destinations; None if there is none, or if it has started before."""
        if self.started or not starts_with_bootstraps(spec):
            return None
        self.started = True
        by_partition = spec.release.simple_start_bootstraps == "partitions"
        default = spec.destinations.topics[0]
        chosen: dict[int, int] = {}
        for number in numbers:
            table = spec.tables[number]
            chosen.setdefault(table.partition_id or table.table_id if by_partition else table.table_id, number)
        due = [
            Due(0, commit_ts, number, default if by_partition else spec.routes[number].topic)
            for _, number in sorted(chosen.items())
        ]
        return _events(_placed(due, spec, _sorted(owned), everywhere=True))

    def insert(
        self, batches: Iterable[pa.RecordBatch], spec: TaskSpec, owned: Iterable[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield ordered events with BOOTSTRAP among them, for those of the owned destinations."""
        if not sends_bootstraps(spec):
            yield from batches
            return
        mine = _sorted(owned)
        for batch in batches:
            yield self._inserted(batch, spec, mine) if batch.num_rows else batch

    def between(self, commit_ts: int, spec: TaskSpec, numbers: Iterable[int]) -> pa.RecordBatch | None:
        """Return the BOOTSTRAPs (EVENTS) to send at a commit-ts, before later rows of these physical tables: for the
        tables that are new, and those for which it is repeated; None if there is none."""
        if not sends_bootstraps(spec):
            return None
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
        return _events(_placed([Due(0, commit_ts, table.number, table.topic) for table in due], spec, every))

    def count(self, spec: TaskSpec, rows: Mapping[int, int]) -> None:
        """Count rows, given by physical table."""
        for number, count in rows.items():
            if (table := self.active.get(_bootstrapped_id(spec, number))) is not None:
                table.rows += count

    def _inserted(self, batch: pa.RecordBatch, spec: TaskSpec, mine: Ints) -> pa.RecordBatch:
        """Return the events with each BOOTSTRAP before the event at its place."""
        commit_ts, kind, table = (ints(batch, name) for name in ("commit_ts", "kind", "table"))
        ms = commit_ts >> LOGICAL_BITS
        ids = np.array([_bootstrapped_id(spec, number) for number in range(len(spec.tables))], np.int64)
        ticks = ms // TICK_MS
        starts = np.flatnonzero(np.diff(ticks, prepend=-1))
        places: list[tuple[int, int, str]] = []
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(ms)]):
            if ticks[first] > self.tick:
                places += ((first, table.number, table.topic) for table in self._repeated(int(ticks[first]), spec))
            rows = first + np.flatnonzero(kind[first:end] == ROW)
            places += self._met(rows, table[rows], ids, ms[rows], spec)
        due = [Due(place, int(commit_ts[place]), number, topic) for place, number, topic in places]
        cells = _placed(due, spec, mine)
        added = _events(cells)
        if added is None:
            return batch
        place = np.concatenate((np.arange(batch.num_rows), [cell[0] for cell in cells]))
        return picked(pa.concat_batches([batch, added]), np.lexsort((np.arange(len(place)) < batch.num_rows, place)))

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

    def _met(self, rows: Ints, table: Ints, ids: Ints, ms: Ints, spec: TaskSpec) -> list[tuple[int, int, str]]:
        """Count rows, given their places, physical tables and times; return place, physical table and topic of the first
        row of each new table."""
        row_ids, new = ids[table], list[tuple[int, int, str]]()
        distinct, first, counts = np.unique(row_ids, return_index=True, return_counts=True)
        last = len(row_ids) - 1 - np.unique(row_ids[::-1], return_index=True)[1]
        for id, begin, end, count in zip(*(each.tolist() for each in (distinct, first, last, counts)), strict=True):
            if id not in self.active:
                number, topic = int(table[begin]), spec.routes[table[begin]].topic
                new.append((int(rows[begin]), number, topic))
                self.active[id] = ActiveTable(number, topic, int(ms[begin]), int(ms[end]))
                count -= 1
            active = self.active[id]
            active.row_ms, active.rows = int(ms[end]), active.rows + count
            if not active.number == table[begin] == table[end]:
                active.number = _told(active.number, table[row_ids == id], spec)
        return sorted(new)


def _told(number: int, later: Ints, spec: TaskSpec) -> int:
    """Return the physical table whose schema is told after rows of later ones: TiCDC takes the schema of a row with
    another version, or another name, if it minds that."""
    for other in later[np.sort(np.unique(later, return_index=True)[1])].tolist():
        was, table = spec.tables[number], spec.tables[other]
        renamed = was.table.name != table.table.name and not spec.release.simple_first_form
        if was.version != table.version or renamed:
            number = other
    return number


def _bootstrapped_id(spec: TaskSpec, number: int) -> int:
    """Return the id by which TiCDC knows a table of which it sends BOOTSTRAP."""
    table, release = spec.tables[number], spec.release
    if table.partition_id is None:
        return table.table_id
    own = release.simple_bootstraps_partitions or release.simple_bootstrap_ids and table.repartitioned
    return table.partition_id if own else table.table_id


def _sorted(destinations: Iterable[int]) -> Ints:
    return np.array(sorted(destinations), np.int64)


Cell = tuple[int, int, int, int]
"""The place, commit-ts, physical table and destination of a BOOTSTRAP."""


def _placed(due: Iterable[Due], spec: TaskSpec, mine: Ints, everywhere: bool = False) -> list[Cell]:
    """Return BOOTSTRAPs for some destinations, `everywhere` to all partitions of a topic whatever the setting."""
    to_all = (everywhere or spec.options.send_bootstrap_to_all_partition) and not spec.release.simple_first_partition
    return [
        (each.place, each.commit_ts, each.number, destination)
        for each in due
        for topic in [spec.destinations.of_topic(each.topic, each.commit_ts)]
        for destination in np.intersect1d(topic if to_all else topic[:1], mine).tolist()
    ]


def _events(cells: list[Cell]) -> pa.RecordBatch | None:
    """Return BOOTSTRAPs as EVENTS; None if there is none."""
    if not cells:
        return None
    _, times, numbers, destinations = np.array(cells, np.int64).T
    kind = np.full(len(cells), BOOTSTRAP)
    values = {"commit_ts": times, "kind": kind, "table": numbers, "destination": destinations}
    columns = [
        pa.array(values[name.name]).cast(name.type) if name.name in values else pa.nulls(len(cells), name.type)
        for name in EVENTS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)

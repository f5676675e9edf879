"""BOOTSTRAP of Simple: the schema of a table before its first row, then again and again.

TiCDC looks every 5 s whether a table's last BOOTSTRAP is too old or too many rows ago, and forgets tables without rows
for 30 minutes (tiflow v8.0.0: pkg/sink/codec/bootstraper.go). Simulated time passes here, by the commit-ts of events.
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
    """The physical table of its last row, an index in `TaskSpec.tables`."""

    sent_ms: int
    """When its last BOOTSTRAP was sent, in simulated milliseconds since 1970."""

    row_ms: int
    rows: int = 0
    """Rows since then."""


def sends_bootstraps(spec: TaskSpec) -> bool:
    """Return whether the protocol has BOOTSTRAP, and the changefeed sends it."""
    options = spec.options
    intervals = options.send_bootstrap_interval_in_sec, options.send_bootstrap_in_msg_count
    return CODECS[options.protocol].bootstrap is not None and min(intervals) > 0


@dataclass
class Bootstraps:
    """The tables that have had rows so far. It outlives a part of a changefeed that stays open."""

    active: dict[int, ActiveTable] = field(default_factory=dict)
    """By table id, or by that of the partition."""

    tick: int = 0
    """Number of the last tick."""

    def insert(
        self, batches: Iterable[pa.RecordBatch], spec: TaskSpec, owned: Iterable[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield ordered events with BOOTSTRAP among them, for those of the owned destinations."""
        if not sends_bootstraps(spec):
            yield from batches
            return
        mine = np.array(sorted(owned), np.int64)
        for batch in batches:
            yield self._inserted(batch, spec, mine) if batch.num_rows else batch

    def between(self, commit_ts: int, spec: TaskSpec, numbers: Iterable[int]) -> pa.RecordBatch | None:
        """Return the BOOTSTRAPs (EVENTS) to send at a commit-ts, before later rows of these physical tables: for the
        tables that are new, and those for which it is repeated; None if there is none."""
        if not sends_bootstraps(spec):
            return None
        now_ms, due = commit_ts >> LOGICAL_BITS, list[int]()
        tables = {_bootstrapped_id(spec, number): number for number in numbers}
        self.active = {id: table for id, table in self.active.items() if id in tables}
        for id, number in tables.items():
            if id not in self.active:
                due.append(number)
                self.active[id] = ActiveTable(number, now_ms, now_ms)
            self.active[id].number, self.active[id].row_ms = number, now_ms
        if now_ms // TICK_MS > self.tick:
            due += self._repeated(now_ms // TICK_MS, spec)
        every = np.arange(spec.destinations.total)
        cells = [(0, commit_ts, number, each) for number in due for each in _targets(spec, number, commit_ts, every)]
        return None if not cells else _events(cells)

    def count(self, spec: TaskSpec, rows: Mapping[int, int]) -> None:
        """Count rows, given by physical table."""
        for number, count in rows.items():
            if (table := self.active.get(_bootstrapped_id(spec, number))) is not None:
                table.rows += count

    def _inserted(self, batch: pa.RecordBatch, spec: TaskSpec, mine: Ints) -> pa.RecordBatch:
        commit_ts, kind, table = (ints(batch, name) for name in ("commit_ts", "kind", "table"))
        ms = commit_ts >> LOGICAL_BITS
        ids = np.array([_bootstrapped_id(spec, number) for number in range(len(spec.tables))], np.int64)
        ticks = ms // TICK_MS
        starts = np.flatnonzero(np.diff(ticks, prepend=-1))
        due: list[tuple[int, int]] = []
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(ms)]):
            if ticks[first] > self.tick:
                due += ((first, number) for number in self._repeated(int(ticks[first]), spec))
            rows = first + np.flatnonzero(kind[first:end] == ROW)
            due += ((place, number) for place, number in self._met(rows, table, ids, ms))
        return _with_bootstraps(batch, due, spec, mine) if due else batch

    def _repeated(self, tick: int, spec: TaskSpec) -> Iterator[int]:
        """Yield the tables whose BOOTSTRAP is repeated at a tick."""
        now_ms, options = tick * TICK_MS, spec.options
        self.tick = tick
        self.active = {id: table for id, table in self.active.items() if now_ms - table.row_ms <= INACTIVE_MS}
        for table in self.active.values():
            is_old = now_ms - table.sent_ms >= options.send_bootstrap_interval_in_sec * 1000
            if is_old or table.rows >= options.send_bootstrap_in_msg_count:
                table.sent_ms, table.rows = now_ms, 0
                yield table.number

    def _met(self, rows: Ints, table: Ints, ids: Ints, ms: Ints) -> list[tuple[int, int]]:
        """Count rows, given their places; return place and table of the first row of each new table."""
        row_ids, new = ids[table[rows]], []
        distinct, first, counts = np.unique(row_ids, return_index=True, return_counts=True)
        last = len(row_ids) - 1 - np.unique(row_ids[::-1], return_index=True)[1]
        for id, begin, end, count in zip(*(each.tolist() for each in (distinct, first, last, counts)), strict=True):
            last_ms = int(ms[rows[end]])
            if id not in self.active:
                place = int(rows[begin])
                new.append((place, int(table[place])))
                self.active[id] = ActiveTable(int(table[place]), int(ms[place]), last_ms)
                count -= 1
            active = self.active[id]
            active.number, active.row_ms, active.rows = int(table[rows[end]]), last_ms, active.rows + count
        return sorted(new)


def _bootstrapped_id(spec: TaskSpec, number: int) -> int:
    table = spec.tables[number]
    of_partition = table.partition_id is not None and spec.release.simple_bootstraps_partitions
    return table.partition_id if of_partition and table.partition_id is not None else table.table_id


def _with_bootstraps(batch: pa.RecordBatch, due: list[tuple[int, int]], spec: TaskSpec, mine: Ints) -> pa.RecordBatch:
    """Return the events with each BOOTSTRAP before the event at its place."""
    commit_ts = ints(batch, "commit_ts")
    cells = [
        (place, int(commit_ts[place]), number, destination)
        for place, number in due
        for destination in _targets(spec, number, int(commit_ts[place]), mine)
    ]
    if not cells:
        return batch
    both = pa.concat_batches([batch, _events(cells)])
    place = np.concatenate((np.arange(batch.num_rows), [cell[0] for cell in cells]))
    is_event = np.arange(both.num_rows) < batch.num_rows
    return picked(both, np.lexsort((is_event, place)))


def _events(cells: list[tuple[int, int, int, int]]) -> pa.RecordBatch:
    """Return BOOTSTRAPs, each given by any place, its commit-ts, physical table and destination."""
    _, times, numbers, destinations = np.array(cells, np.int64).T
    values = {"commit_ts": times, "table": numbers, "destination": destinations}
    columns = [
        pa.array(values[name.name]).cast(name.type)
        if name.name in values
        else pa.array(np.full(len(cells), BOOTSTRAP), name.type)
        if name.name == "kind"
        else pa.nulls(len(cells), name.type)
        for name in EVENTS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)


def _targets(spec: TaskSpec, number: int, commit_ts: int, mine: Ints) -> list[int]:
    """Return those of some destinations that get a table's BOOTSTRAP."""
    of_topic = spec.destinations.of_topic(spec.routes[number].topic, commit_ts)
    told = of_topic if spec.options.send_bootstrap_to_all_partition else of_topic[:1]
    targets: list[int] = np.intersect1d(told, mine).tolist()
    return targets

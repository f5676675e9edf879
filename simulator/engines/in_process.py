"""The engine for small snapshots: one process, one task that owns all partitions, in global order; no Java.

One law: a statement goes out when every older row is acknowledged, a watermark when every row below it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.channel import DriverAddress
from simulator.columns.change_frame import CHANGES, JOINED, ORDER, SIDE, Ints, ints
from simulator.engines import stages
from simulator.engines.tasks.progress import report_reading
from simulator.engines.tasks.send import send
from simulator.engines.tasks.task import TaskReport, TaskSpec
from simulator.engines.work import Placing, Work, among_scripted, duplicate
from simulator.errors import DeliveryError, UserError
from simulator.signals import stop_gracefully
from simulator.sources import diff, snapshots
from simulator.sources.snapshots import TableScan
from simulator.ticdc import split

ROWS = 16_384
"""Rows of a batch."""

ENDED_GENTLY = ("kafka", "console")
"""The sinks that keep what they got, so that a run which a signal ends is to be complete up to a watermark."""

MOST_BYTES = 256 << 20
"""Of snapshot files."""

ANY_SIZE = "--master 'local[*]' compares snapshots of any size"


def run(work: Work) -> list[TaskReport]:
    """Plays the work; raises SimulatorError for whatever is wrong with the input."""
    try:
        rows, owned, spec = ordered(work, work.spec.sink == "kafka")
        with stop_gracefully() if spec.sink in ENDED_GENTLY else nullcontext(None) as asked:
            if work.faults is not None:
                work.faults.begin(spec)
            report = send(rows, owned, spec, asked, work.faults, work.on_complete)
            return [replace(report, unmet=work.faults.unmet) if work.faults else report]
    except MemoryError as error:
        raise DeliveryError(f"the memory of this process is full; {ANY_SIZE}") from error


def ordered(work: Work, waits: bool) -> tuple[Iterator[pa.RecordBatch], range, TaskSpec]:
    """What `emit` is given: the rows (EVENTS) in order, all destinations, and the job; where it `waits`, with the times
    at which a statement or a watermark lets older rows arrive first. Raises SimulatorError for what is wrong with the
    input."""
    require_small(work.input_bytes)
    changes = pa.RecordBatch.from_pylist([], CHANGES)
    if work.before or work.after:
        placing = Placing(work.comparison, work.rules)
        before, after = (read(scans, placing, work.spec.progress) for scans in (work.before, work.after))
        changes = diff.changes(compared(before, after), work.comparison)
    if work.rows is not None:
        changes = pa.concat_batches([among_scripted(changes), work.rows])
    if work.asks_beside:
        changes = changes.append_column("beside", pa.array(split.shares_transaction(changes)))
    sent = stages.sent(changes, work.rules)
    sent = sent.take(_order(sent, ORDER))
    rows = (stages.events(sent.slice(start, ROWS), work.rules) for start in range(0, sent.num_rows, ROWS))
    spec = work.spec
    if waits and work.on_complete is None:
        spec = replace(spec, barriers=tuple(spec.control_events.following(ints(sent, "commit_ts")).tolist()))
    return rows, range(spec.destinations.total), spec if waits else replace(spec, barriers=())


def require_small(size: int) -> None:
    """Raises UserError for snapshots with more bytes than are held here."""
    if size > MOST_BYTES:
        raise UserError(
            f"--master none holds whole snapshots in memory, and these have {size / 1e6:,.0f} MB: at most "
            f"{MOST_BYTES / 1e6:,.0f} MB are accepted; {ANY_SIZE}"
        )


def read(scans: Sequence[TableScan], placing: Placing, progress: DriverAddress | None) -> pa.RecordBatch:
    """All rows of one side (SIDE) with their `occurrence`; raises SnapshotError for a key that comes twice."""
    tables = placing.comparison.tables
    batches = [
        batch
        for number, pieces in enumerate(snapshots.tasks(scans))
        for batch in report_reading(placing.sides(pieces), number, progress)
    ]
    found = pa.concat_batches([pa.RecordBatch.from_pylist([], SIDE), *batches])
    found = found.take(_order(found, ("place", "handle", "unaltered")))
    occurrence, table = _occurrences(found), ints(found, "place") % len(tables)
    twice = np.flatnonzero((occurrence > 1) & placing.comparison.keyed[table])
    if len(twice):
        raise duplicate(tables[table[twice[0]]].table, found.column("image")[int(twice[0]) - 1].as_py())
    return found.append_column("occurrence", pa.array(occurrence))


def _order(rows: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in names])


def _occurrences(rows: pa.RecordBatch) -> Ints:
    """Each row's number among equal keys, which lie together, from 1."""
    place, handle, count = ints(rows, "place"), rows.column("handle"), rows.num_rows
    same = np.zeros(count, np.bool_)
    if count > 1:
        same[1:] = (place[1:] == place[:-1]) & np.asarray(pc.equal(handle.slice(1), handle.slice(0, count - 1)))
    at = np.arange(count)
    return at - np.maximum.accumulate(np.where(same, 0, at)) + 1


def compared(before: pa.RecordBatch, after: pa.RecordBatch, every: bool = False) -> pa.RecordBatch:
    """The rows (JOINED) whose images differ, or `every` row."""
    both = pa.concat_batches([before, after])
    is_after = np.arange(both.num_rows) >= before.num_rows
    both = both.append_column("side", pa.array(is_after.astype(np.int8)))
    order = np.asarray(_order(both, ("place", "handle", "occurrence", "side"))).astype(np.int64)
    keyed = both.select(["place", "handle", "occurrence"]).take(pa.array(order))
    pairs = np.zeros(len(order), np.bool_)
    if len(order) > 1:
        alike = [pc.equal(column.slice(1), column.slice(0, len(order) - 1)) for column in keyed.columns]
        pairs[1:] = np.logical_and.reduce([np.asarray(column) for column in alike])
    first = np.flatnonzero(~pairs)
    paired = np.append(pairs[1:], False)[first] if len(order) else np.zeros(0, np.bool_)
    row, next_row = order[first], order[np.minimum(first + 1, len(order) - 1)]
    left = np.where(is_after[row], -1, row)
    right = np.where(paired, next_row, np.where(is_after[row], row, -1))
    image = both.column("image")
    was, now = (_taken(image, side) for side in (left, right))
    differ = np.flatnonzero(every | ~np.asarray(pc.fill_null(pc.equal(was, now), False)))
    rows = both.take(pa.array(row[differ]))
    at = pa.array(differ)
    return pa.RecordBatch.from_arrays(
        [
            rows.column("row_hash"),
            rows.column("place"),
            rows.column("handle"),
            rows.column("occurrence"),
            was.take(at),
            now.take(at),
            _taken(both.column("unaltered"), left[differ]),
        ],
        schema=JOINED,
    )


def _taken(column: pa.Array, places: Ints) -> pa.Array:
    """The values at these places; null where a place is -1."""
    return column.take(pa.array(places, mask=places < 0))

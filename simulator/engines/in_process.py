"""The engine in process, for small snapshots: one task owns all partitions and sends in global order, without Java.

DDL is sent when every older row is acknowledged, a watermark when every row below it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.channel import DriverAddress
from simulator.columns.change_frame import ORDER, PLACED_ROWS, ROW_CHANGES, ROW_DIFFERENCES, Ints, ints
from simulator.engines import stages
from simulator.engines.tasks import TaskReport
from simulator.engines.tasks.bootstraps import sends_bootstraps, table_rows
from simulator.engines.tasks.messages import first_rows, with_schemas
from simulator.engines.tasks.progress import EarlyEnd, report_reading
from simulator.engines.tasks.send import SendingTask, send
from simulator.engines.work import RowPlacement, Work, duplicate_key_error, with_row_id
from simulator.errors import DeliveryError, UserError
from simulator.signals import StopRequest, stop_gracefully
from simulator.sinks import SINKS
from simulator.sources import diff, snapshots
from simulator.sources.diff import Comparison, earlier_changes
from simulator.sources.precedence import claims, fixed_times, handed_on
from simulator.sources.snapshots import TableScan
from simulator.ticdc.codecs import CODECS

ROWS = 16_384
"""Rows per batch."""

MOST_BYTES = 256 << 20
"""Largest size of snapshot files."""

SMALL_BYTES = 64 << 20
"""Largest size of snapshot files that `--master auto` compares in process: see docs/decisions/auto-master.md."""

ANY_SIZE = "--master 'local[*]' compares snapshots of any size"


NO_CHANGES = pa.RecordBatch.from_pylist([], ROW_CHANGES)


def run(work: Work) -> list[TaskReport]:
    """Do the work of a run; raises SimulatorError for bad input."""
    try:
        kind = SINKS[work.spec.sink]
        task = ordered_task(work, kind.barriers)
        with stop_gracefully() if kind.lasting else nullcontext(StopRequest()) as stop:
            report = send(replace(task, early_end=EarlyEnd(stop)))
            return [replace(report, unmet=[] if task.faults is None else task.faults.unmet)]
    except MemoryError as error:
        raise DeliveryError(f"the memory of this process is full; {ANY_SIZE}") from error


def ordered_task(work: Work, waits: bool) -> SendingTask:
    """Return the one task of a run, with all destinations; its faults have begun.

    If `waits`, it has barriers at DDL and watermarks. Raises SimulatorError for bad input.
    """
    require_small(work.input_bytes)
    changes = NO_CHANGES
    if work.before or work.after:
        placing = RowPlacement(work.comparison, work.rules)
        before, after = (read_side(scans, placing, work.spec.progress) for scans in (work.before, work.after))
        differing = differing_rows(before, after)
        changes = diff.changes_until(work.until, differing, in_order(differing, work.comparison))
    if work.rows is not None:
        changes = pa.concat_batches([with_row_id(changes), work.rows]) if changes.num_rows else work.rows
    if work.older_rows is not None:
        changes = work.older_rows.filled(changes, earlier_changes(changes, work.older_rows.identities))
    changes = stages.filter_and_split(changes, work.rules)
    if changes.num_rows > 1:
        changes = changes.take(_order(changes, ORDER))
    rows = (stages.to_events(changes.slice(start, ROWS), work.rules) for start in range(0, changes.num_rows, ROWS))
    spec = work.spec
    if CODECS[spec.options.protocol].needs_registry:
        spec = with_schemas(spec, [first_rows(changes)])
    if sends_bootstraps(spec):
        spec = replace(spec, table_rows=table_rows(changes, spec.since))
    if waits and work.on_complete is None:
        spec = replace(spec, barriers=tuple(spec.control_events.following(ints(changes, "commit_ts")).tolist()))
    spec = spec if waits else replace(spec, barriers=())
    if work.faults is not None:
        work.faults.begin(spec)
    return SendingTask(rows, range(spec.destinations.total), spec, work.faults, work.on_complete)


def require_small(size: int) -> None:
    """Raise UserError for snapshots that are too large for this engine."""
    if size > MOST_BYTES:
        raise UserError(
            f"--master none holds whole snapshots in memory, and these have {size / 1e6:,.0f} MB: at most "
            f"{MOST_BYTES / 1e6:,.0f} MB are accepted; {ANY_SIZE}"
        )


def read_side(scans: Sequence[TableScan], placing: RowPlacement, progress: DriverAddress | None) -> pa.RecordBatch:
    """Return PLACED_ROWS of one side with their `occurrence`; raises SnapshotError for a duplicate key."""
    tables = placing.comparison.tables
    batches = [
        batch
        for number, pieces in enumerate(snapshots.divide_into_tasks(scans))
        for batch in report_reading(placing.sides(pieces), number, progress)
    ]
    rows = pa.concat_batches([pa.RecordBatch.from_pylist([], PLACED_ROWS), *batches])
    rows = rows.take(_order(rows, ("place", "handle", "unaltered")))
    occurrence, table = _occurrences(rows), ints(rows, "place") % len(tables)
    duplicates = np.flatnonzero((occurrence > 1) & placing.comparison.keyed[table])
    if len(duplicates):
        before = int(duplicates[0]) - 1
        raise duplicate_key_error(tables[table[before]], *(rows[name][before].as_py() for name in ("handle", "image")))
    return rows.append_column("occurrence", pa.array(occurrence))


def _order(rows: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in names])


def _occurrences(rows: pa.RecordBatch) -> Ints:
    """Number the rows of each key from 1; equal keys are adjacent."""
    place, handle, count = ints(rows, "place"), rows.column("handle"), rows.num_rows
    same = np.zeros(count, np.bool_)
    if count > 1:
        same[1:] = (place[1:] == place[:-1]) & np.asarray(pc.equal(handle.slice(1), handle.slice(0, count - 1)))
    at = np.arange(count)
    return at - np.maximum.accumulate(np.where(same, 0, at)) + 1


def differing_rows(before: pa.RecordBatch, after: pa.RecordBatch, every: bool = False) -> pa.RecordBatch:
    """The rows (ROW_DIFFERENCES) whose images differ, or `every` row."""
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
        schema=ROW_DIFFERENCES,
    )


def in_order(differing: pa.RecordBatch, comparison: Comparison) -> Comparison:
    """Return the comparison with the times of those rows (ROW_DIFFERENCES) that have to change in some order."""
    if not comparison.key_order.matters:
        return comparison
    of_all = claims(differing, comparison)
    return replace(comparison, fixed=fixed_times(handed_on(lambda: [of_all]), comparison))


def _taken(column: pa.Array, places: Ints) -> pa.Array:
    """Return the values at some positions; null for -1."""
    return column.take(pa.array(places, mask=places < 0))

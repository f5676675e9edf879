"""The rows of a window in the partitions of a task; a window is what is sent between two watermarks.

First come the keys that change and their destinations, then the values of those that belong to the task. A partition
gets the same rows in the same order, however destinations are assigned to tasks and wherever windows end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import change_frame
from simulator.columns.cells import Mask, binary, buffers, fixed, stored_buffers
from simulator.columns.change_frame import Ints, by_table, ints, picked
from simulator.engines import stages
from simulator.engines.stages import RowRules
from simulator.engines.tasks import TaskSpec
from simulator.errors import UserError
from simulator.generate.model import TableRows
from simulator.generate.stream import Stream
from simulator.load.epochs import EpochTable, SchemaEpoch, Window
from simulator.sources.snapshots.pieces import locate_rows
from simulator.ticdc import table_info
from simulator.ticdc.dispatch.destinations import choose_partitions, dispatch_hashes
from simulator.ticdc.dispatch.dispatchers import ROW_ID
from simulator.ticdc.mounter import filled_images, zone_of_rows
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import visible_columns
from simulator.tso import compose

SLICE_ROWS = 16_384
"""The approximate number of changes in a slice. A task with few destinations has larger slices."""

MOST_SLICES = 8
"""A slice is at most this many times as large."""

FIRST_ROWS = 2048
"""The rows of the first slice, before the size of row images is known."""

SLICE_BYTES = 16 << 20
"""The approximate size of the row images in a slice, which matters for wide rows."""

RANK_LIMIT = 8
"""Greater than all of `SplitRule.ranks`."""


def window_rows(window: Window, owned: Iterable[int], slice_rows: int = SLICE_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the owned destinations (EVENTS) in order; raise UserError for a row that no partition of its
    table takes.
    """
    epoch, stream = window.epoch, window.epoch.stream
    mine = np.zeros(epoch.rules.destinations.total, np.bool_)
    mine[list(owned)] = True
    width = min(MOST_SLICES, len(mine) // max(1, int(mine.sum())))
    step = max(1, 2 * slice_rows * width // sum(stream.model.rows_per_transaction))
    first, end = (stream.timetable.transactions_before(ms) for ms in (window.first_ms, window.end_ms))
    rows = min(slice_rows, FIRST_ROWS)
    for start in range(first, end, step):
        chosen = _changes_by_table(epoch, start, min(end, start + step), mine)
        order = _sort_order(chosen, epoch, start)
        at = 0
        while at < len(order):
            some = len(order) if epoch.rules.splitting.any() else rows
            events = _events(_change_batch(chosen, order[at : at + some], epoch.spec), epoch, mine)
            yield events
            at += some
            size = events.nbytes // max(1, min(some, events.num_rows))
            rows = max(1, min(slice_rows, 8 * rows, SLICE_BYTES // max(1, size)))


def table_destinations(epoch: SchemaEpoch) -> list[int]:
    """Return the destinations of an epoch's tables, where all rows of a table have one, in order."""
    destinations = set()
    for physical, route in enumerate(epoch.rules.routes):
        first, count = epoch.rules.partitions[route.topic]
        hashes = dispatch_hashes(route, epoch.rules.tables[physical].table, {}, 1)
        chosen = choose_partitions(route, hashes, np.zeros(1, np.int64), pa.nulls(1, pa.int64()), count)
        destinations.add(first + int(chosen[0]))
    return sorted(destinations)


@dataclass(frozen=True)
class GeneratedChanges:
    """Changes of one table without their values, in parallel columns."""

    number: int
    """The index in `Model.tables`."""

    table: EpochTable
    stream: Stream
    transaction: Ints
    commit_ts: Ints
    key: Ints
    before: Ints
    after: Ints
    """Versions, as in `KeyChanges`."""

    physical: Ints
    """The index of the table, or of the row's partition, among the physical tables of the run."""

    handles: pa.Array
    row_ids: pa.Array
    """Null if the table has a handle key."""

    @property
    def op(self) -> Ints:
        op: Ints = np.select(
            [self.after < 0, self.before < 0], [change_frame.DELETE, change_frame.INSERT], change_frame.UPDATE
        )
        return op

    @property
    def shown(self) -> TableRows:
        """The new rows; for change_frame.DELETE the old ones."""
        return self.rows(np.where(self.after < 0, self.before, self.after))

    def rows(self, versions: Ints) -> TableRows:
        """Return the rows of these versions, without missing ones."""
        there = versions >= 0
        return TableRows(self.key[there], versions[there], self.table.since, self.stream, self.number)

    def at(self, places: Ints) -> GeneratedChanges:
        """Return the changes at these indexes."""
        where = pa.array(places)
        return replace(
            self,
            transaction=self.transaction[places],
            commit_ts=self.commit_ts[places],
            key=self.key[places],
            before=self.before[places],
            after=self.after[places],
            physical=self.physical[places],
            handles=self.handles.take(where),
            row_ids=self.row_ids.take(where),
        )


def _changes_by_table(epoch: SchemaEpoch, first: int, end: int, mine: Mask) -> list[GeneratedChanges]:
    """Return the changes of some transactions that may belong to these destinations, by table."""
    since = [table.since if table else 0 for table in epoch.tables]
    changes = epoch.stream.window(first, end, since)
    timetable, transactions = epoch.stream.timetable, np.arange(first, end)
    physical_ms = epoch.spec.start_ms + timetable.milliseconds(transactions)
    commit_ts = (compose(physical_ms) | timetable.logical(transactions))[changes.transaction - first]
    table_changes = []
    for number, at in by_table(changes.table):
        table = epoch.tables[number]
        if table is not None:
            of_table = GeneratedChanges(
                number,
                table,
                epoch.stream,
                changes.transaction[at],
                commit_ts[at],
                changes.key[at],
                changes.before[at],
                changes.after[at],
                np.full(len(at), table.place.indexes[0]),
                pa.nulls(len(at), pa.binary()),
                pa.nulls(len(at), pa.int64()),
            )
            table_changes.append(_add_handles(_drop_other_destinations(_add_partitions(of_table), epoch, mine)))
    return table_changes


def _add_partitions(changes: GeneratedChanges) -> GeneratedChanges:
    """Add the partitions of the table. A change that moves a row to another partition becomes two."""
    table = changes.table.place.table
    if table.partitioning is None:
        return changes
    shown = _find_partitions(changes, changes.shown)
    if handle_key(table):  # which has all columns that partition the table
        return replace(changes, physical=shown)
    was = shown.copy()
    was[changes.before >= 0] = _find_partitions(changes, changes.rows(changes.before))
    moved = np.flatnonzero((was != shown) & (changes.after >= 0))
    both = changes.at(np.append(np.arange(len(was)), moved))
    before, after = both.before.copy(), both.after.copy()
    before[moved], after[len(was) :] = -1, -1
    return replace(both, before=before, after=after, physical=np.append(shown, was[moved]))


def _find_partitions(changes: GeneratedChanges, rows: TableRows) -> Ints:
    """Return the index of the physical partition of each row; raise UserError if none takes it."""
    table = changes.table.place.table
    names = [column.name for column in visible_columns(table)]
    places = locate_rows(changes.table.place, changes.table.values.texts(names, rows), len(rows.keys))
    if places.null_count:
        raise UserError(
            f"table {table.schema}.{table.name}: no partition takes row {int(rows.keys[np.argmax(places.is_null())])} "
            f"(counted from 0 as they are inserted); the partitions must take every value that the plan gives"
        )
    return np.asarray(places, np.int64)


def _drop_other_destinations(changes: GeneratedChanges, epoch: SchemaEpoch, mine: Mask) -> GeneratedChanges:
    """Keep the changes that may belong to these destinations.

    A split change_frame.UPDATE belongs to two. All changes are kept if a split depends on the other changes of the transaction.
    """
    rules, index = epoch.rules, changes.table.place.indexes[0]
    if mine.all() or rules.splitting[index] and rules.split.several:
        return changes
    belongs = mine[_destinations(changes, changes.shown, rules)]
    if rules.splitting[index]:
        old = changes.before >= 0
        belongs[old] |= mine[_destinations(changes.at(np.flatnonzero(old)), changes.rows(changes.before), rules)]
    return changes if belongs.all() else changes.at(np.flatnonzero(belongs))


def _destinations(changes: GeneratedChanges, rows: TableRows, rules: RowRules) -> Ints:
    """Return the destinations if changes are dispatched by these rows."""
    route, table = rules.routes[changes.table.place.indexes[0]], changes.table.place.table
    names = sorted({source for _, source in route.hashed if source})
    texts = changes.table.values.texts(names, rows) if names else {}
    hashes = dispatch_hashes(route, table, texts, len(rows.keys))
    row_ids = _row_ids(changes) if route.dispatcher == ROW_ID else changes.row_ids
    first, count = rules.partitions[route.topic]
    return first + choose_partitions(route, hashes, changes.commit_ts, row_ids, count)


def _row_ids(changes: GeneratedChanges) -> pa.Array:
    named = _add_handles(changes)
    table = changes.table.place.table
    return named.row_ids if not handle_key(table) else table_info.row_ids(table, named.handles, 0)


def _add_handles(changes: GeneratedChanges) -> GeneratedChanges:
    """Add the handles. The rows of a table without a handle key have a `_tidb_rowid`."""
    if handle_key(changes.table.place.table):
        return replace(changes, handles=changes.table.values.handles(changes.shown))
    row_ids = changes.key + 1
    handles = fixed(row_ids.astype(">u8"), pa.array(row_ids))
    return replace(changes, handles=handles, row_ids=pa.array(row_ids))


def _sort_order(parts: Sequence[GeneratedChanges], epoch: SchemaEpoch, first: int) -> Ints:
    """Return the order by `change_frame.ORDER` of the changes of all tables, concatenated. Numbers sort faster than bytes."""
    if not parts:
        return np.zeros(0, np.int64)
    ranks, tables = np.array(epoch.rules.split.ranks), len(epoch.rules.tables)
    code = np.concatenate(
        [((part.transaction - first) * RANK_LIMIT + ranks[part.op]) * tables + part.physical for part in parts]
    )
    handle = np.concatenate([_handle_numbers(part.handles) for part in parts])
    place = np.empty(len(code), np.int64)
    place[np.argsort(handle)] = np.arange(len(code))
    order: Ints = np.argsort(code * len(code) + place)
    return order


def _handle_numbers(handles: pa.Array) -> npt.NDArray[np.uint64]:
    """Return numbers in the order of the handles of one table."""
    data, offsets = buffers(handles)
    if len(data) == 8 * len(handles) and (np.diff(offsets) == 8).all():
        return data.view(">u8").astype(np.uint64)
    return np.asarray(pc.rank(handles, "ascending", tiebreaker="dense"), np.uint64)


def _change_batch(parts: Sequence[GeneratedChanges], order: Ints, spec: TaskSpec) -> pa.RecordBatch:
    """Return the changes at these indexes of all tables, concatenated, as a batch; changes without a difference are
    left out.
    """
    bounds = np.cumsum([0, *(len(part.key) for part in parts)])
    of = np.searchsorted(bounds, order, "right") - 1
    places, made = [], []
    for number, part in enumerate(parts):
        at = np.flatnonzero(of == number)
        if len(at):
            batch, differ = _table_change_batch(part.at(order[at] - bounds[number]), spec)
            made.append(batch)
            places.append(at[differ])
    if len(made) == 1:
        return made[0]
    return picked(pa.concat_batches(made), np.argsort(np.concatenate(places)))


def _table_change_batch(changes: GeneratedChanges, spec: TaskSpec) -> tuple[pa.RecordBatch, Ints]:
    """Return the changes of one table as a batch, and their indexes."""
    before, after = (_images(changes, versions) for versions in (changes.before, changes.after))
    differ = np.flatnonzero(~np.asarray(pc.fill_null(pc.equal(before, after), False)))
    if changes.table.layouts.added:
        before = _old_images(changes, before, spec)
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(changes.commit_ts),
            pa.array(changes.physical.astype(np.int32)),
            changes.handles,
            before,
            after,
            changes.row_ids,
        ],
        schema=change_frame.row_changes_schema("row_id"),
    )
    return batch if len(differ) == len(changes.key) else batch.take(pa.array(differ)), differ


def _old_images(changes: GeneratedChanges, before: pa.Array, spec: TaskSpec) -> pa.Array:
    """Return the old images as TiCDC has them."""
    there = before.is_valid()
    lacking = changes.table.layouts.lacking(changes.rows(changes.before))
    lacking = pc.replace_with_mask(pa.nulls(len(before), pa.binary()), there, lacking)
    zone = zone_of_rows(spec.options.time_zone, spec.release)
    return filled_images(before, lacking, changes.table.place.table, spec.release, zone)


def _images(changes: GeneratedChanges, versions: Ints) -> pa.Array:
    """Return the row images of these versions; null for missing rows."""
    images, there = changes.table.values.images(changes.rows(versions)), versions >= 0
    if there.all():
        return images
    data, offsets = stored_buffers(images)
    return binary(data, offsets[np.cumsum(np.append(0, there))], pa.array(versions, mask=~there))


def _events(changes: pa.RecordBatch, epoch: SchemaEpoch, mine: Mask) -> pa.RecordBatch:
    """Apply the rules of the changefeed to the changes; return events in order."""
    rules = epoch.rules
    if changes.column("row_id").null_count == changes.num_rows:
        changes = changes.select(change_frame.ROW_CHANGES.names)
    if not rules.splitting.any():
        return stages.to_events(stages.filter_and_split(changes, rules), rules)
    sent = stages.filter_and_split(changes, rules)
    sent = sent.take(pc.sort_indices(sent, sort_keys=[(name, "ascending") for name in change_frame.ORDER]))
    events = stages.to_events(sent, rules)
    return events if mine.all() else events.filter(pa.array(mine[ints(events, "destination")]))

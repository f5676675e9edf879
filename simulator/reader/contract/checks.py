"""Points 1, 2, 3, 5 and 6 for one partition, batch by batch.

The state is limited to tables, statements, watermarks, and the rows above the last watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import DDL, WATERMARK, Ints, ints
from simulator.columns.hashing import xxhash64
from simulator.errors import UserError
from simulator.limits import counted
from simulator.reader.contract import NEVER, REASONS, SHOW, PartitionSummary, Violation, ViolationCounter, batch_checks
from simulator.reader.contract.batch_checks import OPERATIONS
from simulator.reader.contract.change_window import (
    LIMIT,
    ChangeWindow,
    RewoundRows,
    RowChangeArrays,
    SentChange,
    WatermarksBetween,
)
from simulator.reader.contract.events import EventArrays, KeyAndValue, RowGroup, Sampler, TableDefinitions, TableNumbers
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.contract.whole_messages import RowMessages, check_bootstraps, check_control_messages, sent_texts
from simulator.reader.decode import LEAVING, is_sequential, protocol_of
from simulator.reader.decode.avro import is_delete_time
from simulator.reader.decode.row_images import is_rounded
from simulator.reader.events import UNREADABLE, Layout
from simulator.reader.records import TopicPartition
from simulator.reader.truth_metadata import BroadcastDdl
from simulator.ticdc.table_info import handle_key

LEAVES = frozenset(map(str, LEAVING))


class PartitionChecks:
    def __init__(self, place: TopicPartition, spec: StreamSpec, show: int = SHOW) -> None:
        self.place, self.spec = place, spec
        self.summary = PartitionSummary(place)
        self._counter = ViolationCounter(show)
        self._names, self._definitions = TableNumbers(), TableDefinitions(spec)
        self._window, self._newest = ChangeWindow(), RewoundRows()
        self._groups, self._statements, self._sampling = (
            batch_checks.PhysicalTableOrder(),
            batch_checks.StatementOrder(),
            Sampler(),
        )
        self._messages = None if spec.writer is None else RowMessages(spec, spec.writer)
        self._sent = sent_texts(spec.statements or ())
        self._low = NEVER
        self._ordered: Mask = np.zeros(0, np.bool_)
        self._stages: Ints = np.zeros(0, np.int64)
        self._watermarks: list[Ints] = []
        self._before: dict[BroadcastDdl, int] = {}
        """Number of occurrences of each statement before the piece."""

        self._late_head = False

    def take(self, batch: pa.RecordBatch, layouts: Sequence[Layout], records: pa.RecordBatch | None = None) -> None:
        """Check the next batch (EVENT_SCHEMA). `records` are the records it was decoded from (RECORD_SCHEMA), for
        timestamps, and to distinguish foreign records from damaged ones."""
        if records is not None and len(records):
            self._begin_at(records.column("offset")[0].as_py())
        events = self._arrays(batch, layouts, records)
        if not len(events.ts):
            return
        self._count(events)
        count = self.spec.partitions.get(self.place[0], 0)
        if self.place[1] >= count:
            events.report(
                "partition-unknown",
                _first_of_each(events),
                lambda at: f"the topic has {counted(count, 'partition')}",
                False,
            )
        else:
            self._unreadable_ones(events)
            batch_checks.check_sizes(events)
            batch_checks.check_watermarks(events)
            self._statements.take(events, self._take_rows(events), self._names.schemas)
            if self._messages is not None and self.spec.writer is not None and records is not None:
                self._messages.take(events)
                check_control_messages(events, self.spec.writer, self._sent)
                check_bootstraps(events, self.spec.writer)
        self._sampling.take(events, _timestamps(events))
        self._update_times(events)

    def _arrays(self, batch: pa.RecordBatch, layouts: Sequence[Layout], records: pa.RecordBatch | None) -> EventArrays:
        kind, ts = ints(batch, "kind"), ints(batch, "commit_ts")
        layout = np.asarray(batch.column("layout").fill_null(-1), np.int64)
        return EventArrays(
            summary=self.summary,
            spec=self.spec,
            counter=self._counter,
            batch=batch,
            records=records,
            layouts=layouts,
            offset=ints(batch, "offset"),
            ts=ts,
            kind=kind,
            op=ints(batch, "op"),
            exact=np.asarray(batch.column("exact").fill_null(False)),
            layout=layout,
            table=self._names.of_layouts(layouts)[layout],
            names=self._names.names,
            low=np.maximum.accumulate(np.concatenate(([self._low], np.where(kind == WATERMARK, ts, NEVER)))),
        )

    def state(self) -> bytes | None:
        """Return a digest of that by which later events are checked, as far as these are above the last watermark; None
        if there was none, or too much is open."""
        low, names = self._low, self._names.names
        if low < 0 or self._newest.waits or len(self._window) > LIMIT // 2:
            return None
        state = blake2b(repr((low, self._groups.state(low, names), self._statements.state(low))).encode())
        for part in self._window.state(low, np.array([_number(name) for name in names], np.int64)):
            state.update(part)
        return state.digest()

    def begin_piece(self) -> None:
        """Forget what was counted and found; the state remains."""
        self.summary, self._counter = PartitionSummary(self.place), ViolationCounter(self._counter.show)
        self._watermarks, self._before = [], dict(self._statements.seen)
        self._sampling.forget()
        if self._messages is not None:
            self._messages.begin_piece()

    @property
    def watermarks(self) -> int:
        """Return the number of different watermarks so far."""
        return len(np.unique(np.concatenate(self._watermarks))) if self._watermarks else 0

    def end(self) -> PartitionSummary:
        if not (self.spec.watermarks or self._watermarks):
            self._older_last(self._newest.end())
        summary, before = self.summary, self._before
        statements = {ddl: count - before.get(ddl, 0) for ddl, count in self._statements.seen.items()}
        statements = {ddl: count for ddl, count in statements.items() if count}
        if self._watermarks:
            summary.watermarks = np.unique(np.concatenate(self._watermarks))
        summary.statements = tuple(statements)
        summary.repeated_statements = sum(statements.values()) - len(statements)
        summary.notes = self._notes()
        summary.whole = 0 if self._messages is None else self._messages.compared
        summary.found, summary.samples = self._counter.found(), self._sampling.samples()
        return summary

    def _notes(self) -> tuple[str, ...]:
        topic, partition = self.place
        if self.summary.headless:
            begin = f"begins in the middle, at offset {self.summary.first_offset}"
            return (f"{topic}/{partition} {begin}: what was before it is not there",)
        if self._late_head and self.spec.watermarks and not self.spec.files:
            return (f"{topic}/{partition} has no watermark before its first row",)
        return ()

    # -- rows ---------------------------------------------------------------------------------------------------

    def _take_rows(self, events: EventArrays) -> Mask:
        """Check the rows of a batch; return which events are repeated rows."""
        rows, is_repeated = events.rows, np.zeros(len(events.ts), np.bool_)
        if not len(rows) and not len(self._window):
            return is_repeated
        changes = self._row_changes(events, rows)
        if is_sequential(self.spec.protocol):
            timed = events.exact[rows]
            self.summary.untimed += int((~timed).sum())
            rows, changes = rows[timed], changes.at(timed)
            self._ordered, self._stages = self._ordered[timed], self._stages[timed]
        tops = self._window.tops(changes.ts)
        repeated = self._window.again(changes, np.flatnonzero(changes.ts <= tops)) & (changes.ts > events.low[rows])
        is_repeated[rows] = repeated
        if len(rows):
            self._order(events, rows, changes, repeated, np.flatnonzero(changes.ts < tops))
        if self.spec.restarts:
            places = events.at(WATERMARK)
            marks = WatermarksBetween(events.low[rows], np.searchsorted(rows, places), events.ts[places])
            self._older_last(self._newest.take(changes, repeated & (changes.ts < tops), marks, self._window))
        self._window.keep(changes, int(events.low[-1]))
        self.summary.repeated += int(repeated.sum())
        return is_repeated

    def _row_changes(self, events: EventArrays, rows: Ints) -> RowChangeArrays:
        """Return the rows for the window, and check their partitions."""
        count, ts = len(rows), events.ts[rows]
        op = events.op[rows]
        row, key = np.zeros(count, np.int64), np.zeros(count, np.int64)
        alone, self._ordered, self._stages = np.ones(count, np.bool_), np.ones(count, np.bool_), np.full(count, -1)
        for alike in self._definitions.alike(events, rows):
            at = alike.at
            row[at], alone[at] = _hashes(events, rows, alike)
            hashes, unknown = batch_checks.check_partitions(events, rows, alike)
            scope = self.spec.orders(alike.table)
            if scope != "table":
                self._ordered[at] = False
                key[at] = ts[at] if scope == "commit_ts" else _keys(row[at], alike.name, hashes, unknown)
            self._stages[at] = _stages(events, rows[at], op[at], alike)
        return RowChangeArrays(ts, row, op, key, events.offset[rows], events.table[rows], alone)

    def _order(self, events: EventArrays, rows: Ints, changes: RowChangeArrays, repeated: Mask, behind: Ints) -> None:
        partitioned = np.asarray(events.batch.column("ptn").is_valid())
        groups = self._groups.of(changes.table, ints(events.batch, "ptn")[rows], partitioned[rows])
        high = self._groups.highest(groups, changes.ts)
        if not self._ordered.all():
            high = np.where(self._ordered, high, self._window.highest(changes, behind))
        late = changes.ts < high
        if self.summary.headless:
            late &= events.low[rows] >= 0  # what came before may be the block that comes again
        if self.spec.restarts:
            late &= ~repeated
        else:
            twice = rows[repeated & changes.alone]
            events.report(
                "row-repeated", twice, lambda at: f"a row of {events.name(at)} at {events.ts[at]} that was already sent"
            )
        earlier = dict(zip(rows[late].tolist(), high[late].tolist(), strict=True))
        events.report(
            "row-out-of-order",
            rows[late],
            lambda at: f"a row of {events.name(at)} at {events.ts[at]} after one at {earlier[at]}",
        )
        batch_checks.check_operation_order(events, rows, groups, np.where(repeated, -1, self._stages), self._groups)

    def _older_last(self, wrong: Iterable[SentChange]) -> None:
        for change in wrong:
            name = self._names.names[change.table]
            what = f"a row of {name} at {change.ts} came again after a newer change of it, which did not"
            self._counter.add(Violation("older-row-last", *self.place, change.offset, what, name))

    # -- the rest -----------------------------------------------------------------------------------------------

    def _unreadable_ones(self, events: EventArrays) -> None:
        texts, kinds = events.batch.column("text"), events.batch.column("type")
        for at in events.at(UNREADABLE).tolist():
            if self.spec.bare_deletes and events.records is not None and _is_bare(*events.message(at)):
                self.summary.bare_deletes += 1
                continue
            why, reasons = texts[at].as_py() or "", self.summary.unreadable
            reasons[why if why in reasons or len(reasons) < REASONS else "other"] += 1
            has_message = events.records is not None and not self.spec.files
            foreign = has_message and _is_foreign(events.message(at), self.spec.protocol)
            check = kinds[at].as_py() or ("foreign" if foreign else "unreadable")
            self._counter.add(Violation(check, *self.place, int(events.offset[at]), why))
        rows = events.rows
        events.report("file-missing", rows[np.asarray(texts.is_valid())[rows]], lambda at: str(texts[at]))

    def _count(self, events: EventArrays) -> None:
        summary, first, rows = self.summary, _first_of_each(events), events.rows
        self._begin_at(int(events.offset[0]))
        summary.last_offset = int(events.offset[-1])
        summary.records += len(first)
        summary.size += int(ints(events.batch, "size")[first].sum())
        numbers, counts = np.unique(events.table[rows] * len(OPERATIONS) + events.op[rows], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            table, which = divmod(number, len(OPERATIONS))
            summary.rows[events.names[table], OPERATIONS[which]] += count
        summary.exact = summary.exact and bool(events.exact[rows].all())
        if len(rows) and summary.first_row == NEVER:
            self._late_head = bool(events.low[rows[0]] < 0)

    def _begin_at(self, offset: int) -> None:
        """Note the first offset, which may be that of a record without events."""
        if self.summary.first_offset is None:
            self.summary.first_offset, self.summary.headless = offset, offset > 0

    def _update_times(self, events: EventArrays) -> None:
        summary, marks, rows = self.summary, events.at(WATERMARK), events.rows
        if len(marks):
            self._watermarks.append(np.unique(events.ts[marks]))
            if len(self._watermarks) > MANY:
                self._watermarks = [np.unique(np.concatenate(self._watermarks))]
        self._low = int(events.low[-1])
        times = events.ts[events.kind != UNREADABLE]
        if len(times):
            summary.low = _lower(summary.low, int(times.min()))
        rows = rows[events.ts[rows] > 0]
        if len(rows):
            ts = events.ts[rows]
            summary.first_row = _lower(summary.first_row, int(ts.min()))
            summary.last_row = max(summary.last_row, int(ts.max()))
            summary.last_event = max(summary.last_event, (summary.last_row, self._may_be_left()))
        for at in events.at(DDL).tolist():
            kind = events.batch.column("type")[at].as_py()
            left = kind in LEAVES or self._may_be_left() and _name(events.statement(at)) in self.spec.held_back
            summary.last_event = max(summary.last_event, (int(events.ts[at]), left))

    def _may_be_left(self) -> bool:
        """Return whether the tables of all rows so far may be dropped by statements that event filters hold back."""
        return bool(self.spec.held_back) and self.spec.held_back.issuperset(self._names.names)


MANY = 256
"""Batches whose watermarks are kept apart."""
P = np.uint64(0x9E3779B97F4A7C15)


def _name(ddl: BroadcastDdl) -> str:
    return f"{ddl.schema}.{ddl.table}"


def _lower(known: int, ts: int) -> int:
    return ts if known == NEVER else min(known, ts)


def _first_of_each(events: EventArrays) -> Ints:
    return np.flatnonzero(np.diff(events.offset, prepend=-1) != 0)


def _hashes(events: EventArrays, rows: Ints, alike: RowGroup) -> tuple[Ints, bool]:
    """Return a hash of each row and whether it identifies the row: by its handle, or by all its values."""
    names, layout = handle_key(alike.table), alike.layout
    number, kinds = _number(alike.name), dict(zip(layout.names, layout.types, strict=True))
    keys = [column for column in alike.table.columns if column.name in names]
    alone = bool(names) and set(names) <= set(kinds) and not any(is_rounded(kinds[each.name], each) for each in keys)
    if alone:
        cells = [alike.cells[name] for name in names]
        if events.exact[rows[alike.at]].all():
            return xxhash64(number, *cells), True
    else:
        cells = []
    at = pa.array(rows[alike.at])
    images = [events.batch.column(side).take(at) for side in ("before", "after")]
    return xxhash64(number, *cells, ints(events.batch, "rid")[rows[alike.at]], *images), alone


def _number(name: str) -> int:
    """Return a number for a table, the same in every task."""
    return crc32(name.encode("utf-8", "surrogatepass"))


def _keys(row: Ints, table: str, hashes: Ints | None, unknown: Mask | None) -> Ints:
    """Return the keys by which TiCDC keeps the order: the dispatcher's hash with the table, or the row if that is
    unknown."""
    if hashes is None:
        return row
    mixed: npt.NDArray[np.uint64] = (np.uint64(_number(table) << 32) ^ hashes.view(np.uint64)) * P
    keys: Ints = mixed.view(np.int64)
    return keys if unknown is None else np.where(unknown, row, keys)


def _stages(events: EventArrays, rows: Ints, op: Ints, alike: RowGroup) -> Ints:
    """Return the place of changes among those of their commit-ts; -1 if unknown."""
    spec = events.spec
    stages = {} if spec.stages is None or not alike.defined else spec.stages(alike.table)
    if not stages:
        return np.full(len(rows), -1)
    is_known = events.exact[rows]
    if alike.table.partitioning is not None:
        is_known = is_known & np.asarray(events.batch.column("ptn").is_valid())[rows]
    return np.where(is_known, np.array([stages.get(name, -1) for name in OPERATIONS])[op], -1)


def _timestamps(events: EventArrays) -> Ints | None:
    if events.records is None or not events.records.num_rows:
        return None
    offsets, times = (np.asarray(events.records.column(name), np.int64) for name in ("offset", "timestamp"))
    timestamps: Ints = times[np.minimum(np.searchsorted(offsets, events.offset), len(offsets) - 1)]
    return timestamps


def _is_bare(key: bytes | None, value: bytes | None) -> bool:
    """Return whether a message has no key, and no value but the commit-ts of a DELETE."""
    return not key and (not value or is_delete_time(value))


def _is_foreign(message: KeyAndValue, protocol: str) -> bool:
    """Return whether a message does not look like one of the protocol."""
    try:
        return protocol_of(*message) != protocol
    except UserError:
        return True

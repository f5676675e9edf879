"""Flushes: the rows that TiCDC's worker passes to one encoder call, and which of them may share a message.

A flush depends only on the rows of a partition, not on how an engine cuts its batches. It ends at a watermark or DDL
statement, at a statement of another partition, or after `release.flush_rows` of a partition. TiCDC also ends it when
its clock ticks (500 ms up to 6.4, 15 ms since), which no input determines: here the clock never ticks, but a flush also
ends after more bytes than fit into one tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import DDL, ROW, Ints, ints
from simulator.releases import Release
from simulator.ticdc.dispatch import Route

TICK_ROWS = 1 << 16
"""Maximum rows of a flush in releases without a limit, as a substitute for the clock, so that memory stays flat."""

FLUSH_BYTES = 32 << 20
"""Bytes of row images that end a flush, so that memory stays flat and an Arrow column far below its limit of 2 GiB:
2,048 rows of 16 KiB."""

LEAST_ROWS = 8192
"""Rows for which the fixed cost of one columnar pass is worthwhile."""

IMAGES = ("before", "after")


@dataclass(frozen=True)
class Flush:
    """Events of complete flushes, ordered by destination; `group` numbers those that may share a message.

    Without the last row, their images have less than twice the bytes of a full flush.
    """

    events: pa.RecordBatch
    group: Ints
    large: npt.NDArray[np.bool_] | None = None
    """Which events are rows that are treated as too large, whatever their size; None means none."""


def phase_of(commit_ts: Ints, kind: Ints, barriers: Ints) -> Ints:
    """Return the phase of each event.

    DDL at the ascending `barriers` has phases of its own: 1, 3, 5 …. Rows of its commit-ts belong to the phase before.
    """
    place = np.searchsorted(barriers, commit_ts)
    at = np.append(barriers, -1)[place] == commit_ts
    phases: Ints = 2 * place + np.where(at, np.select([kind == ROW, kind == DDL], [0, 1], 2), 0)
    return phases


def ungrouped(batches: Iterable[pa.RecordBatch], most: int = FLUSH_BYTES) -> Iterator[Flush]:
    """Yield events for protocols with one event per message: in their order, limited by bytes."""
    for batch in (batch for batch in batches if batch.num_rows):
        if batch.nbytes < most:
            yield Flush(batch, np.arange(batch.num_rows))
            continue
        starts = np.flatnonzero(_cut(_starts(np.zeros(batch.num_rows, np.int64)), _sizes(batch), batch.num_rows, most))
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), batch.num_rows]):
            yield Flush(batch.slice(first, end - first), np.arange(end - first))


def grouped(
    batches: Iterable[pa.RecordBatch], keys: GroupKeys, least: int = LEAST_ROWS, eager: bool = False
) -> Iterator[Flush]:
    """Yield complete flushes for protocols that batch.

    Unfinished flushes wait until there are `least` rows again, or the bytes of a flush. With `eager` each flush is
    yielded as soon as it is complete.
    """
    pending: list[pa.RecordBatch] = []
    unfinished_rows = unfinished_bytes = 0
    for batch in (batch for batch in batches if batch.num_rows):
        pending.append(_images_as(pa.large_binary(), batch))
        rows, size = sum(part.num_rows for part in pending), sum(part.nbytes for part in pending)
        if not eager and rows < max(2 * unfinished_rows, least) and size < max(2 * unfinished_bytes, keys.flush_bytes):
            continue
        events = pa.concat_batches(pending)
        order, window, complete = _windows(events, keys)
        yield from _flushes(events, order[complete], window[complete], keys)
        unfinished = np.sort(order[~complete])
        pending = [events.take(pa.array(unfinished))] if len(unfinished) else []
        unfinished_rows, unfinished_bytes = len(unfinished), sum(part.nbytes for part in pending)
    if pending:
        events = pa.concat_batches(pending)
        order, window, _ = _windows(events, keys)
        yield from _flushes(events, order, window, keys)


@dataclass(frozen=True)
class GroupKeys:
    """The partition keys of rows, by table, and whether they matter.

    Source: tiflow v8.5.3: cdc/sink/dmlsink/mq/dispatcher/partition, worker.go.
    """

    table: Ints
    """Number of the logical table of each physical one, which is the key of the table dispatcher."""

    by: npt.NDArray[np.str_]
    """`table`, `hash` or `commit_ts` for each physical table."""

    flush_rows: int
    """Maximum rows of a partition in a flush."""

    separate: bool
    """Whether only rows with the same key share a message; otherwise all rows of a flush may, in their order."""

    barriers: Ints
    """Commit-ts of the run's DDL statements, ascending."""

    flush_bytes: int = FLUSH_BYTES
    """Bytes of a partition at which a flush is full."""

    ends: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Commit-ts, ascending, behind which a flush ends besides."""

    @staticmethod
    def of(routes: Sequence[Route], names: Sequence[tuple[str, str]], release: Release, barriers: Ints) -> GroupKeys:
        """Return the keys from the route and the name of each physical table."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return GroupKeys(
            np.array([numbers[name] for name in names]),
            np.array([route.groups_by for route in routes]),
            release.flush_rows or TICK_ROWS,
            release.group_by_partition_key,
            barriers,
        )


def _windows(events: pa.RecordBatch, keys: GroupKeys) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Return the order by destination, the flush of each event in that order, and whether that flush is complete."""
    destination, kind = ints(events, "destination"), ints(events, "kind")
    order = np.argsort(destination, kind="stable")
    where, barrier, size = destination[order], kind[order] != ROW, _sizes(events)[order]
    spans = _starts(where) | _starts(phase_of(ints(events, "commit_ts"), kind, keys.barriers)[order])
    spans[1:] |= barrier[:-1]
    spans |= _starts(np.searchsorted(keys.ends, ints(events, "commit_ts"))[order])
    starts = _cut(spans, size, keys.flush_rows, keys.flush_bytes)
    window = np.cumsum(starts) - 1
    last = np.flatnonzero(np.append(starts[1:], True))
    final = np.append(where[last][1:] != where[last][:-1], True)
    full = (np.bincount(window) == keys.flush_rows) | (np.bincount(window, size) >= keys.flush_bytes)
    complete = ~final | barrier[last] | full
    return order, window, complete[window]


def _cut(spans: npt.NDArray[np.bool_], size: Ints, rows: int, most: int) -> npt.NDArray[np.bool_]:
    """Return where flushes start: at the starts of spans, and inside them after that many rows or bytes."""
    starts: npt.NDArray[np.bool_] = spans | (_position(spans) % rows == 0)
    total = np.append(0, np.cumsum(size))
    heavy = np.diff(total[np.append(np.flatnonzero(starts), len(starts))]) >= most
    if heavy.any():
        large = np.unique((np.cumsum(spans) - 1)[np.flatnonzero(starts)[heavy]])
        bounds = np.append(np.flatnonzero(spans), len(spans))
        for first, end in zip(bounds[large].tolist(), bounds[large + 1].tolist()):
            starts[first:end] = False
            while first < end:
                starts[first] = True
                first = min(first + rows, int(np.searchsorted(total, total[first] + most)))
    return starts


def _sizes(events: pa.RecordBatch) -> Ints:
    lengths = (pc.binary_length(events.column(name)).fill_null(0) for name in IMAGES)
    return sum((np.asarray(length, dtype=np.int64) for length in lengths), np.zeros(events.num_rows, np.int64))


def _flushes(events: pa.RecordBatch, order: Ints, window: Ints, keys: GroupKeys) -> Iterator[Flush]:
    """Yield the windows, combined up to the bytes of one flush."""
    if not len(order):
        return
    total = np.append(0, np.cumsum(_sizes(events)[order]))
    bounds = np.append(np.flatnonzero(_starts(window)), len(order))
    size = np.diff(total[bounds])
    firsts = np.flatnonzero(_cut(_starts(np.zeros(len(size), np.int64)), size, len(size), keys.flush_bytes))
    for first, end in zip(bounds[firsts], bounds[np.append(firsts[1:], len(size))]):
        part = order[first:end]
        rank = _rank(events, part, window[first:end], keys)
        together = np.argsort(rank, kind="stable")
        yield Flush(_images_as(pa.binary(), events.take(pa.array(part[together]))), rank[together])


def _images_as(kind: pa.DataType, events: pa.RecordBatch) -> pa.RecordBatch:
    """Return the events with another type of images; unfinished flushes may exceed an Arrow column of binaries."""
    fields = (field.with_type(kind) if field.name in IMAGES else field for field in events.schema)
    return events.cast(pa.schema(fields))


def _rank(events: pa.RecordBatch, order: Ints, window: Ints, keys: GroupKeys) -> Ints:
    """Return the position of each event's group: that of its first row."""
    barrier = ints(events, "kind")[order] != ROW
    if keys.separate and not barrier.all():
        return _rank_by_key(events, order, window, barrier, keys)
    starts = _starts(window) | barrier
    rank: Ints = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return rank


def _rank_by_key(
    events: pa.RecordBatch, order: Ints, window: Ints, barrier: npt.NDArray[np.bool_], keys: GroupKeys
) -> Ints:
    """Return the same if only rows with the same key share a message.

    A table's rows follow its first one, as each table is one group in TiCDC. Rows grouped by hash or commit-ts stay
    where they are and share a message only with equal neighbours: a table's commit-ts must not decrease.
    """
    table = ints(events, "table")[order]
    by = keys.by[np.where(barrier, 0, table)]
    number = keys.table[np.where(barrier, 0, table)]
    hashed = np.where(by == "hash", ints(events, "dispatch_hash")[order], ints(events, "commit_ts")[order])
    gathers = (by == "table") & ~barrier
    code = np.where(gathers, number, -1)
    runs = _starts(window) | _starts(code) | (~gathers & (_starts(hashed) | _starts(number))) | barrier
    run = np.cumsum(runs) - 1
    first = np.flatnonzero(runs)
    rank: Ints = first[run]
    if gathers.any():
        pair = window[gathers] * (len(keys.table) + 1) + code[gathers]
        _, earliest, which = np.unique(pair, return_index=True, return_inverse=True)
        rank[gathers] = rank[gathers][earliest][which]
    return rank


def _starts(values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return where a value differs from the previous one; true at the first."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _position(starts: npt.NDArray[np.bool_]) -> Ints:
    places = np.arange(len(starts))
    return places - np.maximum.accumulate(np.where(starts, places, 0))

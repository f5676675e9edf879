"""Which rows TiCDC's worker hands to one encoder, and so which may share a message.

One law: the cut depends on the rows of a partition alone, never on how Spark cuts its batches.
A flush ends at a watermark or statement, or after `release.flush_rows` of a partition. TiCDC also ends it when its
clock ticks (500 ms up to 6.4, 15 ms since), which no input decides: here the clock never ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.dispatch import Route
from simulator.events import ROW
from simulator.releases import Release

TICK_ROWS = 1 << 16
"""Where a release has no limit: what is taken for one tick of its clock, so that memory stays flat."""

LEAST_ROWS = 8192
"""Rows that are worth the fixed cost of one columnar pass."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Flush:
    """Events of complete flushes, ordered by destination; `group` numbers those that may share a message."""

    events: pa.RecordBatch
    group: Ints


def ungrouped(batches: Iterable[pa.RecordBatch]) -> Iterator[Flush]:
    """For protocols that put one event in a message: everything as it comes."""
    return (Flush(batch, np.arange(batch.num_rows)) for batch in batches if batch.num_rows)


def grouped(
    batches: Iterable[pa.RecordBatch], keys: GroupKeys, least: int = LEAST_ROWS, eager: bool = False
) -> Iterator[Flush]:
    """For protocols that batch: complete flushes only, what is unfinished waits until `least` rows are there again.

    `eager` gives each flush as soon as it is complete.
    """
    pending: list[pa.RecordBatch] = []
    held = 0
    for batch in (some for some in batches if some.num_rows):
        pending.append(batch)
        if not eager and sum(part.num_rows for part in pending) < max(2 * held, least):
            continue
        events = pa.concat_batches(pending)
        order, window, complete = _windows(events, keys.flush_rows)
        yield from _flush(events, order[complete], window[complete], keys)
        held = int((~complete).sum())
        pending = [events.take(pa.array(np.sort(order[~complete])))] if held else []
    if pending:
        events = pa.concat_batches(pending)
        order, window, _ = _windows(events, keys.flush_rows)
        yield from _flush(events, order, window, keys)


@dataclass(frozen=True)
class GroupKeys:
    """Which rows have one partition key, by table, and whether that matters (tiflow v8.5.3:
    cdc/sink/dmlsink/mq/dispatcher/partition, worker.go)."""

    table: Ints
    """Number of the logical table of each physical one: the key under the table dispatcher."""

    by: npt.NDArray[np.str_]
    """`table`, `hash` or `commit_ts` for each physical table."""

    flush_rows: int
    """Most rows of a partition in a flush."""

    separate: bool
    """Whether only rows of one key share a message; otherwise all of a flush do, in their order."""

    @staticmethod
    def of(routes: Sequence[Route], names: Sequence[tuple[str, str]], release: Release) -> GroupKeys:
        """From the route, and the schema and name, of each physical table."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return GroupKeys(
            np.array([numbers[name] for name in names]),
            np.array([route.groups_by for route in routes]),
            release.flush_rows or TICK_ROWS,
            release.group_by_partition_key,
        )


def _windows(events: pa.RecordBatch, most: int) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Order by destination, the flush each event of that order is in, and whether that flush is complete."""
    destination = ints(events, "destination")
    order = np.argsort(destination, kind="stable")
    where, barrier = destination[order], ints(events, "kind")[order] != ROW
    starts = _starts(where)
    starts[1:] |= barrier[:-1]
    position = _position(starts)
    starts |= position % most == 0
    window = np.cumsum(starts) - 1
    last = np.flatnonzero(np.append(starts[1:], True))
    size = np.bincount(window)
    final = np.append(where[last][1:] != where[last][:-1], True)
    complete = ~final | barrier[last] | (size == most)
    return order, window, complete[window]


def _flush(events: pa.RecordBatch, order: Ints, window: Ints, keys: GroupKeys) -> Iterator[Flush]:
    if len(order):
        rank = _rank(events, order, window, keys)
        together = np.argsort(rank, kind="stable")
        yield Flush(events.take(pa.array(order[together])), rank[together])


def _rank(events: pa.RecordBatch, order: Ints, window: Ints, keys: GroupKeys) -> Ints:
    """The place of each event's group: that of its first row."""
    barrier = ints(events, "kind")[order] != ROW
    if keys.separate:
        return _rank_by_key(events, order, window, barrier, keys)
    starts = _starts(window) | barrier
    rank: Ints = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return rank


def _rank_by_key(
    events: pa.RecordBatch, order: Ints, window: Ints, barrier: npt.NDArray[np.bool_], keys: GroupKeys
) -> Ints:
    """Where rows of one key alone share a message.

    A table's rows gather behind its first one, as each table is one group in TiCDC. Rows grouped by hash or commit-ts
    stay where they are and share a message with equal neighbours only: a table's commit-ts must not fall.
    """
    table = ints(events, "table")[order]
    by = keys.by[np.where(barrier, 0, table)]
    number = keys.table[np.where(barrier, 0, table)]
    hashed = np.where(by == "hash", ints(events, "hash")[order], ints(events, "commit_ts")[order])
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
    """Where a value differs from the one before; true at the first."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _position(starts: npt.NDArray[np.bool_]) -> Ints:
    """How far each place lies behind the last start."""
    places = np.arange(len(starts))
    return places - np.maximum.accumulate(np.where(starts, places, 0))


def ints(events: pa.RecordBatch, name: str) -> Ints:
    """A column without nulls as int64; a null counts as 0."""
    return np.asarray(events.column(name).fill_null(0), dtype=np.int64)

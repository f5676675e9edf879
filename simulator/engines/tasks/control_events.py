"""Control events: the DDL and watermarks of a run, and their times, known before it starts.

The task that owns a partition merges them into its rows. At one commit-ts come first rows, then DDL, then watermarks,
each ordered by destination.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from simulator import limits
from simulator.columns.change_frame import DDL, EVENTS, ROW, WATERMARK, Ints, ints, picked
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.tso import compose

CHUNK = 16_384
"""Control events per batch; a batch holds all events of a commit-ts, even if these are more."""


@dataclass(frozen=True)
class PlacedDdl:
    """A DDL event with its destinations; `index` is its place in `TaskSpec.statements`."""

    commit_ts: int
    index: int
    destinations: Sequence[int]


@dataclass(frozen=True)
class ControlEvents:
    """All control events of a run."""

    statements: tuple[PlacedDdl, ...]
    timeline: WatermarkSchedule
    watermarks: bool
    """Whether the protocol has watermarks."""

    watermark_after_ddl: bool
    """Whether a watermark follows each DDL at once."""

    destinations: Destinations

    @cached_property
    def barriers(self) -> Ints:
        """The commit-ts of DDL, ascending."""
        return np.unique(np.array([statement.commit_ts for statement in self.statements], np.int64))

    def times(self) -> Ints:
        """Return every commit-ts with a control event, ascending.

        That is each DDL, one watermark per interval, the final one, and one where a topic gets partitions.
        """
        return np.union1d(self.barriers, self._resolved) if self.watermarks else self.barriers

    def checkpoints(self) -> Ints:
        """Return the changefeed's checkpoints, ascending, whether the protocol sends watermarks or not."""
        resolved = self._resolved
        return np.union1d(self.barriers, resolved) if self.watermark_after_ddl else resolved

    def stops(self) -> Ints:
        """Return the commit-ts of DDL and checkpoints, ascending: where a run may note its progress."""
        return np.union1d(self.barriers, self._resolved)

    def following(self, rows: Ints) -> Ints:
        """Return the commit-ts of DDL, and of each control event that is the first after some row, ascending."""
        times = self.times()
        first = np.unique(np.searchsorted(times, rows))
        return np.union1d(self.barriers, times[first[first < len(times)]])

    @cached_property
    def _resolved(self) -> Ints:
        timeline = self.timeline
        physical = timeline.start_ms + np.array(timeline.watermark_numbers(), np.int64) * timeline.resolved_interval_ms
        regular = compose(np.append(physical, [timeline.end_ms] * timeline.ends_with_watermark).astype(np.int64))
        return np.union1d(regular, np.array([growth.commit_ts for growth in self.destinations.grown], np.int64))

    def of(self, owned: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Yield the control events of some destinations in order (EVENTS)."""
        mine = np.array(sorted(owned), np.int64)
        if not len(mine):
            return
        times = self.times()
        step = max(1, CHUNK // len(mine))
        for start in range(0, len(times), step):
            batch = self._between(times[start : start + step], mine)
            if batch.num_rows:
                yield batch

    def ddl_at(self, commit_ts: int, owned: Iterable[int]) -> pa.RecordBatch:
        """Return the DDL of a commit-ts for some destinations (EVENTS)."""
        mine = np.array(sorted(owned), np.int64)
        return _batch(*self._ddl(np.array([commit_ts], np.int64), mine))

    def is_watermark(self, commit_ts: int) -> bool:
        """Whether a watermark is sent at a commit-ts."""
        times = self.times() if self.watermark_after_ddl else self._resolved
        return self.watermarks and bool(np.isin(commit_ts, times))

    def watermark(self, commit_ts: int, owned: Iterable[int]) -> pa.RecordBatch:
        """Return an additional watermark for some destinations (EVENTS)."""
        mine = np.array(sorted(owned), np.int64)
        return _batch(*self._watermarks_at(np.array([commit_ts], np.int64), mine))

    def _between(self, times: Ints, mine: Ints) -> pa.RecordBatch:
        """Return the control events of the given commit-ts."""
        parts = [self._ddl(times, mine)]
        if self.watermarks:
            parts.append(self._watermarks(times, mine))
        commit_ts, kind, index, destination = np.concatenate(parts, axis=1)
        order = np.lexsort((destination, index, kind, commit_ts))
        return _batch(commit_ts[order], kind[order], index[order], destination[order])

    def _ddl(self, times: Ints, mine: Ints) -> Ints:
        within = (statement for statement in self.statements if times[0] <= statement.commit_ts <= times[-1])
        cells = [
            (statement.commit_ts, DDL, statement.index, destination)
            for statement in within
            for destination in np.intersect1d(statement.destinations, mine)
        ]
        return np.array(cells, np.int64).reshape(-1, 4).T

    def _watermarks(self, times: Ints, mine: Ints) -> Ints:
        if not self.watermark_after_ddl:
            times = np.intersect1d(times, self._resolved)
        return self._watermarks_at(times, mine)

    def _watermarks_at(self, times: Ints, mine: Ints) -> Ints:
        since, until = np.array(self.destinations.watermarked, np.int64)[mine].T
        commit_ts, destination = np.repeat(times, len(mine)), np.tile(mine, len(times))
        live = (np.tile(since, len(times)) <= commit_ts) & (commit_ts <= np.tile(until, len(times)))
        count = int(live.sum())
        return np.stack([commit_ts[live], np.full(count, WATERMARK), np.zeros(count, np.int64), destination[live]])


def _batch(commit_ts: Ints, kind: Ints, index: Ints, destination: Ints) -> pa.RecordBatch:
    """Return EVENTS whose row columns are null."""
    values = {"commit_ts": commit_ts, "kind": kind, "table": index, "destination": destination}
    columns = [
        pa.array(values[field.name]).cast(field.type) if field.name in values else pa.nulls(len(kind), field.type)
        for field in EVENTS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)


def merge(rows: Iterable[pa.RecordBatch], control_events: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows and control events, both ordered by commit-ts, in one order."""
    pending = next(control_events, None)
    for batch in (batch for batch in rows if batch.num_rows):
        commit_ts = ints(batch, "commit_ts")
        first = 0
        while pending is not None and pending.num_rows:
            control_ts = ints(pending, "commit_ts")
            # Rows of the last commit-ts may go on in the next batch, so its control events wait.
            below = int(np.searchsorted(control_ts, commit_ts[-1], "left"))
            if not below:
                break
            end = int(np.searchsorted(commit_ts, control_ts[below - 1], "right"))
            yield _merge_batches(batch.slice(first, end - first), pending.slice(0, below))
            first = end
            pending = pending.slice(below) if below < pending.num_rows else next(control_events, None)
        yield batch.slice(first)
    if pending is not None:
        yield pending
        yield from control_events


def _merge_batches(rows: pa.RecordBatch, control_events: pa.RecordBatch) -> pa.RecordBatch:
    if not rows.num_rows:
        return control_events
    both = pa.concat_batches([rows, control_events])
    is_control = (ints(both, "kind") != ROW).astype(np.int8)
    return picked(both, np.lexsort((is_control, ints(both, "commit_ts"))))


@dataclass(frozen=True)
class WatermarkSchedule:
    """The watermarks of a run, or of a part of it."""

    start_ms: int
    """The millisecond from which watermarks are counted."""

    end_ms: int
    """The final watermark's millisecond, after every row and statement."""

    resolved_interval_ms: int
    since_ms: int = 0
    """Watermarks up to this millisecond have been sent already."""

    final: bool = True
    """Whether there is a watermark at the end regardless of the interval."""

    def __post_init__(self) -> None:
        """Raise UserError for more watermarks than a run may have."""
        limits.check_watermarks(len(self.watermark_numbers()), self.resolved_interval_ms)

    def watermark_numbers(self) -> range:
        """Return the numbers, from 1, of watermarks between start and end that are still to be sent, without one at
        the end."""
        interval = self.resolved_interval_ms
        first = max(0, (self.since_ms - self.start_ms) // interval) + 1
        return range(first, max(first, (self.end_ms - 1 - self.start_ms) // interval + 1))

    @property
    def ends_with_watermark(self) -> bool:
        """Whether there is a watermark at the end."""
        due = (self.end_ms - self.start_ms) % self.resolved_interval_ms == 0 and self.end_ms > self.start_ms
        return self.end_ms > self.since_ms and (self.final or due)

    @property
    def last_watermark_ms(self) -> int | None:
        """The millisecond of the last watermark that is still to be sent."""
        if self.ends_with_watermark:
            return self.end_ms
        numbers = self.watermark_numbers()
        return self.start_ms + numbers[-1] * self.resolved_interval_ms if numbers else None

"""ControlEvents: the statements and watermarks of a run, known before it starts, and merge into the rows by the task that owns
their partition.

One law: of one commit-ts come the rows first, then statements, then watermarks; each of them by destination.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import DDL, EVENTS, ROW, WATERMARK, Ints, ints, picked
from simulator.ticdc.dispatch import Destinations
from simulator.tso import Timeline, compose

CHUNK = 16_384
"""ControlEvents of a batch, or those of one commit-ts where these are more."""


@dataclass(frozen=True)
class PlacedDdl:
    """Where and when a DDL event goes; `index` finds it in the run's list."""

    commit_ts: int
    index: int
    destinations: Sequence[int]


@dataclass(frozen=True)
class ControlEvents:
    """All marks of a run."""

    statements: tuple[PlacedDdl, ...]
    timeline: Timeline
    watermarks: bool
    """Whether the protocol has them."""

    watermark_after_ddl: bool
    """Whether one follows each statement at once."""

    destinations: Destinations

    @property
    def barriers(self) -> Ints:
        """Commit-ts of the statements, ascending."""
        return np.unique(np.array([statement.commit_ts for statement in self.statements], np.int64))

    def times(self) -> Ints:
        """Every commit-ts with a mark, ascending: that of each statement, one an interval, the final one, and one where
        a topic grows."""
        return np.union1d(self.barriers, self._resolved()) if self.watermarks else self.barriers

    def checkpoints(self) -> Ints:
        """Commit-ts, ascending, up to which everything is known to be sent, whether the protocol says so or not."""
        resolved = self._resolved()
        return np.union1d(self.barriers, resolved) if self.watermark_after_ddl else resolved

    def stops(self) -> Ints:
        """Commit-ts of the statements and checkpoints, ascending: where a run may be told how far it is."""
        return np.union1d(self.barriers, self._resolved())

    def behind(self, rows: Ints) -> Ints:
        """Commit-ts of the statements, and of the marks that are the first behind a row, ascending."""
        times = self.times()
        first = np.unique(np.searchsorted(times, rows))
        return np.union1d(self.barriers, times[first[first < len(times)]])

    def _resolved(self) -> Ints:
        line = self.timeline
        physical = line.start_ms + np.array(line.watermark_numbers(), np.int64) * line.resolved_interval_ms
        found = compose(np.append(physical, [line.end_ms] * line.ends_with_watermark).astype(np.int64))
        return np.union1d(found, np.array([growth.commit_ts for growth in self.destinations.grown], np.int64))

    def of(self, owned: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """The marks of some destinations in order (EVENTS); all of one commit-ts stand in one batch."""
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
        """Those of some destinations, alone (EVENTS)."""
        mine = np.array(sorted(owned), np.int64)
        return _batch(*self._statements(np.array([commit_ts], np.int64), mine))

    def is_watermark(self, commit_ts: int) -> bool:
        """Whether one is sent at that time."""
        times = self.times() if self.watermark_after_ddl else self._resolved()
        return self.watermarks and bool(np.isin(commit_ts, times))

    def watermark(self, commit_ts: int, owned: Iterable[int]) -> pa.RecordBatch:
        """One more (EVENTS), at that time."""
        mine = np.array(sorted(owned), np.int64)
        return _batch(*self._watermarks_at(np.array([commit_ts], np.int64), mine))

    def _between(self, times: Ints, mine: Ints) -> pa.RecordBatch:
        """The marks at those times."""
        parts = [self._statements(times, mine)]
        if self.watermarks:
            parts.append(self._watermarks(times, mine))
        commit_ts, kind, index, destination = np.concatenate(parts, axis=1)
        order = np.lexsort((destination, index, kind, commit_ts))
        return _batch(commit_ts[order], kind[order], index[order], destination[order])

    def _statements(self, times: Ints, mine: Ints) -> Ints:
        within = (statement for statement in self.statements if times[0] <= statement.commit_ts <= times[-1])
        cells = [
            (statement.commit_ts, DDL, statement.index, destination)
            for statement in within
            for destination in np.intersect1d(statement.destinations, mine)
        ]
        return np.array(cells, np.int64).reshape(-1, 4).T

    def _watermarks(self, times: Ints, mine: Ints) -> Ints:
        if not self.watermark_after_ddl:
            times = np.intersect1d(times, self._resolved())
        return self._watermarks_at(times, mine)

    def _watermarks_at(self, times: Ints, mine: Ints) -> Ints:
        since, until = np.array(self.destinations.watermarked, np.int64)[mine].T
        commit_ts, destination = np.repeat(times, len(mine)), np.tile(mine, len(times))
        live = (np.tile(since, len(times)) <= commit_ts) & (commit_ts <= np.tile(until, len(times)))
        count = int(live.sum())
        return np.stack([commit_ts[live], np.full(count, WATERMARK), np.zeros(count, np.int64), destination[live]])


def _batch(commit_ts: Ints, kind: Ints, index: Ints, destination: Ints) -> pa.RecordBatch:
    """Events that are not rows, with the columns of rows left empty."""
    given = {"commit_ts": commit_ts, "kind": kind, "table": index, "destination": destination}
    columns = [
        pa.array(given[field.name]).cast(field.type) if field.name in given else pa.nulls(len(kind), field.type)
        for field in EVENTS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)


def merge(rows: Iterable[pa.RecordBatch], marks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows and marks in one order; both are ordered by commit-ts."""
    mark = next(marks, None)
    for batch in (batch for batch in rows if batch.num_rows):
        commit_ts = ints(batch, "commit_ts")
        first = 0
        while mark is not None and mark.num_rows:
            ahead = ints(mark, "commit_ts")
            # Rows of the last commit-ts may go on in the next batch, so its marks wait.
            below = int(np.searchsorted(ahead, commit_ts[-1], "left"))
            if not below:
                break
            end = int(np.searchsorted(commit_ts, ahead[below - 1], "right"))
            yield _together(batch.slice(first, end - first), mark.slice(0, below))
            first = end
            mark = mark.slice(below) if below < mark.num_rows else next(marks, None)
        yield batch.slice(first)
    if mark is not None:
        yield mark
        yield from marks


def _together(rows: pa.RecordBatch, marks: pa.RecordBatch) -> pa.RecordBatch:
    if not rows.num_rows:
        return marks
    both = pa.concat_batches([rows, marks])
    is_mark = (ints(both, "kind") != ROW).astype(np.int8)
    return picked(both, np.lexsort((is_mark, ints(both, "commit_ts"))))

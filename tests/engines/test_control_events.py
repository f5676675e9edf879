"""Statements and watermarks merge into the rows of a task, and are due in time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.change_frame import DDL, EVENTS, ROW, WATERMARK
from simulator.engines.tasks.control_events import ControlEvents, PlacedDdl, WatermarkSchedule, merge
from simulator.engines.tasks.progress import pace
from simulator.signals import StopRequest
from simulator.ticdc.dispatch.destinations import Destinations
from simulator.tso import compose

Event = tuple[int, int, int]
"""commit_ts, kind, destination"""

DESTINATIONS = Destinations(("a", "b"), (2, 1), ((0, 1 << 62), (compose(3), compose(5))))
TIMELINE = WatermarkSchedule(0, 8, 2)
STATEMENTS = (PlacedDdl(compose(3, 1), 0, range(0, 2)), PlacedDdl(compose(3, 1), 1, range(2, 3)))
CONTROL_EVENTS = ControlEvents(STATEMENTS, TIMELINE, True, True, DESTINATIONS)


def triples(batches: Iterator[pa.RecordBatch]) -> list[Event]:
    """The events of batches, in order."""
    rows = (row for batch in batches for row in batch.to_pylist())
    return [(row["commit_ts"], row["kind"], row["destination"]) for row in rows]


def rows(events: list[Event], sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """Events in batches of those sizes, the last one as large as need be."""
    start = 0
    for size in [*sizes, len(events)]:
        part = events[start : start + size]
        cells = [dict(zip(("commit_ts", "kind", "destination"), event)) for event in part]
        yield pa.RecordBatch.from_pylist(cells, schema=EVENTS)
        start += size


def test_each_destination_has_the_watermarks_of_its_topic_s_life() -> None:
    """One an interval, one behind each statement, and the final one."""
    found = triples(CONTROL_EVENTS.of(range(3)))
    watermarks = [(ts, to) for ts, kind, to in found if kind == WATERMARK]
    times = [compose(2), compose(3, 1), compose(4), compose(6), compose(8)]
    assert watermarks == [(ts, to) for ts in times for to in ((0, 1, 2) if compose(3) <= ts <= compose(5) else (0, 1))]


def test_a_statement_goes_to_its_destinations_before_the_watermark_that_follows_it() -> None:
    at = compose(3, 1)
    found = [(kind, to) for ts, kind, to in triples(CONTROL_EVENTS.of(range(3))) if ts == at]
    assert found == [(DDL, 0), (DDL, 1), (DDL, 2), (WATERMARK, 0), (WATERMARK, 1), (WATERMARK, 2)]


@given(st.sets(st.integers(0, 2)))
def test_the_tasks_together_have_every_mark_once(owned: set[int]) -> None:
    other = set(range(3)) - owned
    assert sorted(triples(CONTROL_EVENTS.of(owned)) + triples(CONTROL_EVENTS.of(other))) == sorted(
        triples(CONTROL_EVENTS.of(range(3)))
    )


def test_a_protocol_without_watermarks_has_statements_alone() -> None:
    bare = ControlEvents(STATEMENTS, TIMELINE, False, True, DESTINATIONS)
    assert [kind for _, kind, _ in triples(bare.of(range(3)))] == [DDL, DDL, DDL]
    assert list(ControlEvents((), TIMELINE, False, True, DESTINATIONS).of(range(3))) == []


def test_many_marks_come_in_batches_of_bounded_size() -> None:
    long = ControlEvents((), WatermarkSchedule(0, 100_000, 1), True, True, DESTINATIONS)
    sizes = [batch.num_rows for batch in long.of([0])]
    assert (sum(sizes), max(sizes) < 20_000) == (100_000, True)


times = st.builds(compose, st.integers(0, 9), st.integers(0, 2))


@given(st.lists(times).map(sorted), st.lists(st.integers(0, 5), max_size=9))
def test_rows_stand_before_marks_of_their_commit_ts_however_they_come(commit_ts: list[int], sizes: list[int]) -> None:
    """All are there, and each kind keeps its own order."""
    events = [(ts, ROW, 0) for ts in commit_ts]
    found = triples(merge(rows(events, sizes), CONTROL_EVENTS.of(range(3))))
    marks = triples(CONTROL_EVENTS.of(range(3)))
    assert found == sorted(events + marks, key=lambda event: (event[0], min(event[1], 1)))


def test_times_are_those_of_all_marks() -> None:
    assert CONTROL_EVENTS.times().tolist() == sorted({ts for ts, _, _ in triples(CONTROL_EVENTS.of(range(3)))})
    assert np.array_equal(CONTROL_EVENTS.barriers, [compose(3, 1)])


def test_only_statements_and_what_comes_first_behind_a_row_are_waited_for() -> None:
    """A row at a watermark's own commit-ts is before it, too; watermarks of this timeline are at 2, 4, 6 and 8."""
    rows = np.array([compose(1), compose(1, 5), compose(6)], np.int64)
    assert CONTROL_EVENTS.following(rows).tolist() == [compose(2), compose(3, 1), compose(6)]
    assert CONTROL_EVENTS.following(rows[:0]).tolist() == [compose(3, 1)]


@pytest.mark.parametrize("speed", [9223372036854775808.0, 1e308])
def test_at_any_speed_all_events_are_yielded(speed: float) -> None:
    events = pa.record_batch({"commit_ts": pa.array([compose(second * 1000) for second in range(9)], pa.int64())})
    assert sum(part.num_rows for part in pace([events], speed, 0, 0.0, StopRequest())) == 9

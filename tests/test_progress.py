"""What is said of a partition while a run works holds, whatever the order of rows inside one write."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from simulator.progress import Marks
from simulator.sinks.records import Delivered, Records


def records(rows: list[tuple[int, int]]) -> Records:
    """A record for each (partition, commit-ts) of topic 0."""
    nothing = pa.nulls(len(rows), pa.binary())
    partition, commit_ts = (pa.array([row[place] for row in rows], pa.int64()) for place in (0, 1))
    return Records(pa.array([0] * len(rows), pa.int32()), partition.cast(pa.int32()), nothing, nothing, commit_ts)


def test_a_write_counts_only_when_all_of_it_is_delivered() -> None:
    """Rows of one table may stand before earlier rows of another one."""
    marks = Marks()
    marks.given(records([(0, 5), (1, 6), (0, 9), (0, 2)]))
    marks.given(records([(0, 9), (0, 12)]))
    found = []
    for delivered in range(6):
        marks.delivered([Delivered(0, 0, delivered, 0, 0, None)])
        found.append(marks.complete.get((0, 0)))
    assert found == [None, None, None, 9, 9, 12]
    assert (0, 1) not in marks.complete


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=9), max_size=5), st.data())
def test_nothing_below_what_is_said_is_missing(writes: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    marks, sent = Marks(), []
    for number, rows in enumerate(writes):
        rising = [(partition, 10 * number + commit_ts) for partition, commit_ts in rows]
        marks.given(records(rising))
        sent += rising
    for partition in range(3):
        own = [commit_ts for place, commit_ts in sent if place == partition]
        delivered = data.draw(st.integers(0, len(own)))
        marks.delivered([Delivered(0, partition, delivered, 0, 0, None)])
        assert all(commit_ts >= marks.complete.get((0, partition), 0) for commit_ts in own[delivered:])

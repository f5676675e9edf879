"""Which rows may share a message: decided by the rows of a partition, whatever batches they come in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.releases import find
from simulator.ticdc.dispatch import Route
from simulator.ticdc.flush import TICK_ROWS, Flush, GroupKeys, grouped, ungrouped

Event = tuple[int, int, int, int, int]
"""commit_ts, kind, table, dispatch hash, destination"""

ROUTES = [Route("", "t", groups_by=by) for by in ("table", "table", "hash", "commit_ts")]
NAMES = [("s", f"t{number}") for number in range(4)]
NO_STATEMENT = np.array([], np.int64)
KEYS, MIXED, UNLIMITED = (
    GroupKeys.of(ROUTES, NAMES, find(tag), NO_STATEMENT) for tag in ("v8.5.3", "v7.3.0", "v5.4.0")
)
FLUSH_ROWS = 2048


def image(event: Event) -> bytes:
    """A row image of 0 to 1,000 bytes."""
    return b"x" * (event[0] * 331 % 1001) if event[1] == 0 else b""


def batch(events: list[Event]) -> pa.RecordBatch:
    columns = [pa.array([event[place] for event in events], pa.int64()) for place in range(5)]
    images = pa.array(map(image, events), pa.binary())
    names = ["commit_ts", "kind", "table", "dispatch_hash", "destination", "before", "after"]
    return pa.RecordBatch.from_arrays([*columns, pa.nulls(len(events), pa.binary()), images], names)


def cut(events: list[Event], sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """The events in batches of those sizes, the last one as large as need be."""
    start = 0
    for size in sizes:
        yield batch(events[start : start + size])
        start += size
    yield batch(events[start:])


def by_destination(flushes: list[Flush]) -> dict[int, list[tuple[Event, bool]]]:
    """Events of each destination in the order sent, each with whether it may share a message with the one before."""
    sent: dict[int, list[tuple[Event, bool]]] = {}
    for flush in flushes:
        rows = [tuple(row.values()) for row in flush.events.drop_columns(["before", "after"]).to_pylist()]
        joins = np.diff(flush.group, prepend=-1) == 0
        for row, joined in zip(rows, joins.tolist(), strict=True):
            sent.setdefault(row[4], []).append((row, joined))
    return sent


events = st.lists(
    st.tuples(
        st.integers(1, 9), st.sampled_from([0, 0, 0, 0, 0, 2]), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)
    ),
    max_size=60,
).map(sorted)


@given(events, st.lists(st.integers(1, 20), max_size=6))
def test_how_events_are_cut_into_batches_changes_nothing(stream: list[Event], sizes: list[int]) -> None:
    whole = by_destination(list(grouped([batch(stream)], KEYS)))
    assert by_destination(list(grouped(cut(stream, sizes), KEYS, least=1))) == whole
    assert by_destination(list(grouped(cut(stream, sizes), KEYS, eager=True))) == whole


def test_a_run_that_keeps_pace_with_a_clock_gets_each_flush_when_it_is_complete() -> None:
    watermark, row, next_watermark = (1, 2, 0, 0, 0), (2, 0, 0, 0, 0), (3, 2, 0, 0, 0)
    given: list[Event] = []

    def arriving() -> Iterator[pa.RecordBatch]:
        for event in (watermark, row, next_watermark):
            given.append(event)
            yield batch([event])

    flushes = grouped(arriving(), KEYS, eager=True)
    assert (by_destination([next(flushes)]), given) == ({0: [(watermark, False)]}, [watermark])
    assert [event for event, _ in by_destination([next(flushes)])[0]] == [row, next_watermark]


@given(events)
def test_flushes_hold_every_event_once_in_an_order_that_consumers_rely_on(stream: list[Event]) -> None:
    """The commit-ts of a table never falls in a partition, and a watermark stands above all rows before it. Rows of one
    message share the partition key, which is the table, the hash or the commit-ts by the table's dispatcher; a watermark
    is always alone."""
    sent = by_destination(list(grouped([batch(stream)], KEYS)))
    assert sorted(event for found in sent.values() for event, _ in found) == stream
    for destination, found in sent.items():
        for table in range(4):
            times = [event[0] for event, _ in found if event[1] == 0 and event[2] == table]
            assert times == sorted(times)
        for place, (event, _) in enumerate(found):
            if event[1] == 2:
                before = [other for other in stream[: stream.index(event)] if other[4] == destination]
                assert set(before) <= {other for other, _ in found[: place + 1]}
        for (last, _), (event, joined) in zip(found, found[1:]):
            if joined:
                assert last[1] == event[1] == 0
                assert last[2] == event[2]
                assert event[2] != 2 or last[3] == event[3]
                assert event[2] != 3 or last[0] == event[0]


def test_tables_that_take_turns_in_a_partition_still_fill_messages() -> None:
    stream = [(ts, 0, ts % 2, 0, 0) for ts in range(20)]
    sent = by_destination(list(grouped([batch(stream)], KEYS)))[0]
    assert [event[2] for event, _ in sent] == [0] * 10 + [1] * 10
    assert [joined for _, joined in sent].count(False) == 2


@given(events, st.lists(st.integers(1, 20), max_size=6), st.sampled_from([MIXED, UNLIMITED]))
def test_up_to_7_3_rows_of_flushes_share_messages(stream: list[Event], sizes: list[int], keys: GroupKeys) -> None:
    """Whatever their tables and dispatchers, and whatever batches they come in; watermarks are alone."""
    sent = by_destination(list(grouped(cut(stream, sizes), keys, least=1)))
    for destination, found in sent.items():
        assert [event for event, _ in found] == [event for event in stream if event[4] == destination]
        kinds = [event[1] for event, _ in found]
        assert [joined for _, joined in found] == [
            place > 0 and kinds[place - 1] == kind == 0 for place, kind in enumerate(kinds)
        ]


@pytest.mark.slow
def test_before_6_0_nothing_but_a_watermark_ends_a_flush() -> None:
    """6.0 brought the limit of 2048 rows; memory has one of its own."""
    stream = [(ts, 0, ts % 2, 0, 0) for ts in range(TICK_ROWS + 1)]

    def ends(keys: GroupKeys) -> list[int]:
        sent = by_destination(list(grouped([batch(stream)], keys)))[0]
        return [place for place, (_, joined) in enumerate(sent) if not joined]

    assert ends(MIXED) == list(range(0, TICK_ROWS + 1, FLUSH_ROWS))
    assert ends(UNLIMITED) == [0, TICK_ROWS]


def test_a_flush_holds_no_more_rows_of_a_partition_than_tiflow_s_worker_takes() -> None:
    stream = [(ts, 0, 0, 0, 0) for ts in range(FLUSH_ROWS + 1)]
    sent = by_destination(list(grouped([batch(stream)], KEYS)))[0]
    assert [place for place, (_, joined) in enumerate(sent) if not joined] == [0, FLUSH_ROWS]


LIGHT, LIGHT_MIXED = replace(KEYS, flush_bytes=2000), replace(MIXED, flush_bytes=2000)


@given(events, st.lists(st.integers(1, 20), max_size=6))
def test_bytes_fill_a_flush_by_partition_whatever_batches_they_come_in(stream: list[Event], sizes: list[int]) -> None:
    whole = by_destination(list(grouped([batch(stream)], LIGHT)))
    assert by_destination(list(grouped(cut(stream, sizes), LIGHT, least=1))) == whole
    alone = [
        by_destination(list(grouped([batch([event for event in stream if event[4] == to])], LIGHT))) for to in range(3)
    ]
    assert whole == {to: found for flush in alone for to, found in flush.items()}


def test_the_row_that_fills_a_flush_is_its_last() -> None:
    """Images of 331, 662 and 993 bytes in turn; the row after 2,000 bytes and the one after a watermark begin anew."""
    stream = [(place % 3 + 1, 0, 0, 0, 0) for place in range(12)]
    stream[7:7] = [(0, 2, 0, 0, 0)]
    sent = by_destination(list(grouped([batch(stream)], LIGHT_MIXED)))[0]
    assert [place for place, (_, joined) in enumerate(sent) if not joined] == [0, 4, 7, 8, 12]


@given(events, st.sampled_from([LIGHT, LIGHT_MIXED, None]))
def test_an_encoder_is_given_less_than_two_full_flushes_and_a_row(stream: list[Event], keys: GroupKeys | None) -> None:
    flushes = list(grouped([batch(stream)], keys) if keys else ungrouped([batch(stream)], 2000))
    for flush in flushes:
        lengths = [len(row["after"]) for row in flush.events.to_pylist()]
        assert sum(lengths) - max(lengths) < 2 * 2000
    assert sorted(event for found in by_destination(flushes).values() for event, _ in found) == stream


def test_a_statement_of_any_partition_ends_the_flushes_of_all() -> None:
    """No row above it may be readable before it is, and it may not be before the rows below it are."""
    stream = [(ts, 0, 0, 0, 0) for ts in range(10)]
    keys = replace(KEYS, barriers=np.array([4]))
    sent = by_destination(list(grouped([batch(stream)], keys)))[0]
    assert [event[0] for event, joined in sent if not joined] == [0, 5]

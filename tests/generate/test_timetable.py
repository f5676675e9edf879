"""Rates over simulated time, and the milliseconds in which transactions commit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simulator.generate.model import HotSet, Model, Skew, TableModel, Uniform, Zipf
from simulator.generate.stream import Stream
from simulator.generate.transactions import Segment, Timetable

FAR = 10**12
"""Transactions, which take longer than time has numbers where one comes in a century."""

rates = st.one_of(st.just(0.0), st.floats(0.5, 500_000))


@st.composite
def segments(draw: st.DrawFn) -> tuple[Segment, ...]:
    """Some that last for up to a minute each, and one that never ends; or all from one of them on come again."""
    found, begin = [], 0
    for _ in range(draw(st.integers(0, 3))):
        first = draw(rates)
        found.append(Segment(begin, first, draw(st.one_of(st.just(first), rates))))
        begin += draw(st.integers(1, 60_000))
    last = draw(st.floats(0.5, 500_000))
    found.append(Segment(begin, last, last))
    again = draw(st.integers(0, len(found)))
    return tuple(
        replace(each, again_ms=begin - each.from_ms + draw(st.integers(1, 60_000))) if place == again else each
        for place, each in enumerate(found)
    )


def stream_of(
    *segments: Segment, rows: int = 30, most: int = 20, present: bool = False, skew: Skew = Uniform()
) -> Stream:
    """Of transactions of up to `most` rows."""
    tables = tuple(TableModel("shop", name, rows, skew=skew) for name in "ab")
    return Stream(Model(7, tables, (1, most), 1, present), segments)


def timetable_of(*segments: Segment, most: int = 20) -> Timetable:
    return stream_of(*segments, most=most).timetable


def steady(rate: float) -> Segment:
    return Segment(0, rate, rate)


@pytest.mark.slow
@given(segments(), st.sampled_from([0, 0, 10**6, FAR]), st.booleans())
@settings(max_examples=30)
def test_transactions_and_milliseconds_tell_each_other(segments: tuple[Segment, ...], far: int, present: bool) -> None:
    stream = stream_of(*segments, present=present)
    assume(far < FAR or not any(each.again_ms for each in segments))
    table, transactions = stream.timetable, np.arange(far, far + 30)

    ms = table.milliseconds(transactions)

    assert np.all(ms >= 0) and np.all(np.diff(ms) >= 0)
    for transaction, at, logical in zip(transactions.tolist(), ms.tolist(), table.logical(transactions).tolist()):
        first = table.transactions_before(at)
        assert first <= transaction < table.transactions_before(at + 1)
        assert logical == transaction - first + 1


def test_transactions_of_a_millisecond_are_numbered_from_one() -> None:
    table = timetable_of(steady(5_000), most=1)

    assert table.milliseconds(np.arange(12)).tolist() == [0] * 5 + [1] * 5 + [2] * 2
    assert table.logical(np.arange(12)).tolist() == [1, 2, 3, 4, 5] * 2 + [1, 2]


@pytest.mark.parametrize("rate", [60_000, 1, 0.5, 12_345.678])
def test_each_second_has_as_many_rows_as_asked(rate: float) -> None:
    table = timetable_of(steady(rate))

    for second in (0, 1, 7, 10**6, 10**8):
        rows = [table.rows_before(1000 * at) for at in (second, second + 1)]
        assert rows[1] - rows[0] == pytest.approx(rate, abs=1)
        assert rows[0] == pytest.approx(rate * second, rel=1e-12, abs=1)


def test_a_rate_that_rises_has_in_each_second_what_the_line_says() -> None:
    table = timetable_of(Segment(0, 1000, 21_000), Segment(10_000, 21_000, 21_000))

    rows = [table.rows_before(1000 * second) for second in range(13)]

    assert np.diff(rows).tolist() == [*range(2000, 22_000, 2000), 21_000, 21_000]


def test_no_transaction_commits_in_a_pause() -> None:
    table = timetable_of(Segment(0, 100, 100), Segment(1000, 0, 0), Segment(5000, 100, 100), most=1)

    assert table.transactions_before(1000) == table.transactions_before(5000) == 100
    assert table.milliseconds(np.arange(99, 101)).tolist() == [999, 5009]


@pytest.mark.parametrize("skew", [Uniform(), Zipf(1.5), HotSet(0.001, 0.9)])
@pytest.mark.parametrize("present", [False, True])
def test_as_many_rows_are_seen_in_a_second_as_asked(skew: Skew, present: bool) -> None:
    """Those of uniform transactions within one transaction."""
    stream = stream_of(steady(6_000), rows=5_000, present=present, skew=skew)

    for second in (0, 10, 1_000_000):
        bounds = [stream.timetable.transactions_before(1000 * at) for at in (second, second + 10)]
        assert len(stream.window(bounds[0], bounds[1], [0, 0]).key) == pytest.approx(60_000, rel=0.01)
        if present and skew == Uniform():
            assert np.diff(stream.transactions.rows_before(np.array(bounds))).item() == pytest.approx(60_000, abs=20)

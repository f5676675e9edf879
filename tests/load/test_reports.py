"""Reports of a load run: its totals, a series of bounded length, and where it fell short of the rate."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.engines.tasks.progress import Progress
from simulator.load.series import LoadSeries, columns
from simulator.load.statistics import LoadStatistics, RateCheck, RecentRates, SentWindow
from simulator.sinks.records import Latencies

START = 1_700_000_000.0


def window(began: float, ended: float, rows: int = 1000, asked: float = 1000.0, behind: float = 0.0) -> SentWindow:
    """Return a window; times are seconds since the start."""
    ended_ms, latencies = round(1000 * ended), Latencies.of([0.01, 0.5], [rows, 1])
    times = (START + began, START + began, START + ended)
    counts = {(0, INSERT): rows}, {("t", 0): (rows, rows, 100 * rows)}
    return SentWindow(0, ended_ms, ended_ms << 18, asked, *times, behind, *counts, latencies)


def checked(*windows: SentWindow) -> RateCheck:
    check = RateCheck()
    for each in windows:
        check.add(each)
    check.finish()
    return check


@given(st.lists(st.tuples(st.floats(0.0, 40.0), st.floats(0.0, 3.0)), min_size=1, max_size=60), st.integers(1, 9))
def test_the_points_add_up_to_the_whole_however_few_there_are(spans: list[tuple[float, float]], points: int) -> None:
    series, at = LoadSeries(2 * points), 0.0
    for seconds, gap in spans:
        series.add(window(at + gap, at + gap + seconds))
        at += gap + seconds
    found = series.points()

    assert 1 <= len(found) <= 2 * points
    assert math.isclose(sum(point.rows for point in found), 1000 * len(spans))
    assert math.isclose(sum(point.bytes for point in found), 100_000 * len(spans))
    assert sum(point.latencies.records for point in found) == 1001 * len(spans)
    assert len({point.seconds for point in found[1:-1]}) <= 1


@pytest.mark.slow
def test_a_weekend_fits_and_says_the_same() -> None:
    series, seconds = LoadSeries(), 60 * 3600
    for at in range(0, seconds, 60):
        series.add(window(at, at + 59.99, rows=60_000))
    found = series.points()

    assert 1800 <= len(found) <= 3600
    assert {1000.0} == {round(point.rows / point.seconds, -1) for point in found}
    assert {1000.0} == {point.target_rate for point in found}
    assert found[-1].at - found[0].at + found[-1].seconds == pytest.approx(seconds, abs=64)


def test_the_series_is_told_by_name() -> None:
    """All columns have the same length; unknown values are None."""
    series = LoadSeries()
    series.add(window(0, 1))
    series.add(replace(window(3, 5, asked=0.0), latencies=Latencies(), resent=7))
    series.lag(START + 3.5, 1200)
    told = columns(series.points())

    assert {6} == {len(values) for values in told.values()}
    assert [0, 1, 2, 3, 4, 5] == told["second"]
    assert [1000, 0, 0, 500, 500, 0] == told["rows_per_second"]
    assert [1000, None, None, None, None, None] == told["asked_rows_per_second"]
    assert [None, None, None, 1200, None, None] == told["lag"]
    assert [0, 0, 0, 4, 4, 0] == told["resent"]
    assert told["latency_max_ms"][1] == 500 and told["latency_p50_ms"][1] == pytest.approx(10, rel=0.1)


def test_a_stall_is_told_and_what_is_made_up_for_ends_it() -> None:
    """Kafka is away for half a minute; then the run catches up."""
    reached = checked(
        *(window(second, second + 0.95) for second in range(120)),
        window(120, 150.0, behind=29),
        *(window(150 + number / 3, 150 + (number + 1) / 3) for number in range(44)),
        *(window(second, second + 0.95) for second in range(165, 300)),
    )

    (shortfall,) = reached.shortfalls
    assert START + 121 <= shortfall.first <= START + 124
    assert START + 160 <= shortfall.last <= START + 167
    assert 0.5 < shortfall.least < 0.55
    assert 30 < reached.seconds_below < 60


def test_a_rate_that_is_kept_has_no_spells_and_one_out_of_reach_has_one() -> None:
    """A second more or less does not matter over a minute; idle time between windows does. As fast as can be is always
    reached."""
    kept = checked(*(window(second, second + (0.9 if second % 2 else 1.0)) for second in range(200)))
    slow = checked(*(window(second, second + 0.9, rows=950) for second in range(200)))
    short = checked(*(window(second, second + 0.9, rows=500) for second in range(20)))
    fastest = checked(*(window(second, second + 1, rows=1, asked=0.0) for second in range(200)))

    assert [] == kept.shortfalls == fastest.shortfalls
    assert [(0.95, 140)] == [(round(shortfall.least, 2), shortfall.seconds) for shortfall in slow.shortfalls]
    assert [0.5] == [round(shortfall.least, 1) for shortfall in short.shortfalls]


def test_the_account_has_tables_partitions_and_what_was_asked() -> None:
    account, partitions = LoadStatistics(), {("t", 0): (5, 4, 300), ("t", 1): (10, 9, 700)}
    account.add(window(0, 1))
    more = replace(window(1, 2, asked=2000.0), rows={(0, UPDATE): 10, (1, DELETE): 5}, partitions=partitions)
    account.add(replace(more, retried=1, resent=3))

    first = {"inserted": 1000, "updated": 10, "deleted": 0}
    assert account.rows_by_table() == {0: first, 1: {"inserted": 0, "updated": 0, "deleted": 5}}
    assert account.partitions == {("t", 0): (1005, 1004, 100_300), ("t", 1): (10, 9, 700)}
    assert (account.windows, account.rows, account.messages, account.bytes) == (2, 1015, 1013, 101_000)
    assert (account.retried, account.resent, account.seconds) == (1, 3, 2.0)
    assert account.reached_share == 1015 / 3000


def test_how_it_goes_counts_the_open_window_too() -> None:
    """Progress reports of tasks count. A task whose count falls was restarted."""
    account, recently = LoadStatistics(), RecentRates()
    for second in range(30):
        for each in (account, recently):
            each.add(window(second, second + 1))
    before = recently.now(account, START + 30)
    recently.add_progress(Progress(events={7: 400, 8: 100}, bytes={7: 4000}, in_flight={7: 50, 8: 1}), START + 30.4)
    recently.add_progress(Progress(events={7: 100, 8: 100}, bytes={7: 1000}, in_flight={7: 30, 8: 1}), START + 30.9)
    after = recently.now(account, START + 31)
    stalled = recently.now(account, START + 45)

    assert (before.rows, round(before.rows_per_second)) == (30_000, 1000)
    assert (before.target_rate, before.in_flight) == (1000.0, 0)
    assert (after.rows, after.in_flight, after.bytes) == (30_600, 31, 30 * 100_000 + 5000)
    assert (stalled.rows, stalled.rows_per_second) == (30_600, 0.0)
    assert before.p99 == pytest.approx(0.01, rel=0.1)

"""The schedule of windows, on a simulated clock: when they are due, how long they are, and when the run is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.generate.transactions import Segment
from simulator.load import rates
from simulator.load.lag_search import LagSample, RateSearch
from simulator.load.rates import RateSegments
from simulator.load.scheduler import ScheduledWindow, WindowScheduler
from simulator.load.statistics import SentWindow
from simulator.sinks.records import Latencies


def paces(begins_ms: Mapping[int, bool]) -> RateSegments:
    """Rates that are paced or not from some milliseconds on."""
    return RateSegments(tuple(Segment(ms, 1.0, 1.0) for ms in begins_ms), tuple(begins_ms.values()))


PACED, UNPACED = paces({0: True}), paces({0: False})


def steady(rows_per_second: float) -> Callable[[int], int]:
    return lambda ms: int(ms * rows_per_second / 1000)


@dataclass
class Machine:
    """Sends windows one after the other, at some rows a second, with some idle time for each."""

    control: WindowScheduler
    rows_before: Callable[[int], int]
    fastest: float = 1e6
    fixed_cost: float = 0.0
    row_bytes: int = 100
    now: float = 1000.0
    outages: tuple[tuple[float, float], ...] = ()
    limit_ms: int | None = None
    windows: list[tuple[ScheduledWindow, SentWindow]] = field(default_factory=list)

    def run(self, seconds: float = 1e9, first_ms: int = 0) -> list[tuple[ScheduledWindow, SentWindow]]:
        """Until the run is over, or so long."""
        stop, ms = self.now + seconds, first_ms
        while self.now < stop:
            due = self.control.next(ms, self.limit_ms, self.now)
            if due is None:
                break
            assert due.first_ms == ms < due.end_ms
            self.windows.append((due, self.sent(due)))
            self.control.sent(self.windows[-1][1])
            ms = due.end_ms
        return self.windows

    def sent(self, due: ScheduledWindow) -> SentWindow:
        handed_out = max(self.now, due.at)
        rows = self.rows_before(due.end_ms) - self.rows_before(due.first_ms)
        began = max(handed_out + self.fixed_cost, due.begins)
        for first, last in self.outages:
            began = last if first <= began < last else began
        ended = max(began + rows / self.fastest, due.ends if due.speed else 0.0) + 0.005
        self.now = ended
        counts = {(0, 2): rows}, {("t", 0): (rows, rows, rows * self.row_bytes)}
        times = (handed_out, began, ended, due.behind(ended))
        return SentWindow(due.first_ms, due.end_ms, due.end_ms << 18, due.target_rate, *times, *counts, Latencies())


def test_a_rate_is_kept_in_windows_of_one_resolved_interval() -> None:
    """A window ends when its last row is due, and the next begins there."""
    rows = steady(5000)
    windows = Machine(WindowScheduler(PACED, rows, 1000, duration=60.0), rows).run()

    assert [(number * 1000, number * 1000 + 1000) for number in range(60)] == [
        (due.first_ms, due.end_ms) for due, _ in windows
    ]
    assert {5000.0} == {due.target_rate for due, _ in windows}
    assert all(1000 + number <= sent.began < 1000.1 + number for number, (_, sent) in enumerate(windows))
    assert all(0 <= sent.behind < 0.1 for _, sent in windows)


def test_what_is_started_before_the_first_record_does_not_count() -> None:
    """Starting the tasks does not count as time of the run, and is not made up for."""
    rows = steady(5000)
    machine = Machine(WindowScheduler(PACED, rows, 1000, duration=20.0), rows, outages=((1000.0, 1009.0),))

    windows = machine.run()

    assert windows[-1][0].end_ms == 20_000
    assert 1029.0 <= machine.now < 1029.2
    assert all(sent.behind < 0.1 for _, sent in windows[1:])


@pytest.mark.parametrize("fixed_cost", [0.05, 0.15, 0.3])
def test_windows_are_as_long_as_their_fixed_cost_requires(fixed_cost: float) -> None:
    """Little time passes without rows. Windows are handed out ahead, so that rows are sent when they are due."""
    rows = steady(5000)
    windows = Machine(WindowScheduler(PACED, rows, 500, duration=300.0), rows, fixed_cost=fixed_cost).run()
    last = windows[len(windows) // 2 :]

    assert all(due.end_ms - due.first_ms >= min(fixed_cost / 0.08 * 0.3, 4) * 1000 - 500 for due, _ in last)
    assert all(due.end_ms - due.first_ms <= 5000 for due, _ in windows)
    assert 300_000 == windows[-1][0].end_ms
    assert all(sent.behind < 0.5 for _, sent in last)


def test_what_an_outage_delayed_is_made_up_for() -> None:
    """Windows grow, and shrink again when the run has caught up."""
    rows = steady(10_000)
    machine = Machine(WindowScheduler(PACED, rows, 1000, duration=200.0), rows, 30_000, outages=((1020.0, 1050.0),))
    windows = machine.run()

    behind = [sent.behind for _, sent in windows]
    assert max(behind) > 29
    assert max(due.end_ms - due.first_ms for due, _ in windows) == 5000
    assert {1000} == {due.end_ms - due.first_ms for due, _ in windows[-20:]}
    assert all(late < 0.1 for late in behind[-20:])
    assert windows[-1][0].end_ms == 200_000


def test_a_rate_out_of_reach_ends_with_the_duration() -> None:
    """The run does not wait for the last row of the rate."""
    rows = steady(100_000)
    machine = Machine(WindowScheduler(PACED, rows, 1000, duration=60.0), rows, 20_000)
    windows = machine.run()

    assert 1060 <= machine.now <= 1060 + 30
    assert windows[-1][1].behind > 30


def test_as_fast_as_can_be_makes_windows_of_about_two_seconds() -> None:
    """The length adapts to the cost of a simulated second, and the run ends in time."""
    for fastest in (3_000, 50_000, 2_000_000):
        rows = steady(10_000)
        machine = Machine(WindowScheduler(UNPACED, rows, 1000, duration=120.0), rows, fastest)
        windows = machine.run()
        took = [sent.ended - sent.began for _, sent in windows[len(windows) // 2 : -3]]
        longest = 10_000 / fastest + 2
        assert all(1.0 < seconds < longest + 0.5 for seconds in took), fastest
        assert 1119.9 <= machine.now <= 1120 + longest, fastest
        assert {(0.0, 0.0)} == {(due.speed, due.target_rate) for due, _ in windows}
        assert {0} == {due.end_ms % 1000 for due, _ in windows}


def test_fixtures_have_a_watermark_every_resolved_interval_and_end_in_simulated_time() -> None:
    rows = steady(1000)
    machine = Machine(WindowScheduler(PACED, rows, 400, duration=2.0, fixed=True), rows)

    assert [(0, 400), (400, 800), (800, 1200), (1200, 1600), (1600, 2000)] == [
        (due.first_ms, due.end_ms) for due, _ in machine.run()
    ]
    assert machine.now < 1001


def test_windows_scheduled_ahead_are_as_long_and_end_as_well() -> None:
    control = WindowScheduler(PACED, steady(1000), 1000, duration=3.0)
    ahead = [control.next(ms, None, 1000.0) for ms in (0, 1000, 2000, 3000)]

    assert [1000.0, 1001.0, 1002.0, None] == [due and due.begins for due in ahead]
    unpaced = WindowScheduler(UNPACED, steady(1000), 1000, duration=3.0)
    assert [1000, 1000] == [
        due.end_ms - due.first_ms if due else 0 for due in (unpaced.next(0, None, 1.0), unpaced.next(1000, 3000, 1.0))
    ]


@given(st.integers(1, 3000), st.integers(0, 10_000), st.integers(1, 20_000))
def test_no_window_goes_beyond_its_limit(resolved_ms: int, first_ms: int, room_ms: int) -> None:
    for rate in (PACED, UNPACED):
        control = WindowScheduler(rate, steady(1000), resolved_ms)
        due = control.next(first_ms, first_ms + room_ms, 1000.0)
        assert due is not None
        assert first_ms < due.end_ms <= first_ms + room_ms
        assert due.end_ms == first_ms + room_ms or due.end_ms % resolved_ms == 0


def test_a_rate_begins_anew_where_none_was_held_before() -> None:
    """After `max` nothing is made up for, and no window lies in both."""
    steps = paces({0: True, 5500: False, 20_000: True})
    rows = steady(10_000)
    windows = Machine(WindowScheduler(steps, rows, 1000, duration=60.0), rows, 20_000).run(30)

    assert {0, 5500, 20_000} <= {due.first_ms for due, _ in windows}
    assert {due.speed for due, _ in windows} == {0.0, 1.0}
    assert all((due.speed == 0.0) == (5500 <= due.first_ms < 20_000) for due, _ in windows)
    assert all(sent.behind < 0.5 for due, sent in windows if due.first_ms > 22_000)


def test_bursts_come_again() -> None:
    bursts = rates.resolve_rates(rates.parse_rate("1000, every 30s: max for 2s"), 10_000)
    paced = {0: 30_000, 29_999: 30_000, 32_000: 60_000, 93_000: 120_000}
    burst = {30_000: 32_000, 31_999: 32_000, 60_000: 62_000}

    for ms, end_ms in {**paced, **burst}.items():
        assert bursts.pace_at(ms) == (ms in paced, end_ms), ms
    assert PACED.pace_at(10**9) == (True, None)


def test_bytes_a_second_are_held_whatever_was_taken_for_a_row() -> None:
    """Rows estimated at 100 bytes have 190, at 190 kB/s."""
    rows = steady(1900)
    control = WindowScheduler(PACED, rows, 1000, duration=120.0, bytes_per_row=100.0)
    windows = Machine(control, rows, row_bytes=190).run()[20:]

    sent = sum(size for _, window in windows for *_, size in window.partitions.values())
    seconds = windows[-1][1].ended - windows[0][1].began
    assert sent / seconds == pytest.approx(190_000, rel=0.02)


def test_a_search_changes_the_speed_and_ends_the_run() -> None:
    """Simulated time runs faster where more rows a second are tried; a rate that was out of reach leaves nothing to be
    made up for."""
    rows, search = steady(1000), RateSearch(1000)
    machine = Machine(WindowScheduler(PACED, rows, 1000, search=search), rows, 200_000)
    committed, ms = 0.0, 0
    while (due := machine.control.next(ms, None, machine.now)) is not None:
        before, sent, ms = machine.now, machine.sent(due), due.end_ms
        machine.control.sent(sent)
        committed = min(rows(ms), committed + 8000 * (machine.now - before))
        search.add_sample(LagSample(machine.now, rows(ms), int(committed)))
        assert sent.behind < 1.0
        assert due.target_rate == pytest.approx(due.speed * 1000, rel=0.01)
    assert search.verdict is not None
    assert 7000 < search.verdict.sustained < 8200

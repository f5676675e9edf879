"""The search for the rate that a consumer group sustains, against consumers of known speed on a simulated clock."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from simulator.load import lag_search
from simulator.load.lag_search import LagMonitor, LagSample, RateSearch, SearchResult, lag_growth
from simulator.sinks.kafka.read import Offsets


def searched(
    search: RateSearch,
    consumed: Callable[[float], float],
    commits_every: float = 1.0,
    fastest: float = 1e9,
    seconds: int = 3000,
    messages_a_row: float = 1.0,
) -> SearchResult:
    """Run a search. The consumer takes up to `consumed(lag)` messages a second; the sender sends at most `fastest`
    rows.
    """
    end = position = committed = 0.0
    last_commit = 0.0
    for second in range(seconds):
        asked = search.rate
        sent = min(asked, fastest)
        end += sent * messages_a_row
        position = min(end, position + consumed(end - position))
        if second - last_commit >= commits_every:
            last_commit, committed = second, position
        search.add_window(asked, second, second + 1.0, round(sent))
        search.add_sample(LagSample(second + 1.0, round(end), round(committed)))
        if search.verdict is not None:
            return search.verdict
    raise AssertionError(f"no verdict in {seconds} s: {vars(search)}")


@pytest.mark.parametrize("capacity", [50.0, 700.0, 1100.0, 190_000.0])
@pytest.mark.parametrize("commits_every", [1.0, 5.0])
def test_the_sustained_rate_is_found_wherever_it_lies(capacity: float, commits_every: float) -> None:
    """The rate may be below or above the first one. Lag that rises and falls with commits does not count as growth."""
    limit = max(500, int(capacity))
    found = searched(RateSearch(limit), lambda lag: capacity, commits_every)

    assert 0.9 * capacity <= found.sustained <= 1.03 * capacity
    assert found.too_much is not None
    assert 0.99 * capacity <= found.too_much <= 1.07 * max(found.sustained, 1.0)
    assert found.growth == pytest.approx(found.too_much - capacity, rel=0.3, abs=0.04 * capacity)


def test_a_message_may_hold_many_rows() -> None:
    found = searched(RateSearch(200), lambda lag: 500.0, messages_a_row=0.1)

    assert 4500 <= found.sustained <= 5150


def test_a_consumer_that_outruns_the_sender_is_said_to_keep_up() -> None:
    found = searched(RateSearch(1000), lambda lag: 1e9, fastest=40_000)

    assert (found.too_much, round(found.sustained)) == (None, 40_000)
    assert found.describe("audit") == "sustained 40,000 rows/s: group audit keeps up with all that is sent"


def test_a_consumer_that_does_nothing_sustains_no_rate() -> None:
    """A group that has stopped after a commit ends the search at once."""
    found = searched(RateSearch(100), lambda lag: 0.0, seconds=90)

    assert found.describe("g") == "sustained no rate: at 1,000 rows/s the lag of group g grew by 1,000 records/s"
    said = SearchResult(23_400.0, 25_000.0, 1_900.0).describe("g")
    assert said == "sustained 23,400 rows/s: at 25,000 the lag of group g grew by 1,900 records/s"


def test_a_group_that_commits_nothing_ends_the_search() -> None:
    """Silence counts from the first rows on. A group that has committed once may take longer."""
    silent, slow = RateSearch(100), RateSearch(100)
    slow.add_sample(LagSample(0.0, 10, 0))
    for search in (silent, slow):
        search.add_missing_commit(-1000.0)
        search.add_window(1000.0, 0.0, 1.0, 1000)
        search.add_missing_commit(30.9)
        assert not search.ended
        search.add_missing_commit(31.0)

    assert (silent.group_is_silent, silent.ended, slow.ended) == (True, True, False)


def test_lag_that_is_there_before_does_not_count_as_growth() -> None:
    """A group that starts with a backlog gets the time to work it off."""
    search = RateSearch(1000)
    backlog = 30_000
    end, position = 0.0, -30_000.0
    for second in range(40):
        end += search.rate
        position = min(end, position + 5000.0)
        search.add_window(search.rate, second, second + 1.0, round(search.rate))
        search.add_sample(LagSample(second + 1.0, round(end) + backlog, round(position) + backlog))
    assert search.rate > 1000.0
    assert search.verdict is None


def test_growth_is_measured_from_one_trough_to_the_next() -> None:
    saw = [LagSample(float(at), 100 * at, 100 * (at - at % 5)) for at in range(21)]
    slow = [LagSample(float(at), 100 * at, 90 * (at - at % 5)) for at in range(21)]

    assert 0.0 == lag_growth(saw)
    assert pytest.approx(10.0) == lag_growth(slow)


def test_a_thread_looks_again_and_again_and_minds_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_search, "INTERVAL", 0.001)
    answers = iter([None, Offsets(10, None), None, Offsets(30, 10), Offsets(40, 25)])
    heard: list[int] = []
    over = threading.Event()

    def ask() -> Offsets | None:
        answer = next(answers, "none")
        if answer == "none":
            over.set()
        return answer if isinstance(answer, Offsets) else None

    with LagMonitor(ask, lambda sample: heard.append(sample.lag), RateSearch(5)):
        assert over.wait(30)
    assert [20, 15] == heard


def test_the_search_begins_at_its_first_rate_and_never_tries_more_than_its_maximum() -> None:
    tried = []

    class Watched(RateSearch):
        def add_window(self, target_rate: float, began: float, ended: float, rows: int) -> None:
            tried.append(target_rate)
            super().add_window(target_rate, began, ended, rows)

    found = searched(Watched(100, 400.0, 2500.0), lambda lag: 1e9)
    assert (tried[0], max(tried), found.sustained, found.at_most) == (400.0, 2500.0, 2500.0, True)
    assert found.describe("g") == "sustained 2,500 rows/s, the maximum asked for: group g keeps up with it"
    tried.clear()
    slow = searched(Watched(100, 400.0, 2500.0), lambda lag: 1200.0)
    assert max(tried) <= 2500.0 and 1000 < slow.sustained <= 1200 and not slow.at_most

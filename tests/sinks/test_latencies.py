"""How long acknowledgements take: counted in steps, added up, asked for shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.sinks.records import GROWTH, Latencies, LatencyRecorder

SECONDS = st.lists(st.floats(0.0, 1000.0), max_size=40)


def each(seconds: list[float]) -> Latencies:
    """The latencies of one record each."""
    return Latencies.of(seconds, [1] * len(seconds))


@given(SECONDS, SECONDS)
def test_parts_add_up_to_the_whole_in_any_order(some: list[float], others: list[float]) -> None:
    parts = each(some), each(others)

    assert parts[0] + parts[1] == parts[1] + parts[0] == each(some + others)
    assert Latencies.total(parts).records == len(some + others)


@given(SECONDS, st.floats(0.0, 1.0))
def test_a_share_is_acknowledged_within_what_is_said_and_little_less(seconds: list[float], share: float) -> None:
    said = each(seconds).quantile(share)
    if not seconds:
        assert said == 0.0
        return
    true = sorted(seconds)[max(1, int(np.ceil(share * len(seconds)))) - 1]
    assert true * (1 - 1e-9) <= said <= max(true, 1e-6) * GROWTH * (1 + 1e-9)


def test_records_count_not_pieces() -> None:
    """A thousand records in one slow piece are a thousand slow records."""
    found = Latencies.of([0.010, 2.0], [1000, 1000])

    assert (found.records, found.longest, found.quantiles([0.99, 1.0])) == (2000, 2.0, [2.0, 2.0])
    assert found.quantile(0.5) == pytest.approx(0.010, rel=0.09)


def test_what_was_taken_is_not_counted_again() -> None:
    """A sink that stays open tells each window's own."""
    measured, taken = LatencyRecorder(), []
    for seconds, records in ((0.25, 10), (0.5, 5)):
        measured.add(seconds, records)
        taken.append(measured.take())

    assert [*taken, measured.take()] == [Latencies.of([0.25], [10]), Latencies.of([0.5], [5]), Latencies()]

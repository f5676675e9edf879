"""TSOs and the timeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import tso
from simulator.engines.tasks.control_events import WatermarkSchedule
from simulator.errors import UserError


def test_a_tso_is_milliseconds_shifted_by_eighteen_bits_and_a_logical_part() -> None:
    """TiCDC's Open Protocol documentation: 415508878783938562 is 1585040583740 ms, logical 2."""
    assert tso.compose(1585040583740, 2) == 415508878783938562
    assert tso.physical(415508878783938562) == 1585040583740
    assert tso.describe(415508878783938562) == "415508878783938562 (2020-03-24 09:03:03.740 UTC)"


def test_durations_are_numbers_with_units() -> None:
    found = {text: tso.duration_ms(text) for text in ("500ms", "1s", "1.5s", "1m30s", "2h", "1d")}
    assert list(found.values()) == [500, 1000, 1500, 90_000, 7_200_000, 86_400_000]


@pytest.mark.parametrize("text", ["", "5", "0s", "1 s", "-1s", "1w", "s", "0.1ms"])
def test_a_bad_duration_is_named_with_what_is_accepted(text: str) -> None:
    with pytest.raises(UserError, match="bad duration .*ms"):
        tso.duration_ms(text)


def test_start_ts_is_a_tso_or_a_time() -> None:
    for text in ("2025-01-01T00:00:00", "2025-01-01", "2025-01-01T08:00:00+08:00", str(tso.DEFAULT_START_TS)):
        assert tso.start_ts(text) == tso.DEFAULT_START_TS


@pytest.mark.parametrize("text", ["12", "yesterday", "-1", "1969-01-01", str(1 << 64)])
def test_a_bad_start_ts_is_named(text: str) -> None:
    with pytest.raises(UserError, match="start-ts"):
        tso.start_ts(text)


@given(st.integers(0, 10**13), st.integers(1, 10**6), st.integers(1, 10**5))
def test_every_watermark_before_the_last_lies_inside_the_run(start: int, length: int, interval: int) -> None:
    timeline = WatermarkSchedule(start, start + length, interval)
    last = start + len(timeline.watermark_numbers()) * interval
    assert last < timeline.end_ms or not timeline.watermark_numbers()
    assert last + interval >= timeline.end_ms

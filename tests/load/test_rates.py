"""--rate: numbers, sizes, steps, ramps and bursts."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.errors import UserError
from simulator.generate.model import Model, TableModel
from simulator.generate.stream import Stream
from simulator.generate.transactions import Segment
from simulator.load.rates import RateSegments, parse_rate, resolve_rates

OF_MAX = 5000.0
"""Rows a second of simulated time where the rate is max."""


def made(text: str) -> RateSegments:
    return resolve_rates(parse_rate(text), OF_MAX, 100.0)


@pytest.mark.parametrize(
    ("text", "rows", "paced"),
    [
        ("60000", 60_000, True),
        ("60_000 rows/s", 60_000, True),
        ("1.5", 1.5, True),
        ("100KiB", 1024, True),
        ("190MiB/s", 1_992_294.4, True),
        ("max", OF_MAX, False),
    ],
)
def test_one_rate_holds_for_ever(text: str, rows: float, paced: bool) -> None:
    assert made(text) == RateSegments((Segment(0, rows, rows),), (paced,))


@pytest.mark.parametrize(
    ("text", "segments", "paced"),
    [
        ("0s:1000, 60s:20000, 5m:max", [(0, 1000), (60_000, 20_000), (300_000, OF_MAX)], (True, True, False)),
        ("0s:1000..20000, 5m:20000", [(0, 1000, 20_000), (300_000, 20_000)], (True, True)),
        (
            "1000, every 30s: 100000 for 2s",
            [(0, 1000), (30_000, 100_000, 100_000, 30_000), (32_000, 1000)],
            (True, True, True),
        ),
        (
            "0s:0, 10s:1000, 20s:0, every 30s: 5 for 1s",
            [(0, 0), (10_000, 1000), (20_000, 0), (30_000, 5, 5, 30_000), (31_000, 0)],
            (True,) * 5,
        ),
    ],
    ids=["steps", "a ramp leads to the next entry", "bursts come again", "nothing between bursts and steps"],
)
def test_rates_are_segments(text: str, segments: list[tuple[float, ...]], paced: tuple[bool, ...]) -> None:
    """From when on and which rate; that to which it leads, and after how long it comes again."""
    found = tuple(Segment(int(begin), first, *(rest or [first])) for begin, first, *rest in segments)  # type: ignore[arg-type]
    assert made(text) == RateSegments(found, paced)


def test_bursts_interrupt_steps_and_ramps() -> None:
    """A burst does not delay the ramp below it."""
    assert made("0s:1000..2000, 50s:3000, 70s:max, every 20s: max for 5s") == RateSegments(
        (
            Segment(0, 1000, 1400),
            Segment(20_000, OF_MAX, OF_MAX),
            Segment(25_000, 1500, 1800),
            Segment(40_000, OF_MAX, OF_MAX),
            Segment(45_000, 1900, 2000),
            Segment(50_000, 3000, 3000),
            Segment(60_000, OF_MAX, OF_MAX),
            Segment(65_000, 3000, 3000),
            Segment(70_000, OF_MAX, OF_MAX),
            Segment(80_000, OF_MAX, OF_MAX, 20_000),
            Segment(85_000, OF_MAX, OF_MAX),
        ),
        (True, False, True, False, True, True, False, True, False, False, False),
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "expected rows a second"),
        ("fast", "'fast' is no rate; expected rows a second"),
        ("0", "nothing would be sent any more; 0 is accepted between others"),
        ("1000, 10s:0", "nothing would be sent any more"),
        ("0KiB", "nothing would be sent any more"),
        ("1000, every 30s", "'every 30s' is no burst; expected 'every 30s: 100000 for 2s'"),
        ("-5", "'-5' is no rate"),
        ("190MB", "'190MB' is no rate"),
        ("1e9", "'1e9' is no rate"),
        ("200000000", "at most 100,000,000 rows/s are accepted, or max"),
        ("5s:1000", "the first entry begins at 0s"),
        ("0s:1000, 2000", "'2000' does not say from when on, such as 60s:2000"),
        ("0s:1, 60s:2, 30s:3", "each entry begins later than the one before"),
        ("0s:1000..20000", "a ramp ends where the next entry begins, and after the last one there is none"),
        ("0s:1000..max, 5m:max", "a ramp leads from a number to a number"),
        ("every 30s: 100 for 2s", "the rate between the bursts is expected before them, such as '1000, every"),
        ("1, every 2s: 100 for 2s", "a burst every 2s takes less than that, not 2s"),
        ("0, every 9s: 0.1 for 2s", "from one burst to the next there is less than a row"),
        ("1, every 9s: 5 for 2s, every 7s: 9 for 1s", "one kind of burst is accepted, not several"),
        ("1000, 365d:2000, every 1s: 5000 for 100ms", "more than 10,000 bursts before its last step"),
    ],
)
def test_what_is_no_rate_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(UserError) as raised:
        made(text)

    assert wrong in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "1000, every 3s: 100000 for 200ms",
        "0s:0..500, 7s:333, every 5s: 7777 for 1s",
        "0, every 2s: 37 for 100ms",
        "0.1, every 1500ms: 6.667 for 300ms",
    ],
)
def test_bursts_without_end_are_those_written_out(text: str) -> None:
    """Rows have the same milliseconds, whether by the formula or by one burst after the other."""
    model = Model(1, (TableModel("a", "b", 5),), (1, 3))
    again = Stream(model, made(text).segments).timetable
    far = Stream(model, made(f"{text}, 60s:{parse_rate(text).entries[-1].first.number}").segments).timetable
    moments = [*range(0, 60_000, 137)]
    transactions = np.arange(again.transactions_before(60_000))

    assert [again.rows_before(ms) for ms in moments] == [far.rows_before(ms) for ms in moments]
    assert np.flatnonzero(again.milliseconds(transactions) != far.milliseconds(transactions)).tolist() == []
    assert np.flatnonzero(again.logical(transactions) != far.logical(transactions)).tolist() == []


def test_bursts_go_on_without_drift() -> None:
    stream = Stream(Model(1, (TableModel("a", "b", 5_000),)), made("1000, every 30s: 100000 for 2s").segments)
    table, year_ms = stream.timetable, 365 * 86_400_000

    assert table.rows_before(year_ms + 30_000) == 30_000 + year_ms // 30_000 * (2 * 100_000 + 28 * 1000)
    assert table.transactions_before(year_ms + 1000) == table.transactions_before(year_ms) + 10_000

"""A truth of another run is rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.consumer import truth_metadata
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.errors import UserError

START, END = 455000614502400000, 455000619746590720
ABOUT = TruthMetadata(
    "run",
    "bank",
    "v8.5.3",
    "classic",
    "kafka://127.0.0.1:9092/bank?protocol=canal-json",
    "",
    {"bank": 4, "log": 1},
    START,
    END,
    END,
    (),
)
TRUTH = Path("truth")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"shop": 3}, "that one wrote to bank, log, and these are messages of shop"),
        ({"bank": 4}, "that one wrote to log, too, which SOURCE does not have"),
        ({"bank": 4, "log": 1, "shop": 1}, "that one did not write to shop, which SOURCE has"),
        ({"bank": 6, "log": 1}, "that one wrote to 4 partitions of bank, which has 6"),
    ],
)
def test_other_topics_are_those_of_another_run(found: dict[str, int], why: str) -> None:
    """The error names the topics."""
    with pytest.raises(UserError) as refused:
        truth_metadata.check_topics(TRUTH, ABOUT, found)

    assert str(refused.value) == f"truth is the truth of another run: {why}"


def test_fixtures_may_lack_empty_partitions() -> None:
    """Their files may be missing."""
    truth_metadata.check_topics(TRUTH, ABOUT, {"bank": 2, "log": 1})


@pytest.mark.parametrize(("first", "last"), [(START - 9, START), (END + 1, END + 9)])
def test_rows_of_another_time_are_those_of_another_run(first: int, last: int) -> None:
    """Only if all rows are of another time; some may be caused by a fault."""
    with pytest.raises(UserError, match="truth is the truth of another run: that one lasted from 455000614502400000 "):
        truth_metadata.check_times(TRUTH, ABOUT, first, last)
    truth_metadata.check_times(TRUTH, ABOUT, START - 9, END + 9)


def test_rows_of_other_tables_are_those_of_another_run() -> None:
    """Only if no table is known."""
    with pytest.raises(UserError, match="that one has bank.account, and these are rows of shop.a, shop.b"):
        truth_metadata.check_tables(TRUTH, [("bank", "account")], [("shop", "b"), ("shop", "a")])
    truth_metadata.check_tables(TRUTH, [("bank", "account")], [("bank", "account"), ("shop", "a")])
    truth_metadata.check_tables(TRUTH, [("bank", "account")], [])

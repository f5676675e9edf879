"""When a row changes is a matter of the row alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.sources.diff import ChangeClock
from simulator.sources.row_changes import ChangePeriod

SPAN = ChangePeriod(1_700_000_000_000, 60_000)
LOW, HIGH = 992_908_482, 2_339_570_961
"""Salts on either side of 2^31, as those of `airports`.`airport` and `nyc`.`flights`."""


def times(salts: tuple[int, ...], table: int, move: int = 0) -> list[int]:
    """The commit-ts of a few rows of one of the tables."""
    clock = ChangeClock(7, np.array(salts, np.uint32).view(np.int32), (SPAN, ChangePeriod(SPAN.next_ms, 5)))
    hashes = clock.row_hashes(np.full(20, table), pa.array([bytes([key]) for key in range(20)], pa.binary()))
    return [int(ts) for ts in clock.commit_ts(clock.slots(hashes, move), move)]


def test_a_table_s_commit_ts_do_not_depend_on_which_other_tables_there_are() -> None:
    assert times((LOW,), 0) == times((HIGH, LOW), 1) == times((LOW, 5), 0)
    assert times((HIGH,), 0) == times((HIGH, LOW), 0)
    assert times((HIGH,), 0) != times((LOW,), 0)


def test_a_change_lies_in_the_span_of_its_move_with_a_logical_part_of_one() -> None:
    for move, span in enumerate((SPAN, ChangePeriod(SPAN.next_ms, 5))):
        found = times((LOW,), 0, move)
        assert {ts & 0x3FFFF for ts in found} == {1}
        assert all(span.start_ms < ts >> 18 <= span.end_ms for ts in found)

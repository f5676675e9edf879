"""When events are due."""

from __future__ import annotations

import pyarrow as pa
import pytest

from simulator import tso
from simulator.engines.tasks.pacing import pace
from simulator.signals import StopRequest


@pytest.mark.parametrize("speed", [9223372036854775808.0, 1e308])
def test_at_any_speed_all_events_are_yielded(speed: float) -> None:
    events = pa.record_batch({"commit_ts": pa.array([tso.compose(second * 1000) for second in range(9)], pa.int64())})

    assert sum(part.num_rows for part in pace([events], speed, 0, 0.0, StopRequest())) == 9

"""When the events of a task are due, and where a task ends that is asked to stop."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.signals import StopRequest
from simulator.tso import physical

POLL_SECONDS = 0.05
"""Interval between checks for a stop request."""


@dataclass
class EarlyEnd:
    """Ends the events of a task after a stop request, behind the last commit-ts that was begun."""

    stop: StopRequest
    last: int = 0
    """The commit-ts of the last event to send."""

    ended: bool = False

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield events until a stop request comes, then only those with the last commit-ts."""
        for batch in batches:
            commit_ts = ints(batch, "commit_ts")
            if self.stop.number:
                count = int(np.searchsorted(commit_ts, self.last, "right"))
                if count:
                    yield batch.slice(0, count)
                if count < len(commit_ts):
                    self.ended = True
                    return
            elif len(commit_ts):
                self.last = int(commit_ts[-1])
                yield batch


def pace(
    batches: Iterable[pa.RecordBatch], speed: float, start_ms: int, began: float, stop: StopRequest
) -> Iterator[pa.RecordBatch]:
    """Yield events when their simulated time has come, in slices of about a tenth of a real second."""
    slice_ms = max(1, int(min(100 * speed, 1 << 62)))
    for batch in batches:
        elapsed_ms = physical(ints(batch, "commit_ts")) - start_ms
        bounds = np.flatnonzero(np.diff(elapsed_ms // slice_ms, prepend=-1, append=1 << 62))
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            due = began + elapsed_ms[first] / 1000 / speed
            while not stop.number and (left := due - time.monotonic()) > 0:
                time.sleep(min(left, POLL_SECONDS))
            yield batch.slice(first, end - first)

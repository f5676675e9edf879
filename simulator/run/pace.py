"""When events of a task are due, and where it ends that is asked to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.signals import Asked
from simulator.tso import physical

NAP = 0.05
"""Seconds until a signal is minded."""


@dataclass
class Until:
    """Where a task ends that is asked to."""

    asked: Asked
    last: int = 0
    """The commit-ts of the last event that is to be sent."""

    ended: bool = False

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The events up to the last one; what has its commit-ts belongs to it."""
        for batch in batches:
            commit_ts = ints(batch, "commit_ts")
            if self.asked.number:
                count = int(np.searchsorted(commit_ts, self.last, "right"))
                if count:
                    yield batch.slice(0, count)
                if count < len(commit_ts):
                    self.ended = True
                    return
            elif len(commit_ts):
                self.last = int(commit_ts[-1])
                yield batch


def paced(
    batches: Iterable[pa.RecordBatch], speed: float, start_ms: int, begun: float, asked: Asked
) -> Iterator[pa.RecordBatch]:
    """Holds events back until their simulated time has come, in slices of about a tenth of a real second."""
    slice_ms = max(1, int(100 * speed))
    for batch in batches:
        slot = physical(ints(batch, "commit_ts")) - start_ms
        bounds = np.flatnonzero(np.diff(slot // slice_ms, prepend=-1, append=1 << 62))
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            due = begun + slot[first] / 1000 / speed
            while not asked.number and (left := due - time.monotonic()) > 0:
                time.sleep(min(left, NAP))
            yield batch.slice(first, end - first)

"""Progress samples of a partition for the report's charts. When there are too many, every other one is dropped, so that
they stay evenly spread."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.columns.change_frame import ROW, WATERMARK, Ints
from simulator.consumer.contract.events import EventArrays
from simulator.consumer.contract.summary import NEVER, ProgressSamples

MOST = 1000
"""Maximum number of samples."""


class Sampler:
    """Collects the progress samples of a partition."""

    def __init__(self) -> None:
        self._samples: npt.NDArray[np.int64] = np.zeros((0, 4), np.int64)
        self._row, self._seen, self._stride = NEVER, 0, 1

    def take(self, events: EventArrays, timestamps: Ints | None) -> None:
        """Add a sample for each watermark of the batch, and for its last record."""
        if not len(events.ts):
            return
        rows = np.where(events.kind == ROW, events.ts, NEVER)
        newest = np.maximum(np.maximum.accumulate(rows), self._row)
        self._row = int(newest[-1])
        last = len(events.ts) - 1
        places = np.union1d(events.at(WATERMARK), [last])
        places = places[(self._seen + np.arange(len(places))) % self._stride == 0]
        self._seen += len(places)
        when = np.full(len(events.ts), -1) if timestamps is None else timestamps
        found = np.stack([each[places] for each in (events.offset, when, events.low[1:], newest)], axis=1)
        self._samples = np.concatenate((self._samples, found))
        while len(self._samples) > MOST:
            self._samples = self._samples[::2]
            self._stride *= 2

    def samples(self) -> ProgressSamples:
        return ProgressSamples(*self._samples.T)

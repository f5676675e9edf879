"""A thread that samples the lag of a consumer group."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from simulator.load.lag.search import LagSample, RateSearch

if TYPE_CHECKING:
    from simulator.sinks.kafka.lag import Offsets

INTERVAL = 0.5
"""Seconds between two samples."""


class LagMonitor:
    """Samples the lag while it is open. Errors of sampling do not end the run."""

    def __init__(
        self,
        fetch: Callable[[], Offsets | None],
        on_sample: Callable[[LagSample], None],
        search: RateSearch | None = None,
    ) -> None:
        """`fetch` returns None if Kafka does not answer."""
        self._fetch, self._on_sample, self._search = fetch, on_sample, search
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample_lag, daemon=True)

    def __enter__(self) -> LagMonitor:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _sample_lag(self) -> None:
        while not self._over.wait(INTERVAL):
            offsets, at = self._fetch(), time.time()
            if offsets is None:
                continue
            if offsets.committed is None:
                if self._search is not None:
                    self._search.add_missing_commit(at)
                continue
            sample = LagSample(at, offsets.end, offsets.committed)
            self._on_sample(sample)
            if self._search is not None:
                self._search.add_sample(sample)

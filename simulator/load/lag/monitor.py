"""A thread that looks again and again how far a consumer group is behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from simulator.load.lag.search import LagSample, RateSearch

INTERVAL = 0.5
"""Seconds from one look to the next."""


class OffsetSums(Protocol):
    """What Kafka says, `sinks.kafka.lag.Offsets`."""

    @property
    def end(self) -> int: ...

    @property
    def committed(self) -> int | None: ...


class LagMonitor:
    """Looks while it is open; nothing that goes wrong with that ends the run."""

    def __init__(
        self, ask: Callable[[], OffsetSums | None], heard: Callable[[LagSample], None], search: RateSearch | None = None
    ) -> None:
        """`ask` gives None where nobody answers."""
        self._ask, self._heard, self._search = ask, heard, search
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> LagMonitor:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(INTERVAL):
            found, at = self._ask(), time.time()
            if found is None:
                continue
            if found.committed is None:
                if self._search is not None:
                    self._search.add_missing_commit(at)
                continue
            sample = LagSample(at, found.end, found.committed)
            self._heard(sample)
            if self._search is not None:
                self._search.add_sample(sample)

"""Collects windows, progress and lag of a load run, for the line of progress, the metrics and the final documents.

Readers and writers hold a lock, for short times only, so that the sending thread does not wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.engines.tasks.progress import Progress
from simulator.load.lag_search import LagSample, SearchResult
from simulator.load.series import LoadSeries
from simulator.load.statistics import LoadStatistics, LoadStatus, RateCheck, RecentRates, SentWindow


@dataclass(frozen=True)
class Setup:
    """The parameters of a load run."""

    plan: str
    """The plan's name."""

    tables: tuple[str, ...]
    """`schema.table` of each of `Model.tables`."""

    topics: Mapping[str, int]
    """The number of partitions by topic."""

    protocol: str
    release: str
    architecture: str
    seed: int
    rate: str
    """As it was given."""

    resolved_interval_ms: int
    driver: str
    """The Kafka client with its version, or the other destination."""

    engine: str
    """`in process`, or the Spark master."""

    sink: str
    """The sink URI without its secrets."""

    duration: float | None = None
    """Seconds."""

    group: str | None = None
    """The consumer group whose lag is watched."""

    unit: str = "message"
    """What the rows are in: messages, or files."""


@dataclass
class LoadMonitor:
    """The figures of a load run so far."""

    setup: Setup
    account: LoadStatistics = field(default_factory=LoadStatistics)
    series: LoadSeries = field(default_factory=LoadSeries)
    reached: RateCheck = field(default_factory=RateCheck)
    recently: RecentRates = field(default_factory=RecentRates)
    lag: LagSample | None = None
    verdict: SearchResult | None = None
    """Of `--until-lag`."""

    unfinished: str = ""
    """The line of `--until-lag` without a verdict."""

    ended: str = ""
    """Why the run ended early, one line."""

    lost: list[str] = field(default_factory=list)
    """Messages about outputs that were not written."""

    started: float = field(default_factory=time.time)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def sent(self, window: SentWindow) -> None:
        """Record a window that was sent."""
        with self.lock:
            for each in (self.account, self.series, self.reached, self.recently):
                each.add(window)

    def heard(self, progress: Progress) -> None:
        """Record the tasks' progress in the open window."""
        with self.lock:
            self.recently.add_progress(progress, time.time())

    def sampled(self, sample: LagSample) -> None:
        """Record the consumer group's lag."""
        with self.lock:
            self.lag = sample
            self.series.lag(sample.at, sample.lag)

    def now(self, at: float | None = None) -> LoadStatus:
        """Return the current figures."""
        with self.lock:
            return self.recently.now(self.account, time.time() if at is None else at)

    def finish(self, ended: str = "", verdict: SearchResult | None = None, unfinished: str = "") -> None:
        """Record the end of the run."""
        with self.lock:
            self.ended, self.verdict, self.unfinished = ended, verdict, unfinished
            self.reached.finish()

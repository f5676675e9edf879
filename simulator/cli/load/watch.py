"""What is seen of a load run while it works: one place that windows, progress and lag come to, and that the live line,
the metrics and the documents at the end read.

One law: who reads holds the lock; the thread that sends waits for nobody longer than that takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.engines.tasks.progress import Progress
from simulator.load.lag.search import LagSample, SearchResult
from simulator.load.reports.rate_check import RateCheck
from simulator.load.reports.sent_window import SentWindow
from simulator.load.reports.series import LoadSeries
from simulator.load.reports.statistics import LoadStatistics, LoadStatus, RecentRates

MIB = 1 << 20
"""In which people are told amounts."""


@dataclass(frozen=True)
class Setup:
    """What a run was asked to be."""

    plan: str
    """Name."""

    tables: tuple[str, ...]
    """`schema.table` of each of `Model.tables`."""

    topics: Mapping[str, int]
    """How many partitions of each are written to."""

    protocol: str
    release: str
    architecture: str
    seed: int
    rate: str
    """As it was given."""

    resolved_interval_ms: int
    driver: str
    """The library, and its version, that takes records to Kafka; or what takes them in its place."""

    engine: str
    """`in process`, or the Spark master."""

    sink: str
    """The sink URI without its secrets."""

    duration: float | None = None
    """Seconds."""

    group: str | None = None
    """The consumer group whose lag is watched."""


@dataclass
class Watch:
    """Told of all that happens."""

    setup: Setup
    account: LoadStatistics = field(default_factory=LoadStatistics)
    series: LoadSeries = field(default_factory=LoadSeries)
    reached: RateCheck = field(default_factory=RateCheck)
    recently: RecentRates = field(default_factory=RecentRates)
    lag: LagSample | None = None
    verdict: SearchResult | None = None
    """Of `--until-lag`."""

    unfinished: str = ""
    """Of `--until-lag` without a verdict, one line."""

    ended: str = ""
    """Why the run ended before its time, one line."""

    lost: list[str] = field(default_factory=list)
    """What it was to leave and did not."""

    started: float = field(default_factory=time.time)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def sent(self, window: SentWindow) -> None:
        """A window was sent."""
        with self.lock:
            for each in (self.account, self.series, self.reached, self.recently):
                each.add(window)

    def heard(self, progress: Progress) -> None:
        """What the tasks say of the open window."""
        with self.lock:
            self.recently.add_progress(progress, time.time())

    def sampled(self, sample: LagSample) -> None:
        """The consumer group's lag."""
        with self.lock:
            self.lag = sample
            self.series.lag(sample.at, sample.lag)

    def now(self, at: float | None = None) -> LoadStatus:
        """How it goes."""
        with self.lock:
            return self.recently.now(self.account, time.time() if at is None else at)

    def finish(self, ended: str = "", verdict: SearchResult | None = None, unfinished: str = "") -> None:
        """The run is over."""
        with self.lock:
            self.ended, self.verdict, self.unfinished = ended, verdict, unfinished
            self.reached.finish()

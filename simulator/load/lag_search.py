"""The lag of a consumer group, which a thread samples, and the search for the highest rate that the group sustains.

Times are arguments. The next rate follows only from them and from the samples.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.sinks.kafka.read import Offsets


RATE_STEP = 1.5
"""The factor from one rate to the next, until one is too high."""

PRECISION = 1.07
"""The search ends when the lowest unsustained rate is within this factor of the sustained one."""

SETTLING = 2.0
"""A new rate is not judged for this many seconds."""

SHORTEST, LONGEST = 6.0, 30.0
"""Seconds over which a rate is judged. They hold several commits, as lag falls with each one."""

COMMITS_TO_JUDGE = 4

PATIENCE = 6
"""Lag that grows for this many times as long counts as growing beyond the limit, even below it."""

NEGLIGIBLE_GROWTH = 0.02
"""Growth of lag below this share of the records sent counts as none."""

LEAST_GROWTH = 0.5
"""Growth below this many records a second counts as none."""

REACHED_SHARE = 0.95
"""If less than this share of the rate is sent, the consumer is not the bottleneck."""

LOWEST_RATE = 1.0
"""Rows a second."""

FIRST_COMMIT_WITHIN = 30.0
"""A group that commits nothing for this many seconds counts as silent."""


@dataclass(frozen=True)
class LagSample:
    """Offsets of a group and of Kafka, summed over all partitions of the run."""

    at: float
    """Seconds since 1970."""

    end: int
    committed: int

    @property
    def lag(self) -> int:
        """Records."""
        return max(0, self.end - self.committed)


@dataclass(frozen=True)
class SearchResult:
    sustained: float
    """Rows a second; 0 if even the lowest rate was not sustained."""

    too_much: float | None
    """The lowest rate at which lag grew; None if the group kept up with all that could be sent."""

    growth: float = 0.0
    """Records a second by which lag grew at that rate."""

    at_most: bool = False
    """Whether the search ended because the sustained rate is the maximum asked for."""

    def describe(self, group: str) -> str:
        """Describe the result in one line."""
        grew = f"the lag of group {group} grew by {self.growth:,.0f} records/s"
        if self.at_most:
            return f"sustained {self.sustained:,.0f} rows/s, the maximum asked for: group {group} keeps up with it"
        if self.too_much is None:
            return f"sustained {self.sustained:,.0f} rows/s: group {group} keeps up with all that is sent"
        if not self.sustained:
            return f"sustained no rate: at {self.too_much:,.0f} rows/s {grew}"
        return f"sustained {self.sustained:,.0f} rows/s: at {self.too_much:,.0f} {grew}"


class RateSearch:
    """A search for the highest sustained rate.

    It raises the rate in steps until the group's lag grows beyond the limit. Then it bisects between the highest
    sustained and the lowest unsustained rate. Between two rates it waits until the lag is gone. It never tries more than
    `most` rows a second.
    """

    def __init__(self, limit: int, first: float = 1000.0, most: float = math.inf) -> None:
        self.limit = limit
        self.first = first
        self.most = most
        self.rate = first
        """The rate to try now, in rows a second."""

        self.verdict: SearchResult | None = None
        self.group_is_silent = False
        """Whether the search ended because the group commits nothing."""

        self._sustained = 0.0
        self._too_much: float | None = None
        self._growth = 0.0
        self._draining = False
        self._rate_since: float | None = None
        """The time since when rows are sent at the rate."""

        self._samples: list[LagSample] = []
        self._reached: list[tuple[float, float, int]] = []
        self._commit: tuple[float, int] | None = None
        self._commit_interval = 0.0
        self._began: float | None = None
        self._lock = threading.Lock()

    @property
    def ended(self) -> bool:
        return self.verdict is not None or self.group_is_silent

    @property
    def has_commits(self) -> bool:
        """Whether the group has committed an offset."""
        return self._commit is not None

    def unfinished(self, group: str) -> str:
        """Describe in one line a search that the end of the run cut short."""
        known = [f"sustained {self._sustained:,.0f} rows/s"] if self._sustained else []
        known += [f"not {self._too_much:,.0f}"] if self._too_much else []
        so_far = f"group {group} {' and '.join(known)} so far" if known else "no rate was judged so far"
        return f"--until-lag found no verdict before the run ended: {so_far}; a longer --duration gives it time"

    def add_window(self, target_rate: float, began: float, ended: float, rows: int) -> None:
        """Record a window that was sent; `target_rate` is in rows a second."""
        with self._lock:
            self._began = self._began or ended
            if math.isclose(target_rate, self.rate, rel_tol=0.05):
                self._rate_since = began if self._rate_since is None else self._rate_since
                self._reached.append((began, ended, rows))

    def add_missing_commit(self, at: float) -> None:
        """Record that the group has committed nothing yet."""
        with self._lock:
            if self._began is not None and self._commit is None and at - self._began >= FIRST_COMMIT_WITHIN:
                self.group_is_silent = True

    def add_sample(self, sample: LagSample) -> None:
        """Record a sample; one is expected about every second."""
        with self._lock:
            self._add_sample(sample)

    def _add_sample(self, sample: LagSample) -> None:
        self._note_commit(sample)
        if self.ended or self._rate_since is None or sample.at < self._rate_since + SETTLING:
            return
        self._samples.append(sample)
        seconds = sample.at - self._samples[0].at
        if self._draining:
            if self._commit is not None and sample.at - self._commit[0] >= 2 * LONGEST:
                self.verdict = SearchResult(self._sustained, self._too_much, self._growth)
            elif sample.lag <= self.limit / 2 or seconds >= PATIENCE * LONGEST:
                self._draining = False
                self._try(self._midpoint())
        elif seconds >= self._judging_seconds:
            self._judge(sample, seconds)

    def _note_commit(self, sample: LagSample) -> None:
        """Measure the time between the group's commits."""
        if self._commit is None or sample.committed != self._commit[1]:
            if self._commit is not None:
                self._commit_interval = max(0.8 * self._commit_interval, sample.at - self._commit[0])
            self._commit = sample.at, sample.committed

    def _judge(self, sample: LagSample, seconds: float) -> None:
        growth, patient = lag_growth(self._samples), seconds >= PATIENCE * self._judging_seconds
        sent = (sample.end - self._samples[0].end) / seconds
        growing = growth > max(NEGLIGIBLE_GROWTH * sent, LEAST_GROWTH)
        if growing == (sample.lag > self.limit) or patient:
            speed = self._speed()
            reached = speed >= REACHED_SHARE * self.rate
            if growing:
                self._too_much, self._growth = self.rate if reached else speed, growth
                self._narrow(draining=True)
            elif reached:
                self._sustained = self.rate
                self._narrow(draining=False)
            else:
                self.verdict = SearchResult(speed, self._too_much, self._growth)

    @property
    def _judging_seconds(self) -> float:
        return min(max(SHORTEST, COMMITS_TO_JUDGE * self._commit_interval), LONGEST)

    def _speed(self) -> float:
        """Return the rows a second that were sent."""
        return sum(rows for *_, rows in self._reached) / (self._reached[-1][1] - self._reached[0][0])

    def _narrow(self, draining: bool) -> None:
        """Choose the next rate, or end the search."""
        if self._too_much is None and self._sustained >= self.most:
            self.verdict = SearchResult(self._sustained, None, at_most=True)
        elif self._too_much is None:
            self._try(min(_round(RATE_STEP * self._sustained), self.most))
        elif self._too_much <= PRECISION * max(self._sustained, LOWEST_RATE):
            self.verdict = SearchResult(self._sustained, self._too_much, self._growth)
        elif draining:
            self._draining = True
            self._try(max(0.7 * self._sustained, 0.3 * self._midpoint(), LOWEST_RATE))
        else:
            self._try(self._midpoint())

    def _midpoint(self) -> float:
        assert self._too_much is not None
        return max(_round((self._sustained + self._too_much) / 2), LOWEST_RATE)

    def _try(self, rate: float) -> None:
        self.rate = rate
        self._rate_since, self._samples, self._reached = None, [], []


def lag_growth(samples: list[LagSample]) -> float:
    """Return the records a second by which lag grows.

    The growth is measured from the minimum in the first half of the samples to the minimum in the second half, as lag
    falls only when the group commits.
    """
    half = samples[0].at + (samples[-1].at - samples[0].at) / 2
    first = min((sample for sample in samples if sample.at <= half), key=lambda sample: (sample.lag, -sample.at))
    second = min((sample for sample in samples if sample.at > half), key=lambda sample: (sample.lag, -sample.at))
    return (second.lag - first.lag) / (second.at - first.at)


def _round(rate: float) -> float:
    """Round to three significant figures."""
    return float(f"{rate:.3g}")


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

"""How far a consumer group is behind what Kafka has, and the search for the rate at which it just keeps up.

One law: time comes in with what was seen; what is tried next follows from that and from nothing else.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

RATE_STEP = 1.5
"""Of the rate from one step to the next, until one is too much."""

PRECISION = 1.07
"""How much the least rate that was too much lies above the sustained one at the end."""

SETTLING = 2.0
"""Seconds of a new rate that are not judged."""

SHORTEST, LONGEST = 6.0, 30.0
"""Seconds in which a rate is judged: several of the group's commits, as lag falls with each one."""

COMMITS_TO_JUDGE = 4

PATIENCE = 6
"""How often as long lag may grow below its limit before that counts as growing beyond it."""

NEGLIGIBLE_GROWTH = 0.02
"""Of the records that are sent: growth that is none."""

LEAST_GROWTH = 0.5
"""Records a second."""

REACHED_SHARE = 0.95
"""Of the rate that is tried: where less than that is sent, it is not the consumer that is slow."""

LOWEST_RATE = 1.0
"""Rows a second."""

FIRST_COMMIT_WITHIN = 30.0
"""Seconds in which a group commits, or is taken for none."""


@dataclass(frozen=True)
class LagSample:
    """Offsets of a group and of Kafka, summed up over all partitions of the run."""

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
    """What the search has found."""

    sustained: float
    """Rows a second; 0 where not even the slowest rate was."""

    too_much: float | None
    """The least rate at which lag grew; None where the group kept up with all that could be sent."""

    growth: float = 0.0
    """Records a second that lag grew by at that rate."""

    def of(self, group: str) -> str:
        """One line for people."""
        grew = f"the lag of group {group} grew by {self.growth:,.0f} records/s"
        if self.too_much is None:
            return f"sustained {self.sustained:,.0f} rows/s: group {group} keeps up with all that is sent"
        if not self.sustained:
            return f"sustained no rate: at {self.too_much:,.0f} rows/s {grew}"
        return f"sustained {self.sustained:,.0f} rows/s: at {self.too_much:,.0f} {grew}"


class RateSearch:
    """Raises the rate in steps until the group's lag grows beyond the limit and keeps growing; then halves the distance
    between the rate that it sustained and the one it did not. In between it waits until the lag is gone."""

    def __init__(self, limit: int, first: float = 1000.0) -> None:
        self.limit = limit
        self.first = first
        self.rate = first
        """Rows a second that are to be tried now."""

        self.verdict: SearchResult | None = None
        self.group_is_silent = False
        """Whether it ended as the group commits nothing."""

        self._sustained = 0.0
        self._too_much: float | None = None
        self._growth = 0.0
        self._draining = False
        self._from: float | None = None
        """Since when the rate is as it is to be."""

        self._samples: list[LagSample] = []
        self._reached: list[tuple[float, float, int]] = []
        self._commit: tuple[float, int] | None = None
        self._between = 0.0
        self._began: float | None = None
        self._lock = threading.Lock()

    @property
    def ended(self) -> bool:
        return self.verdict is not None or self.group_is_silent

    @property
    def has_commits(self) -> bool:
        """Whether the group has committed anything."""
        return self._commit is not None

    def unfinished(self, group: str) -> str:
        """One line for people about a search that the end of the run cut short."""
        known = [f"sustained {self._sustained:,.0f} rows/s"] if self._sustained else []
        known += [f"not {self._too_much:,.0f}"] if self._too_much else []
        so_far = f"group {group} {' and '.join(known)} so far" if known else "no rate was judged so far"
        return f"--until-lag found no verdict before the run ended: {so_far}; a longer --duration gives it time"

    def add_window(self, target_rate: float, began: float, ended: float, rows: int) -> None:
        """A window was sent, for which so many rows a second were asked."""
        with self._lock:
            self._began = self._began or ended
            if math.isclose(target_rate, self.rate, rel_tol=0.05):
                self._from = began if self._from is None else self._from
                self._reached.append((began, ended, rows))

    def add_missing_commit(self, at: float) -> None:
        """The group has committed nothing yet."""
        with self._lock:
            if self._began is not None and self._commit is None and at - self._began >= FIRST_COMMIT_WITHIN:
                self.group_is_silent = True

    def add_sample(self, sample: LagSample) -> None:
        """What was seen, about once a second."""
        with self._lock:
            self._add_sample(sample)

    def _add_sample(self, sample: LagSample) -> None:
        self._committed(sample)
        if self.ended or self._from is None or sample.at < self._from + SETTLING:
            return
        self._samples.append(sample)
        seconds = sample.at - self._samples[0].at
        if self._draining:
            if self._commit is not None and sample.at - self._commit[0] >= 2 * LONGEST:
                self.verdict = SearchResult(self._sustained, self._too_much, self._growth)
            elif sample.lag <= self.limit / 2 or seconds >= PATIENCE * LONGEST:
                self._draining = False
                self._try(self._between_both())
        elif seconds >= self._judged_within:
            self._judge(sample, seconds)

    def _committed(self, sample: LagSample) -> None:
        """How far apart the group's commits are."""
        if self._commit is None or sample.committed != self._commit[1]:
            if self._commit is not None:
                self._between = max(0.8 * self._between, sample.at - self._commit[0])
            self._commit = sample.at, sample.committed

    def _judge(self, sample: LagSample, seconds: float) -> None:
        growth, patient = lag_growth(self._samples), seconds >= PATIENCE * self._judged_within
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
    def _judged_within(self) -> float:
        return min(max(SHORTEST, COMMITS_TO_JUDGE * self._between), LONGEST)

    def _speed(self) -> float:
        """Rows a second that were sent."""
        return sum(rows for *_, rows in self._reached) / (self._reached[-1][1] - self._reached[0][0])

    def _narrow(self, draining: bool) -> None:
        """The next rate, or the verdict."""
        if self._too_much is None:
            self._try(_rounded(RATE_STEP * self._sustained))
        elif self._too_much <= PRECISION * max(self._sustained, LOWEST_RATE):
            self.verdict = SearchResult(self._sustained, self._too_much, self._growth)
        elif draining:
            self._draining = True
            self._try(max(0.7 * self._sustained, 0.3 * self._between_both(), LOWEST_RATE))
        else:
            self._try(self._between_both())

    def _between_both(self) -> float:
        assert self._too_much is not None
        return max(_rounded((self._sustained + self._too_much) / 2), LOWEST_RATE)

    def _try(self, rate: float) -> None:
        self.rate = rate
        self._from, self._samples, self._reached = None, [], []


def lag_growth(samples: list[LagSample]) -> float:
    """Records a second by which lag grows: from its least in the first half to its least in the second, as it falls
    only when the group commits."""
    half = samples[0].at + (samples[-1].at - samples[0].at) / 2
    first = min((sample for sample in samples if sample.at <= half), key=lambda sample: (sample.lag, -sample.at))
    second = min((sample for sample in samples if sample.at > half), key=lambda sample: (sample.lag, -sample.at))
    return (second.lag - first.lag) / (second.at - first.at)


def _rounded(rate: float) -> float:
    """To three figures, for people."""
    return float(f"{rate:.3g}")

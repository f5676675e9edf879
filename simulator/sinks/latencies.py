"""Latencies of acknowledgements, counted in buckets that grow by a twelfth.

The sum of partial counts equals the count of the whole, in any order and on any machine. Quantiles are at most one
bucket too large.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

GROWTH = 1.0833
MICROSECOND = 1e-6


@dataclass(frozen=True)
class Latencies:
    """Numbers of records by the time until their acknowledgement."""

    counts: tuple[tuple[int, int], ...] = ()
    """(bucket, records), ascending: a bucket begins at 1.0833 ** bucket microseconds."""

    longest: float = 0.0
    """The longest latency in seconds."""

    @staticmethod
    def of(seconds: Sequence[float], records: Sequence[int]) -> Latencies:
        """Return the counts of these latencies, each of that many records."""
        recorder = LatencyRecorder()
        for latency, count in zip(seconds, records, strict=True):
            recorder.add(latency, count)
        return recorder.take()

    @staticmethod
    def total(parts: Iterable[Latencies]) -> Latencies:
        """Return the sum of the parts."""
        counts: Counter[int] = Counter()
        longest = 0.0
        for part in parts:
            counts.update(dict(part.counts))
            longest = max(longest, part.longest)
        return Latencies(tuple(sorted(counts.items())), longest)

    def __add__(self, other: Latencies) -> Latencies:
        return Latencies.total((self, other))

    @property
    def records(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def seconds(self) -> float:
        """The sum of all latencies, by the ends of their buckets."""
        return sum(min(_seconds(bucket + 1), self.longest) * count for bucket, count in self.counts)

    def quantile(self, share: float) -> float:
        """Return within how many seconds that share of the records was acknowledged; 0 without records."""
        return self.quantiles([share])[0]

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return `quantile` of several shares."""
        if not self.counts:
            return [0.0 for _ in shares]
        cumulative = np.cumsum([count for _, count in self.counts])
        positions = np.searchsorted(cumulative, [max(1, math.ceil(share * cumulative[-1])) for share in shares])
        return [min(_seconds(self.counts[position][0] + 1), self.longest) for position in positions.tolist()]

    def within(self, seconds: float) -> int:
        """Return how many records took no longer, by the bucket of that time."""
        last = _bucket(seconds)
        return sum(count for bucket, count in self.counts if bucket < last) if self.longest > seconds else self.records


class LatencyRecorder:
    """A recorder of latencies."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._longest = 0.0

    def add(self, seconds: float, records: int) -> None:
        """Record that this many records were acknowledged after that time."""
        self._counts[_bucket(seconds)] += records
        self._longest = max(self._longest, seconds)

    def take(self) -> Latencies:
        """Return the latencies recorded since the last call."""
        latencies = Latencies(tuple(sorted(self._counts.items())), self._longest)
        self._counts, self._longest = Counter(), 0.0
        return latencies


def _bucket(seconds: float) -> int:
    return int(math.log(max(seconds / MICROSECOND, 1.0)) / math.log(GROWTH))


def _seconds(bucket: int) -> float:
    return float(GROWTH**bucket * MICROSECOND)

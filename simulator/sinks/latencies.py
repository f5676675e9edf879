"""How long acknowledgements take, counted in steps of a twelfth.

One law: added up in any order, and on any machine, the counts of parts are those of the whole; what is said of them is
at most a step more than it was.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

STEP = 1.0833
MICROSECOND = 1e-6


@dataclass(frozen=True)
class Latencies:
    """Counts of records by how long their acknowledgement took."""

    counts: tuple[tuple[int, int], ...] = ()
    """(step, records), ascending: a step is from 1.0833 ** step microseconds on"""

    longest: float = 0.0
    """Seconds."""

    @staticmethod
    def of(seconds: npt.ArrayLike, records: npt.ArrayLike = 1) -> Latencies:
        """Of so many records (or one) each of these."""
        taken = np.asarray(seconds, np.float64)
        if not taken.size:
            return Latencies()
        steps, place = np.unique(_step(taken), return_inverse=True)
        many = np.bincount(place.reshape(-1), np.broadcast_to(records, taken.shape), len(steps))
        pairs = zip(steps.tolist(), many.astype(np.int64).tolist(), strict=True)
        return Latencies(tuple((step, count) for step, count in pairs if count), float(taken.max()))

    @staticmethod
    def read(document: Mapping[str, Any]) -> Latencies:
        """Back from the JSON of its fields."""
        return Latencies(tuple((step, count) for step, count in document["counts"]), document["longest"])

    @staticmethod
    def total(parts: Iterable[Latencies]) -> Latencies:
        """All of them together."""
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
        """All of them together, by the ends of their steps."""
        return sum(min(_seconds(step + 1), self.longest) * count for step, count in self.counts)

    def quantile(self, share: float) -> float:
        """Within how many seconds that share of the records was acknowledged; 0 where there is none."""
        return self.quantiles([share])[0]

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """The same of several shares."""
        if not self.counts:
            return [0.0 for _ in shares]
        passed = np.cumsum([count for _, count in self.counts])
        places = np.searchsorted(passed, [max(1, math.ceil(share * passed[-1])) for share in shares])
        return [min(_seconds(self.counts[place][0] + 1), self.longest) for place in places.tolist()]

    def within(self, seconds: float) -> int:
        """How many records took no longer, by the step in which that lies."""
        last = int(_step(np.float64(seconds)))
        return sum(count for step, count in self.counts if step < last) if self.longest > seconds else self.records


class Measured:
    """Counts as they come."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._longest = 0.0

    def add(self, seconds: float, records: int) -> None:
        """So many records were acknowledged after so long."""
        self._counts[int(_step(np.float64(seconds)))] += records
        self._longest = max(self._longest, seconds)

    def taken(self) -> Latencies:
        """What was counted since this was last called."""
        found = Latencies(tuple(sorted(self._counts.items())), self._longest)
        self._counts, self._longest = Counter(), 0.0
        return found


def _step(seconds: npt.NDArray[np.float64] | np.float64) -> npt.NDArray[np.int64]:
    micros = np.maximum(seconds / MICROSECOND, 1.0)
    return np.asarray(np.log(micros) / math.log(STEP), np.int64)


def _seconds(step: int) -> float:
    return float(STEP**step * MICROSECOND)

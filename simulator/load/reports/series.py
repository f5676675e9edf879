"""What a run did over time, in at most so many points, however long it goes on.

One law: what was sent is counted once: the points add up to the whole, in seconds of which each is as long as another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.load.reports.sent_window import SentWindow
from simulator.sinks.latencies import Latencies

POINTS = 3600

LATENCY_BUCKETS = 320
"""Of latencies: up to a day."""

SUMMED = ("rows", "bytes", "messages", "asked", "asked_seconds", "resent")
LARGEST = ("behind", "lag", "longest")


@dataclass(frozen=True)
class SeriesPoint:
    """A second, or so many of them."""

    at: float
    """When it began, in seconds since 1970."""

    seconds: float
    """So much of it as the run went on."""

    rows: float
    bytes: float
    messages: float
    resent: float
    target_rate: float | None
    """Rows a second; None where no rate was asked."""

    behind: float | None
    """Seconds later than asked, at most; None where no window ended or no rate was asked."""

    lag: float | None
    """The largest that was seen; None where none was."""

    latencies: Latencies


class LoadSeries:
    """Grows by the second; when it has too many points, two become one."""

    def __init__(self, points: int = POINTS) -> None:
        self._points = points + points % 2
        self.width = 1.0
        """Seconds of a point."""

        self._began: float | None = None
        self._started = self._ended = 0.0
        self._used = 0
        self._sums = {name: np.zeros(self._points) for name in SUMMED}
        self._most = {name: np.full(self._points, np.nan) for name in LARGEST}
        self._counts = np.zeros((self._points, LATENCY_BUCKETS), np.int64)

    def add(self, window: SentWindow) -> None:
        """Its rows count as sent evenly from its first record to its watermark."""
        messages, size = (sum(counts[place] for counts in window.partitions.values()) for place in (1, 2))
        places, shares = self._shares(window.began, window.ended)
        amounts = {"rows": sum(window.rows.values()), "bytes": size, "messages": messages, "resent": window.resent}
        for name, amount in amounts.items():
            self._sums[name][places] += shares * amount
        self._started = self._started or window.began
        since, self._ended = min(self._ended or window.began, window.began), window.ended
        if window.target_rate:
            places, shares = self._shares(since, window.ended)
            seconds = shares * (window.ended - since)
            self._sums["asked"][places] += seconds * window.target_rate
            self._sums["asked_seconds"][places] += seconds
            self._largest("behind", window.ended, window.behind)
        last = self._place(window.ended)
        for step, count in window.latencies.counts:
            self._counts[last, min(step, LATENCY_BUCKETS - 1)] += count
        self._largest("longest", window.ended, window.latencies.longest)

    def lag(self, at: float, lag: int) -> None:
        """Of the consumer group, in records."""
        self._largest("lag", at, lag)

    def points(self) -> list[SeriesPoint]:
        """From the first one to the last one."""
        return [self._point(place) for place in range(self._used)]

    def _point(self, place: int) -> SeriesPoint:
        sums = {name: float(values[place]) for name, values in self._sums.items()}
        behind, lag, longest = (_number(self._most[name][place]) for name in LARGEST)
        steps = np.flatnonzero(self._counts[place]).tolist()
        counts = tuple((step, int(self._counts[place, step])) for step in steps)
        asked = sums["asked"] / sums["asked_seconds"] if sums["asked_seconds"] else None
        assert self._began is not None
        first, last = self._began + place * self.width, self._began + (place + 1) * self.width
        covered = min(last, max(self._ended, first)) - min(max(first, self._started or first), last)
        return SeriesPoint(
            first,
            max(covered, self.width / 4),
            sums["rows"],
            sums["bytes"],
            sums["messages"],
            sums["resent"],
            asked,
            behind,
            lag,
            Latencies(counts, longest or 0.0),
        )

    def _largest(self, name: str, at: float, value: float) -> None:
        place = self._place(at)
        self._most[name][place] = np.fmax(self._most[name][place], value)

    def _place(self, at: float) -> int:
        """The point of that moment; what lies before the first one counts as its."""
        if self._began is None:
            self._began = float(np.floor(at))
        while at - self._began >= self.width * self._points:
            self._halve()
        place = max(0, int((at - self._began) / self.width))
        self._used = max(self._used, place + 1)
        return place

    def _shares(self, first: float, last: float) -> tuple[slice, npt.NDArray[np.float64]]:
        """The points between two moments, and which share of the time each has."""
        self._place(first)
        end = self._place(max(first, last))
        begin = self._place(first)
        assert self._began is not None
        edges = self._began + self.width * np.arange(begin, end + 2)
        inside = np.diff(np.clip(edges, first, max(first, last)))
        shares = inside / inside.sum() if inside.sum() else np.full(len(inside), 1 / len(inside))
        return slice(begin, end + 1), shares

    def _halve(self) -> None:
        """Two points become one."""
        half = self._points // 2
        for values in self._sums.values():
            values[:half] = values.reshape(half, 2).sum(axis=1)
            values[half:] = 0.0
        for values in self._most.values():
            values[:half] = np.fmax(values[0::2], values[1::2])
            values[half:] = np.nan
        self._counts[:half] = self._counts.reshape(half, 2, LATENCY_BUCKETS).sum(axis=1)
        self._counts[half:] = 0
        self.width *= 2
        self._used = (self._used + 1) // 2


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def columns(points: Sequence[SeriesPoint]) -> dict[str, list[float | None]]:
    """By name, for documents: seconds since the first point, rates a second, latencies in milliseconds."""
    quantiles = [point.latencies.quantiles([0.5, 0.99]) if point.latencies.counts else None for point in points]
    began = points[0].at if points else 0.0
    return {
        "second": [point.at - began for point in points],
        "rows_per_second": [round(point.rows / point.seconds, 1) for point in points],
        "asked_rows_per_second": [
            None if point.target_rate is None else round(point.target_rate, 1) for point in points
        ],
        "bytes_per_second": [round(point.bytes / point.seconds) for point in points],
        "messages_per_second": [round(point.messages / point.seconds, 1) for point in points],
        "latency_p50_ms": [None if each is None else round(1000 * each[0], 3) for each in quantiles],
        "latency_p99_ms": [None if each is None else round(1000 * each[1], 3) for each in quantiles],
        "latency_max_ms": [
            round(1000 * point.latencies.longest, 3) if point.latencies.counts else None for point in points
        ],
        "lag": [point.lag for point in points],
        "behind_seconds": [None if point.behind is None else round(point.behind, 3) for point in points],
        "resent": [round(point.resent) for point in points],
    }

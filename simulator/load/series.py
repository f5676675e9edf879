"""A time series of a run, with a bounded number of points of equal length.

The sums over all points equal the totals of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.load.statistics import SentWindow
from simulator.sinks.records import Latencies

POINTS = 3600

SHORTEST = 0.001
"""Seconds that a run of one point lasts at least."""

LATENCY_BUCKETS = 320
"""Buckets of the latency histogram: up to a day."""

SUMMED = ("rows", "bytes", "messages", "asked", "asked_seconds", "resent")
LARGEST = ("behind", "lag", "longest")


@dataclass(frozen=True)
class SeriesPoint:
    """A point of the series: one second, or several."""

    at: float
    """The start, in seconds since 1970."""

    seconds: float
    """The time of the run that it covers."""

    rows: float
    bytes: float
    messages: float
    resent: float
    target_rate: float | None
    """Rows a second; None without a rate."""

    behind: float | None
    """The largest delay in seconds; None if no window ended or no rate was asked for."""

    lag: float | None
    """The largest lag; None without a sample."""

    latencies: Latencies


class LoadSeries:
    """A series that grows by the second. When it has too many points, pairs of them are merged."""

    def __init__(self, points: int = POINTS) -> None:
        self._points = points + points % 2
        self.width = 1.0
        """Seconds for each point."""

        self._began: float | None = None
        self._started = self._ended = 0.0
        self._used = 0
        self._sums = {name: np.zeros(self._points) for name in SUMMED}
        self._maxima = {name: np.full(self._points, np.nan) for name in LARGEST}
        # written to at once: the pages of `np.zeros` come one by one, and a run seems to grow for its first hour
        self._counts = np.full((self._points, LATENCY_BUCKETS), 0, np.int64)

    def add(self, window: SentWindow) -> None:
        """Add a window. Its rows are spread evenly from its first record to its watermark."""
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
            self._note_maximum("behind", window.ended, window.behind)
        last = self._place(window.ended)
        for step, count in window.latencies.counts:
            self._counts[last, min(step, LATENCY_BUCKETS - 1)] += count
        self._note_maximum("longest", window.ended, window.latencies.longest)

    def lag(self, at: float, lag: int) -> None:
        """Add a sample of the lag of the consumer group, in records."""
        self._note_maximum("lag", at, lag)

    def points(self) -> list[SeriesPoint]:
        return [self._point(place) for place in range(self._used)]

    def _point(self, place: int) -> SeriesPoint:
        sums = {name: float(values[place]) for name, values in self._sums.items()}
        behind, lag, longest = (_none_if_nan(self._maxima[name][place]) for name in LARGEST)
        steps = np.flatnonzero(self._counts[place]).tolist()
        counts = tuple((step, int(self._counts[place, step])) for step in steps)
        asked = sums["asked"] / sums["asked_seconds"] if sums["asked_seconds"] else None
        assert self._began is not None
        first, last = self._began + place * self.width, self._began + (place + 1) * self.width
        covered = min(last, max(self._ended, first)) - min(max(first, self._started or first), last)
        return SeriesPoint(
            first,
            max(covered, self.width / 4 if self._used > 1 else SHORTEST),  # the end of a run is no peak
            sums["rows"],
            sums["bytes"],
            sums["messages"],
            sums["resent"],
            asked,
            behind,
            lag,
            Latencies(counts, longest or 0.0),
        )

    def _note_maximum(self, name: str, at: float, value: float) -> None:
        place = self._place(at)
        self._maxima[name][place] = np.fmax(self._maxima[name][place], value)

    def _place(self, at: float) -> int:
        """Return the point of that moment. Moments before the first point count as its."""
        if self._began is None:
            self._began = float(np.floor(at))
        while at - self._began >= self.width * self._points:
            self._merge_pairs()
        place = max(0, int((at - self._began) / self.width))
        self._used = max(self._used, place + 1)
        return place

    def _shares(self, first: float, last: float) -> tuple[slice, npt.NDArray[np.float64]]:
        """Return the points between two moments, and the share of the time that each has."""
        self._place(first)
        end = self._place(max(first, last))
        begin = self._place(first)
        assert self._began is not None
        edges = self._began + self.width * np.arange(begin, end + 2)
        inside = np.diff(np.clip(edges, first, max(first, last)))
        shares = inside / inside.sum() if inside.sum() else np.full(len(inside), 1 / len(inside))
        return slice(begin, end + 1), shares

    def _merge_pairs(self) -> None:
        half = self._points // 2
        for values in self._sums.values():
            values[:half] = values.reshape(half, 2).sum(axis=1)
            values[half:] = 0.0
        for values in self._maxima.values():
            values[:half] = np.fmax(values[0::2], values[1::2])
            values[half:] = np.nan
        self._counts[:half] = self._counts.reshape(half, 2, LATENCY_BUCKETS).sum(axis=1)
        self._counts[half:] = 0
        self.width *= 2
        self._used = (self._used + 1) // 2


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def columns(points: Sequence[SeriesPoint]) -> dict[str, list[float | None]]:
    """Return the columns of documents by name: seconds since the first point, rates a second, latencies in
    milliseconds.
    """
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

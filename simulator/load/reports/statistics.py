"""What a load run has sent: totals, and rates of the last seconds."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.engines.tasks.progress import Progress
from simulator.load.reports.sent_window import SentWindow
from simulator.sinks.latencies import Latencies

RECENT_SECONDS = 10.0
"""Seconds."""


@dataclass
class LoadStatistics:
    """The totals of a run. Windows are added in order."""

    windows: int = 0
    rows: int = 0
    messages: int = 0
    bytes: int = 0
    retried: int = 0
    resent: int = 0
    target_rows: float = 0.0
    """Rows that the rate asked for, over the time in which there was one."""

    paced: tuple[int, float] = 0, 0.0
    """Rows sent in that time, and its length in seconds."""

    began: float = 0.0
    ended: float = 0.0
    watermark: int = 0
    end_ms: int = 0
    changes: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(index in `Model.tables`, op) → rows"""

    partitions: dict[tuple[str, int], tuple[int, int, int]] = field(default_factory=dict)
    """(topic, partition) → rows, messages, bytes"""

    latencies: Latencies = Latencies()

    def add(self, window: SentWindow) -> None:
        rows, since = sum(window.rows.values()), min(self.ended or window.began, window.began)
        self.windows += 1
        self.rows += rows
        self.retried += window.retried
        self.resent += window.resent
        if window.target_rate:
            self.target_rows += window.target_rate * (window.ended - since)
            self.paced = self.paced[0] + rows, self.paced[1] + window.ended - since
        self.began, self.ended = self.began or window.began, window.ended
        self.watermark, self.end_ms = window.watermark, window.end_ms
        self.changes.update(window.rows)
        for partition, counts in window.partitions.items():
            before = self.partitions.get(partition, (0, 0, 0))
            self.partitions[partition] = before[0] + counts[0], before[1] + counts[1], before[2] + counts[2]
            self.messages += counts[1]
            self.bytes += counts[2]
        self.latencies += window.latencies

    @property
    def seconds(self) -> float:
        """From the first record to the last acknowledgement."""
        return self.ended - self.began

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def bytes_rate(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def reached_share(self) -> float | None:
        """The share of the target that was sent; None without a rate."""
        return self.paced[0] / self.target_rows if self.target_rows else None

    def rows_by_table(self) -> dict[int, dict[str, int]]:
        """Return counts by index in `Model.tables`."""
        names = {INSERT: "inserted", UPDATE: "updated", DELETE: "deleted"}
        tables = sorted({table for table, _ in self.changes})
        return {table: {names[op]: self.changes[table, op] for op in names} for table in tables}


@dataclass(frozen=True)
class LoadStatus:
    """The progress of a run at a moment."""

    rows: int
    """Sent so far, including those of the open window as far as known."""

    bytes: int
    rows_per_second: float
    bytes_per_second: float
    target_rate: float
    behind: float
    in_flight: int
    p99: float
    watermark: int


class RecentRates:
    """Rates of the last `RECENT_SECONDS`."""

    def __init__(self) -> None:
        self._windows: deque[SentWindow] = deque()
        self._last_counts: dict[tuple[str, int], int] = {}
        self._open: deque[tuple[float, int, int]] = deque()
        """Progress in the open window: the time, and the events and bytes added since the report before."""

        self._in_flight = 0

    def add(self, window: SentWindow) -> None:
        self._windows.append(window)
        while len(self._windows) > 1 and self._windows[1].ended < window.ended - RECENT_SECONDS:
            self._windows.popleft()
        self._open.clear()

    def add_progress(self, progress: Progress, at: float) -> None:
        """Add a progress report of the tasks on the open window."""
        self._open.append((at, self._increase("events", progress.events), self._increase("bytes", progress.bytes)))
        self._in_flight = sum(list(progress.in_flight.values()))

    def _increase(self, name: str, counts: Mapping[int, int]) -> int:
        """Return the increase since the last report. A task whose count fell was restarted."""
        increase = 0
        for task, count in list(counts.items()):
            before = self._last_counts.get((name, task), 0)
            increase += count - before if count >= before else count
            self._last_counts[name, task] = count
        return increase

    def now(self, account: LoadStatistics, at: float) -> LoadStatus:
        recent = [window for window in self._windows if window.ended >= at - RECENT_SECONDS]
        since = min(
            (max(window.began, at - RECENT_SECONDS) for window in recent),
            default=max(at - RECENT_SECONDS, account.ended),
        )
        rows = bytes_ = 0.0
        for window in recent:
            share = min(1.0, (window.ended - since) / max(window.ended - window.began, 1e-9))
            rows += share * sum(window.rows.values())
            bytes_ += share * sum(size for *_, size in window.partitions.values())
        events, size = sum(each for _, each, _ in self._open), sum(each for *_, each in self._open)
        rows += sum(each for reported, each, _ in self._open if reported >= since)
        bytes_ += sum(each for reported, _, each in self._open if reported >= since)
        seconds = max(at - since, 0.5)
        last = self._windows[-1] if self._windows else None
        return LoadStatus(
            account.rows + events,
            account.bytes + size,
            rows / seconds,
            bytes_ / seconds,
            last.target_rate if last else 0.0,
            last.behind if last else 0.0,
            self._in_flight,
            Latencies.total(window.latencies for window in self._windows).quantile(0.99),
            account.watermark,
        )

"""What a load run has sent, by window: totals, rates of the last seconds, and whether the target rate was reached.

The live line, the summary, the report and the metrics come from it. A minute reaches the target rate if its rows do,
late ones among them; only time with a target rate counts.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.engines.tasks.progress import Progress
from simulator.sinks.records import Latencies

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
    target_rate: float | None
    """Rows a second; 0 for as many as possible, None before the first window is sent."""

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
            last.target_rate if last else None,
            last.behind if last else 0.0,
            self._in_flight,
            Latencies.total(window.latencies for window in self._windows).quantile(0.99),
            account.watermark,
        )


@dataclass(frozen=True)
class SentWindow:
    """A window whose rows are all acknowledged, and whose watermark is sent."""

    first_ms: int
    end_ms: int
    """Simulated milliseconds since the stream's start."""

    watermark: int
    """The TSO at `end_ms`."""

    target_rate: float
    """Rows a second; 0 for as many as possible."""

    handed_out: float
    began: float
    ended: float
    """When the window was handed out, when the sink received its first record, and when its watermark was acknowledged,
    in seconds since 1970.
    """

    behind: float
    """How many seconds late it ended."""

    rows: Mapping[tuple[int, int], int]
    """(index in `Model.tables`, op) → row changes"""

    partitions: Mapping[tuple[str, int], tuple[int, int, int]]
    """(topic, partition) → rows, messages, bytes"""

    latencies: Latencies
    """From handing a record to Kafka to its acknowledgement."""

    retried: int = 0
    """How often its rows were sent again because a sending process was lost."""

    resent: int = 0
    """Records that the same process had to hand to Kafka again."""


WINDOW_SECONDS = 60

REACHED_SHARE = 0.98
MOST_SHORTFALLS = 50


@dataclass(frozen=True)
class Shortfall:
    """A time in which less was sent than the rate asked for."""

    first: float
    last: float
    """The ends of the first and the last short minute, in seconds since 1970."""

    seconds: int
    """The number of seconds at which a short minute ended."""

    least: float
    """The share of the target that was sent in the worst of these minutes."""


class RateCheck:
    """Checks the rate of each minute. Windows are added in order."""

    def __init__(self) -> None:
        self.shortfalls: list[Shortfall] = []
        self._seconds: deque[tuple[int, float, float]] = deque()
        """Second since 1970, rows sent in it, target rows. The last second is not over."""

        self._minutes = 0
        self._ended = 0.0

    def add(self, window: SentWindow) -> None:
        """Add a window. Its target rate applies since the end of the window before."""
        since, self._ended = min(self._ended or window.began, window.began), window.ended
        if not window.target_rate:
            return
        rows, last = sum(window.rows.values()), max(window.ended, window.began + 1e-6)
        for second in range(int(since), int(last) + 1):
            sending = max(0.0, min(last, second + 1.0) - max(window.began, float(second)))
            target = min(last, second + 1.0) - max(since, float(second))
            self._add(second, rows * sending / (last - window.began), window.target_rate * target)

    def finish(self) -> None:
        """Judge the last seconds. A run of less than a minute is judged as one."""
        if self._seconds and not self._minutes:
            self._judge(self._seconds[-1][0])

    def _add(self, second: int, rows: float, target: float) -> None:
        if self._seconds and self._seconds[-1][0] >= second:
            at, before_rows, before_target = self._seconds[-1]
            self._seconds[-1] = at, before_rows + rows, before_target + target
            return
        if len(self._seconds) >= WINDOW_SECONDS:
            self._minutes += 1
            self._judge(self._seconds[-1][0])
            self._seconds.popleft()
        self._seconds.append((second, rows, target))

    def _judge(self, second: int) -> None:
        share = sum(rows for _, rows, _ in self._seconds) / sum(target for *_, target in self._seconds)
        if share >= REACHED_SHARE:
            return
        last = self.shortfalls[-1] if self.shortfalls else None
        if last is not None and (second <= last.last + 2 or len(self.shortfalls) == MOST_SHORTFALLS):
            self.shortfalls[-1] = replace(
                last, last=second + 1.0, seconds=last.seconds + 1, least=min(last.least, share)
            )
        else:
            self.shortfalls.append(Shortfall(float(second), second + 1.0, 1, share))

    @property
    def seconds_below(self) -> int:
        """The number of seconds at which a short minute ended."""
        return sum(shortfall.seconds for shortfall in self.shortfalls)

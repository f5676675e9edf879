"""Whether the target rate was reached, over each minute.

Only time with a target rate counts. Rows that are late within the minute still count.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from simulator.load.reports.sent_window import SentWindow

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

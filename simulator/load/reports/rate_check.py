"""Whether the rate that was asked was reached: over each minute, to the hundredth.

One law: only time for which a rate was asked counts; what is made up for within the minute was reached.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from simulator.load.reports.sent_window import SentWindow

WINDOW_SECONDS = 60
"""Seconds."""

REACHED_SHARE = 0.98
MOST_SHORTFALLS = 50


@dataclass(frozen=True)
class Shortfall:
    """A time in which less was sent than asked."""

    first: float
    last: float
    """Seconds since 1970: of the first minute's end and of the last one's."""

    seconds: int
    """How many of them were the end of such a minute."""

    least: float
    """Of what was asked, in the worst of these minutes."""


class RateCheck:
    """Told of windows in their order."""

    def __init__(self) -> None:
        self.shortfalls: list[Shortfall] = []
        self._seconds: deque[tuple[int, float, float]] = deque()
        """Second since 1970, rows that were sent in it, rows that were asked; the last one is not over."""

        self._minutes = 0
        self._ended = 0.0

    def add(self, window: SentWindow) -> None:
        """Its rate was asked since the window before ended."""
        since, self._ended = min(self._ended or window.began, window.began), window.ended
        if not window.target_rate:
            return
        rows, last = sum(window.rows.values()), max(window.ended, window.began + 1e-6)
        for second in range(int(since), int(last) + 1):
            sending = max(0.0, min(last, second + 1.0) - max(window.began, float(second)))
            asked = min(last, second + 1.0) - max(since, float(second))
            self._add(second, rows * sending / (last - window.began), window.target_rate * asked)

    def finish(self) -> None:
        """The run is over; one of less than a minute counts as one."""
        if self._seconds and not self._minutes:
            self._judge(self._seconds[-1][0])

    def _add(self, second: int, rows: float, asked: float) -> None:
        if self._seconds and self._seconds[-1][0] >= second:
            at, before, wanted = self._seconds[-1]
            self._seconds[-1] = at, before + rows, wanted + asked
            return
        if len(self._seconds) >= WINDOW_SECONDS:
            self._minutes += 1
            self._judge(self._seconds[-1][0])
            self._seconds.popleft()
        self._seconds.append((second, rows, asked))

    def _judge(self, second: int) -> None:
        share = sum(rows for _, rows, _ in self._seconds) / sum(asked for *_, asked in self._seconds)
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
        """The ends of minutes in which less was sent than asked."""
        return sum(shortfall.seconds for shortfall in self.shortfalls)

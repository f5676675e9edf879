"""The schedule of windows: the length of the next one, when it is handed out, how fast it is sent, and when the run
ends.

Times are arguments. Decisions follow only from them and from the windows that were sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from simulator.load.epochs import Pace
from simulator.load.lag_search import RateSearch
from simulator.load.rates import RateSegments
from simulator.load.statistics import SentWindow

LONGEST_WINDOW = 5.0
"""The longest window in real seconds, unless the resolved interval is longer."""

UNPACED_WINDOW = 2.0
"""The length of a window in real seconds when rows go out as fast as the sink takes them."""

SEARCH_WINDOW = 1.0
"""The same during a search for the sustained rate, so that a new rate takes effect soon."""

IDLE_SHARE = 0.08
"""The share of a window's time that may pass without a row being sent."""

GROWN, SHRUNK = 1.5, 0.8
WEIGHT = 0.3
"""The weight of the newest measurement in a running average."""

MILLISECOND = 1e-3

FIRST_ROW_TOLERANCE = 20.0
"""The first row may be late by the time of this many rows, as a transaction has several."""

MOST_LEAD = 1.0
"""A window is handed out at most this many seconds before its first row is due."""

GRACE = 0.02
"""A run with a numeric rate may exceed its duration by this share, to send all that was due in it."""


@dataclass(frozen=True)
class ScheduledWindow:
    """A window that is to be sent."""

    first_ms: int
    end_ms: int
    speed: float
    """`Pace.speed`."""

    target_rate: float
    """Rows a second; 0 for as many as possible."""

    at: float
    """The earliest time to hand it out, in seconds since 1970."""

    begins: float
    """When the first row is due."""

    @property
    def ends(self) -> float:
        """When the last row is due. Without a rate, when the first one is."""
        return self.begins + ((self.end_ms - self.first_ms) / 1000 / self.speed if self.speed else 0.0)

    def pace(self, now: float) -> Pace:
        """Return the pace for the tasks if the window is handed out now."""
        return Pace(self.speed, now - self.begins if self.speed else 0.0)

    def behind(self, ended: float) -> float:
        """Return how many seconds late the window ended; 0 without a rate."""
        return ended - self.ends if self.speed else 0.0


class WindowScheduler:
    """Schedules one window after the other. Windows may be scheduled before earlier ones are sent."""

    def __init__(
        self,
        rates: RateSegments,
        rows_before: Callable[[int], int],
        resolved_ms: int,
        duration: float | None = None,
        fixed: bool = False,
        search: RateSearch | None = None,
        bytes_per_row: float = 0.0,
    ) -> None:
        """`rows_before` returns the number of rows before a simulated millisecond. `duration` is in seconds. With
        `fixed`, every window is one resolved interval without pace. `bytes_per_row` is the initial estimate if the
        rate is in bytes.
        """
        self._rates, self._rows_before, self._resolved_ms = rates, rows_before, resolved_ms
        self._duration, self._fixed, self._search = duration, fixed, search
        self._bytes_per_row = bytes_per_row
        self._row_bytes = bytes_per_row
        self._began: float | None = None
        self._first_ms = 0
        self._anchor: tuple[int, float, float] | None = None
        """The reference point of a paced rate: a millisecond, when it is due, and the speed from there on."""

        self._length = resolved_ms / 1000
        """Real seconds of a paced window."""

        self._cost: float | None = None
        """Real seconds for a simulated second without a pace."""

        self._idle = self._starting = self._ended = 0.0
        self._last: ScheduledWindow | None = None
        self._open: deque[ScheduledWindow] = deque()

    def next(self, first_ms: int, limit_ms: int | None, now: float) -> ScheduledWindow | None:
        """Return the window that begins there and ends at the limit at the latest; None if the run is over."""
        if self._began is None:
            self._began, self._first_ms = now, first_ms
        if self._search is not None and self._search.ended:
            return None
        speed = self._speed(first_ms)
        if self._fixed:
            due = self._as_fixed(first_ms, limit_ms, now)
        elif speed:
            due = self._paced(first_ms, limit_ms, now, self._began, speed)
        else:
            due = self._unpaced(first_ms, limit_ms, now, self._began)
        if due is not None:
            self._last = due
            self._open.append(due)
        return due

    def sent(self, window: SentWindow) -> None:
        """Record a window that was sent; windows come in order."""
        due, rows = self._open.popleft(), sum(window.rows.values())
        if rows:
            measured = sum(size for *_, size in window.partitions.values()) / rows
            self._row_bytes += WEIGHT * (measured - self._row_bytes)
        if not self._ended:
            self._start(window.began - due.begins - (FIRST_ROW_TOLERANCE / due.target_rate if due.target_rate else 0.0))
        free = max(self._ended, window.handed_out)
        idle = window.began - (max(self._ended, due.begins) if self._ended else free)
        if due.target_rate:
            idle -= FIRST_ROW_TOLERANCE / due.target_rate
        self._idle += WEIGHT * (max(0.0, idle) - self._idle)
        if due.speed:
            if window.handed_out >= due.begins:
                self._starting += WEIGHT * (max(0.0, window.began - window.handed_out) - self._starting)
            self._adjust_length(due.behind(window.ended))
        else:
            cost = max(window.ended - free, 1e-3) / ((due.end_ms - due.first_ms) / 1000)
            self._cost = cost if self._cost is None else self._cost + 0.5 * (cost - self._cost)
        self._ended = window.ended
        if self._search is not None:
            self._search.add_window(due.speed * self._search.first, window.began, window.ended, rows)

    def _start(self, late: float) -> None:
        """Count the run from its first record, as starting tasks on a cluster may take seconds."""
        assert self._began is not None, "a window was asked for"
        self._began += max(0.0, late)
        if self._anchor is not None:
            at_ms, due, speed = self._anchor
            self._anchor = at_ms, due + max(0.0, late), speed

    def _adjust_length(self, behind: float) -> None:
        """Lengthen windows if the run falls behind; else shorten them as far as idle time allows."""
        length = self._length * (GROWN if behind > self._length / 2 else SHRUNK)
        most = LONGEST_WINDOW if self._search is None else SEARCH_WINDOW
        self._length = min(max(length, self._idle / IDLE_SHARE, min(self._resolved_ms / 1000, most)), most)

    def _as_fixed(self, first_ms: int, limit_ms: int | None, now: float) -> ScheduledWindow | None:
        if self._duration is not None:
            limit_ms = _least(limit_ms, self._first_ms + round(self._duration * 1000))
        if limit_ms is not None and first_ms >= limit_ms:
            return None
        return ScheduledWindow(first_ms, self._window_end(first_ms, 0.0, limit_ms), 0.0, 0.0, now, now)

    def _paced(
        self, first_ms: int, limit_ms: int | None, now: float, began: float, speed: float
    ) -> ScheduledWindow | None:
        begins = self._due_time(first_ms, speed, now)
        if self._duration is not None:
            over = began + self._duration
            if begins >= over - MILLISECOND or now >= over + min(GRACE * self._duration, LONGEST_WINDOW):
                return None
            limit_ms = _least(limit_ms, first_ms + max(1, round((over - begins) * 1000 * speed)))
        end_ms = self._window_end(first_ms, self._length * 1000 * speed, limit_ms)
        asked = (self._rows_before(end_ms) - self._rows_before(first_ms)) / (end_ms - first_ms) * 1000 * speed
        return ScheduledWindow(
            first_ms, end_ms, speed, asked, max(now, begins - min(self._starting, MOST_LEAD)), begins
        )

    def _due_time(self, first_ms: int, speed: float, now: float) -> float:
        """Return when the first row is due. A rate counts from when the run comes to it if it is new in a search, or
        follows a part without a pace.
        """
        begins = max(now, self._free_at(now))
        if self._anchor is not None:
            at_ms, due, before = self._anchor
            reckoned = due + (first_ms - at_ms) / 1000 / before
            begins = reckoned if self._search is None or before == speed else max(begins, reckoned)
        self._anchor = first_ms, begins, speed
        return begins

    def _unpaced(self, first_ms: int, limit_ms: int | None, now: float, began: float) -> ScheduledWindow | None:
        self._anchor = None
        wanted = min(max(UNPACED_WINDOW, self._idle / IDLE_SHARE), LONGEST_WINDOW)
        if self._duration is not None:
            left = began + self._duration - self._free_at(now)
            if left <= 0.0:
                return None
            wanted = min(wanted, left)
        wanted_ms = wanted / self._cost * 1000 if self._cost else 0.0
        if self._last is not None:
            wanted_ms = min(wanted_ms, 2.0 * (self._last.end_ms - self._last.first_ms))
        return ScheduledWindow(first_ms, self._window_end(first_ms, wanted_ms, limit_ms), 0.0, 0.0, now, now)

    def _free_at(self, now: float) -> float:
        """Estimate when all windows that were handed out will be sent."""
        if not self._open:
            return now
        last = self._open[-1].ends
        cost = sum((due.end_ms - due.first_ms) / 1000 * (self._cost or 0.0) for due in self._open if not due.speed)
        return max(now, last, max(self._ended, self._open[0].at) + cost)

    def _speed(self, ms: int) -> float:
        """Return simulated seconds for each real one; 0 without a pace."""
        if self._search is not None:
            return self._search.rate / self._search.first
        if self._fixed or not self._rates.pace_at(ms)[0]:
            return 0.0
        return self._bytes_per_row / self._row_bytes if self._bytes_per_row else 1.0

    def _window_end(self, first_ms: int, wanted_ms: float, limit_ms: int | None) -> int:
        """Return the end of a window of about that length: a multiple of the resolved interval, or a change of pace."""
        resolved = self._resolved_ms
        many = max(1, round((first_ms % resolved + wanted_ms) / resolved))
        end_ms = first_ms - first_ms % resolved + many * resolved
        change_ms = None if self._search is not None or self._fixed else self._rates.pace_at(first_ms)[1]
        return min(end for end in (end_ms, change_ms, limit_ms) if end is not None)


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)

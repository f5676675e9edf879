"""The progress of a load run on standard error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from simulator import tso
from simulator.cli.load.monitor import LoadMonitor
from simulator.cli.run_report import silence
from simulator.cli.status_line import PLAIN, StatusLine
from simulator.engines.tasks.progress import Progress
from simulator.load.reports.statistics import LoadStatus
from simulator.quantities import counted, sized

REFRESHED = 0.5
"""Seconds between two updates on a terminal."""

NOTICED = 1.0
"""Seconds of delay that are shown."""


def line(now: LoadStatus, lag: int | None, driver: str, silent: str = "") -> str:
    """Return the line of progress."""
    asked = f"asked {now.target_rate:,.0f} rows/s, reached" if now.target_rate else "as fast as possible,"
    parts = [
        f"{asked} {now.rows_per_second:,.0f} rows/s",
        counted(now.rows, "row"),
        f"{sized(now.bytes)}, {sized(now.bytes_per_second)}/s",
        f"in flight {sized(now.in_flight)}",
    ]
    if lag is not None:
        parts.append(f"lag {lag:,}")
    if now.target_rate and now.behind > NOTICED:
        parts.append(f"{now.behind:,.1f} s behind")
    if now.p99:
        parts.append(f"p99 {1000 * now.p99:,.0f} ms")
    if now.watermark:
        parts.append(f"watermark {tso.wall_time(now.watermark):%Y-%m-%d %H:%M:%S}")
    return " · ".join([*parts, silent or driver])


class LoadProgressLine:
    """Shows the progress of a load run; the listener and the feed (through `monitor`) report it from other threads."""

    def __init__(self, monitor: LoadMonitor) -> None:
        self.monitor = monitor
        self._line = StatusLine()
        self._silent = ""
        self._over = threading.Event()

    def update(self, progress: Progress) -> None:
        """Receive the tasks' progress, in the listener's thread."""
        self.monitor.heard(progress)
        self._silent = silence(progress)

    def line(self) -> str:
        """Return the current line."""
        lag = self.monitor.lag
        return line(self.monitor.now(), None if lag is None else lag.lag, self.monitor.setup.driver, self._silent)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the line, in a thread of its own, until the run ends."""
        thread = threading.Thread(target=self._repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _repeat(self) -> None:
        interval = REFRESHED if self._line.console.is_terminal else PLAIN
        with suppress(OSError), self._line.following():  # the terminal may be closed
            while not self._over.wait(interval):
                self._line.show(self.line(), at_once=True)

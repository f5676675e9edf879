"""The live line of a load run, on standard error: a terminal has one that changes, a file gets a new one now and
then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.text import Text

from simulator import tso
from simulator.cli.load.watch import MIB, Watch
from simulator.cli.run_report import silence
from simulator.cli.terminal import Terminal
from simulator.engines.tasks.progress import Progress
from simulator.errors import printable
from simulator.load.reports.statistics import LoadStatus

REFRESHED = 0.5
PLAIN = 10.0
"""Seconds between two lines."""

NOTICED = 1.0
"""Seconds behind that are worth a word."""


def line(now: LoadStatus, lag: int | None, driver: str, silent: str = "") -> str:
    """How it goes, for people."""
    asked = f"asked {now.target_rate:,.0f} rows/s, reached" if now.target_rate else "as fast as possible,"
    parts = [
        f"{asked} {now.rows_per_second:,.0f} rows/s",
        f"{now.rows:,} rows",
        f"{now.bytes / MIB:,.1f} MiB, {now.bytes_per_second / MIB:,.1f} MiB/s",
        f"in flight {now.in_flight / MIB:,.1f} MiB",
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


class Live:
    """Told by the listener what the tasks say, and by the feed, through `watch`, of what was sent."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._console = Terminal(stderr=True)
        self._silent = ""
        self._over = threading.Event()

    def update(self, progress: Progress) -> None:
        """Called from the listener's thread."""
        self.watch.heard(progress)
        self._silent = silence(progress)

    def line(self) -> str:
        """As it is now."""
        lag = self.watch.lag
        return line(self.watch.now(), None if lag is None else lag.lag, self.watch.setup.driver, self._silent)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Shows the line, in a thread of its own, until the run is over."""
        thread = threading.Thread(target=self._change if self._console.is_terminal else self._repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _change(self) -> None:
        with suppress(OSError), self._console.status("") as status:  # the terminal may be gone
            while not self._over.wait(REFRESHED):
                status.update(Text(printable(self.line())))

    def _repeat(self) -> None:
        while not self._over.wait(PLAIN):
            self._console.print(self.line(), soft_wrap=True)

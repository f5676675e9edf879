"""A line of progress on standard error: a terminal shows it in place, a file gets a new line now and then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from rich.status import Status
from rich.text import Text

from simulator.cli.terminal import Terminal
from simulator.errors import printable

PLAIN = 10.0
"""Seconds between two lines without a terminal."""


class StatusLine:
    """The line of progress of one command."""

    def __init__(self) -> None:
        self.console = Terminal(stderr=True)
        self._status: Status | None = None
        self._printed = monotonic()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the line on a terminal until the block ends."""
        self._status = self.console.status("") if self.console.is_terminal else None
        try:
            if self._status is not None:
                self._status.start()
            yield
        finally:
            status, self._status = self._status, None
            if status is not None:
                with suppress(OSError):  # the terminal may be closed
                    status.stop()

    def show(self, line: str, at_once: bool = False) -> None:
        """Show a line; without a terminal print it if `at_once`, or if the last one is old enough."""
        if self._status is not None:
            self._status.update(Text(printable(line)))
        elif at_once or monotonic() - self._printed >= PLAIN:
            self._printed = monotonic()
            self.console.print(line, style="dim", soft_wrap=True)

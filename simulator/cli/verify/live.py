"""How far a verification is, on standard error: a terminal has a line that changes, a file gets a line now and then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from rich.status import Status
from rich.text import Text

from simulator.cli.terminal import Terminal
from simulator.errors import printable

PLAIN = 10.0
"""Seconds between two lines where there is no terminal."""


class Live:
    """Told by the verification what it does."""

    def __init__(self) -> None:
        self._console = Terminal(stderr=True)
        self._status: Status | None = None
        self._stage, self._began, self._said = "", monotonic(), 0.0

    @contextmanager
    def following(self) -> Iterator[None]:
        """Shows it until the verification is over."""
        self._status = self._console.status("") if self._console.is_terminal else None
        try:
            if self._status is not None:
                self._status.start()
            yield
        finally:
            status, self._status = self._status, None
            if status is not None:
                with suppress(OSError):  # the terminal may be gone
                    status.stop()

    def stage(self, name: str) -> None:
        """What begins now."""
        self._stage, self._began, self._said = name, monotonic(), monotonic()
        self._show(f"{name} …", True)

    def records(self, done: int, every: int | None) -> None:
        """How many records of how many were dealt with."""
        rate = done / max(monotonic() - self._began, 0.5)
        of = f" of {every:,}" if every else ""
        self._show(f"{self._stage}: {done:,}{of} records, {rate:,.0f} records/s")

    def waits(self, said: str) -> None:
        """What is waited for."""
        self._show(said)

    def last(self, said: str) -> None:
        """How far it came, where it ends before its end."""
        self._console.print(said, style="red", soft_wrap=True)

    def warn(self, lines: Iterable[str]) -> None:
        self._console.warn(lines)

    def _show(self, line: str, at_once: bool = False) -> None:
        if self._status is not None:
            self._status.update(Text(printable(line)))
        elif at_once or monotonic() - self._said >= PLAIN:
            self._said = monotonic()
            self._console.print(line, style="dim", soft_wrap=True)

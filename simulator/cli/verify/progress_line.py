"""The progress of a verification on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic

from simulator.cli.status_line import StatusLine
from simulator.consumer.verify.options import VerifyListener


class VerifyProgressLine(VerifyListener):
    """Shows what a verification reports."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._stage, self._began = "", monotonic()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the progress until the verification ends."""
        with self._line.following():
            yield

    def stage(self, name: str) -> None:
        """Begin a stage."""
        self._stage, self._began = name, monotonic()
        self._line.show(f"{name} …", at_once=True)

    def records(self, done: int, total: int | None) -> None:
        """Show how many records are processed, of how many in total."""
        rate = done / max(monotonic() - self._began, 0.5)
        of = f" of {total:,}" if total else ""
        self._line.show(f"{self._stage}: {done:,}{of} records, {rate:,.0f} records/s")

    def waits(self, text: str) -> None:
        """Show what the verification waits for."""
        self._line.show(text)

    def last(self, text: str) -> None:
        """Show the progress of a verification that ends early."""
        self._line.console.print(text, style="red", soft_wrap=True)

    def warn(self, lines: Iterable[str]) -> None:
        self._line.console.warn(lines)

"""Progress of a verification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class VerifyListener(Protocol):
    """Receives the progress of a verification."""

    def stage(self, name: str) -> None:
        """A stage begins."""

    def records(self, done: int, total: int | None) -> None:
        """`done` of `total` records were read; `total` is None if the total is unknown."""

    def waits(self, text: str) -> None:
        """The verification waits for something."""

    def last(self, text: str) -> None:
        """The verification ended early; `text` tells how far it came."""

    def warn(self, lines: Iterable[str]) -> None:
        """Some options have no effect."""


class SilentListener:
    """Ignores all progress."""

    def stage(self, name: str) -> None:
        pass

    def records(self, done: int, total: int | None) -> None:
        pass

    def waits(self, text: str) -> None:
        pass

    def last(self, text: str) -> None:
        pass

    def warn(self, lines: Iterable[str]) -> None:
        pass

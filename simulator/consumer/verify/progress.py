"""Who is told how far a verification is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class VerifyListener(Protocol):
    """What `verify` says while it works."""

    def stage(self, name: str) -> None:
        """What begins now."""

    def records(self, done: int, every: int | None) -> None:
        """How many records of how many were dealt with; None where only reading tells."""

    def waits(self, said: str) -> None:
        """What is waited for."""

    def last(self, said: str) -> None:
        """How far it came, where it ends before its end."""

    def warn(self, lines: Iterable[str]) -> None:
        """What has no effect."""


class SilentListener:
    """Hears nothing."""

    def stage(self, name: str) -> None:
        pass

    def records(self, done: int, every: int | None) -> None:
        pass

    def waits(self, said: str) -> None:
        pass

    def last(self, said: str) -> None:
        pass

    def warn(self, lines: Iterable[str]) -> None:
        pass

"""A fault that a step asks for, and when it is at work.

One law: its times lie between all events before it and all behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator import tso
from simulator.errors import UserError
from simulator.faults.keys import BACK_KEY, FOR_KEY


@dataclass(frozen=True)
class Fault:
    """A fault that a step asks for."""

    name: str
    """In FAULTS."""

    values: Mapping[str, Any]
    """By field of its kind's keys; those that are not given are not there."""

    at_ms: int
    """The millisecond of simulated time in which it begins, and in which nothing else happens."""

    where: str = ""
    """What a mistake in it begins with."""

    @property
    def at_ts(self) -> int:
        """Above every event before it, below every event behind it."""
        return tso.compose(self.at_ms) + 1

    @property
    def back_ms(self) -> int:
        return int(self.values.get(BACK_KEY.field, 0))

    @property
    def until_ts(self) -> int:
        """Where it ends by itself."""
        lasts = self.values.get(FOR_KEY.field)
        return tso.FOREVER if lasts is None else tso.compose(min(self.at_ms + lasts, tso.physical(tso.FOREVER)))

    def refused(self, why: str) -> UserError:
        return UserError(f"{self.where}fault {self.name}: {why}")

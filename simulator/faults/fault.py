"""A fault of a step, and when it is at work. Its times lie between all events before and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator import tso
from simulator.errors import UserError
from simulator.faults.keys import BACK_KEY, FOR_KEY


@dataclass(frozen=True)
class Fault:
    """A fault of a step."""

    name: str
    """A key of FAULTS."""

    values: Mapping[str, Any]
    """By the fields of the keys of its kind; keys without a value are missing."""

    at_ms: int
    """The millisecond of simulated time in which it begins. Nothing else happens in it."""

    where: str = ""
    """The prefix of error messages."""

    @property
    def at_ts(self) -> int:
        """A TSO above every event before it and below every event after it."""
        return tso.compose(self.at_ms) + 1

    @property
    def back_ms(self) -> int:
        return int(self.values.get(BACK_KEY.field, 0))

    @property
    def until_ts(self) -> int:
        """The TSO at which it ends by itself."""
        for_ms = self.values.get(FOR_KEY.field)
        return tso.FOREVER if for_ms is None else tso.compose(min(self.at_ms + for_ms, tso.physical(tso.FOREVER)))

    def refused(self, why: str) -> UserError:
        return UserError(f"{self.where}fault {self.name}: {why}")

"""The period of simulated time in which rows of a comparison change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChangePeriod:
    """A period of simulated time in which rows change."""

    start_ms: int
    """The millisecond of statements that create tables; the first rows change in the next one."""

    over_ms: int

    @property
    def first_ms(self) -> int:
        """The first millisecond in which a row changes."""
        return self.start_ms + 1

    @property
    def end_ms(self) -> int:
        """The last millisecond in which a row changes."""
        return self.start_ms + self.over_ms

    @property
    def next_ms(self) -> int:
        """The earliest start of the next period, after the statements that drop tables."""
        return self.end_ms + 2

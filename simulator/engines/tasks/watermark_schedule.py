"""The times of the watermarks of a run."""

from __future__ import annotations

from dataclasses import dataclass

from simulator import limits


@dataclass(frozen=True)
class WatermarkSchedule:
    """The watermarks of a run, or of a part of it."""

    start_ms: int
    """The millisecond from which watermarks are counted."""

    end_ms: int
    """The final watermark's millisecond, after every row and statement."""

    resolved_interval_ms: int
    since_ms: int = 0
    """Watermarks up to this millisecond have been sent already."""

    final: bool = True
    """Whether there is a watermark at the end regardless of the interval."""

    def __post_init__(self) -> None:
        """Raise UserError for more watermarks than a run may have."""
        limits.check_watermarks(len(self.watermark_numbers()), self.resolved_interval_ms)

    def watermark_numbers(self) -> range:
        """Return the numbers, from 1, of watermarks between start and end that are still to be sent, without one at
        the end."""
        interval = self.resolved_interval_ms
        first = max(0, (self.since_ms - self.start_ms) // interval) + 1
        return range(first, max(first, (self.end_ms - 1 - self.start_ms) // interval + 1))

    @property
    def ends_with_watermark(self) -> bool:
        """Whether there is a watermark at the end."""
        due = (self.end_ms - self.start_ms) % self.resolved_interval_ms == 0 and self.end_ms > self.start_ms
        return self.end_ms > self.since_ms and (self.final or due)

    @property
    def last_watermark_ms(self) -> int | None:
        """The millisecond of the last watermark that is still to be sent."""
        if self.ends_with_watermark:
            return self.end_ms
        numbers = self.watermark_numbers()
        return self.start_ms + numbers[-1] * self.resolved_interval_ms if numbers else None

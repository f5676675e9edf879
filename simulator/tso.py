"""TSO arithmetic and the timeline of a run.

One law: a TSO is physical milliseconds << 18 | logical (PD: pkg/utils/tsoutil); a watermark has logical part 0 and
a row at least 1, so a watermark of one millisecond lies below every row of it and above every row before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from simulator.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers = TypeVar("Numbers", int, "npt.NDArray[np.int64]")
"""One, or an array of them."""

LOGICAL_BITS = 18
FOREVER = (1 << 63) - 1
"""Above every TSO."""

BEFORE_COMMIT = 1
"""How long before its commit-ts a simulated transaction starts. Its start-ts is seen nowhere but in
`ignore-txn-start-ts` and in the names of 7.3.0's claim-check."""

ROW_LOGICAL = 1
"""The logical part of a row change's commit-ts."""

DEFAULT_START = datetime(2025, 1, 1, tzinfo=UTC)
"""Where a run begins that neither Dumpling nor the user places: fixed, since equal input gives equal bytes."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def compose(physical_ms: Numbers, logical: int = 0) -> Numbers:
    """The TSO of a millisecond since the epoch and a logical part."""
    return physical_ms << LOGICAL_BITS | logical


def physical(ts: Numbers) -> Numbers:
    """Milliseconds since the epoch."""
    return ts >> LOGICAL_BITS


def wall_time(ts: int) -> datetime:
    """The physical part as a UTC time."""
    return datetime.fromtimestamp(physical(ts) / 1000, UTC)


def sql_time(ts: int) -> str:
    """The physical part as CURRENT_TIMESTAMP(6) gives it in UTC."""
    return f"{wall_time(ts):%Y-%m-%d %H:%M:%S.%f}"


def describe(ts: int) -> str:
    """A TSO for people: the number and its UTC time."""
    return f"{ts} ({wall_time(ts):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC)"


DEFAULT_START_TS = compose(int(DEFAULT_START.timestamp() * 1000))


def start_ts(text: str) -> int:
    """A TSO, or an ISO time (UTC unless it says otherwise), as a TSO; raises UserError."""
    if text.isdecimal():
        ts = int(text) if len(text) < 20 else 0
        if physical(ts) == 0 or ts > FOREVER:
            raise UserError(
                f"start-ts {text} is not a TSO: expected physical milliseconds << 18, such as {DEFAULT_START_TS}"
            )
        return ts
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"start-ts {text!r} is neither a TSO nor a time such as 2025-01-01T00:00:00") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if aware.timestamp() <= 0:
        raise UserError(f"start-ts {text!r} lies before 1970: a TSO counts milliseconds since then")
    return compose(int(aware.timestamp() * 1000))


def duration_ms(text: str) -> int:
    """`500ms`, `1.5s`, `1m30s`, `2h` in milliseconds, at least one; raises UserError."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UserError(
            f"bad duration {text!r}: expected a number and a unit out of ms, s, m, h, d, such as 500ms or 1m30s"
        )
    total = sum(float(number) * _MILLISECONDS[unit] for number, unit in parts)
    if round(min(total, 1.0)) < 1:
        raise UserError(f"bad duration {text!r}: expected at least 1ms")
    if total > physical(FOREVER):
        raise UserError(f"bad duration {text!r}: a TSO has room for {physical(FOREVER) // _MILLISECONDS['d']}d in all")
    return round(total)


@dataclass(frozen=True)
class Span:
    """A stretch of simulated time in which rows change."""

    start_ms: int
    """Statements that create tables run in this millisecond; the first rows come in the next one."""

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
        """Where the following span may start: after the statements that drop tables."""
        return self.end_ms + 2


@dataclass(frozen=True)
class Timeline:
    """Simulated time of a whole run, or of a part of it."""

    start_ms: int
    """From where watermarks are counted."""

    end_ms: int
    """The final watermark's millisecond: above every row and statement."""

    resolved_interval_ms: int
    since_ms: int = 0
    """Up to where watermarks have been sent already."""

    final: bool = True
    """Whether there is a watermark at the end, whatever the interval says."""

    def watermark_numbers(self) -> range:
        """The watermarks between start and end, counted from 1, without one at the end and those sent already."""
        interval = self.resolved_interval_ms
        first = max(0, (self.since_ms - self.start_ms) // interval) + 1
        return range(first, max(first, (self.end_ms - 1 - self.start_ms) // interval + 1))

    @property
    def ends_with_watermark(self) -> bool:
        """Whether there is one at the end."""
        due = (self.end_ms - self.start_ms) % self.resolved_interval_ms == 0 and self.end_ms > self.start_ms
        return self.end_ms > self.since_ms and (self.final or due)

    @property
    def last_watermark_ms(self) -> int | None:
        """Where the last watermark lies that is still to be sent."""
        if self.ends_with_watermark:
            return self.end_ms
        numbers = self.watermark_numbers()
        return self.start_ms + numbers[-1] * self.resolved_interval_ms if numbers else None

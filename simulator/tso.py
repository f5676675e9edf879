"""TSO arithmetic.

A TSO is physical milliseconds << 18 | logical (PD: pkg/utils/tsoutil). A watermark has logical part 0 and a row at
least 1, so that a watermark is smaller than every row of its millisecond and larger than every row before it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from simulator.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Numbers = TypeVar("Numbers", int, "npt.NDArray[np.int64]")
"""A number, or an array of numbers."""

LOGICAL_BITS = 18
FOREVER = (1 << 63) - 1
"""Larger than every TSO."""

BEFORE_COMMIT = 1
"""Difference between commit-ts and start-ts of a simulated transaction. The start-ts is used only by
`ignore-txn-start-ts` and in file names of 7.3.0's claim-check."""

ROW_LOGICAL = 1
"""The logical part of a row change's commit-ts."""

DEFAULT_START = datetime(2025, 1, 1, tzinfo=UTC)
"""Start of a run if neither Dumpling nor the user sets one. It is fixed, because equal input gives equal bytes."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def compose(physical_ms: Numbers, logical: int = 0) -> Numbers:
    """Return the TSO of a millisecond since the epoch and a logical part."""
    return physical_ms << LOGICAL_BITS | logical


def physical(ts: Numbers) -> Numbers:
    """Return the milliseconds since the epoch."""
    return ts >> LOGICAL_BITS


def wall_time(ts: int) -> datetime:
    """Return the physical part as a UTC time."""
    return datetime.fromtimestamp(physical(ts) / 1000, UTC)


def sql_time(ts: int) -> str:
    """Return the physical part as CURRENT_TIMESTAMP(6) in UTC."""
    return f"{wall_time(ts):%Y-%m-%d %H:%M:%S.%f}"


def describe(ts: int) -> str:
    """Return a TSO for users: the number and its UTC time."""
    return f"{ts} ({wall_time(ts):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC)"


DEFAULT_START_TS = compose(int(DEFAULT_START.timestamp() * 1000))


def start_ts(text: str) -> int:
    """Return the TSO of a TSO or an ISO time (UTC by default); raise UserError."""
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
    """Return `500ms`, `1.5s`, `1m30s`, `2h` in milliseconds, at least one; raise UserError."""
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

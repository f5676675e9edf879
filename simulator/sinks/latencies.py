"""How long acknowledgements take, counted in steps of a twelfth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Latencies:
    """Counts of records by how long their acknowledgement took."""

    counts: tuple[tuple[int, int], ...] = ()
    """(step, records): a step is from 1.0833 ** step microseconds on"""

    longest: float = 0.0
    """Seconds."""

"""Settings of the session that expressions depend on."""

from __future__ import annotations

from typing import NamedTuple


class EvaluationContext(NamedTuple):
    """Time zone, date and sql_mode of a statement. The defaults are those of a changefeed, which works in UTC."""

    zone: str = "UTC"
    today: str = ""
    """The date of the statement in the zone; empty outside of statements."""

    zeros: str = "p"
    """`z` if zero dates are allowed (no NO_ZERO_DATE), `p` if parts of a date may be 0 (no NO_ZERO_IN_DATE)."""

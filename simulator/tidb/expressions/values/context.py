"""What functions ask of the session that runs a statement."""

from __future__ import annotations

from typing import NamedTuple


class EvaluationContext(NamedTuple):
    """Without a session: the row of a changefeed, whose times are UTC."""

    zone: str = "UTC"
    today: str = ""
    """The date on which the statement runs, in the zone; empty where nothing runs."""

    zeros: str = "p"
    """`z` where a zero date is a date (no NO_ZERO_DATE), `p` where parts of one may be 0."""

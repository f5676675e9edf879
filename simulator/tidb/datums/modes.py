"""What of a session and a statement decides how values are cast."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timezone, tzinfo
from typing import NamedTuple

from simulator.tidb.datums.problems import NOT_SIMULATED, TRUNCATIONS, CastProblem

STRICT = frozenset(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))


class Mode(NamedTuple):
    """As tidb pkg/executor/executor.go, ResetContextOfStmt, sets the flags of INSERT and UPDATE."""

    sql_mode: frozenset[str]
    zone: tzinfo = timezone.utc
    now: datetime = datetime(1970, 1, 1, tzinfo=timezone.utc)
    """When the statement runs: a TIME becomes a moment of that day."""

    ignore: bool = False
    """Whether the statement says IGNORE."""

    inserting: bool = True
    """Whether it is INSERT … VALUES or INSERT … SELECT, whose IGNORE forgives everything."""

    @property
    def strict(self) -> bool:
        return not STRICT.isdisjoint(self.sql_mode)

    @property
    def lenient(self) -> bool:
        """Whether what is cut off is a warning."""
        return self.ignore or not self.strict

    @property
    def any_day(self) -> bool:
        return "ALLOW_INVALID_DATES" in self.sql_mode

    @property
    def zero_in_date(self) -> bool:
        """Whether a month or a day may be zero while a text is read."""
        return self.lenient or self.any_day or not {"NO_ZERO_DATE", "NO_ZERO_IN_DATE"} <= self.sql_mode

    def forgives(self, problem: CastProblem) -> bool:
        """Whether a problem is a warning."""
        if problem.number == NOT_SIMULATED:
            return False
        if self.ignore and self.inserting:
            return True
        return self.lenient and problem.number in TRUNCATIONS and not problem.forced


def mode(sql_mode: Collection[str], **others: object) -> Mode:
    return Mode(frozenset(sql_mode), **others)  # type: ignore[arg-type]

"""The properties of a session and a statement that decide how values are cast."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from simulator.tidb.datums.problems import NOT_SIMULATED, TRUNCATIONS, CastProblem

STRICT = frozenset(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))


class Mode(NamedTuple):
    """The flags of INSERT and UPDATE (tidb pkg/executor/executor.go, ResetContextOfStmt)."""

    sql_mode: frozenset[str]
    zone: tzinfo = UTC
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """The time of the statement. A TIME is converted to a DATETIME of that day."""

    ignore: bool = False
    """Whether the statement has IGNORE."""

    inserting: bool = True
    """Whether it is INSERT … VALUES or INSERT … SELECT, with IGNORE for all problems."""

    loading: bool = False
    """Whether it is LOAD DATA, for which sql_mode does not refuse zero dates."""

    @property
    def strict(self) -> bool:
        return not STRICT.isdisjoint(self.sql_mode)

    @property
    def lenient(self) -> bool:
        """Whether truncation is a warning."""
        return self.ignore or not self.strict

    @property
    def any_day(self) -> bool:
        return "ALLOW_INVALID_DATES" in self.sql_mode

    @property
    def zero_in_date(self) -> bool:
        """Whether a parsed month or day may be zero."""
        return self.lenient or self.any_day or not {"NO_ZERO_DATE", "NO_ZERO_IN_DATE"} <= self.sql_mode

    def forgives(self, problem: CastProblem) -> bool:
        """Whether a problem is a warning."""
        if problem.number == NOT_SIMULATED:
            return False
        if self.ignore and self.inserting:
            return True
        return self.lenient and problem.number in TRUNCATIONS and not problem.forced

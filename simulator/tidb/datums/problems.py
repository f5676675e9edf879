"""The problems of casts: TiDB's errors, before a statement completes them; and what a session makes of them.

Texts: tidb pkg/errno/errname.go, pkg/types/errors.go. INSERT completes an error by column and row (pkg/executor/
insert_common.go, completeInsertErr), UPDATE some of them (pkg/executor/update.go, handleErr), INSERT … SELECT none.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from simulator.tidb.datums.kinds import NAMES, Datum
from simulator.tidb.model.types import ColumnType

SHOWN = 128
"""The number of characters of a value in an error (`%-.128s`)."""

TRUNCATIONS = frozenset((1264, 1265, 1292, 1366, 1406, 1441, 1690, 8029, 8033))
"""Errors that are warnings in non-strict modes (pkg/types/truncate.go, HandleTruncate)."""

NOT_SIMULATED = 1235


class CastProblem(NamedTuple):
    number: int
    text: str
    name: str
    """`overflow`, `too long`, `truncated`, `wrong value`, `out of range`, `characters` or `other_problem`."""

    forced: bool = False
    """Whether it remains an error in UPDATE IGNORE."""


TRUNCATED = CastProblem(1265, "Data truncated for column '%s' at row %d", "truncated")
OUT_OF_RANGE = CastProblem(1264, "Out of range value for column '%s' at row %d", "out of range")


def overflow(what: str, value: str) -> CastProblem:
    return CastProblem(1690, f"{what} value is out of range in '{value}'", "overflow")


def overflows(value: object, type: ColumnType) -> CastProblem:
    """Return the problem of a constant that is out of range (pkg/types/etc.go, overflow)."""
    return CastProblem(1690, f"constant {value} overflows {type.name}", "overflow")


def too_long(length: int, size: int) -> CastProblem:
    return CastProblem(1406, f"Data Too Long, field len {length}, data len {size}", "too long")


def truncated_value(what: str, value: str) -> CastProblem:
    return CastProblem(1292, f"Truncated incorrect {what[:64]} value: '{value[:SHOWN]}'", "wrong value")


def incorrect_value(what: str, value: str) -> CastProblem:
    return CastProblem(1292, f"Incorrect {what[:32]} value: '{value[:SHOWN]}'", "wrong value")


def inconvertible(datum: Datum, type: ColumnType) -> CastProblem:
    """Return the problem of a kind that cannot be converted to the type (pkg/types/datum.go, invalidConv)."""
    return CastProblem(1105, f"cannot convert datum from {NAMES[datum.kind]} to type {type.name}", "other")


def other_problem(number: int, text: str) -> CastProblem:
    return CastProblem(number, text, "other")


# -- modes ----------------------------------------------------------------------------------------------------------------


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

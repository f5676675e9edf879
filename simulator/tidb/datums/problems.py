"""The problems of casts: TiDB's errors, before a statement completes them.

Texts: tidb pkg/errno/errname.go, pkg/types/errors.go. INSERT completes an error by column and row (pkg/executor/
insert_common.go, completeInsertErr), UPDATE some of them (pkg/executor/update.go, handleErr), INSERT … SELECT none.
"""

from __future__ import annotations

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

"""What may be wrong with a datum for a column: TiDB's errors before a statement completes them.

Texts: tidb pkg/errno/errname.go, pkg/types/errors.go. INSERT completes an error by column and row (pkg/executor/
insert_common.go, completeInsertErr), UPDATE some of them (pkg/executor/update.go, handleErr), INSERT … SELECT none.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.tidb.datums.kinds import NAMES, Datum
from simulator.tidb.model.types import ColumnType

SHOWN = 128
"""Characters of a value that an error shows (`%-.128s`)."""

TRUNCATIONS = frozenset((1264, 1265, 1292, 1366, 1406, 1441, 1690, 8029, 8033))
"""Errors that are warnings in a mode that is not strict (pkg/types/truncate.go, HandleTruncate)."""


NOT_SIMULATED = 1235


class Problem(NamedTuple):
    number: int
    text: str
    name: str
    """`overflow`, `too long`, `truncated`, `wrong value`, `out of range`, `characters` or `other`."""

    forced: bool = False
    """Whether it stays an error of UPDATE IGNORE."""


TRUNCATED = Problem(1265, "Data truncated for column '%s' at row %d", "truncated")
OUT_OF_RANGE = Problem(1264, "Out of range value for column '%s' at row %d", "out of range")


def overflow(what: str, value: str) -> Problem:
    return Problem(1690, f"{what} value is out of range in '{value}'", "overflow")


def overflows(value: object, type: ColumnType) -> Problem:
    """pkg/types/etc.go, overflow."""
    return Problem(1690, f"constant {value} overflows {type.name}", "overflow")


def too_long(length: int, size: int) -> Problem:
    return Problem(1406, f"Data Too Long, field len {length}, data len {size}", "too long")


def truncated_wrong(what: str, value: str) -> Problem:
    return Problem(1292, f"Truncated incorrect {what[:64]} value: '{value[:SHOWN]}'", "wrong value")


def wrong(what: str, value: str) -> Problem:
    return Problem(1292, f"Incorrect {what[:32]} value: '{value[:SHOWN]}'", "wrong value")


def unlike(datum: Datum, type: ColumnType) -> Problem:
    """A kind that the type takes nothing of (pkg/types/datum.go, invalidConv)."""
    return Problem(1105, f"cannot convert datum from {NAMES[datum.kind]} to type {type.name}", "other")


def other(number: int, text: str) -> Problem:
    return Problem(number, text, "other")

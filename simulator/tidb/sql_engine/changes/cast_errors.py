"""TiDB's errors for a value that a column does not accept."""

from __future__ import annotations

from simulator.errors import SqlError
from simulator.tidb.datums.columns import Misfit
from simulator.tidb.datums.kinds import datum_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text

VALUES, SELECT, UPDATE, DUPLICATE = "values", "select", "update", "duplicate"
"""The origin of a value: INSERT's VALUES or its SELECT, UPDATE, ON DUPLICATE KEY UPDATE."""

MAX_CHARACTERS = {1292: 128, 1366: 192}
"""The number of characters of a value in an error."""


def cast_error(column: Column, misfit: Misfit, row: int, origin: str) -> SqlError:
    """Return the error as the statement completes it.

    INSERT … VALUES adds column and row (tidb pkg/executor/insert_common.go, completeInsertErr), UPDATE in some errors
    (pkg/executor/update.go, handleErr), other statements do not.
    """
    problem = misfit.problem
    if origin in (VALUES, UPDATE):
        if problem.name == "too long":
            return sql_error(1406, column.name, row)
        if problem.name == "overflow":
            return sql_error(1264, column.name, row)
    if origin == VALUES:
        if problem.name in ("truncated", "out of range"):
            return sql_error(problem.number, column.name, row)
        if problem.name == "wrong value":
            number = 1292 if family(column.type) in ("date", "datetime", "time") else 1366
            value = datum_text(misfit.datum)[: MAX_CHARACTERS[number]]
            return sql_error(number, column.type.name, value, column.name, row)
    return sql_error_with_text(problem.number, problem.text)

"""The values of stored rows in columns that ALTER TABLE gives another type.

A value is cast as INSERT casts it, with errors of their own. A lenient sql_mode clips it, with a warning (tidb v8.5
pkg/ddl/column.go, getRowRecord and reformatErrors; pkg/ddl/ddl.go, DoDDLJob).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from simulator.errors import SqlError
from simulator.tidb.datums.cast import cast_value
from simulator.tidb.datums.changed_types import changed_datum
from simulator.tidb.datums.kinds import Datum, cell_datum, datum_text
from simulator.tidb.datums.problems import CastProblem, Mode
from simulator.tidb.engine.sessions import clock
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.functions.documents import text_of_stored
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.moments import number_moment

Cell = bytes | None


class ConvertedCells(NamedTuple):
    """The cells of a column in another type."""

    cells: list[Cell]
    warnings: tuple[str, ...] = ()


def convert_cells(
    cells: Sequence[Cell], before: Column, after: Column, casts: bool, context: StatementContext
) -> ConvertedCells:
    """Return the cells of a column in its later definition; with `casts`, its values may change. Raises SqlError for the
    first one that does not fit."""
    becomes_timestamp = after.type.name == "timestamp" != before.type.name
    if after.not_null and None in cells and not becomes_timestamp:
        raise sql_error(1265, before.name.lower(), 1)
    if not casts:
        return ConvertedCells([*cells])
    mode, known = context.mode, dict[bytes, tuple[Cell, SqlError | None]]()
    found, errors = list[Cell](), list[SqlError]()
    for cell in cells:
        if cell is None:
            found.append(_now(after, context) if after.not_null else None)
            continue
        if cell not in known:
            known[cell] = _converted(cell, before, after, mode, context)
        value, error = known[cell]
        found.append(value)
        if error is not None:
            errors.append(error)
    return ConvertedCells(found, tuple(_merged(errors)))


def _now(column: Column, context: StatementContext) -> bytes:
    """Return the moment that replaces NULL in a new TIMESTAMP that is NOT NULL."""
    text = clock.now_text("timestamp", max(column.type.decimal, 0), context.session.settings, context.now_ms)
    return text.encode()


def _converted(
    cell: bytes, before: Column, after: Column, mode: Mode, context: StatementContext
) -> tuple[Cell, SqlError | None]:
    """Return a value in the later type, with the error that a lenient mode forgives. Raises SqlError."""
    if before.type.name == "timestamp" != after.type.name:
        cell = clock.local_timestamp(cell.decode(), context.session.settings).encode()
    written = cell
    if before.type.name == "json":
        written = text_of_stored(cell.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
    datum = changed_datum(before.type, after.type, written)
    assert datum is not None, "TiDB changes the types"
    value, problem = cast_value(after.type, before.name, datum, mode)
    if problem is None:
        return value, None
    error = _error(before, after.type, problem, cell_datum(before.type, cell))
    if not mode.forgives(problem):
        raise error
    return value, error


def _error(before: Column, after: ColumnType, problem: CastProblem, datum: Datum) -> SqlError:
    if problem.number in (1265, 1406):
        return sql_error_with_text(1265, f"Data truncated for column '{before.name}', value is '{datum_text(datum)}'")
    if problem.number == 1264:
        return sql_error_with_text(
            1264, f"Out of range value for column '{before.name}', the value is '{datum_text(datum)}'"
        )
    if problem.number == 1292 and family(after) in ("date", "datetime"):
        return sql_error_with_text(1292, _moment_error(before.type, after, datum))
    return sql_error_with_text(problem.number, problem.text)


def _moment_error(before: ColumnType, after: ColumnType, datum: Datum) -> str:
    """Return the text of the error of a value that is no moment (tidb pkg/types/time.go, parseDateTimeFromNum)."""
    text = datum_text(datum)
    if family(before) in ("integer", "year"):
        if text == "0":
            return f"Truncated incorrect {after.name} value: '0'"
        moment = number_moment(int(text))
        if moment is None or moment.month and moment.day:
            return f"Incorrect time value: '{text}'"
        return f"Incorrect datetime value: '{moment.text()[:10]}'"
    if family(before) in ("date", "datetime", "time"):
        return f"Incorrect timestamp value: '{text}{' 00:00:00' * (before.name == 'date')}'"
    content = json.loads(text) if before.name == "json" else text
    text = content if isinstance(content, str) else text
    return f"Incorrect {'time' if text.strip().isdigit() else 'datetime'} value: '{text}'"


def _merged(errors: Sequence[SqlError]) -> list[str]:
    """Return the warnings of a job, one for each number."""
    warnings = []
    for number in dict.fromkeys(error.number for error in errors):
        same = [error for error in errors if error.number == number]
        count = f"{len(same)} warnings with this error code, first warning: " if len(same) > 1 else ""
        warnings.append(f"{number} {count}{same[0].text}")
    return warnings

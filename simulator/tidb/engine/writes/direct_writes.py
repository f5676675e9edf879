"""Inserts, updates and deletes rows without the text of a statement: columns of values, many rows at once.

All constraints of TiDB are checked. A row that TiDB refuses raises its SqlError; the caller undoes what was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from simulator.tidb.datums.cast import cast_column
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.outcome import StatementOutcome
from simulator.tidb.engine.writes.assign import UPDATE, VALUES, Cell, RowValues, cast_error
from simulator.tidb.engine.writes.foreign_keys import enforce_foreign_keys
from simulator.tidb.engine.writes.new_rows import AutoIds
from simulator.tidb.engine.writes.rows import Location, RowWriter
from simulator.tidb.model.table import Cells, Table, columns_by_name

Inputs = Mapping[str, pa.Array]
"""The values of columns by their names: text, bytes as a file has them (a BIT's are tagged), or Arrow numbers."""


def insert_rows(context: StatementContext, table: Table, inputs: Inputs, rows: int) -> StatementOutcome:
    """Insert new rows in their order. Raises SqlError."""
    values = RowValues(table, context, VALUES, rows)
    stored = context.stored(table)
    ids, writer = AutoIds(stored, context), RowWriter(stored, context)
    start = values.start(inputs.keys())
    found: list[Cells] = [[*start] for _ in range(rows)]
    _fill(found, inputs, values)
    for number, cells in enumerate(found, 1):
        values.complete(cells, number)
    if ids.column is not None:
        ids.fill(found)
    writer.expect(rows)
    for number, cells in enumerate(found, 1):
        writer.insert(writer.keyed(cells, number))
    enforce_foreign_keys(context, [writer])
    return StatementOutcome(affected=rows, matched=rows, insert_id=ids.first or ids.explicit)


def update_rows(
    context: StatementContext, table: Table, locations: Sequence[Location], inputs: Inputs
) -> StatementOutcome:
    """Update the rows at some locations, each once. Unchanged rows are not written. Raises SqlError."""
    writer = RowWriter(context.stored(table), context)
    old = [writer.cells(location) or [] for location in locations]
    changed = 0
    for location, before, after in zip(locations, old, changed_rows(context, table, old, inputs), strict=True):
        changed += writer.update(location, before, after)
    enforce_foreign_keys(context, [writer])
    return StatementOutcome(affected=changed, matched=len(locations))


def changed_rows(context: StatementContext, table: Table, rows: Sequence[Cells], inputs: Inputs) -> Iterator[Cells]:
    """Yield rows after an UPDATE of some columns, without writing them. Raises SqlError."""
    values = RowValues(table, context, UPDATE)
    found: list[Cells] = [[*cells] for cells in rows]
    _fill(found, inputs, values)
    for before, after in zip(rows, found, strict=True):
        values.finish_update(before, after, inputs.keys())
        yield after


def delete_rows(context: StatementContext, table: Table, locations: Sequence[Location]) -> StatementOutcome:
    """Delete the rows at some locations. Raises SqlError."""
    writer = RowWriter(context.stored(table), context)
    for location in locations:
        cells = writer.cells(location)
        assert cells is not None, "the row is there"
        writer.delete(location, cells)
    enforce_foreign_keys(context, [writer])
    return StatementOutcome(affected=len(locations))


def _fill(rows: Sequence[Cells], inputs: Inputs, values: RowValues) -> None:
    """Put the cells of columns into rows. Raises SqlError for the first row with a value that does not fit."""
    columns = [columns_by_name(values.table)[name.lower()] for name in inputs]
    wrong = []
    for column, given in zip(columns, inputs.values(), strict=True):
        cast = cast_column(column, given, values.mode)
        for misfit in cast.misfits:
            number = 1 if values.origin == UPDATE else misfit.row + 1
            error = cast_error(column, misfit.datum, misfit.problem, number, values.origin)
            if values.mode.forgives(misfit.problem):
                values.context.warn(error)
            else:
                wrong.append((misfit.row, error))
        place = values.place_of[column.name]
        cells: list[Cell] = cast.texts.to_pylist()
        for row, cell in zip(rows, cells, strict=True):
            row[place] = cell
    if wrong:
        raise min(wrong, key=lambda each: each[0])[1]

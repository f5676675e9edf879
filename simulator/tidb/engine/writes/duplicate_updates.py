"""ON DUPLICATE KEY UPDATE: assignments over the stored row, the new row and the rows of a SELECT.

They take effect from left to right (tidb pkg/executor/insert.go, doDupRowUpdate). A name means a column of the table, or
one of the SELECT (pkg/planner/core/planbuilder.go, buildInsert).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.tidb.engine.queries.relation import Values, table_fields
from simulator.tidb.engine.scopes.scope import Fields, QueryScope
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.writes.assign import DUPLICATE, Cell, RowValues
from simulator.tidb.engine.writes.new_rows import NOWHERE, is_default
from simulator.tidb.engine.writes.rows import Location
from simulator.tidb.engine.writes.selected_rows import SelectedRows
from simulator.tidb.engine.writes.soft_deletes import check_updated
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.datums import datum_of
from simulator.tidb.model.table import Cells, Column, Table
from simulator.tidb.model.table_keys import columns_by_name
from simulator.tidb.syntax.dml import Assignment
from simulator.tidb.syntax.expressions import Node


class DuplicateUpdate:
    """Computes stored rows after ON DUPLICATE KEY UPDATE."""

    def __init__(
        self, assignments: Sequence[Assignment], table: Table, context: StatementContext, selected: SelectedRows | None
    ) -> None:
        """Raises SqlError for names that mean nothing, 3105 for a generated column."""
        self._values = RowValues(table, context, DUPLICATE)
        stored = table_fields(table, table.name, table.schema)
        width = len(self._values.columns) + 1
        inserted = stored.moved(width)
        others = () if selected is None else selected.fields(inserted, 2 * width)
        scope = QueryScope(self._values.compilation, Fields((*stored, *others))).changed(inserted=inserted)
        columns = [_assigned_column(each, table) for each in assignments]
        context.check_named(*(column.name for column in columns))
        check_updated(columns, table)
        self._named = {column.name for column in columns}
        self._assignments = []
        for each, column in zip(assignments, columns, strict=True):
            compute = self._compiled(each.value, column, scope)
            if not column.generated:
                self._assignments.append((self._values.place_of[column.name], compute))

    def _compiled(self, node: Node, column: Column, scope: QueryScope) -> Callable[[Values, int], Cell]:
        values, context = self._values, self._values.context
        if is_default(node, column):
            default = values.default(column) if not column.generated else lambda: None
            return lambda row, number: default()
        if column.generated:
            raise sql_error(3105, column.name, values.table.name)
        evaluate = datum_of(compile_expression(node, scope), column)
        return lambda row, number: values.cast(column, evaluate(row, context), number)

    def apply(self, old: Cells, location: Location, new: Cells, extra: Values, number: int) -> Cells:
        """Return a stored row after the update, given the new row, what a SELECT has beside it, and its number. Raises
        SqlError."""
        row: Values = [*old, location, *new, NOWHERE, *extra]
        for place, compute in self._assignments:
            row[place] = compute(row, number)
        updated: Cells = row[: len(old)]
        self._values.finish_update(old, updated, self._named)
        return updated


def _assigned_column(each: Assignment, table: Table) -> Column:
    *qualifier, name = each.column.parts
    column = columns_by_name(table).get(name.lower())
    if column is None or qualifier and qualifier[-1].lower() != table.name.lower():
        raise sql_error(1054, ".".join(each.column.parts), "field list")
    return column

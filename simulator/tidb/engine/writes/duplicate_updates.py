"""ON DUPLICATE KEY UPDATE: assignments over the stored row, the new row and the rows of a SELECT that are inserted.

Assignments take effect from left to right (tidb pkg/executor/insert.go, doDupRowUpdate). A name means a column of the
table, or one of the SELECT: of its result, and for a plain SELECT of its sources (pkg/planner/core/planbuilder.go,
buildInsert, buildSelectPlanOfInsert).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.plans import evaluate_subqueries, new_compilation, selected
from simulator.tidb.engine.queries.relation import Values, table_fields
from simulator.tidb.engine.queries.selects import contains_aggregate
from simulator.tidb.engine.scope import Field, Fields, QueryScope
from simulator.tidb.engine.writes.assign import DUPLICATE, Cell, RowValues
from simulator.tidb.engine.writes.new_rows import NOWHERE, is_default
from simulator.tidb.engine.writes.rows import Location
from simulator.tidb.engine.writes.soft_deletes import check_updated
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.datums import datum_of
from simulator.tidb.expressions.expression import Expression
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Cells, Column, Table, columns_by_name
from simulator.tidb.model.types import family
from simulator.tidb.syntax.expressions import ColumnName, Node, names_in
from simulator.tidb.syntax.queries import Assignment, Insert, QueryTree, SelectItem, SelectTree, Star, WithTree

Make = Callable[[Values, int], Cell]
"""Returns the cell that a row of the query gives a column, given the row's number."""


class SelectedRows:
    """Makes rows of the result of a query."""

    def __init__(self, statement: Insert, columns: Sequence[Column], table: Table, context: StatementContext) -> None:
        """Raises SqlError 1136 for a query with another number of columns, 3105 for a generated column."""
        assert statement.query is not None, "a query provides the rows"
        self._columns, self._compilation = columns, new_compilation(context)
        updates = [each.value for each in statement.on_duplicate]
        extra = list(_extra_columns(statement.query, updates, table))
        self._relation = selected(_with_columns(statement.query, extra), self._compilation)
        if len(self._relation.fields) - len(extra) != len(columns):
            raise sql_error(1136, 1)
        for column in columns:
            if column.generated:
                raise sql_error(3105, column.name, table.name)
        self.beside: list[Values] = []
        """The rows of the query, if ON DUPLICATE KEY UPDATE names more of them than the columns."""

        self._has_more = bool(extra)

    def fields(self, inserted: Fields, start: int) -> Iterator[Field]:
        """Yield the columns of the query: those that are inserted, as `inserted` has them, and more of its rows, which begin
        at `start`."""
        by_column = {field.name: field for field in inserted}
        unprojected = self._relation.unprojected
        shown = [None] * len(self._relation.fields) if unprojected is None else unprojected[2]
        for number, (field, source) in enumerate(zip(self._relation.fields, shown, strict=True)):
            origin = source or field.shown_column or field
            if number < len(self._columns):
                field = by_column[self._columns[number].name]._replace(name=field.name)
            else:
                field = field._replace(start=start)
            yield field._replace(schema=origin.schema, table=origin.table, hidden=False, extra=False)

    def rows(self, values: RowValues) -> Iterator[Cells]:
        """Yield the rows. Raises SqlError for the first one that does not fit."""
        evaluate_subqueries(self._compilation)
        relation, context = self._relation, values.context
        rows, fields = relation.rows, list[Field | None]([None] * len(self._columns))
        expressions: Sequence[Expression] = [field.value for field in relation.fields]
        if relation.unprojected is not None and not self._has_more:
            rows, expressions, shown = relation.unprojected
            fields = [*shown]
        copied, made = list[tuple[int, int]](), list[tuple[int, Make]]()
        for column, expression, field in zip(self._columns, expressions, fields, strict=False):
            slot = _copied_slot(column, field)
            if slot is not None:
                copied.append((values.place_of[column.name], slot))
            else:
                made.append((values.place_of[column.name], _maker(column, expression, field, values)))
        start = values.start({column.name for column in self._columns})
        for number, row in enumerate(rows(context), 1):
            cells = [*start]
            for place, slot in copied:
                cells[place] = row[slot]
            for place, make in made:
                cells[place] = make(row, number)
            values.complete(cells, number)
            if self._has_more:
                self.beside.append(row)
            yield cells


def _copied_slot(column: Column, field: Field | None) -> int | None:
    """Return the place in rows of a cell that the column takes as it is; None if it may have to be cast."""
    if field is None or field.column is None or not field.slots or field.column.type != column.type:
        return None
    return None if family(column.type) in ("date", "datetime") else field.start + field.slots[0]


def _maker(column: Column, value: Expression, field: Field | None, values: RowValues) -> Make:
    evaluate, context = datum_of(value, column), values.context

    def cast(row: Values, number: int) -> Cell:
        return values.cast(column, evaluate(row, context), number)

    if field is None or field.column is None or not field.slots or field.column.type != column.type:
        return cast
    place = field.start + field.slots[0]

    def copy(row: Values, number: int) -> Cell:
        cell: Cell = row[place]
        return cast(row, number) if cell is not None and b"-00" in cell else cell

    return copy


def _extra_columns(query: QueryTree, updates: Iterable[Node], table: Table) -> Iterator[ColumnName]:
    """Yield the names that are neither a column of the table nor of the query, for a SELECT without aggregates and
    stars."""
    while isinstance(query, WithTree):
        query = query.query
    if not isinstance(query, SelectTree) or query.group_by:
        return
    if any(isinstance(item, Star) or contains_aggregate(item.expression) for item in query.items):
        return
    expressions = [item.expression for item in query.items if isinstance(item, SelectItem)]
    columns = [node.parts for node in map(strip_parentheses, expressions) if isinstance(node, ColumnName)]
    for node in dict.fromkeys(name for update in updates for name in names_in(update)):
        *qualifier, name = (part.lower() for part in node.parts)
        own = [[], [table.name.lower()], [table.schema.lower(), table.name.lower()]]
        is_own = name in columns_by_name(table) and qualifier in own
        if not is_own and not any(_same_column(node.parts, parts) for parts in columns):
            yield node


def _same_column(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names agree in the parts that both have."""
    return all(mine.lower() == its.lower() for mine, its in zip(reversed(one), reversed(other), strict=False))


def _with_columns(query: QueryTree, names: Sequence[ColumnName]) -> QueryTree:
    """Return a SELECT with more columns."""
    if isinstance(query, WithTree):
        return replace(query, query=_with_columns(query.query, names))
    if not isinstance(query, SelectTree) or not names:
        return query
    return replace(query, items=(*query.items, *(SelectItem(node, node.parts[-1]) for node in names)))


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

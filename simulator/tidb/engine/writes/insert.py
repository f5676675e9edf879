"""INSERT and REPLACE.

All values are computed and checked before any row is written, and rows are written one after another. A new row that
has a key of another row is refused (INSERT), left out (INSERT IGNORE), put in the other's place (REPLACE), or updates
the other (ON DUPLICATE KEY UPDATE).

Assignments of ON DUPLICATE KEY UPDATE take effect from left to right (tidb pkg/executor/insert.go, doDupRowUpdate). A
name means a column of the table, or one of the SELECT that is inserted: of its result, and for a plain SELECT of its
sources (pkg/planner/core/planbuilder.go, buildInsert, buildSelectPlanOfInsert).

Sources: tidb pkg/executor/insert.go, insert_common.go, replace.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from simulator.errors import SqlError
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.names import resolve_columns, resolve_partitions, resolve_table
from simulator.tidb.engine.queries import evaluate_subqueries, new_compilation
from simulator.tidb.engine.queries.relation import CELL_SIZE, CHECKED_ROWS, ROW_SIZE, Values, table_fields
from simulator.tidb.engine.queries.selects import build_query, contains_aggregate
from simulator.tidb.engine.scope import Field, Fields, QueryScope
from simulator.tidb.engine.writes.assign import DUPLICATE, SELECT, VALUES, Cell, RowValues
from simulator.tidb.engine.writes.foreign_keys import breaks_key, enforce_foreign_keys, without_orphans
from simulator.tidb.engine.writes.new_rows import NOWHERE, AutoIds, ValueRows, is_default
from simulator.tidb.engine.writes.rows import KeyedRow, Location, RowWriter
from simulator.tidb.engine.writes.update import IGNORED, check_updated, remove_marked
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.casts import datum_of
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Expression
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Cells, Column, Table, columns_by_name, shown_columns
from simulator.tidb.model.types import family
from simulator.tidb.storage.row_keys import duplicate_error
from simulator.tidb.syntax.expressions import ColumnName, Node, names_in
from simulator.tidb.syntax.queries import Assignment, Insert, QueryTree, SelectItem, SelectTree, Star, WithTree

MISPLACED = (1526, 1748)
"""Errors of a row without a partition."""


def insert(statement: Insert, context: StatementContext) -> StatementOutcome:
    """Execute INSERT or REPLACE.

    Raises SqlError for values, which are checked before rows get their ids. A statement that is refused later has used
    up its ids (lazyAdjustAutoIncrementDatum; pkg/table/tables, AddRecord).
    """
    table = resolve_table(context, statement.table, "replace into" if statement.replace else "insert into")
    context.check_named(*(statement.columns or ()))
    return Insertion(statement, table, context).execute()


def assigned_columns(statement: Insert, table: Table) -> list[Column]:
    """Return the columns that get values. Raises SqlError 1054, 1110 and 1136 for rows of another length."""
    columns = list(shown_columns(table)) if statement.columns is None else resolve_columns(table, statement.columns)
    if statement.rows and {*map(len, statement.rows)} != {len(columns)}:
        for row, nodes in enumerate(statement.rows, 1):
            if len(nodes) != len(columns) and (nodes or statement.columns):
                raise sql_error(1136, row)
    return columns


class Insertion:
    """The execution of an INSERT or REPLACE."""

    def __init__(self, statement: Insert, table: Table, context: StatementContext) -> None:
        self._statement, self._table, self._context = statement, table, context
        stored = context.stored(table)
        allowed = resolve_partitions(table, statement.partitions) if statement.partitions else None
        self._writer = RowWriter(stored, context, allowed)
        self._ids = AutoIds(stored, context, updates=bool(statement.on_duplicate))
        self._update: DuplicateUpdate | None = None
        self._extra: Sequence[Values] = ()
        """What ON DUPLICATE KEY UPDATE names of a SELECT beside its columns, for each row."""

        self._count = self._affected = self._added = self._updated = self._deleted = 0
        self._found_rows = context.session.settings.found_rows

    def execute(self) -> StatementOutcome:
        """Insert the rows that the statement has. Raises SqlError."""
        statement, context = self._statement, self._context
        columns = assigned_columns(statement, self._table)
        selected = None
        if statement.query is not None:
            selected = SelectedRows(statement, columns, self._table, context)
        if statement.on_duplicate:
            self._update = DuplicateUpdate(statement, self._table, context, selected)
        origin = VALUES if selected is None else SELECT
        values = RowValues(self._table, context, origin, len(statement.rows or ()))
        if selected is None:
            return self._insert_all(ValueRows(values, columns, statement.rows or ()).rows(columns), self._write)
        self._extra = selected.beside
        return self._insert_all(selected.rows(values), self._write, one_by_one=True)

    def load(self, rows: Iterator[Cells]) -> StatementOutcome:
        """Insert the rows of LOAD DATA (tidb pkg/executor/load_data.go, checkAndInsertOneBatch). Raises SqlError."""
        outcome = self._insert_all(rows, self._write_loaded)
        skipped = self._count - self._affected
        message = f"Records: {self._count}  Deleted: {self._deleted}  Skipped: {skipped}"
        return replace(outcome, message=f"{message}  Warnings: {len(outcome.warnings)}")

    def _insert_all(
        self, rows: Iterator[Cells], write: Callable[[Sequence[Cells]], None], one_by_one: bool = False
    ) -> StatementOutcome:
        context = self._context
        try:
            found = self._with_ids(rows, one_by_one)
            self._count = len(found)
            write(found)
            enforce_foreign_keys(context, [self._writer], self._statement.ignore)
        finally:
            if self._added and self._ids.first:
                session = context.session
                session.settings = replace(session.settings, last_insert_id=self._ids.first)
        message = ""
        count = self._count
        if count > 1 or self._statement.query is not None:
            repeated = count - self._added if self._statement.ignore else self._updated
            if self._statement.replace:
                repeated = self._affected - count
            message = f"Records: {count}  Duplicates: {repeated}  Warnings: {len(context.warnings)}"
        return StatementOutcome(
            affected=self._affected,
            insert_id=self._ids.first or self._ids.explicit,
            warnings=tuple(context.warnings),
            message=message,
        )

    def _with_ids(self, rows: Iterator[Cells], one_by_one: bool) -> list[Cells]:
        """Return the rows with their ids; none if INSERT IGNORE has no ids left. Raises SqlError."""
        column = self._ids.column
        one_by_one = column is not None and (one_by_one or column.auto_random)
        found = []
        size = ROW_SIZE + CELL_SIZE * len(self._table.columns)
        try:
            for cells in rows:
                if one_by_one:
                    self._ids.fill([cells])
                found.append(cells)
                if not len(found) % CHECKED_ROWS:
                    self._context.check()
                    self._context.hold(CHECKED_ROWS * size)
            if column is not None and not one_by_one:
                self._ids.fill(found)
        except SqlError as error:
            if not self._statement.ignore or self._statement.on_duplicate or error.number != 1467:
                raise
            self._context.warn(error)
            return []
        return found

    def _write(self, rows: Sequence[Cells]) -> None:
        """Insert the rows, or let them update or replace existing ones. Raises SqlError."""
        statement, writer = self._statement, self._writer
        if not (statement.on_duplicate or statement.ignore or statement.replace):
            writer.expect(len(rows))
            for number, cells in enumerate(rows, 1):
                self._insert(writer.keyed(cells, number))
            return
        placed = self._placed(rows)
        if statement.on_duplicate:
            for number, row in placed:
                self._insert_or_update(number, row)
        elif statement.replace:
            for _, row in placed:
                self._replace(row)
        else:
            for row in without_orphans(self._context, self._table, [row for _, row in placed]):
                self._insert_or_ignore(row)

    def _write_loaded(self, rows: Sequence[Cells]) -> None:
        for row in without_orphans(self._context, self._table, [row for _, row in self._placed(rows)]):
            if self._statement.replace:
                self._replace(row, counts=False)
            else:
                self._insert_or_ignore(row)

    def _placed(self, rows: Sequence[Cells]) -> list[tuple[int, KeyedRow]]:
        """Return the rows, with their numbers, that have a partition (getKeysNeedCheck)."""
        placed = []
        for number, cells in enumerate(rows):
            try:
                placed.append((number, self._writer.keyed(cells, number + 1)))
            except SqlError as error:
                if not self._statement.ignore or error.number not in MISPLACED:
                    raise
                self._context.warn(error)
        return placed

    def _insert(self, row: KeyedRow, is_new: bool = False) -> None:
        if not is_new:
            remove_marked(self._writer, row)
        self._writer.insert(row, is_new)
        self._added += 1
        self._affected += 1

    def _insert_or_ignore(self, row: KeyedRow) -> None:
        """Insert a row, or leave it out with a warning (batchCheckAndInsert)."""
        remove_marked(self._writer, row)
        for entry, _ in self._writer.owners(row):
            self._writer.lock_key(row, entry)
            self._context.warn(duplicate_error(self._table, entry, row.cells))
            return
        try:
            self._insert(row, is_new=True)
        except SqlError as error:
            if error.number != 3819:
                raise
            self._context.warn(error)

    def _replace(self, row: KeyedRow, counts: bool = True) -> None:
        """Delete every row with a key of the new row, then insert it. An identical row stays (replaceRow). `counts` is
        whether deleted and identical rows are affected."""
        remove_marked(self._writer, row)
        for entry, owner in self._writer.owners(row):
            old = self._writer.cells(owner)
            self._affected += counts
            if old == row.cells:
                self._writer.lock_key(row, entry)
                return
            assert old is not None, "it owns the key"
            self._writer.delete(owner, old)
            self._deleted += 1
        self._insert(row, is_new=True)

    def _insert_or_update(self, number: int, row: KeyedRow) -> None:
        """Insert a row, or update the row that has its first key (batchUpdateDupRows)."""
        assert self._update is not None, "the statement has ON DUPLICATE KEY UPDATE"
        remove_marked(self._writer, row)
        _, owner = next(self._writer.owners(row), (None, None))
        if owner is None:
            self._insert(row, is_new=True)
            return
        old = self._writer.cells(owner)
        assert old is not None, "it owns the key"
        extra = self._extra[number] if self._extra else []
        new = self._update.apply(old, owner, row.cells, extra, number + 1)
        if self._statement.ignore and new != old and breaks_key(self._context, self._table, new, self._update.named):
            return
        try:
            changed = self._writer.update(owner, old, new)
            self._affected += 2 if changed else self._found_rows
            self._updated += changed or self._found_rows
        except SqlError as error:
            if not self._statement.ignore or error.number not in IGNORED:
                raise
            self._context.warn(error)


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
        query = _with_columns(statement.query, extra)
        self._relation = build_query(query, QueryScope(self._compilation))
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
            slot = _slot(column, field)
            if slot is not None and family(column.type) not in ("date", "datetime"):
                copied.append((values.place_of[column.name], slot))
            else:
                made.append((values.place_of[column.name], _maker(column, expression, slot, values)))
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


def _slot(column: Column, field: Field | None) -> int | None:
    """Return the place in rows of a cell of the column's own type; None if there is none."""
    if field is None or field.column is None or not field.slots or field.column.type != column.type:
        return None
    return field.start + field.slots[0]


def _maker(column: Column, value: Expression, slot: int | None, values: RowValues) -> Make:
    evaluate, context = datum_of(value, column), values.context

    def cast(row: Values, number: int) -> Cell:
        return values.cast(column, evaluate(row, context), number)

    if slot is None:
        return cast

    def copy(row: Values, number: int) -> Cell:
        cell: Cell = row[slot]
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
        return structs.replace(query, query=_with_columns(query.query, names))
    if not isinstance(query, SelectTree) or not names:
        return query
    return structs.replace(query, items=(*query.items, *(SelectItem(node, node.parts[-1]) for node in names)))


class DuplicateUpdate:
    """Computes stored rows after ON DUPLICATE KEY UPDATE."""

    def __init__(
        self, statement: Insert, table: Table, context: StatementContext, selected: SelectedRows | None
    ) -> None:
        """Raises SqlError for names that mean nothing, 3105 for a generated column."""
        assignments = statement.on_duplicate
        self._values = RowValues(table, context, DUPLICATE, len(statement.rows or ()))
        stored = table_fields(table, table.name, table.schema)
        width = len(self._values.columns) + 1
        inserted = stored.moved(width)
        others = () if selected is None else selected.fields(inserted, 2 * width)
        scope = QueryScope(self._values.compilation, Fields((*stored, *others))).changed(inserted=inserted)
        columns = [_assigned_column(each, table) for each in assignments]
        context.check_named(*(column.name for column in columns))
        check_updated(columns, table)
        self.named = {column.name for column in columns}
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
        self._values.finish_update(old, updated, self.named)
        return updated


def _assigned_column(each: Assignment, table: Table) -> Column:
    *qualifier, name = each.column.parts
    column = columns_by_name(table).get(name.lower())
    if column is None or qualifier and qualifier[-1].lower() != table.name.lower():
        raise sql_error(1054, ".".join(each.column.parts), "field list")
    return column

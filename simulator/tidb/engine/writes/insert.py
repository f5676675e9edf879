"""INSERT and REPLACE.

All values are computed and checked before any row is written, and rows are written one after another. A new row that has a
key of another row is refused (INSERT), left out (INSERT IGNORE), put in the other's place (REPLACE), or updates the other
(ON DUPLICATE KEY UPDATE).

Sources: tidb pkg/executor/insert.go, insert_common.go, replace.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.names import resolve_columns, resolve_partitions, resolve_table
from simulator.tidb.engine.outcome import StatementOutcome
from simulator.tidb.engine.queries.relation import CELL_SIZE, CHECKED_ROWS, ROW_SIZE, Values
from simulator.tidb.engine.writes.assign import SELECT, VALUES, RowValues
from simulator.tidb.engine.writes.duplicate_updates import DuplicateUpdate, SelectedRows
from simulator.tidb.engine.writes.foreign_keys import enforce_foreign_keys, without_orphans
from simulator.tidb.engine.writes.new_rows import AutoIds, ValueRows
from simulator.tidb.engine.writes.rows import KeyedRow, RowWriter
from simulator.tidb.engine.writes.soft_deletes import remove_marked
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import Cells, Column, Table, shown_columns
from simulator.tidb.syntax.queries import Insert

DUPLICATE_OR_BROKEN = (1062, 3819)
"""Errors of a row that IGNORE turns to warnings."""

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

        self._affected = self._added = self._updated = self._deleted = 0

    def execute(self) -> StatementOutcome:
        """Insert the rows that the statement has. Raises SqlError."""
        statement, context = self._statement, self._context
        columns = assigned_columns(statement, self._table)
        selected = None
        if statement.query is not None:
            selected = SelectedRows(statement, columns, self._table, context)
        if statement.on_duplicate:
            self._update = DuplicateUpdate(statement.on_duplicate, self._table, context, selected)
        origin = VALUES if selected is None else SELECT
        values = RowValues(self._table, context, origin, len(statement.rows or ()))
        if selected is None:
            return self._insert_all(ValueRows(values, columns, statement.rows or ()).rows(columns), self._write)
        self._extra = selected.beside
        return self._insert_all(selected.rows(values), self._write, one_by_one=True)

    def load(self, rows: Iterator[Cells]) -> StatementOutcome:
        """Insert the rows of LOAD DATA (tidb pkg/executor/load_data.go, checkAndInsertOneBatch). Raises SqlError."""
        outcome = self._insert_all(rows, self._write_loaded)
        skipped = outcome.matched - self._affected
        message = f"Records: {outcome.matched}  Deleted: {self._deleted}  Skipped: {skipped}"
        return replace(outcome, message=f"{message}  Warnings: {len(outcome.warnings)}")

    def _insert_all(
        self, rows: Iterator[Cells], write: Callable[[Sequence[Cells]], None], one_by_one: bool = False
    ) -> StatementOutcome:
        context, count = self._context, 0
        try:
            found = self._with_ids(rows, one_by_one)
            count = len(found)
            write(found)
            enforce_foreign_keys(context, [self._writer])
        except IdsExhausted as error:
            context.warn(error.error)
        finally:
            if self._added and self._ids.first:
                session = context.session
                session.settings = replace(session.settings, last_insert_id=self._ids.first)
        message = ""
        if count > 1 or self._statement.query is not None:
            repeated = count - self._added if self._statement.ignore else self._updated
            message = f"Records: {count}  Duplicates: {repeated}  Warnings: {len(context.warnings)}"
        return StatementOutcome(
            affected=self._affected,
            matched=count,
            insert_id=self._ids.first or self._ids.explicit,
            warnings=tuple(context.warnings),
            message=message,
        )

    def _with_ids(self, rows: Iterator[Cells], one_by_one: bool) -> list[Cells]:
        """Return the rows with their ids. Raises SqlError."""
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
            if self._statement.ignore and not self._statement.on_duplicate and error.number == 1467:
                raise IdsExhausted(error) from None
            raise
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
            self._context.warn(self._writer.duplicate_error(row, entry))
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
        try:
            changed = self._writer.update(owner, old, new)
            self._affected += 2 * changed
            self._updated += changed
        except SqlError as error:
            if not self._statement.ignore or error.number not in (*DUPLICATE_OR_BROKEN, *MISPLACED):
                raise
            self._context.warn(error)


class IdsExhausted(Exception):
    """No ids are left for an INSERT IGNORE, which then inserts no row."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(error)
        self.error = error

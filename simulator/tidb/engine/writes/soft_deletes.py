"""Rows that are marked as deleted, of tables with SOFTDELETE: DELETE, RECOVER VALUES, and INSERT over such rows.

While tidb_translate_softdelete_sql is on, no statement sees a marked row, and none may name its mark. Source: TiDB's
branch feature/active-active, tests/integrationtest/r/softdelete/*.result, r/active_active/origin_ts.result and
pkg/executor (TestSoftDeleteAffectedRowsAndStmtMessage), for the texts of errors and what counts as affected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.tidb import syntax
from simulator.tidb.engine.clock import now_text
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.names import resolve_table
from simulator.tidb.engine.outcome import StatementOutcome
from simulator.tidb.engine.queries.plans import match, new_compilation
from simulator.tidb.engine.queries.relation import Base
from simulator.tidb.engine.writes.assign import UPDATE, RowValues
from simulator.tidb.engine.writes.rows import KeyedRow, Location, RowWriter
from simulator.tidb.errors import not_simulated, sql_error_with_text
from simulator.tidb.model.table import SOFT_DELETE_TIME, Cells, Column, Table

UNSUPPORTED = "This version of TiDB doesn't yet support '{}'"


def check_updated(columns: Sequence[Column], table: Table) -> None:
    """Raise SqlError 1235 for an assignment to the primary key of a table with SOFTDELETE."""
    if table.soft_delete and any(column.name in table.primary_key for column in columns):
        raise sql_error_with_text(1235, UNSUPPORTED.format("updating primary key column on soft-delete table"))


def marks_instead(bases: Sequence[Base], context: StatementContext) -> bool:
    """Return whether a DELETE only marks the rows of its tables. Raises SqlError 1105 for tables of both kinds."""
    marked = [base for base in bases if base.stored.table.soft_delete and context.session.settings.soft_deletes]
    if marked and len(marked) < len(bases):
        raise sql_error_with_text(1105, "cannot mix soft delete and non-soft delete tables in DELETE statement")
    return bool(marked)


def marking(writer: RowWriter, context: StatementContext, deletes: bool = True) -> Callable[[Location, Cells], bool]:
    """Return a function that marks a row as deleted, or takes its mark away, and returns whether it changes."""
    values = RowValues(writer.table, context, UPDATE)
    place = values.place_of[SOFT_DELETE_TIME]
    now = now_text("timestamp", 6, context.session.settings, context.now_ms).encode()

    def write(location: Location, old: Cells) -> bool:
        new = [*old]
        new[place] = now if deletes else None
        values.finish_update(old, new, (SOFT_DELETE_TIME,))
        return writer.update(location, old, new)

    return write


def recover_values(statement: syntax.RecoverValues, context: StatementContext) -> StatementOutcome:
    """Execute RECOVER VALUES. Raises SqlError."""
    table = resolve_table(context, statement.source.name, "UPDATE")
    if not context.database.release.soft_deletes:
        raise sql_error_with_text(1064, "there is no RECOVER VALUES in this release")
    if table.soft_delete is None:
        raise sql_error_with_text(1235, UNSUPPORTED.format("RECOVER VALUES on table without soft delete enabled"))
    if statement.where and any(isinstance(part, syntax.ContextExpression) for part in syntax.walk(statement.where)):
        raise not_simulated("RECOVER VALUES with a subquery is not computed, whose tables hide their marked rows")
    context.sees_marked = True
    rows = match(statement.source, statement.where, (), None, None, new_compilation(context))
    (base,) = rows.bases
    writer = RowWriter(base.stored, context)
    write = marking(writer, context, deletes=False)
    matched = changed = 0
    for row in rows.rows(context):
        location: Location = row[base.place]
        matched += 1
        changed += write(location, row[: base.place])
    message = f"Rows matched: {matched}  Changed: {changed}  Warnings: {len(context.warnings)}"
    return StatementOutcome(affected=changed, matched=matched, warnings=tuple(context.warnings), message=message)


def remove_marked(writer: RowWriter, row: KeyedRow) -> None:
    """Delete the marked rows that have a key of a new row (ReplaceConflictIfExpr)."""
    if writer.mark is None:
        return
    for _, owner in [*writer.owners(row)]:
        old = writer.cells(owner)
        if old is not None and old[writer.mark] is not None:
            writer.delete(owner, old)

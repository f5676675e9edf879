"""CHECK constraints.

A row violates a CHECK whose condition is false, not one whose condition is unknown. A table has the CHECKs that were
defined while tidb_enable_check_constraint was on. They apply whatever the variable is later (tidb
pkg/table/tables/tables.go, CheckRowConstraint; since 7.2.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.conversions import as_boolean
from simulator.tidb.expressions.expression import Evaluate
from simulator.tidb.expressions.tables import table_expression
from simulator.tidb.model.table import Cells, Table
from simulator.tidb.model.table_keys import cached_by_table


@cached_by_table
def check_conditions(table: Table) -> list[tuple[str, Evaluate]]:
    """Return the names and conditions of a table's CHECKs. A row violates one that is False."""
    return [
        (check.name, as_boolean(table_expression(table, check.expression))) for check in table.checks if check.enforced
    ]


def with_stored_checks(statement: syntax.Statement, table: Table, enabled: bool) -> Table:
    """Return a created or altered table with the CHECKs that TiDB stores; `enabled` is tidb_enable_check_constraint."""
    forgotten = isinstance(statement, syntax.CreateTable) and not enabled
    return replace(table, checks=()) if forgotten and table.checks else table


def verify_added_checks(context: StatementContext, before: Table | None, table: Table, rows: Iterable[Cells]) -> None:
    """Raise SqlError 3819 if a row violates a CHECK that ALTER TABLE adds or enforces.

    TiDB searches rows by `WHERE NOT condition` without parentheses, so NOT applies to the first operand only
    (pkg/ddl/constraint.go, verifyRemainRecordsForCheckConstraint).
    """
    if before is None or before.checks == table.checks:
        return
    added = [
        (check, as_boolean(table_expression(table, f"NOT {check.expression}")))
        for check in table.checks
        if check.enforced and check not in before.checks
    ]
    kept = list(rows) if added else []
    for check, violated in added:
        if any(violated(cells, context) for cells in kept):
            raise sql_error(3819, check.name.lower())

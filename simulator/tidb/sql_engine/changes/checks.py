"""CHECK constraints of a table.

A row violates a CHECK whose condition is false, not one whose condition is unknown. A table has the CHECKs that were
defined while tidb_enable_check_constraint was on. They apply whatever the variable is later (tidb
pkg/table/tables/tables.go, CheckRowConstraint; since 7.2.0).
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import Table
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.evaluate import RowSource, evaluate
from simulator.tidb.sql_engine.storage.rows import KeyedRows, column_arrays
from simulator.tidb.sql_engine.storage.state import Upstream


def check_rows(rows: KeyedRows, table: Table, upstream: Upstream, now_ms: int) -> KeyedRows:
    """Return the rows with the name of the first CHECK that each violates."""
    checks = [each for each in table.checks if each.enforced]
    if not checks or not len(rows):
        return rows
    broken = [syntax.Is(parse_expression(constraint.expression), "FALSE") for constraint in checks]
    values = evaluate(broken, [None] * len(broken), upstream, now_ms, [RowSource(table, rows.texts)])
    names = pa.nulls(len(rows), pa.string())
    for check, truth in reversed([*zip(checks, values, strict=True)]):
        names = pc.if_else(pc.equal(truth.cast(pa.string()), "1"), check.name, names)
    return replace(rows, violated_checks=names) if names.null_count < len(names) else rows


def with_stored_checks(statement: syntax.Statement, table: Table, upstream: Upstream) -> Table:
    """Return a created or altered table with the CHECKs that TiDB stores."""
    forgotten = isinstance(statement, syntax.CreateTable) and not upstream.session.check_constraints
    return replace(table, checks=()) if forgotten and table.checks else table


def verify_added_checks(upstream: Upstream, before: Table | None, table: Table, now_ms: int) -> None:
    """Raise SqlError 3819 if a row violates a CHECK that ALTER TABLE adds or enforces.

    TiDB searches rows by `WHERE NOT condition` without parentheses, so NOT applies to the first operand only
    (pkg/ddl/constraint.go, verifyRemainRecordsForCheckConstraint).
    """
    if before is None or before.checks == table.checks:
        return
    stored = upstream.rows.get(object_key(table.schema, table.name))
    for check in table.checks if stored is not None and len(stored.row_ids) else ():
        if check.enforced and check not in before.checks:
            assert stored is not None
            rows = RowSource(table, column_arrays(stored.cells))
            values = evaluate(
                [syntax.Is(parse_expression(f"NOT {check.expression}"), "TRUE")], [None], upstream, now_ms, [rows]
            )
            if pc.any(pc.equal(values[0].cast(pa.string()), "1")).as_py():
                raise sql_error(3819, check.name.lower())

"""CHECK constraints of a table.

One law: a row breaks one whose condition is false, not one whose condition is unknown; a table has them only if
tidb_enable_check_constraint was on when it was made, and they hold while it is (tidb pkg/table/constraint.go, since
7.2.0).
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.expressions.trees import parsed
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import AddKey, AlterCheck, DropKey, Spec
from simulator.tidb.syntax.expressions import Is
from simulator.tidb.syntax.statements import AlterTable, CreateTable, Statement
from simulator.tidb.upstream.queries import RowSource, values_of
from simulator.tidb.upstream.refusals import worded
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.upstream.stored import KeyedRows


def checked(rows: KeyedRows, table: Table, upstream: Upstream, now_ms: int) -> KeyedRows:
    """The rows with the name of the first CHECK that each breaks."""
    checks = [each for each in table.checks if each.enforced] if upstream.session.check_constraints else []
    if not checks or not len(rows):
        return rows
    broken = [Is(parsed(constraint.expression), "FALSE") for constraint in checks]
    found = values_of(broken, [None] * len(broken), upstream, now_ms, [RowSource(table, rows.texts)])
    names = pa.nulls(len(rows), pa.string())
    for check, truth in reversed([*zip(checks, found, strict=True)]):
        names = pc.if_else(pc.equal(truth.cast(pa.string()), "1"), check.name, names)
    return replace(rows, broken=names) if names.null_count < len(names) else rows


def kept(statement: Statement, table: Table, upstream: Upstream) -> Table:
    """A table that a statement has made or changed, with the CHECKs that TiDB keeps."""
    forgotten = isinstance(statement, CreateTable) and not upstream.session.check_constraints
    return replace(table, checks=()) if forgotten and table.checks else table


def is_forgotten(statement: Statement, upstream: Upstream) -> bool:
    """Whether the statement is about CHECKs alone, of which TiDB makes no job while they are off.

    Raises SqlError for a statement on the CHECKs of a table while they are on.
    """
    about = [_is_check(spec) for spec in statement.specs] if isinstance(statement, AlterTable) else []
    if any(about) and upstream.session.check_constraints:
        raise worded(1105, "ALTER TABLE of a CHECK with tidb_enable_check_constraint = ON is not simulated; accepted: "
                           "CHECK in CREATE TABLE")
    return bool(about) and all(about)


def _is_check(spec: Spec) -> bool:
    return isinstance(spec, AlterCheck) or isinstance(spec, DropKey) and spec.kind == "check" or (
        isinstance(spec, AddKey) and spec.key.kind == "check")

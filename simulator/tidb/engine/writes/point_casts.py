"""The values of an UPDATE of rows by a primary or unique key.

TiDB plans such a statement without its optimizer and casts the values of all assignments by CAST before it casts them to the
columns: '1.5' is no integer, and what is no time is NULL without strict mode, not zero (tidb
pkg/planner/core/point_get_plan.go, tryUpdatePointPlan, buildOrderedList).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.engine.queries.relation import Base
from simulator.tidb.engine.sessions.clock import time_zone
from simulator.tidb.expressions.casts import cast
from simulator.tidb.expressions.context import TRUNCATED, Context
from simulator.tidb.expressions.expression import Expression, apply_in_context
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses, walk
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS
from simulator.tidb.values.moments import as_utc, parse_stored_moment


def is_point_update(statement: syntax.Update, bases: Sequence[Base]) -> bool:
    """Return whether TiDB updates rows by a primary or unique key without its optimizer."""
    if len(bases) != 1 or statement.where is None:
        return False
    table = bases[0].stored.table
    if any(column.generated for column in table.columns):
        return False
    if any(isinstance(part, syntax.ContextExpression) for each in statement.assignments for part in walk(each.value)):
        return False
    keys = [table.primary_key]
    for index in table.indexes:
        if index.unique and all(part.length < 0 for part in index.columns):
            keys.append(tuple(part.name for part in index.columns))
    names = sorted(_compared_column(node) for node in conjuncts(statement.where))
    return names in [sorted(name.lower() for name in key) for key in keys if key]


def _compared_column(node: syntax.Node) -> str:
    """Return the column that a condition compares with literals; empty for any other condition."""
    node = strip_parentheses(node)
    if isinstance(node, syntax.Binary) and node.operator == "=":
        sides = strip_parentheses(node.left), strip_parentheses(node.right)
        for side, other in (sides, sides[::-1]):
            if isinstance(side, syntax.ColumnName) and isinstance(other, syntax.Literal):
                return side.parts[-1].lower()
    if isinstance(node, syntax.In) and not node.negated and isinstance(node.operand, syntax.ColumnName):
        if all(isinstance(each, syntax.Literal) for each in node.candidates):
            return node.operand.parts[-1].lower()
    return ""


def point_cast(value: Expression, column: Column) -> Expression:
    """Return a value as CAST makes it for a column."""
    type, digits = column.type, max(column.type.decimal, 0)
    if type.name in INTEGER_BITS:
        return cast(value, "UNSIGNED" if type.unsigned else "SIGNED")
    if type.name == "decimal":
        return cast(value, f"DECIMAL({type.length}, {digits})")
    if type.name in ("float", "double"):
        return value if value.kind == "real" else cast(value, "DOUBLE")
    if type.name in ("date", "json"):
        return cast(value, type.name.upper())
    if type.name in ("datetime", "time"):
        return cast(value, f"{type.name.upper()}({digits})")
    if type.name == "timestamp":
        moment = cast(value, f"DATETIME({digits})")
        return replace(moment, evaluate=apply_in_context(_in_range, moment.evaluate))
    return value


def _in_range(context: Context, moment: str) -> str | None:
    """Return a moment that a TIMESTAMP can be; any other is NULL, with a problem."""
    stored = parse_stored_moment(moment)
    if stored.is_zero() or as_utc(stored, time_zone(context.zone)) is not None:
        return moment
    shown = " ".join(map(str, stored[:7]))
    context.problem(TRUNCATED, f"1292 Incorrect time value: '{{{shown}}}'")
    return None

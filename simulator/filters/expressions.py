"""SQL expressions of event filters over the rows of a table, as Spark conditions.

One law: an expression means what it means to TiDB, which TiCDC asks (tiflow v8.5.3 pkg/filter/expr_filter.go): a row
is ignored if the whole number that comes out is 1, so NULL, 2 and '1' ignore nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.expression_checks import check, column_of, parsed
from simulator.filters.mysql_arithmetic import bits, calculated, negative, unsigned
from simulator.filters.mysql_branches import as_known, chosen
from simulator.filters.mysql_casts import cast, stored
from simulator.filters.mysql_cells import of_column, of_literal
from simulator.filters.mysql_comparisons import OPERATORS, compared, like, regexp
from simulator.filters.mysql_functions import FUNCTIONS
from simulator.filters.mysql_values import Value, as_text, boolean, null, truth
from simulator.schema.charsets import charset_of
from simulator.schema.expression_tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Collate,
    ColumnName,
    In,
    Is,
    Literal,
    Node,
    Parenthesised,
    Pattern,
    Unary,
    Word,
)
from simulator.schema.table import Table

__all__ = ["check", "condition"]


def condition(expression: str, table: Table, values: Mapping[str, Column]) -> Column:
    """Whether the expression ignores a row: a Spark boolean, never null.

    `values` are the TiDB texts of the row's columns by name, null for NULL; virtual generated columns are computed.
    Raises ChangefeedError as `check` does.
    """
    check(expression, table)
    scope = Scope(table, values)
    return F.coalesce(_is_one(valued(parsed(expression), scope)), F.lit(False))


def _is_one(value: Value) -> Column:
    """Whether TiCDC finds a 1 in the result (tiflow v8.5.3 pkg/filter/expr_filter.go, skipDMLByExpression)."""
    if value.kind == "bool":
        return value.column
    if value.kind == "json":
        return value.column.startswith("{")
    if value.number is not None and value.collation != "binary":
        return value.number == 1
    return value.column == 1 if value.kind in ("int", "uint") and value.integral else F.lit(False)


class Scope(NamedTuple):
    """What names mean."""

    table: Table
    values: Mapping[str, Column]


def valued(node: Node, scope: Scope) -> Value:
    """The value of a node for a row."""
    return _VALUES[type(node)](node, scope)


def _of_name(node: ColumnName, scope: Scope) -> Value:
    column = column_of(node, scope.table)
    assert column is not None, "checked before"
    if column.name in scope.values:
        return of_column(column, scope.values[column.name])
    return stored(valued(parsed(column.generated_expression), scope), column)


def _unary(node: Unary, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    if node.operator in ("NOT", "!"):
        return boolean(~truth(value))
    if node.operator == "-":
        return negative(value)
    if node.operator == "~":
        return null() if value.kind == "null" else unsigned(F.bitwise_not(bits(value)))
    return cast(value, "BINARY") if node.operator == "BINARY" else value


def _binary(node: Binary, scope: Scope) -> Value:
    """Long chains lean to the left, so the left side is walked, not recursed into."""
    chain = []
    left: Node = node
    while isinstance(left, Binary):
        chain.append((left.operator, left.right))
        left = left.left
    value = valued(left, scope)
    for operator, right in reversed(chain):
        value = _joined(operator, value, valued(right, scope))
    return value


def _joined(operator: str, left: Value, right: Value) -> Value:
    if operator in OPERATORS:
        return boolean(compared(operator, left, right))
    if operator in ("AND", "OR"):
        return boolean(truth(left) & truth(right) if operator == "AND" else truth(left) | truth(right))
    if operator == "XOR":
        return boolean(truth(left) != truth(right))
    return calculated(operator, left, right)


def _call(node: Call, scope: Scope) -> Value:
    return FUNCTIONS[node.name].compute(*(valued(argument, scope) for argument in node.arguments))


def _case(node: Case, scope: Scope) -> Value:
    value = valued(node.value, scope) if node.value else None
    branches = []
    for when, then in node.branches:
        tested = valued(when, scope)
        branches.append((compared("=", value, tested) if value else truth(tested), valued(then, scope)))
    return chosen(branches, valued(node.otherwise, scope) if node.otherwise else null())


def _between(node: Between, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    found = compared(">=", value, valued(node.low, scope)) & compared("<=", value, valued(node.high, scope))
    return boolean(~found if node.negated else found)


def _in(node: In, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    found: Column = F.lit(False)
    for candidate in node.candidates:
        found = found | compared("=", value, valued(candidate, scope))
    return boolean(~found if node.negated else found)


def _pattern(node: Pattern, scope: Scope) -> Value:
    value, pattern = valued(node.operand, scope), valued(node.pattern, scope)
    if "null" in (value.kind, pattern.kind):
        return null()
    text = pattern.constant or ""
    found = regexp(value, text) if node.operator == "REGEXP" else like(value, text, node.escape)
    return boolean(~found if node.negated else found)


def _is(node: Is, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    if node.what == "NULL":
        found = ~as_known(value)
    else:
        found = F.coalesce(truth(value) == F.lit(node.what == "TRUE"), F.lit(False))
    return boolean(~found if node.negated else found)


def _collate(node: Collate, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    return Value(as_text(value), "string", node.collation, 0, bytes=charset_of(node.collation, "") == "binary")


_VALUES: dict[type[Node], Callable[[Any, Scope], Value]] = {
    Literal: lambda node, scope: of_literal(node),
    Word: lambda node, scope: Value(F.lit(node.text), "word", constant=node.text),
    ColumnName: _of_name,
    Unary: _unary,
    Binary: _binary,
    Call: _call,
    Cast: lambda node, scope: cast(valued(node.operand, scope), node.type),
    Case: _case,
    Between: _between,
    In: _in,
    Pattern: _pattern,
    Is: _is,
    Collate: _collate,
    Parenthesised: lambda node, scope: valued(node.inner, scope),
}

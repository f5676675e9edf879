"""Translation of syntax trees of expressions to DuckDB SQL.

A scope resolves column names, functions and settings of the session. Columns come as their TiDB texts.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.expressions.functions.choices import case_value, is_not_null
from simulator.tidb.expressions.functions.registry import FUNCTIONS
from simulator.tidb.expressions.operators.arithmetic import calculate, negate
from simulator.tidb.expressions.operators.casts import cast, cast_to_column
from simulator.tidb.expressions.operators.comparisons import OPERATORS, between, comparison
from simulator.tidb.expressions.operators.equalities import merge_equalities
from simulator.tidb.expressions.operators.texts import like, regexp
from simulator.tidb.expressions.sql.graph import Sql, join, sql, text
from simulator.tidb.expressions.trees import find_column, parse_expression, strip_parentheses
from simulator.tidb.expressions.values.collations import (
    derive_collation,
    function_collation,
    value_collation,
    with_collation,
    with_explicit_collation,
)
from simulator.tidb.expressions.values.context import EvaluationContext
from simulator.tidb.expressions.values.literals import column_value, literal_value, number_value
from simulator.tidb.expressions.values.times import moment_argument
from simulator.tidb.expressions.values.value import (
    CONNECTION_COLLATION,
    MOMENT_KINDS,
    Value,
    as_boolean,
    as_text,
    boolean,
    is_true,
    null,
)
from simulator.tidb.model.charsets import charset_of
from simulator.tidb.model.table import Table


class TranslationScope(Protocol):
    """Resolves names, functions and settings for a translation."""

    def column_value(self, node: syntax.ColumnName) -> Value:
        """Return the value of a column."""

    def call_value(self, node: syntax.Call) -> Value:
        """Return the value of a function."""

    def context(self) -> EvaluationContext:
        """Return the session settings that functions depend on."""

    def collation(self) -> str:
        """Return collation_connection."""

    def subtracts_signed(self) -> bool:
        """Return whether the sql_mode has NO_UNSIGNED_SUBTRACTION."""

    def context_value(self, node: syntax.Node, operand: syntax.Node | None = None) -> Value:
        """Return the value of a node that only a query, a session or a statement on rows can evaluate; with an operand,
        whether a subquery has it among its rows."""


class TableScope(NamedTuple):
    """The scope of one table's columns, for expressions that have been checked before."""

    table: Table
    cells: Mapping[str, Sql]
    """TiDB texts by column; generated columns without one are computed."""

    settings: EvaluationContext = EvaluationContext()

    def column_value(self, node: syntax.ColumnName) -> Value:
        column = find_column(node, self.table)
        assert column is not None, "checked before"
        if column.name in self.cells:
            return column_value(column, self.cells[column.name])
        return cast_to_column(translate(parse_expression(column.generated_expression), self), column)

    def call_value(self, node: syntax.Call) -> Value:
        return translate_call(node, self)

    def context(self) -> EvaluationContext:
        return self.settings

    def collation(self) -> str:
        return "utf8mb4_bin"

    def subtracts_signed(self) -> bool:
        return False

    def context_value(self, node: syntax.Node, operand: syntax.Node | None = None) -> Value:
        raise AssertionError("checked before")


@dataclass(frozen=True)
class KnownValue(syntax.Node):
    """A node with a value that is known already."""

    value: Value


def translate(node: syntax.Node, scope: TranslationScope) -> Value:
    """Return the value of a node."""
    translate = _VALUES.get(type(node))
    result = scope.context_value(node) if translate is None else translate(node, scope)
    if result.kind == "string" and result.collation == CONNECTION_COLLATION:
        return replace(result, collation=scope.collation())
    return result


def translate_call(node: syntax.Call, scope: TranslationScope) -> Value:
    """Return the value of a function that depends on its arguments alone."""
    function = FUNCTIONS[node.name]
    values = [translate(argument, scope) for argument in node.arguments]
    collation = function_collation(node.name, values)
    result = function.compute(scope.context(), *values) if function.needs_context else function.compute(*values)
    return with_collation(result, collation)


def _unary(node: syntax.Unary, scope: TranslationScope) -> Value:
    value = translate(node.operand, scope)
    if node.operator in ("NOT", "!"):
        return boolean(sql("NOT {}", as_boolean(value)))
    if node.operator == "-":
        return negate(value)
    if node.operator == "~":
        return null() if value.kind == "null" else calculate("^", value, number_value(str(2**64 - 1)))
    return cast(value, "BINARY") if node.operator == "BINARY" else value


def _binary(node: syntax.Binary, scope: TranslationScope) -> Value:
    """Return the value of a chain of operators, which is walked iteratively since long chains nest to the left."""
    chain = []
    left: syntax.Node = node
    while isinstance(left, syntax.Binary) and not _of_rows(left):
        chain.append((left.operator, left.right))
        left = left.left
    value = _rows_compared(left, scope) if isinstance(left, syntax.Binary) else translate(left, scope)
    for operator, links in itertools.groupby(reversed(chain), lambda link: link[0]):
        others = [translate(right, scope) for _, right in links]
        if operator in ("AND", "OR"):
            parts = [as_boolean(part) for part in (value, *others)]
            value = boolean(join(operator, merge_equalities(parts) if operator == "OR" else parts))
        else:
            signed = operator == "-" and scope.subtracts_signed()
            if operator in OPERATORS and any(part.kind in MOMENT_KINDS for part in (value, *others)):
                value, others = _of_today(value, scope), [_of_today(other, scope) for other in others]
            value = functools.reduce(lambda left, right: _joined(operator, left, right, signed), others, value)
    return value


def _joined(operator: str, left: Value, right: Value, signed: bool) -> Value:
    if operator in OPERATORS:
        return boolean(comparison(operator, left, right))
    if operator == "XOR":
        return boolean(sql("{} != {}", as_boolean(left), as_boolean(right)))
    return calculate(operator, left, right, signed)


def _of_today(value: Value, scope: TranslationScope) -> Value:
    """Return a TIME as a moment of the day of the statement."""
    if value.kind != "time" or not scope.context().today:
        return value
    return Value(moment_argument(scope.context(), value), "datetime", scale=value.scale)


def _case(node: syntax.Case, scope: TranslationScope) -> Value:
    value = translate(node.value, scope) if node.value else None
    branches = []
    for when, then in node.branches:
        tested = translate(when, scope)
        branches.append((comparison("=", value, tested) if value else as_boolean(tested), translate(then, scope)))
    results = [value for _, value in branches]
    if node.otherwise:
        results.append(translate(node.otherwise, scope))
    result = case_value(branches, results[-1] if node.otherwise else null())
    return with_collation(result, derive_collation("case", results, True)) if result.kind == "string" else result


def _between(node: syntax.Between, scope: TranslationScope) -> Value:
    value, low, high = (translate(part, scope) for part in (node.operand, node.low, node.high))
    result = between(value, low, high)
    return boolean(sql("NOT {}", result) if node.negated else result)


def _of_rows(node: syntax.Binary) -> bool:
    return node.operator in OPERATORS and isinstance(strip_parentheses(node.left), syntax.RowExpression)


def _rows_compared(node: syntax.Binary, scope: TranslationScope) -> Value:
    """Return a comparison of rows: `(a, b) < (1, 2)`."""
    left, right = row_values(node.left, scope), row_values(node.right, scope)
    return boolean(compare_rows(node.operator, left, right))


def row_values(node: syntax.Node, scope: TranslationScope) -> list[Value]:
    """Return the values of a row expression; any other expression is a row of one."""
    row = strip_parentheses(node)
    return [translate(item, scope) for item in (row.items if isinstance(row, syntax.RowExpression) else (row,))]


def compare_rows(operator: str, left: Sequence[Value], right: Sequence[Value]) -> Sql:
    """Return a comparison of rows as a BOOLEAN; the first values that differ decide. Raises SqlError 1241."""
    if len(left) != len(right):
        raise SqlError(1241, "21000", f"Operand should contain {len(left)} column(s)")
    pairs = list(zip(left, right, strict=True))
    if operator in ("=", "<=>"):
        return join("AND", [comparison(operator, *pair) for pair in pairs])
    if operator == "!=":
        return join("OR", [comparison(operator, *pair) for pair in pairs])
    result = comparison(operator, *pairs[-1])
    for pair in reversed(pairs[:-1]):
        strictly = comparison(operator[0], *pair)
        result = sql("{} OR ({} AND {})", strictly, comparison("=", *pair), result)
    return result


def _in(node: syntax.In, scope: TranslationScope) -> Value:
    if len(node.candidates) == 1 and isinstance(node.candidates[0], syntax.ContextExpression):
        result = scope.context_value(node.candidates[0], node.operand).sql
        return boolean(sql("NOT {}", result) if node.negated else result)
    values, others = row_values(node.operand, scope), [row_values(candidate, scope) for candidate in node.candidates]
    together = [*values, *(value for other in others for value in other)]
    if (
        len(values) == 1
        and len(together) == len(others) + 1
        and all(value.kind in ("string", "null") for value in together)
    ):
        first, *rest = with_explicit_collation(derive_collation("in", together).collation, together)
        values, others = [first], [[value] for value in rest]
    if len(values) == 1 and all(len(other) == 1 for other in others):
        equalities = merge_equalities(comparison("=", *values, *other) for other in others)
    else:
        equalities = [compare_rows("=", values, other) for other in others]
    result = join("OR", equalities)
    return boolean(sql("NOT {}", result) if node.negated else result)


def _pattern(node: syntax.PatternMatch, scope: TranslationScope) -> Value:
    value, pattern = translate(node.operand, scope), translate(node.pattern, scope)
    if "null" in (value.kind, pattern.kind):
        return null()
    if node.operator == "REGEXP":
        result = regexp(value, pattern)
    else:
        result = like(value, pattern, node.escape)
    return boolean(sql("NOT {}", result) if node.negated else result)


def _is(node: syntax.Is, scope: TranslationScope) -> Value:
    value = translate(node.operand, scope)
    if node.test == "NULL":
        result = sql("NOT {}", is_not_null(value))
    else:
        result = is_true(as_boolean(value) if node.test == "TRUE" else sql("NOT {}", as_boolean(value)))
    return boolean(sql("NOT {}", result) if node.negated else result)


def _cast(node: syntax.Cast, scope: TranslationScope) -> Value:
    value = translate(node.operand, scope)
    return cast(_of_today(value, scope) if node.type.startswith("DATE") else value, node.type)


def _collate(node: syntax.Collate, scope: TranslationScope) -> Value:
    value = translate(node.operand, scope)
    charset = value_collation(value).charset
    if charset_of(node.collation, "") != charset:
        raise SqlError(1253, "42000", f"COLLATION '{node.collation}' is not valid for CHARACTER SET '{charset}'")
    if value.column_type is not None and value.column_type.elements:
        raise SqlError(1235, "42000", "This version of TiDB doesn't yet support 'use collate clause for enum or set'")
    return Value(as_text(value), "string", node.collation, 0, value.ascii, value.constant, is_binary=value.is_binary)


_VALUES: dict[type[syntax.Node], Callable[[Any, TranslationScope], Value]] = {
    syntax.Literal: lambda node, scope: literal_value(node),
    syntax.Word: lambda node, scope: Value(text(node.text), "word", constant=node.text),
    syntax.ColumnName: lambda node, scope: scope.column_value(node),
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Call: lambda node, scope: scope.call_value(node),
    syntax.Cast: _cast,
    syntax.Case: _case,
    syntax.Between: _between,
    syntax.In: _in,
    syntax.PatternMatch: _pattern,
    syntax.Is: _is,
    syntax.Collate: _collate,
    syntax.Parenthesised: lambda node, scope: translate(node.inner, scope),
    KnownValue: lambda node, scope: node.value,
}

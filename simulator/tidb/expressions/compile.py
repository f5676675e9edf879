"""Compilation of syntax trees of expressions to functions of a row.

A scope resolves column names, functions and whatever depends on a query or a session. What is the same for all rows of a
statement is evaluated once in it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.arithmetic import calculate, negate
from simulator.tidb.expressions.casts import cast
from simulator.tidb.expressions.choices import case_value
from simulator.tidb.expressions.collations import derive_collation, function_collation, value_collation, with_collation
from simulator.tidb.expressions.comparisons import OPERATORS, between, comparison, of_today, one_of
from simulator.tidb.expressions.conversions import as_boolean, as_text, is_true, junction, negated
from simulator.tidb.expressions.expression import (
    CONNECTION_COLLATION,
    MOMENT_KINDS,
    Evaluate,
    Expression,
    Function,
    boolean,
    fixed,
    null,
    once,
)
from simulator.tidb.expressions.literals import literal_value, number_value
from simulator.tidb.expressions.texts import like, regexp
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.types import charset_of


@dataclass
class Compilation:
    """What all parts of a statement are compiled with."""

    collation: str = "utf8mb4_bin"
    """collation_connection."""

    signed_subtraction: bool = False
    """Whether the sql_mode has NO_UNSIGNED_SUBTRACTION."""

    more_digits: int = 4
    """div_precision_increment."""

    varying: int = 0
    """How many parts so far have another value in each row: columns, RAND(), …"""


class Scope(Protocol):
    """Resolves the names of an expression. What has another value in each row is counted in `compilation.varying`."""

    @property
    def compilation(self) -> Compilation:
        """What all parts of the statement are compiled with."""

    def column(self, node: syntax.ColumnName) -> Expression:
        """Return a column. Raises SqlError 1054 and 1052."""

    def call(self, node: syntax.Call) -> Expression:
        """Return the call of a function, such as `compile_function` returns. Raises SqlError."""

    def other(self, node: syntax.Node, operand: syntax.Node | None = None) -> Expression:
        """Return a node that only a query, a session or a statement on rows can evaluate; with an operand, whether a
        subquery has it among its rows. Raises SqlError."""


def compile_expression(node: syntax.Node, scope: Scope) -> Expression:
    """Return an expression as a function of the rows of a scope. Raises SqlError."""
    before = scope.compilation.varying
    compiler = _COMPILERS.get(type(node))
    result = scope.other(node) if compiler is None else compiler(node, scope)
    if result.kind == "string" and result.collation == CONNECTION_COLLATION:
        result = replace(result, collation=scope.compilation.collation)
    if not result.is_constant and scope.compilation.varying == before:
        result = constant(result)
    return result


def constant(value: Expression) -> Expression:
    """Return an expression that is evaluated once in a statement."""
    return replace(
        value,
        evaluate=once(value.evaluate),
        is_constant=True,
        text=None if value.text is None else once(value.text),
        number=None if value.number is None else once(value.number),
    )


def compile_function(node: syntax.Call, function: Function, scope: Scope) -> Expression:
    if function.is_random:
        scope.compilation.varying += 1
    values = [compile_expression(argument, scope) for argument in node.arguments]
    return with_collation(function.compute(*values), function_collation(node.name, values))


def _unary(node: syntax.Unary, scope: Scope) -> Expression:
    value = compile_expression(node.operand, scope)
    if node.operator in ("NOT", "!"):
        return boolean(negated(as_boolean(value)))
    if node.operator == "-":
        return negate(value)
    if node.operator == "~":
        return null() if value.kind == "null" else calculate("^", value, number_value(str(2**64 - 1)))
    return cast(value, "BINARY") if node.operator == "BINARY" else value


def _binary(node: syntax.Binary, scope: Scope) -> Expression:
    """Return a chain of operators, which is walked iteratively since long chains nest to the left."""
    chain = []
    left: syntax.Node = node
    while isinstance(left, syntax.Binary) and not _of_rows(left):
        chain.append((left.operator, left.right))
        left = left.left
    value = _rows_compared(left, scope) if isinstance(left, syntax.Binary) else compile_expression(left, scope)
    for operator, links in itertools.groupby(reversed(chain), lambda link: link[0]):
        others = [compile_expression(right, scope) for _, right in links]
        if operator in ("AND", "OR"):
            value = boolean(junction(operator, [as_boolean(part) for part in (value, *others)]))
        else:
            if operator in OPERATORS and any(part.kind in MOMENT_KINDS for part in (value, *others)):
                value, others = of_today(value), [of_today(other) for other in others]
            value = functools.reduce(lambda one, other: _joined(operator, one, other, scope), others, value)
    return value


def _joined(operator: str, left: Expression, right: Expression, scope: Scope) -> Expression:
    if operator in OPERATORS:
        return boolean(comparison(operator, left, right))
    if operator == "XOR":
        return boolean(comparison("!=", boolean(as_boolean(left)), boolean(as_boolean(right))))
    settings = scope.compilation
    return calculate(operator, left, right, operator == "-" and settings.signed_subtraction, settings.more_digits)


def _case(node: syntax.Case, scope: Scope) -> Expression:
    value = compile_expression(node.value, scope) if node.value else None
    branches = []
    for when, then in node.branches:
        tested = compile_expression(when, scope)
        condition = comparison("=", value, tested) if value else as_boolean(tested)
        branches.append((condition, compile_expression(then, scope)))
    results = [result for _, result in branches]
    if node.otherwise:
        results.append(compile_expression(node.otherwise, scope))
    result = case_value(branches, results[-1] if node.otherwise else null())
    return with_collation(result, derive_collation("case", results, True)) if result.kind == "string" else result


def _between(node: syntax.Between, scope: Scope) -> Expression:
    value, low, high = (compile_expression(part, scope) for part in (node.operand, node.low, node.high))
    result = between(value, low, high)
    return boolean(negated(result) if node.negated else result)


def _of_rows(node: syntax.Binary) -> bool:
    return node.operator in OPERATORS and isinstance(strip_parentheses(node.left), syntax.RowExpression)


def _rows_compared(node: syntax.Binary, scope: Scope) -> Expression:
    """Return a comparison of rows: `(a, b) < (1, 2)`."""
    other = strip_parentheses(node.right)
    if isinstance(other, syntax.ContextExpression) and isinstance(other.tree, syntax.Subquery):
        tree = syntax.Quantified(node.left, node.operator, "", other.tree.query)
        return scope.other(syntax.ContextExpression(other.restored, other.kind, tree))
    left, right = row_values(node.left, scope), row_values(node.right, scope)
    return boolean(compare_rows(node.operator, left, right))


def row_values(node: syntax.Node, scope: Scope) -> list[Expression]:
    """Return the values of a row expression; any other expression is a row of one."""
    row = strip_parentheses(node)
    return [
        compile_expression(item, scope) for item in (row.items if isinstance(row, syntax.RowExpression) else (row,))
    ]


def compare_rows(operator: str, left: Sequence[Expression], right: Sequence[Expression]) -> Evaluate:
    """Return a comparison of rows; the first values that differ decide. Raises SqlError 1241."""
    if len(left) != len(right):
        raise sql_error(1241, len(left))
    pairs = list(zip(left, right, strict=True))
    if operator in ("=", "<=>"):
        return junction("AND", [comparison(operator, *pair) for pair in pairs])
    if operator == "!=":
        return junction("OR", [comparison(operator, *pair) for pair in pairs])
    result = comparison(operator, *pairs[-1])
    for pair in reversed(pairs[:-1]):
        strictly, equal = comparison(operator[0], *pair), comparison("=", *pair)
        result = junction("OR", [strictly, junction("AND", [equal, result])])
    return result


def _in(node: syntax.In, scope: Scope) -> Expression:
    if len(node.candidates) == 1 and isinstance(node.candidates[0], syntax.ContextExpression):
        result = scope.other(node.candidates[0], node.operand).evaluate
    else:
        values = row_values(node.operand, scope)
        others = [row_values(candidate, scope) for candidate in node.candidates]
        if len(values) == 1 and all(len(other) == 1 for other in others):
            result = one_of(values[0], [other[0] for other in others])
        else:
            result = junction("OR", [compare_rows("=", values, other) for other in others])
    return boolean(negated(result) if node.negated else result)


def _pattern(node: syntax.PatternMatch, scope: Scope) -> Expression:
    value, pattern = compile_expression(node.operand, scope), compile_expression(node.pattern, scope)
    if "null" in (value.kind, pattern.kind):
        return null()
    result = regexp(value, pattern) if node.operator == "REGEXP" else like(value, pattern, node.escape)
    return boolean(negated(result) if node.negated else result)


def _is(node: syntax.Is, scope: Scope) -> Expression:
    value = compile_expression(node.operand, scope)
    if node.test == "NULL":
        evaluate = value.evaluate
        wanted = not node.negated
        return boolean(lambda row, context: (evaluate(row, context) is None) is wanted)
    condition = as_boolean(value)
    result = is_true(condition if node.test == "TRUE" else negated(condition))
    return boolean(negated(result) if node.negated else result)


def _cast(node: syntax.Cast, scope: Scope) -> Expression:
    value = compile_expression(node.operand, scope)
    return cast(of_today(value) if node.type.startswith("DATE") else value, node.type)


def _collate(node: syntax.Collate, scope: Scope) -> Expression:
    value = compile_expression(node.operand, scope)
    charset = value_collation(value).charset
    if charset_of(node.collation, "") != charset:
        raise sql_error(1253, node.collation, charset)
    if value.column_type is not None and value.column_type.elements:
        raise sql_error(1235, "use collate clause for enum or set")
    return Expression(
        as_text(value), "string", node.collation, 0, value.ascii, value.constant, is_binary=value.is_binary
    )


_COMPILERS: dict[type[syntax.Node], Callable[[Any, Scope], Expression]] = {
    syntax.Literal: lambda node, scope: literal_value(node),
    syntax.Parameter: lambda node, scope: Expression(lambda row, context: context.parameter, "int", is_constant=True),
    syntax.Word: lambda node, scope: Expression(fixed(node.text), "word", constant=node.text, is_constant=True),
    syntax.ColumnName: lambda node, scope: scope.column(node),
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Call: lambda node, scope: scope.call(node),
    syntax.Cast: _cast,
    syntax.Case: _case,
    syntax.Between: _between,
    syntax.In: _in,
    syntax.PatternMatch: _pattern,
    syntax.Is: _is,
    syntax.Collate: _collate,
    syntax.Parenthesised: lambda node, scope: compile_expression(node.inner, scope),
}

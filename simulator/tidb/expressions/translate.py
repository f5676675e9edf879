"""The tree of an expression as a MySQL value in DuckDB SQL, over rows whose columns a scope knows.

One law: an expression means what it means to TiDB; columns are told by their TiDB text.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from simulator.errors import SqlError
from simulator.tidb.expressions.functions.choices import as_known, chosen
from simulator.tidb.expressions.functions.registry import FUNCTIONS
from simulator.tidb.expressions.operators.arithmetic import calculated, negative
from simulator.tidb.expressions.operators.casts import cast, stored
from simulator.tidb.expressions.operators.comparisons import OPERATORS, between, compared
from simulator.tidb.expressions.operators.texts import like, regexp
from simulator.tidb.expressions.sql.graph import Sql, joined, sql, text
from simulator.tidb.expressions.trees import bare, column_of, parsed
from simulator.tidb.expressions.values.collations import by, derived, of_function, of_value, with_collation
from simulator.tidb.expressions.values.context import Situation
from simulator.tidb.expressions.values.literals import of_column, of_literal, of_number
from simulator.tidb.expressions.values.times import moment_argument
from simulator.tidb.expressions.values.value import CONNECTION, MOMENTS, Value, as_text, boolean, is_true, null, truth
from simulator.tidb.model.charsets import charset_of
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.expressions import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Collate,
    ColumnName,
    ContextExpression,
    In,
    Is,
    Literal,
    Node,
    Parenthesised,
    PatternMatch,
    RowExpression,
    Unary,
    Word,
)


class Names(Protocol):
    """What names mean, and whatever else is more than a row's own."""

    def named(self, node: ColumnName) -> Value:
        """The value of a column."""

    def called(self, node: Call) -> Value:
        """The value of a function."""

    def situation(self) -> Situation:
        """What functions ask of the session."""

    def collation(self) -> str:
        """The connection's."""

    def subtracts_signed(self) -> bool:
        """Whether the sql_mode has NO_UNSIGNED_SUBTRACTION."""

    def answered(self, node: Node, operand: Node | None = None) -> Value:
        """The value of a node that only a query, a session or a statement on rows answers; with an operand, whether a
        subquery has it among its rows."""


class Scope(NamedTuple):
    """The columns of one table. All that an expression says has been checked before."""

    table: Table
    cells: Mapping[str, Sql]
    """TiDB texts by column; generated columns that have none are computed."""

    def named(self, node: ColumnName) -> Value:
        column = column_of(node, self.table)
        assert column is not None, "checked before"
        if column.name in self.cells:
            return of_column(column, self.cells[column.name])
        return stored(valued(parsed(column.generated_expression), self), column)

    def called(self, node: Call) -> Value:
        return computed(node, self)

    def situation(self) -> Situation:
        return Situation()

    def collation(self) -> str:
        return "utf8mb4_bin"

    def subtracts_signed(self) -> bool:
        return False

    def answered(self, node: Node, operand: Node | None = None) -> Value:
        raise AssertionError("checked before")


@dataclass(frozen=True)
class Computed(Node):
    """What is known already, in the place of a node."""

    value: Value


def valued(node: Node, scope: Names) -> Value:
    """The value of a node for a row."""
    translate = _VALUES.get(type(node))
    found = scope.answered(node) if translate is None else translate(node, scope)
    if found.kind == "string" and found.collation == CONNECTION:
        return replace(found, collation=scope.collation())
    return found


def computed(node: Call, scope: Names) -> Value:
    """The value of a function of its arguments alone."""
    function = FUNCTIONS[node.name]
    values = [valued(argument, scope) for argument in node.arguments]
    collation = of_function(node.name, values)
    found = function.compute(scope.situation(), *values) if function.situated else function.compute(*values)
    return with_collation(found, collation)


def _unary(node: Unary, scope: Names) -> Value:
    value = valued(node.operand, scope)
    if node.operator in ("NOT", "!"):
        return boolean(sql("NOT {}", truth(value)))
    if node.operator == "-":
        return negative(value)
    if node.operator == "~":
        return null() if value.kind == "null" else calculated("^", value, of_number(str(2**64 - 1)))
    return cast(value, "BINARY") if node.operator == "BINARY" else value


def _binary(node: Binary, scope: Names) -> Value:
    """Long chains lean to the left, so the left side is walked, not recursed into."""
    chain = []
    left: Node = node
    while isinstance(left, Binary) and not _of_rows(left):
        chain.append((left.operator, left.right))
        left = left.left
    value = _rows_compared(left, scope) if isinstance(left, Binary) else valued(left, scope)
    for operator, links in itertools.groupby(reversed(chain), lambda link: link[0]):
        others = [valued(right, scope) for _, right in links]
        if operator in ("AND", "OR"):
            value = boolean(joined(operator, [truth(part) for part in (value, *others)]))
        else:
            signed = operator == "-" and scope.subtracts_signed()
            if operator in OPERATORS and any(part.kind in MOMENTS for part in (value, *others)):
                value, others = _of_today(value, scope), [_of_today(other, scope) for other in others]
            value = functools.reduce(lambda left, right: _joined(operator, left, right, signed), others, value)
    return value


def _joined(operator: str, left: Value, right: Value, signed: bool) -> Value:
    if operator in OPERATORS:
        return boolean(compared(operator, left, right))
    if operator == "XOR":
        return boolean(sql("{} != {}", truth(left), truth(right)))
    return calculated(operator, left, right, signed)


def _of_today(value: Value, scope: Names) -> Value:
    """A TIME as the moment that it is on the day on which the statement runs."""
    if value.kind != "time" or not scope.situation().today:
        return value
    return Value(moment_argument(scope.situation(), value), "datetime", scale=value.scale)


def _case(node: Case, scope: Names) -> Value:
    value = valued(node.value, scope) if node.value else None
    branches = []
    for when, then in node.branches:
        tested = valued(when, scope)
        branches.append((compared("=", value, tested) if value else truth(tested), valued(then, scope)))
    results = [value for _, value in branches]
    if node.otherwise:
        results.append(valued(node.otherwise, scope))
    found = chosen(branches, results[-1] if node.otherwise else null())
    return with_collation(found, derived("case", results, True)) if found.kind == "string" else found


def _between(node: Between, scope: Names) -> Value:
    value, low, high = (valued(part, scope) for part in (node.operand, node.low, node.high))
    found = between(value, low, high)
    return boolean(sql("NOT {}", found) if node.negated else found)


def _of_rows(node: Binary) -> bool:
    return node.operator in OPERATORS and isinstance(bare(node.left), RowExpression)


def _rows_compared(node: Binary, scope: Names) -> Value:
    """`(a, b) < (1, 2)`: the first values that differ decide."""
    left, right = members(node.left, scope), members(node.right, scope)
    return boolean(pairs_compared(node.operator, left, right))


def members(node: Node, scope: Names) -> list[Value]:
    """The values of a row, or of what stands for a row of one."""
    row = bare(node)
    return [valued(item, scope) for item in (row.items if isinstance(row, RowExpression) else (row,))]


def pairs_compared(operator: str, left: Sequence[Value], right: Sequence[Value]) -> Sql:
    """Rows of as many values compared, as a BOOLEAN."""
    if len(left) != len(right):
        raise SqlError(1241, "21000", f"Operand should contain {len(left)} column(s)")
    pairs = list(zip(left, right, strict=True))
    if operator in ("=", "<=>"):
        return joined("AND", [compared(operator, *pair) for pair in pairs])
    if operator == "!=":
        return joined("OR", [compared(operator, *pair) for pair in pairs])
    found = compared(operator, *pairs[-1])
    for pair in reversed(pairs[:-1]):
        strictly = compared(operator[0], *pair)
        found = sql("{} OR ({} AND {})", strictly, compared("=", *pair), found)
    return found


def _in(node: In, scope: Names) -> Value:
    if len(node.candidates) == 1 and isinstance(node.candidates[0], ContextExpression):
        found = scope.answered(node.candidates[0], node.operand).sql
        return boolean(sql("NOT {}", found) if node.negated else found)
    values, others = members(node.operand, scope), [members(candidate, scope) for candidate in node.candidates]
    together = [*values, *(value for other in others for value in other)]
    if (
        len(values) == 1
        and len(together) == len(others) + 1
        and all(value.kind in ("string", "null") for value in together)
    ):
        first, *rest = by(derived("in", together).collation, together)
        values, others = [first], [[value] for value in rest]
    found = joined("OR", [pairs_compared("=", values, other) for other in others])
    return boolean(sql("NOT {}", found) if node.negated else found)


def _pattern(node: PatternMatch, scope: Names) -> Value:
    value, pattern = valued(node.operand, scope), valued(node.pattern, scope)
    if "null" in (value.kind, pattern.kind):
        return null()
    if node.operator == "REGEXP":
        found = regexp(value, pattern)
    else:
        found = like(value, pattern, node.escape)
    return boolean(sql("NOT {}", found) if node.negated else found)


def _is(node: Is, scope: Names) -> Value:
    value = valued(node.operand, scope)
    if node.what == "NULL":
        found = sql("NOT {}", as_known(value))
    else:
        found = is_true(truth(value) if node.what == "TRUE" else sql("NOT {}", truth(value)))
    return boolean(sql("NOT {}", found) if node.negated else found)


def _cast(node: Cast, scope: Names) -> Value:
    value = valued(node.operand, scope)
    return cast(_of_today(value, scope) if node.type.startswith("DATE") else value, node.type)


def _collate(node: Collate, scope: Names) -> Value:
    value = valued(node.operand, scope)
    charset = of_value(value).charset
    if charset_of(node.collation, "") != charset:
        raise SqlError(1253, "42000", f"COLLATION '{node.collation}' is not valid for CHARACTER SET '{charset}'")
    if value.cell is not None and value.cell.elements:
        raise SqlError(1235, "42000", "This version of TiDB doesn't yet support 'use collate clause for enum or set'")
    return Value(as_text(value), "string", node.collation, 0, value.ascii, value.constant, bytes=value.bytes)


_VALUES: dict[type[Node], Callable[[Any, Names], Value]] = {
    Literal: lambda node, scope: of_literal(node),
    Word: lambda node, scope: Value(text(node.text), "word", constant=node.text),
    ColumnName: lambda node, scope: scope.named(node),
    Unary: _unary,
    Binary: _binary,
    Call: lambda node, scope: scope.called(node),
    Cast: _cast,
    Case: _case,
    Between: _between,
    In: _in,
    PatternMatch: _pattern,
    Is: _is,
    Collate: _collate,
    Parenthesised: lambda node, scope: valued(node.inner, scope),
    Computed: lambda node, scope: node.value,
}

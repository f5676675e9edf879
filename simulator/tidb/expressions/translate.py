"""The tree of an expression as a MySQL value in DuckDB SQL, over the cells of a table's rows.

One law: an expression means what it means to TiDB; columns are told by their TiDB text.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simulator.tidb.expressions.arithmetic import calculated, negative
from simulator.tidb.expressions.branches import as_known, chosen
from simulator.tidb.expressions.casts import cast, stored
from simulator.tidb.expressions.comparisons import OPERATORS, compared, like, regexp
from simulator.tidb.expressions.functions import FUNCTIONS
from simulator.tidb.expressions.sql import Sql, joined, sql, text
from simulator.tidb.expressions.trees import column_of, parsed
from simulator.tidb.expressions.values import (
    Value,
    as_text,
    boolean,
    is_true,
    null,
    of_column,
    of_literal,
    of_number,
    truth,
)
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
    In,
    Is,
    Literal,
    Node,
    Parenthesised,
    Pattern,
    Unary,
    Word,
)


class Scope(NamedTuple):
    """What names mean."""

    table: Table
    cells: Mapping[str, Sql]
    """TiDB texts by column; generated columns that have none are computed."""


def valued(node: Node, scope: Scope) -> Value:
    """The value of a node for a row."""
    return _VALUES[type(node)](node, scope)


def _of_name(node: ColumnName, scope: Scope) -> Value:
    column = column_of(node, scope.table)
    assert column is not None, "checked before"
    if column.name in scope.cells:
        return of_column(column, scope.cells[column.name])
    return stored(valued(parsed(column.generated_expression), scope), column)


def _unary(node: Unary, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    if node.operator in ("NOT", "!"):
        return boolean(sql("NOT {}", truth(value)))
    if node.operator == "-":
        return negative(value)
    if node.operator == "~":
        return null() if value.kind == "null" else calculated("^", value, of_number(str(2 ** 64 - 1)))
    return cast(value, "BINARY") if node.operator == "BINARY" else value


def _binary(node: Binary, scope: Scope) -> Value:
    """Long chains lean to the left, so the left side is walked, not recursed into."""
    chain = []
    left: Node = node
    while isinstance(left, Binary):
        chain.append((left.operator, left.right))
        left = left.left
    value = valued(left, scope)
    for operator, links in itertools.groupby(reversed(chain), lambda link: link[0]):
        others = [valued(right, scope) for _, right in links]
        if operator in ("AND", "OR"):
            value = boolean(joined(operator, [truth(part) for part in (value, *others)]))
        else:
            value = functools.reduce(lambda left, right: _joined(operator, left, right), others, value)
    return value


def _joined(operator: str, left: Value, right: Value) -> Value:
    if operator in OPERATORS:
        return boolean(compared(operator, left, right))
    if operator == "XOR":
        return boolean(sql("{} != {}", truth(left), truth(right)))
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
    found = sql("{} AND {}", compared(">=", value, valued(node.low, scope)),
                compared("<=", value, valued(node.high, scope)))
    return boolean(sql("NOT {}", found) if node.negated else found)


def _in(node: In, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    found = joined("OR", [compared("=", value, valued(candidate, scope)) for candidate in node.candidates])
    return boolean(sql("NOT {}", found) if node.negated else found)


def _pattern(node: Pattern, scope: Scope) -> Value:
    value, pattern = valued(node.operand, scope), valued(node.pattern, scope)
    if "null" in (value.kind, pattern.kind):
        return null()
    if node.operator == "REGEXP":
        found = regexp(value, pattern)
    else:
        found = like(value, pattern, node.escape)
    return boolean(sql("NOT {}", found) if node.negated else found)


def _is(node: Is, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    if node.what == "NULL":
        found = sql("NOT {}", as_known(value))
    else:
        found = is_true(truth(value) if node.what == "TRUE" else sql("NOT {}", truth(value)))
    return boolean(sql("NOT {}", found) if node.negated else found)


def _collate(node: Collate, scope: Scope) -> Value:
    value = valued(node.operand, scope)
    return Value(as_text(value), "string", node.collation, 0, bytes=charset_of(node.collation, "") == "binary")


_VALUES: dict[type[Node], Callable[[Any, Scope], Value]] = {
    Literal: lambda node, scope: of_literal(node),
    Word: lambda node, scope: Value(text(node.text), "word", constant=node.text),
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

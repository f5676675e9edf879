"""SQL expressions of event filters over the rows of a table, as Spark conditions.

One law: an expression means what it means to TiDB, which TiCDC asks (tiflow v8.5.3 pkg/filter/expr_filter.go): a row
is ignored if the whole number that comes out is 1, so NULL, 2 and '1' ignore nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.errors import ChangefeedError, SchemaError
from simulator.filters.mysql_arithmetic import bits, calculated, negative, unsigned
from simulator.filters.mysql_casts import cast, stored
from simulator.filters.mysql_comparisons import OPERATORS, compared, like, regexp
from simulator.filters.mysql_functions import FUNCTIONS, as_known, chosen
from simulator.filters.mysql_json import spark_path
from simulator.filters.mysql_names import ELSEWHERE
from simulator.filters.mysql_time_functions import PARTS, TIME_FUNCTIONS, UNITS
from simulator.filters.mysql_values import Value, as_text, boolean, null, of_column, of_literal, truth
from simulator.schema import table as tables
from simulator.schema.charsets import charset_of
from simulator.schema.dialect import read, tokenize
from simulator.schema.expression_tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Collate,
    ColumnName,
    Fragment,
    In,
    Is,
    Literal,
    Node,
    Parenthesised,
    Pattern,
    Row,
    Unary,
    Word,
)
from simulator.schema.read_expressions import read_node
from simulator.schema.table import Table

ALL = {**FUNCTIONS, **TIME_FUNCTIONS}


def condition(expression: str, table: Table, values: Mapping[str, Column]) -> Column:
    """Whether the expression ignores a row: a Spark boolean, never null.

    `values` are the TiDB texts of the row's columns by name, null for NULL; virtual generated columns are computed.
    Raises ChangefeedError as `check` does.
    """
    check(expression, table)
    scope = Scope(table, values)
    return F.coalesce(_is_one(valued(_parsed(expression), scope)), F.lit(False))


def check(expression: str, table: Table) -> None:
    """Raises ChangefeedError for an expression that TiCDC, or the simulator, cannot take for the rows of a table.

    CDC:ErrInvalidFilterExpression for its text, its functions and what no single row can answer,
    CDC:ErrExpressionColumnNotFound for its columns; without a code for what TiDB computes and Spark does not.
    """
    for node in _walk(_parsed(expression)):
        if isinstance(node, ColumnName) and _column(node, table) is None:
            raise ChangefeedError(
                f"invalid filter expression(s). Cannot find column '{'.'.join(node.parts).lower()}' from table "
                f"'{table.schema}.{table.name}' in: {expression}", "CDC:ErrExpressionColumnNotFound")
        if isinstance(node, Fragment) and node.what != "a variable" or isinstance(node, Row):
            what = node.what if isinstance(node, Fragment) else "a row of values"
            raise _invalid(expression, f"{what} has no place in it")
        problem = _uncomputable(node)
        if problem:
            raise ChangefeedError(f"event filter {expression!r}: {problem} cannot be computed outside TiDB")
        if isinstance(node, Call):
            _check_call(node, expression)


def _invalid(expression: str, why: str) -> ChangefeedError:
    text = f"invalid filter expressions. There is a syntax error in: '{expression}': {why}"
    return ChangefeedError(text, "CDC:ErrInvalidFilterExpression")


def _parsed(expression: str) -> Node:
    try:
        return read(expression, tokenize(expression), read_node)
    except SchemaError as error:
        raise _invalid(expression, str(error)) from None
    except RecursionError:
        raise _invalid(expression, "it is nested too deeply") from None


def _walk(node: Node) -> Iterator[Node]:
    """The node and all nodes in it."""
    waiting: list[Any] = [node]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Node):
            yield found
            waiting += [getattr(found, field.name) for field in fields(found)]  # type: ignore[arg-type]
        elif isinstance(found, tuple):
            waiting += found


def _check_call(node: Call, expression: str) -> None:
    function = ALL.get(node.name)
    if node.schema or function is None:
        raise _invalid(expression, f"FUNCTION {node.name.lower()} does not exist")
    if not function.least <= len(node.arguments) <= function.most:
        raise _invalid(expression, f"Incorrect parameter count in the call to native function '{node.name}'")


def _uncomputable(node: Node) -> str:
    """What TiDB can compute of a node, and Spark cannot."""
    if isinstance(node, Fragment):
        return node.what
    if isinstance(node, Cast) and node.type.endswith((" ARRAY", "VECTOR")):
        return f"a cast to {node.type}"
    if isinstance(node, Pattern) and not isinstance(bare(node.pattern), Literal):
        return f"a pattern of {node.operator} that is no literal"
    return _uncomputable_call(node) if isinstance(node, Call) and not node.schema else ""


def _uncomputable_call(node: Call) -> str:
    if node.name in ELSEWHERE:
        return node.name.removesuffix("_FUNC")
    function = ALL.get(node.name)
    for place in function.constants if function else ():
        argument = bare(node.arguments[place]) if place < len(node.arguments) else None
        if argument is not None and not isinstance(argument, (Literal, Word)) and not _is_number(argument):
            return f"{node.name} with an argument that is no literal"
        if isinstance(argument, Word) and not _is_known(node.name, argument.text):
            return f"{node.name} with {argument.text}"
        if node.name == "JSON_EXTRACT" and isinstance(argument, Literal) and spark_path(argument.text) is None:
            return f"the JSON path {argument.text}"
    return ""


def _is_number(node: Node) -> bool:
    return isinstance(node, Unary) and node.operator in ("-", "+") and isinstance(node.operand, Literal)


def _is_known(function: str, word: str) -> bool:
    """Whether a function can do with a unit or a side."""
    if function == "EXTRACT":
        return word in PARTS or word == "QUARTER"
    return function == "TRIM" or word in UNITS


def bare(node: Node) -> Node:
    """The node without the parentheses around it."""
    while isinstance(node, Parenthesised):
        node = node.inner
    return node


def _column(node: ColumnName, table: Table) -> tables.Column | None:
    """The column that a name means; a name with a schema means none, as TiDB gives the table no schema here."""
    *qualifier, name = node.parts
    if qualifier and [part.lower() for part in qualifier] != [table.name.lower()]:
        return None
    return next((column for column in table.columns if column.name.lower() == name.lower()), None)


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
    column = _column(node, scope.table)
    assert column is not None, "checked before"
    if column.name in scope.values:
        return of_column(column, scope.values[column.name])
    return stored(valued(_parsed(column.generated_expression), scope), column)


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
    return ALL[node.name].compute(*(valued(argument, scope) for argument in node.arguments))


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

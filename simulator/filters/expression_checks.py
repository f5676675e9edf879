"""What is wrong with an expression of an event filter, for the rows of a table, without any row.

One law: TiCDC's words where TiCDC refuses it (tiflow v8.5.3 pkg/filter/expr_filter.go, pkg/errors/cdc_errors.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from simulator.errors import ChangefeedError, SchemaError
from simulator.filters.mysql_functions import FUNCTIONS
from simulator.filters.mysql_json import spark_path
from simulator.filters.mysql_names import ELSEWHERE
from simulator.filters.mysql_time_functions import PARTS, UNITS
from simulator.schema.dialect import read, tokenize
from simulator.schema.expression_tree import (
    Call,
    Cast,
    ColumnName,
    Fragment,
    Literal,
    Node,
    Parenthesised,
    Pattern,
    Row,
    Unary,
    Word,
)
from simulator.schema.read_expressions import read_node
from simulator.schema.table import Column, Table


def check(expression: str, table: Table) -> None:
    """Raises ChangefeedError for an expression that TiCDC, or the simulator, cannot take for the rows of a table.

    CDC:ErrInvalidFilterExpression for its text, its functions and what no single row can answer,
    CDC:ErrExpressionColumnNotFound for its columns; without a code for what TiDB computes and Spark does not.
    """
    for node in _walk(parsed(expression)):
        if isinstance(node, ColumnName) and column_of(node, table) is None:
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


def parsed(expression: str) -> Node:
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
    function = FUNCTIONS.get(node.name)
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
    function = FUNCTIONS.get(node.name)
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


def column_of(node: ColumnName, table: Table) -> Column | None:
    """The column that a name means; a name with a schema means none, as TiDB gives the table no schema here."""
    *qualifier, name = node.parts
    if qualifier and [part.lower() for part in qualifier] != [table.name.lower()]:
        return None
    return next((column for column in table.columns if column.name.lower() == name.lower()), None)

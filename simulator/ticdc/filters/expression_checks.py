"""What is wrong with an expression of an event filter, for the rows of a table, without any row.

One law: TiCDC's words where TiCDC refuses it (tiflow v8.5.3 pkg/filter/expr_filter.go, pkg/errors/cdc_errors.go).
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.errors import ChangefeedError, SchemaError
from simulator.ticdc.filters.events import EventFilters, looks
from simulator.tidb.expressions import reading
from simulator.tidb.expressions.functions import FUNCTIONS
from simulator.tidb.expressions.names import ELSEWHERE
from simulator.tidb.expressions.reading import bare, column_of, uncomputable, walk
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.expressions import Call, ColumnName, Fragment, Literal, Node, Pattern, Row


def verify(filters: EventFilters, tables: Sequence[Table]) -> None:
    """What TiCDC checks when a changefeed is created: every expression against every table it is for, or nothing.

    Raises ChangefeedError as `check` does.
    """
    if not filters.release.checks_expressions_first:
        return
    for rule in filters.rules:
        for table in tables:
            if looks(rule, table):
                for expression in rule.setting.expressions:
                    check(expression, table)


def check(expression: str, table: Table) -> None:
    """Raises ChangefeedError for an expression that TiCDC, or the simulator, cannot take for the rows of a table.

    CDC:ErrInvalidFilterExpression for its text, its functions and what no single row can answer,
    CDC:ErrExpressionColumnNotFound for its columns; without a code for what TiDB computes and DuckDB does not.
    """
    for node in walk(parsed(expression)):
        if isinstance(node, ColumnName):
            _check_column(node, table, expression)
        if isinstance(node, Fragment) and node.what != "a variable" or isinstance(node, Row):
            what = node.what if isinstance(node, Fragment) else "a row of values"
            raise _invalid(expression, f"{what} has no place in it")
        if isinstance(node, Call) and (node.schema or node.name not in ELSEWHERE):
            _check_call(node, expression)
        problem = _uncomputable(node)
        if problem:
            raise ChangefeedError(f"event filter {expression!r}: {problem} cannot be computed outside TiDB")


def _invalid(expression: str, why: str) -> ChangefeedError:
    text = f"invalid filter expressions. There is a syntax error in: '{expression}': {why}"
    return ChangefeedError(text, "CDC:ErrInvalidFilterExpression")


def parsed(expression: str) -> Node:
    try:
        return reading.parsed(expression)
    except SchemaError as error:
        raise _invalid(expression, str(error)) from None


def _check_column(node: ColumnName, table: Table, expression: str) -> None:
    column = column_of(node, table)
    if column is None:
        raise ChangefeedError(
            f"invalid filter expression(s). Cannot find column '{'.'.join(node.parts).lower()}' from table "
            f"'{table.schema}.{table.name}' in: {expression}", "CDC:ErrExpressionColumnNotFound")
    if column.generated == "virtual":
        try:
            reading.definition(column.generated_expression, table)
        except SchemaError as error:
            raise ChangefeedError(f"event filter {expression!r}: column {column.name!r}: {error}") from None


def _check_call(node: Call, expression: str) -> None:
    function = FUNCTIONS.get(node.name)
    if node.schema or function is None:
        raise _invalid(expression, f"FUNCTION {node.name.lower()} does not exist")
    if not function.least <= len(node.arguments) <= function.most:
        raise _invalid(expression, f"Incorrect parameter count in the call to native function '{node.name}'")


def _uncomputable(node: Node) -> str:
    """What TiDB can compute of a node, and DuckDB cannot."""
    if isinstance(node, Pattern) and not isinstance(bare(node.pattern), Literal):
        return f"a pattern of {node.operator} that is no literal"
    return uncomputable(node)

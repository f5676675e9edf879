"""Expressions of a table's definition: generated columns, partitions, indexes, CHECK.

They have been checked before (`expressions.trees.definition_tree`), and are compiled once for each definition. Their rows
are those of the base table.
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.expressions.compile import Compilation, compile_call, compile_expression
from simulator.tidb.expressions.datums import cast_to_column, column_cell
from simulator.tidb.expressions.expression import Evaluate, Expression, place
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.expressions.trees import definition_tree, find_column, parse_expression
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.table_keys import cached_by_table


class TableScope:
    """The columns of one table."""

    def __init__(self, table: Table) -> None:
        self.table, self.compilation = table, Compilation()
        self._places = places_of(table)

    def column(self, node: syntax.ColumnName) -> Expression:
        column = find_column(node, self.table)
        assert column is not None, "checked before"
        self.compilation.varying += 1
        return table_column(self.table, column)

    def call(self, node: syntax.Call) -> Expression:
        return compile_call(node, self)

    def other(self, node: syntax.Node, operand: syntax.Node | None = None) -> Expression:
        raise AssertionError("checked before")


@cached_by_table
def places_of(table: Table) -> dict[str, int]:
    """Return the places of the visible columns in rows, by name."""
    return {column.name: number for number, column in enumerate(visible_columns(table))}


@cached_by_table
def _expressions(table: Table) -> dict[str, Expression]:
    return {}


def table_expression(table: Table, text: str) -> Expression:
    """Return an expression over the rows of a table. Raises SchemaError for one that cannot be computed, SqlError."""
    known = _expressions(table)
    if text not in known:
        known[text] = compile_expression(definition_tree(text, table), TableScope(table))
    return known[text]


def generated_value(table: Table, column: Column) -> Expression:
    """Return what a generated column's expression gives, before it is cast to the column."""
    return table_expression(table, column.generated_expression)


@cached_by_table
def _columns(table: Table) -> dict[str, Expression]:
    return {}


def table_column(table: Table, column: Column) -> Expression:
    """Return a column of a table's rows; a virtual generated column is computed."""
    known = _columns(table)
    if column.name not in known:
        number = places_of(table).get(column.name)
        if number is None:
            tree = parse_expression(column.generated_expression)
            known[column.name] = cast_to_column(compile_expression(tree, TableScope(table)), column)
        else:
            known[column.name] = column_value(column, place(number))
    return known[column.name]


def table_cell(table: Table, column: Column) -> Evaluate:
    """Return the cell of a column of a table's rows; that of a virtual generated column is computed."""
    number = places_of(table).get(column.name)
    return column_cell(generated_value(table, column), column) if number is None else place(number)

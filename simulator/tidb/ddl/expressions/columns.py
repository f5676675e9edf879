"""Columns that SQL expressions name: in generated columns, functional keys and partitioning."""

from __future__ import annotations

from functools import lru_cache

from simulator.errors import DdlError
from simulator.tidb import syntax
from simulator.tidb.ddl.expressions.illegal_functions import parse_or_none
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import Column, Index, Partitioning, Table


@lru_cache(maxsize=4096)
def qualified_names(expression: str) -> frozenset[tuple[str, ...]]:
    """Return the columns that an expression names, with their qualifiers; none for invalid text."""
    tree = parse_or_none(expression)
    return frozenset(name.parts for name in syntax.names_in(tree)) if tree else frozenset()


def column_names(expression: str) -> frozenset[str]:
    """Return the names of columns in an expression, in lower case; none for invalid text."""
    return frozenset(parts[-1].lower() for parts in qualified_names(expression))


def generation_columns(column: Column) -> frozenset[str]:
    return column_names(column.generated_expression) if column.generated else frozenset()


def expression_columns(index: Index) -> frozenset[str]:
    return frozenset().union(*(column_names(part.expression) for part in index.columns if part.expression))


def partitioning_columns(partitioning: Partitioning | None) -> frozenset[str]:
    if partitioning is None:
        return frozenset()
    return frozenset(name.lower() for name in partitioning.columns) | column_names(partitioning.expression or "1")


def dependency_error(table: Table, name: str) -> DdlError | None:
    """Return the error for a column that a generated column or a functional key depends on (TiDB:
    hasDependentByGeneratedColumn)."""
    lowered = name.lower()
    if any(lowered in generation_columns(column) for column in table.columns):
        return tidb_error("ddl:3108", name)
    return (
        tidb_error("ddl:3837", name) if any(lowered in expression_columns(index) for index in table.indexes) else None
    )


def normalize(expression: str) -> str:
    """Return an expression in lower case without blanks and backquotes."""
    return "".join(expression.replace("`", "").split()).lower()

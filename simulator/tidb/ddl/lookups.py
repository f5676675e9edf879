"""Lookups of columns, keys and partitions by name, and of columns that expressions name. All ignore case."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from simulator.errors import DdlError
from simulator.tidb import syntax
from simulator.tidb.ddl.expressions.illegal_functions import parse_or_none
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import Column, Index, Partitioning, Table

MAX_NAME_LENGTH = 64


def lower_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def check_length(name: str) -> None:
    if len(name) > MAX_NAME_LENGTH:
        raise tidb_error("ddl:1059", name)


def first_repeated(names: Iterable[str]) -> str:
    """Return the first name that repeats an earlier one; empty if there is none."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return ""


def find_column(table: Table, name: str) -> Column | None:
    lowered = name.lower()
    return next((column for column in table.columns if column.name.lower() == lowered), None)


def existing_column(table: Table, name: str, error: DdlError) -> Column:
    """Return the column of that name. Raises the error if there is none."""
    column = find_column(table, name)
    if column is None:
        raise error
    return column


def place_after(table: Table, after: str) -> int:
    """Return the position behind a column; 0 for an empty name (FIRST)."""
    return lower_names(column.name for column in table.columns).index(after.lower()) + 1 if after else 0


def find_index(table: Table, name: str) -> Index | None:
    """Return the index of that name; columnar indexes count, too."""
    lowered = name.lower()
    return next((index for index in (*table.indexes, *table.columnar_indexes) if index.name.lower() == lowered), None)


def part_names(index: Index) -> tuple[str, ...]:
    """Return the names of the columns of an index in lower case."""
    return lower_names(part.name for part in index.columns)


def partition_names(partitioning: Partitioning) -> tuple[str, ...]:
    """Return the names of the partitions in lower case."""
    return lower_names(partition.name for partition in partitioning.partitions)


def last_index_id(table: Table) -> int:
    """Return the highest id that an index of the table ever had."""
    return max(table.last_ids.index, *(index.id for index in (*table.indexes, *table.columnar_indexes)), 0)


# -- columns that expressions name ----------------------------------------------------------------------------------------


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

"""Lookups of columns, keys and partitions by name. All ignore case."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.errors import DdlError
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

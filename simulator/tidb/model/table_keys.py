"""The unique keys of a table, and what is computed once of a definition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from simulator.tidb.model.table import SOFT_DELETE_TIME, Column, IndexColumn, Table, visible_columns

CACHED_TABLES = 1024
"""The number of tables whose computed properties are cached."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class UniqueKey:
    name: str
    """The key's name in errors: `PRIMARY`, or the name of the index."""

    columns: tuple[IndexColumn, ...]
    clustered: bool = False
    """Whether it is the handle."""


def cached_by_table(compute: Callable[[Table], Result]) -> Callable[[Table], Result]:
    """Cache a function of a table by the table's identity. Tables are immutable, and hashing one is slow."""
    cache: dict[int, tuple[Table, Result]] = {}

    @functools.wraps(compute)
    def cached(table: Table) -> Result:
        entry = cache.get(id(table))
        if entry is None or entry[0] is not table:
            if len(cache) >= CACHED_TABLES:
                cache.clear()
            entry = cache[id(table)] = table, compute(table)
        return entry[1]

    return cached


@cached_by_table
def mark_place(table: Table) -> int | None:
    """Return the place, in rows, of the time at which a row was marked as deleted; None without SOFTDELETE."""
    if table.soft_delete is None:
        return None
    return [column.name for column in visible_columns(table)].index(SOFT_DELETE_TIME)


@cached_by_table
def unique_keys(table: Table) -> tuple[UniqueKey, ...]:
    """Return the unique keys in the order in which TiDB looks for duplicates: the handle, then unique indexes in their
    order (tidb pkg/executor/batch_checker.go, getKeysNeedCheckOneRow). Those of arrays have `array_keys`."""
    keys = []
    if table.clustered:
        primary = next((index for index in table.indexes if index.primary), None)
        columns = primary.columns if primary else tuple(IndexColumn(name) for name in table.primary_key)
        keys.append(UniqueKey("PRIMARY", columns, clustered=True))
    for index in table.indexes:
        if index.unique and not (index.primary and table.clustered) and not any(map(is_array, index.columns)):
            keys.append(UniqueKey("PRIMARY" if index.primary else index.name, index.columns))
    return tuple(keys)


def is_array(part: IndexColumn) -> bool:
    """Return whether a part of an index is `CAST(… AS … ARRAY)`."""
    return part.expression.rstrip(" )").upper().endswith(" ARRAY")


@cached_by_table
def columns_by_name(table: Table) -> Mapping[str, Column]:
    """Return the columns by their names in lower case."""
    return {column.name.lower(): column for column in table.columns}

"""A cache of what follows from a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from simulator.tidb.model.table import Table

P = ParamSpec("P")
Returned = TypeVar("Returned")


def cached_by_columns(function: Callable[Concatenate[Table, P], Returned]) -> Callable[Concatenate[Table, P], Returned]:
    """Cache a function of a table and of what can be hashed, by position; the ids and origin defaults of columns count, too, which are
    not in the equality of tables."""

    @lru_cache(maxsize=1024)
    def cached(columns: tuple[Hashable, ...], table: Table, /, *others: Any) -> Returned:
        return cast("Callable[..., Returned]", function)(table, *others)

    @wraps(function)
    def by_columns(table: Table, /, *others: P.args, **named: P.kwargs) -> Returned:
        return cached(tuple((each.id, each.origin_default) for each in table.columns), table, *others)

    return by_columns

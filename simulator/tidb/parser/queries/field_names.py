"""The names of a query's columns, for views: aliases, names of columns, what `*` stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

ColumnsOf = Callable[[str, str], Sequence[str]]
"""Returns the columns of a table, given its schema (empty for the current one) and name; raises KeyError."""


def field_names(text: str, columns_of: ColumnsOf) -> tuple[str, ...]:
    """Return the names of the query's columns; none if they are unknown."""
    try:
        tree = sqlglot.parse_one(text, read="mysql")
        select = tree.find(exp.Select)
        return () if select is None else tuple(_names(select, text, columns_of))
    except (SqlglotError, RecursionError, KeyError):
        return ()


def _names(select: exp.Select, text: str, columns_of: ColumnsOf) -> Iterator[str]:
    for field in select.expressions:
        if isinstance(field, exp.Star) or isinstance(field, exp.Column) and isinstance(field.this, exp.Star):
            for table in select.find_all(exp.Table):
                if isinstance(field, exp.Star) or table.alias_or_name.lower() == field.table.lower():
                    yield from columns_of(table.db, table.name)
        else:
            yield field.alias_or_name or field.sql(dialect="mysql")

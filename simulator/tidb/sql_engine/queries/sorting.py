"""What values are sorted and told apart by: ORDER BY, GROUP BY and DISTINCT.

One law: two values that TiDB takes for one have equal keys, and smaller ones smaller keys; NULL comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.errors import SqlError
from simulator.tidb.expressions.operators.texts import collation_key
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.graph import NULL, Sql, sql
from simulator.tidb.expressions.values.json_documents import json_key
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.syntax.queries import Limit


def sort_key(value: Value) -> Sql:
    """What a value is sorted by, null for NULL."""
    if value.kind == "null":
        return NULL
    if value.kind == "string" and value.number is not None and value.coercibility == 2:
        return value.number
    return distinct_key(value)


def distinct_key(value: Value) -> Sql:
    """What a value is told from others by, null for NULL."""
    if value.kind == "string":
        return collation_key(value.sql, value.collation)
    if value.kind == "json":
        return json_key(value)
    if value.kind == "real":
        return sql("{} + 0.0", value.sql)
    return wide_decimals.sort_key(value.sql) if value.kind == "wide" else value.sql


def order_term(column: str, descending: bool) -> str:
    """A term of ORDER BY."""
    return f"{column} DESC NULLS LAST" if descending else f"{column} ASC NULLS FIRST"


def order_rows(source: str, terms: Sequence[str], limit: Limit | None) -> str:
    """The rows of a source in an order, and of those so many."""
    cut = "" if limit is None else f" LIMIT {limit.count} OFFSET {limit.offset}"
    order = f" ORDER BY {', '.join(terms)}" if terms else ""
    return f"(SELECT * FROM {source}{order}{cut})"


def select_ordinal(text: str, count: int) -> int:
    """The place of the column that a number in ORDER BY or GROUP BY means, from 0. Raises SqlError."""
    place = int(text)
    if not 1 <= place <= count:
        raise SqlError(1054, "42S22", f"Unknown column '{text}' in 'order clause'")
    return place - 1

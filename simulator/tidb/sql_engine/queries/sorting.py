"""Sort keys and comparison keys for ORDER BY, GROUP BY and DISTINCT.

Values that are equal in TiDB have equal keys, and smaller values have smaller keys. NULL comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.tidb.expressions.operators.texts import collation_key
from simulator.tidb.expressions.sql import wide_decimals
from simulator.tidb.expressions.sql.graph import NULL, Sql, sql
from simulator.tidb.expressions.values.json_documents import json_key
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.syntax.queries import Limit


def sort_key(value: Value) -> Sql:
    """Return the key by which a value is sorted; null for NULL."""
    if value.kind == "null":
        return NULL
    if value.kind == "string" and value.number is not None and value.coercibility == 2:
        return value.number
    return distinct_key(value)


def distinct_key(value: Value) -> Sql:
    """Return the key by which a value is compared with others; null for NULL."""
    if value.kind == "string":
        return collation_key(value.sql, value.collation)
    if value.kind == "json":
        return json_key(value)
    if value.kind == "real":
        return sql("{} + 0.0", value.sql)
    return wide_decimals.sort_key(value.sql) if value.kind == "wide" else value.sql


def order_term(column: str, descending: bool) -> str:
    """Return a term of ORDER BY."""
    return f"{column} DESC NULLS LAST" if descending else f"{column} ASC NULLS FIRST"


def order_rows(source: str, terms: Sequence[str], limit: Limit | None) -> str:
    """Return the rows of a source in an order, limited."""
    cut = "" if limit is None else f" LIMIT {limit.count} OFFSET {limit.offset}"
    order = f" ORDER BY {', '.join(terms)}" if terms else ""
    return f"(SELECT * FROM {source}{order}{cut})"


def select_ordinal(text: str, count: int) -> int:
    """Return the position, from 0, of the column that a number in ORDER BY or GROUP BY means. Raises SqlError."""
    place = int(text)
    if not 1 <= place <= count:
        raise sql_error(1054, text, "order clause")
    return place - 1

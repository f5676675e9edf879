"""Whether an expression of an event filter ignores a row.

One law: a row is ignored if the whole number that comes out is 1, so NULL, 2 and '1' ignore nothing (tiflow v8.5.3
pkg/filter/expr_filter.go, skipDMLByExpression).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pyarrow as pa

from simulator.errors import ChangefeedError
from simulator.tidb.expressions.evaluate import Uncomputable, evaluated
from simulator.tidb.expressions.reading import parsed
from simulator.tidb.expressions.sql import FALSE, Sql, name, sql
from simulator.tidb.expressions.translate import Scope, valued
from simulator.tidb.expressions.values import Value, is_true
from simulator.tidb.model.table import Table


def ignores(expression: str, table: Table, texts: Mapping[str, pa.Array]) -> pa.BooleanArray:
    """Whether the expression ignores each row; never null.

    `texts` are the TiDB texts of the rows' columns by name, null for NULL; virtual generated columns are computed. The
    expression has been checked. Raises ChangefeedError for what fails over a value, such as a bad regular expression.
    """
    rows = len(next(iter(texts.values())))
    try:
        return evaluated({"ignored": _condition(expression, table, tuple(texts))}, texts, rows)["ignored"]
    except Uncomputable as error:
        raise ChangefeedError(f"event filter {expression!r}: {error}", "CDC:ErrInvalidFilterExpression") from None


@functools.lru_cache(256)
def _condition(expression: str, table: Table, columns: tuple[str, ...]) -> Sql:
    scope = Scope(table, {column: name(column) for column in columns})
    return is_true(_is_one(valued(parsed(expression), scope)))


def _is_one(value: Value) -> Sql:
    """Whether TiCDC finds a 1 in the result."""
    if value.kind == "bool":
        return value.sql
    if value.kind == "json":
        return sql("left({}, 1) = chr(123)", value.sql)
    if value.number is not None and value.collation != "binary":
        return sql("{} = 1", value.number)
    return sql("{} = 1", value.sql) if value.kind in ("int", "uint") and value.integral else FALSE

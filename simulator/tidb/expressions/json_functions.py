"""MySQL's functions of JSON.

One law: what is no JSON is NULL, not an error.
"""

from __future__ import annotations

from simulator.tidb.expressions.branches import Function
from simulator.tidb.expressions.json import extracted, keys, length, unquoted
from simulator.tidb.expressions.sql import sql
from simulator.tidb.expressions.values import Value, as_text, boolean, integer, string

JSON_FUNCTIONS: dict[str, Function] = {
    "JSON_EXTRACT": Function(2, 2, lambda value, path: Value(
        extracted(as_text(value), path.constant or ""), "json"), (1,)),
    "JSON_UNQUOTE": Function(1, 1, lambda value: string(unquoted(value))),
    "JSON_VALID": Function(1, 1, lambda value: boolean(sql("json_valid({})", as_text(value)))),
    "JSON_LENGTH": Function(1, 1, lambda value: integer(length(as_text(value)))),
    "JSON_KEYS": Function(1, 1, lambda value: Value(keys(as_text(value)), "json")),
}
"""By TiDB's names."""

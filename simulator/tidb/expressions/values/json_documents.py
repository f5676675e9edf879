"""Values as JSON documents.

The SQL of a JSON value is its text as `functions.documents` dumps it, with the types of its scalars.
"""

from __future__ import annotations

from simulator.tidb.expressions.sql.graph import NULL, Sql, sql, text
from simulator.tidb.expressions.sql.moments import long_duration_text
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.value import NUMERIC_KINDS, Value, as_real, as_text


def as_document(value: Value) -> Sql:
    """Return a value as a JSON document; text is parsed."""
    if value.kind == "string" and not value.is_binary:
        return python_call("json_of_text", as_text(value))
    return as_json_item(value)


def as_json_item(value: Value) -> Sql:
    """Return a value as an item of a JSON document; text is a string."""
    if value.kind == "null":
        return NULL
    if value.kind == "json":
        return value.sql
    if value.kind == "bool":
        return sql("CASE WHEN {} THEN 'true' WHEN NOT {} THEN 'false' END", value.sql, value.sql)
    if value.kind in ("uint", "int"):
        unsigned = value.kind == "uint" or value.is_year
        shown = sql("{}::VARCHAR", value.sql)
        return python_call("json_scalar", text("UNSIGNED INTEGER"), shown) if unsigned else shown
    if value.kind in NUMERIC_KINDS:
        return python_call("json_scalar", text("DOUBLE"), sql("{}::VARCHAR", as_real(value)))
    if value.kind in ("date", "datetime"):
        shown = sql("left({}, 10)", value.sql) if value.kind == "date" else value.sql
        return python_call("json_scalar", text(value.kind.upper()), shown)
    if value.kind == "time":
        return python_call("json_scalar", text("TIME"), long_duration_text(value.sql))
    kind = f"BLOB {value.blob_type}" if value.is_binary else "STRING"
    return python_call("json_scalar", text(kind), as_text(value))


def unquote_json(value: Value) -> Sql:
    """Return a JSON string without its quotes, or any other value unchanged."""
    return (
        python_call("json_unquote_document", value.sql)
        if value.kind == "json"
        else python_call("json_unquote", as_text(value))
    )


def json_key(value: Value) -> Sql:
    """Return a text that sorts as MySQL compares JSON values."""
    return python_call("json_key", as_json_item(value))

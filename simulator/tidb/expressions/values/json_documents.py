"""Values as JSON documents."""

from __future__ import annotations

from simulator.tidb.expressions.sql.graph import NULL, Sql, sql, text
from simulator.tidb.expressions.sql.moments import clock_text
from simulator.tidb.expressions.sql.python_functions import asked
from simulator.tidb.expressions.values.value import NUMBERS, Value, as_real, as_text


def document(value: Value) -> Sql:
    """A value that is to be a JSON document: text is read as one."""
    if value.kind == "string" and not value.bytes:
        return asked("json_of_text", as_text(value))
    return item(value)


def item(value: Value) -> Sql:
    """A value as part of a JSON document: text is a string."""
    if value.kind == "null":
        return NULL
    if value.kind == "json":
        return value.sql
    if value.kind == "bool":
        return sql("CASE WHEN {} THEN 'true' WHEN NOT {} THEN 'false' END", value.sql, value.sql)
    if value.kind in ("uint", "int"):
        unsigned = value.kind == "uint" or value.year
        shown = sql("{}::VARCHAR", value.sql)
        return asked("json_scalar", text("UNSIGNED INTEGER"), shown) if unsigned else shown
    if value.kind in NUMBERS:
        return asked("json_scalar", text("DOUBLE"), sql("{}::VARCHAR", as_real(value)))
    if value.kind in ("date", "datetime"):
        shown = sql("left({}, 10)", value.sql) if value.kind == "date" else value.sql
        return asked("json_scalar", text(value.kind.upper()), shown)
    if value.kind == "time":
        return asked("json_scalar", text("TIME"), clock_text(value.sql))
    kind = f"BLOB {value.blob_type}" if value.bytes else "STRING"
    return asked("json_scalar", text(kind), as_text(value))


def unquoted(value: Value) -> Sql:
    """A JSON string without its quotes; anything else as it is."""
    return asked("json_unquote_document", value.sql) if value.kind == "json" else asked("json_unquote", as_text(value))


def json_key(value: Value) -> Sql:
    """What orders JSON values as MySQL does."""
    return asked("json_key", item(value))

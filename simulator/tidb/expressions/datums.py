"""Results of expressions as TiDB datums."""

from __future__ import annotations

from typing import NamedTuple

from simulator.tidb.expressions.operators.texts import as_blob
from simulator.tidb.expressions.sql.graph import Sql, sql
from simulator.tidb.expressions.values.value import Value, as_number, as_text, with_shown_digits
from simulator.tidb.model.table import Column


class DatumSql(NamedTuple):
    """A datum: its kind, and its body as a BLOB (see `datums.kinds`)."""

    kind: str
    body: Sql


def datum_sql(value: Value, column: Column) -> DatumSql:
    """Return a value as a datum for a column. Only a decimal column takes all digits of a quotient."""
    if value.shown_scale is not None and column.type.name != "decimal":
        value = with_shown_digits(value)
    if value.kind == "null":
        return DatumSql("string", sql("NULL::BLOB"))
    cell = value.column_type.name if value.column_type else ""
    if cell in ("enum", "set") and value.number is not None:
        return DatumSql(cell, sql("encode({}::VARCHAR || ':' || {})", value.number, value.sql))
    if cell == "bit" and value.column_type:
        width = 2 * ((max(value.column_type.length, 1) + 7) // 8)
        return DatumSql("bit", sql(f"unhex(lpad(to_hex({{}}), {width}, '0'))", value.sql))
    if cell == "float":
        return DatumSql("float", sql("encode({}::FLOAT::VARCHAR)", value.sql))
    if value.kind in ("bool", "int", "uint"):
        is_unsigned = value.kind == "uint" or value.column_type is not None and value.column_type.unsigned
        return DatumSql("uint" if is_unsigned else "int", sql("encode({}::VARCHAR)", as_number(value).sql))
    if value.kind == "real":
        return DatumSql("double", sql("encode({}::VARCHAR)", value.sql))
    if value.kind in ("decimal", "wide"):
        return DatumSql("decimal", sql("encode({}::VARCHAR)", value.sql))
    if value.kind in ("date", "time", "json"):
        return DatumSql(value.kind, sql("encode({})", as_text(value)))
    if value.kind == "datetime":
        return DatumSql("timestamp" if cell == "timestamp" else "datetime", sql("encode({})", as_text(value)))
    if value.is_binary:
        return DatumSql("bytes" if value.number is None else "literal", as_blob(value))
    return DatumSql("gbk" if value.collation.startswith("gbk") else "string", sql("encode({})", as_text(value)))

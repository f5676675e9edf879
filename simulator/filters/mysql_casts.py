"""Casts of MySQL values on Spark: what CAST names, and what a generated column's type makes of its expression.

One law: a cast never fails; what does not fit is NULL, or cut as MySQL cuts it.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.mysql_arithmetic import unsigned
from simulator.filters.mysql_cells import of_column
from simulator.filters.mysql_comparisons import as_duration, as_moment
from simulator.filters.mysql_values import Value, as_integer, as_real, as_text, null, numeric, real, string
from simulator.schema.table import Column as TableColumn


def cast(value: Value, type: str) -> Value:
    """`CAST(value AS type)`, the type as TiDB writes it."""
    if value.kind == "null":
        return null()
    name, _, rest = type.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(", ")] if rest else []
    if name in ("SIGNED", "UNSIGNED"):
        whole = as_integer(value)
        return unsigned(whole) if name == "UNSIGNED" and value.kind != "uint" else Value(whole, "int")
    if name == "DECIMAL":
        return _decimal(value, sizes)
    if name in ("DOUBLE", "FLOAT"):
        return real(as_real(value).cast(name.lower()))
    if name in ("DATE", "DATETIME"):
        return _moment(value, name)
    if name == "TIME":
        return Value(as_duration(value), "time")
    return _text(value, name.partition(" ")[0], sizes)


def _decimal(value: Value, sizes: list[int]) -> Value:
    digits, scale = (*sizes, 0, 0)[:2] if sizes else (10, 0)
    return Value(numeric(value).column.cast(f"decimal({min(digits or 10, 38)},{min(scale, 38)})"), "decimal")


def _moment(value: Value, name: str) -> Value:
    moment = as_moment(value)
    if name == "DATE":
        return Value(F.concat(F.substring(moment, 1, 10), F.lit(" 00:00:00.000000")), "date")
    return Value(moment, "datetime")


def _text(value: Value, name: str, sizes: list[int]) -> Value:
    """CHAR, BINARY, JSON and YEAR."""
    if name == "JSON":
        return Value(F.to_json(F.try_parse_json(as_text(value))), "json")
    if name == "YEAR":
        return Value(as_integer(value), "int", year=True)
    text = as_text(value)
    if name == "BINARY" and not value.bytes:
        text = F.decode(F.encode(text, "UTF-8"), "ISO-8859-1")
    cut = F.substring(text, 1, sizes[0]) if sizes else text
    return Value(cut, "string", "binary", 2, bytes=True) if name == "BINARY" else string(cut, value)


def stored(value: Value, column: TableColumn) -> Value:
    """What a column holds of a value: as if it were written and read again."""
    return of_column(column, _written(value, column))


def _written(value: Value, column: TableColumn) -> Column:
    name = column.type.name
    if name in ("tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"):
        return as_integer(value).cast("string") if value.kind != "uint" else numeric(value).column.cast("string")
    if name == "decimal":
        scale = max(column.type.decimal, 0)
        return numeric(value).column.cast(f"decimal({min(max(column.type.length, 1), 38)},{scale})").cast("string")
    if name == "date":
        return F.substring(as_moment(value), 1, 10)
    if name in ("datetime", "timestamp"):
        return as_moment(value)
    return as_text(value)

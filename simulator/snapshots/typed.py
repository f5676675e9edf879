"""TiDB text of columns as typed Spark columns, for expressions of the table definition.

One law: a column has one Spark type, that in which MySQL's operators mean the same.
"""

from __future__ import annotations

from simulator.schema.table import Column, ColumnType
from simulator.snapshots import numbers


def spark_type(type: ColumnType) -> str:
    """The Spark type in which expressions see a column."""
    if type.name in numbers.BITS or type.name in ("year", "bit"):
        return "decimal(20,0)" if type.name in ("bigint", "bit") and type.unsigned else "bigint"
    if type.name == "decimal":
        return f"decimal({min(type.length, 38)},{max(type.decimal, 0)})"
    kinds = {"float": "double", "double": "double", "date": "date", "datetime": "timestamp_ntz",
             "timestamp": "timestamp_ntz"}
    return kinds.get(type.name, "string")


def cast(column: Column, text: str) -> str:
    """SQL that gives a column's TiDB text, named `text`, its Spark type."""
    return f"try_cast(`{text}` as {spark_type(column.type)})"

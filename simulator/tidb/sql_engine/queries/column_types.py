"""The types in which a query's columns are stored."""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.expressions.values.value import Value
from simulator.tidb.model.types import ColumnType
from simulator.tidb.sql_engine.queries.scopes import Field

TYPES = {
    "bool": ColumnType("tinyint", 1),
    "int": ColumnType("bigint", 20),
    "uint": ColumnType("bigint", 20, unsigned=True),
    "decimal": ColumnType("decimal", 65, 30),
    "wide": ColumnType("decimal", 65, 30),
    "real": ColumnType("double"),
    "date": ColumnType("date"),
    "datetime": ColumnType("datetime", decimal=6),
    "time": ColumnType("time", decimal=6),
    "json": ColumnType("json"),
}
"""The type by the kind of a column's values; other kinds are texts."""

TEXT = ColumnType("longtext", charset="utf8mb4", collation="utf8mb4_bin")
BYTES = ColumnType("longblob", charset="binary", collation="binary")


def stored_type(field: Field) -> ColumnType:
    """Return the type of a query's column."""
    if field.column is not None:
        type = field.column.type
        return replace(type, name="datetime") if type.name == "timestamp" else type
    value: Value = field.read()
    if value.kind in TYPES:
        return TYPES[value.kind]
    return BYTES if value.is_binary else replace(TEXT, collation=value.collation)

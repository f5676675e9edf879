"""Vectors about types and tables: one check for each kind, each failing with what differs."""

from __future__ import annotations

import re

from simulator.schema.keys import flags, handle_columns, visible_columns
from simulator.schema.parse import column, create_table
from simulator.schema.canal_types import mysql_type, promoted_sql_type, sql_type
from simulator.schema.types import type_code
from vector_files import Vector


def check_table_info(vector: Vector) -> None:
    """`table_info`: codes, flags, handle, mysqlType and sqlType of each visible column."""
    table = create_table(vector.data["create_table"])
    bits, handle = flags(table, vector.release), handle_columns(table, vector.release)
    shown = [
        {
            "name": column.name,
            "type": type_code(column.type),
            "flags": bits[column.name],
            "handle": column.name in handle,
            "mysql_type": mysql_type(column.type, False, vector.release),
            "mysql_type_full": mysql_type(column.type, True, vector.release),
            "sql_type": sql_type(column.type, vector.release),
        }
        for column in visible_columns(table)
    ]
    assert vector.data["columns"] == shown


def check_column_type(vector: Vector) -> None:
    """`facts.column_types`: mysqlType short and full, java type of a value in the column (`java_type`, where it is
    given, is that of the value too)."""
    data = vector.data
    type = column(re.sub(r"^(\w+)", r"`\1`", data["column_ddl"])).type
    assert data["mysql_type_short"] == mysql_type(type, False, vector.release)
    assert data["mysql_type_full"] in (None, mysql_type(type, True, vector.release))
    value = int(data["value"]) if str(data["value"]).lstrip("-").isdecimal() else None
    assert data["java_type_for_value"] in (None, promoted_sql_type(type, value, vector.release))

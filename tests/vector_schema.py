"""Vectors of the schema: what CREATE TABLE text means to the codecs."""

from __future__ import annotations

from simulator.schema import keys, parse, types
from vector_files import Vector


def check_table_info(vector: Vector) -> None:
    """A vector of `table_info`."""
    table = parse.create_table(vector.data["create_table"])
    flags, handle = keys.flags(table, vector.release), keys.handle_key(table)
    assert [
        {
            "name": column.name, "type": types.type_code(column.type), "flags": flags[column.name],
            "handle": column.name in handle, "mysql_type": types.mysql_type(column.type, full=False),
            "mysql_type_full": types.mysql_type(column.type, full=True), "sql_type": types.sql_type(column.type),
        }
        for column in keys.visible_columns(table)
    ] == vector.data["columns"]


def check_column_type(vector: Vector) -> None:
    """A vector of `facts.column_types`: only what it says is compared."""
    data = vector.data
    column = parse.create_table(f"CREATE TABLE t ({completed(data['column_ddl'])})").columns[0]
    value = data["value"] if types.family(column.type) == "integer" else None
    plain, of_value = types.sql_type(column.type), types.promoted_sql_type(column.type, value and int(value))
    made = {
        "mysql_type_short": types.mysql_type(column.type, full=False),
        "mysql_type_full": types.mysql_type(column.type, full=True), "java_type_for_value": of_value,
    }
    assert made == {name: made[name] if data[name] is None else data[name] for name in made}
    assert data["java_type"] in (None, plain, of_value)


NEEDED = {"VARCHAR": "(1)", "VARBINARY": "(1)", "ENUM": "('a')", "SET": "('a')"}


def completed(column: str) -> str:
    """A column definition with the arguments that TiDB demands and a table of types leaves out."""
    return column + NEEDED.get(column.split()[-1].upper(), "")

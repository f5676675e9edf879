"""Vectors about types and tables: one check for each kind, each failing with what differs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from simulator.releases import Release
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.canal_json.columns import mysql_type, promotion, sql_type
from simulator.ticdc.table_info import BINARY, NULLABLE, UNSIGNED, flags, handle_columns
from simulator.tidb.ddl.definitions.from_sql import create_table, parse_column_definition
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import is_binary, type_code
from support.codec_rows import rows
from support.vectors.codecs import Json
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of


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
    """`facts.column_types`: mysqlType short and full, type code, java type of a value in the column (`java_type` is
    that of the value or of the type alone), and the value's text."""
    data, release = vector.data, vector.release
    of = parse_column_definition(re.sub(r"^(\w+)", r"`\1`", data["column_ddl"]))
    assert data["mysql_type_short"] == mysql_type(of.type, False, release)
    assert data["mysql_type_full"] in (None, mysql_type(of.type, True, release))
    value = int(data["value"]) if str(data["value"]).lstrip("-").isdecimal() else None
    limit, usual = promotion(of.type, release), sql_type(of.type, release)
    promoted = limit[1] if limit and value is not None and value > limit[0] else usual
    assert data["java_type_for_value"] in (None, promoted)
    assert data["java_type"] in (None, promoted, usual)
    for name in ("java_type", "java_type_for_value"):
        assert JAVA_TYPES.get(data.get(f"{name}_name", ""), data[name]) == data[name]
    if "mysql_type_code_name" in data:
        assert TYPE_CODES[data["mysql_type_code_name"]] == type_code(of.type)
    bits = flags(Table("test", "t", (of,), (), (), False), release)[of.name]
    assert all(bits & FLAGS[name] for name in data.get("flags", ())), bits
    if "rendered_value" in data:
        assert rendered(data, release) == data["rendered_value"]


def rendered(data: Json, release: Release) -> object:
    """The value as Canal-JSON has it; bytes as the text that they are, NULL as TiCDC's test has it, an empty text."""
    wide = data.get("value_go_type") == "float64"
    of = parse_column_definition(data["column_ddl"].replace("FLOAT", "DOUBLE") if wide else data["column_ddl"])
    value = None if data["value"] is None else str(data["value"])
    if of.type.name == "set":
        of = replace(of, type=replace(of.type, elements=tuple("abcdefgh")))
        value = ",".join(element for bit, element in enumerate(of.type.elements) if int(data["value"]) >> bit & 1)
    elif of.type.name == "enum":
        of = replace(of, type=replace(of.type, elements=tuple("abcdefgh")))
        value = of.type.elements[int(data["value"]) - 1]
    binary = is_binary(of.type)
    given = value.encode() if binary and value is not None else value
    table = Table("test", "t", (of,), (), (), False)
    row = rows(table, [(None, {of.name: given})], frozenset([of.name] if binary else ()))
    made = CODECS["canal-json"].encode(row, CodecOptions("canal-json"), release).values[0].as_py()
    found = json.loads(made)["data"][0][of.name]
    return "" if found is None else found.encode("latin-1").decode() if binary else found


JAVA_TYPES = {
    "BIT": -7,
    "TINYINT": -6,
    "BIGINT": -5,
    "LONGVARCHAR": -1,
    "CHAR": 1,
    "NUMERIC": 2,
    "DECIMAL": 3,
    "INTEGER": 4,
    "SMALLINT": 5,
    "FLOAT": 6,
    "REAL": 7,
    "DOUBLE": 8,
    "VARCHAR": 12,
    "DATE": 91,
    "TIME": 92,
    "TIMESTAMP": 93,
    "VARBINARY": -3,
    "BLOB": 2004,
    "CLOB": 2005,
}
"""java.sql.Types."""

TYPE_CODES = {
    "TypeTiny": 1,
    "TypeShort": 2,
    "TypeLong": 3,
    "TypeFloat": 4,
    "TypeDouble": 5,
    "TypeNull": 6,
    "TypeTimestamp": 7,
    "TypeLonglong": 8,
    "TypeInt24": 9,
    "TypeDate": 10,
    "TypeDuration": 11,
    "TypeDatetime": 12,
    "TypeYear": 13,
    "TypeNewDate": 14,
    "TypeVarchar": 15,
    "TypeBit": 16,
    "TypeTiDBVectorFloat32": 225,
    "TypeJSON": 245,
    "TypeNewDecimal": 246,
    "TypeEnum": 247,
    "TypeSet": 248,
    "TypeTinyBlob": 249,
    "TypeMediumBlob": 250,
    "TypeLongBlob": 251,
    "TypeBlob": 252,
    "TypeVarString": 253,
    "TypeString": 254,
}
"""tidb pkg/parser/mysql/type.go."""

FLAGS = {"BinaryFlag": BINARY, "NullableFlag": NULLABLE, "UnsignedFlag": UNSIGNED}

KINDS = {
    "table_info": Kind(
        check_table_info,
        keys_of("create_table", columns=keys_of("name type flags handle mysql_type mysql_type_full sql_type")),
    ),
    "facts.column_types": Kind(
        check_column_type,
        keys_of(
            "column_ddl mysql_type_short mysql_type_full mysql_type_code_name flags java_type java_type_name value "
            "value_go_type java_type_for_value java_type_for_value_name rendered_value rendered_value_note"
        ),
    ),
}

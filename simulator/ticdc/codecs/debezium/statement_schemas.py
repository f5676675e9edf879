"""`schema` of Debezium's DDL messages, whose members begin with `field` (ticdc v8.5.4: codec.go EncodeDDLEvent)."""

from __future__ import annotations

from simulator.ticdc.codecs.debezium.schemas import Json


def _field(name: str, optional: bool, type: str) -> Json:
    return {"field": name, "optional": optional, "type": type}


def _array(name: str, optional: bool, items: Json) -> Json:
    return {"field": name, "optional": optional, "type": "array", "items": items}


_STRING: Json = {"type": "string", "optional": False}


def _struct(name: str, fields: list[Json]) -> Json:
    return {"name": name, "optional": False, "type": "struct", "version": 1, "fields": fields}


_COLUMN = _struct(
    "io.debezium.connector.schema.Column",
    [
        _field("name", False, "string"),
        _field("jdbcType", False, "int32"),
        _field("nativeType", True, "int32"),
        _field("typeName", False, "string"),
        _field("typeExpression", True, "string"),
        _field("charsetName", True, "string"),
        _field("length", True, "int32"),
        _field("scale", True, "int32"),
        _field("position", False, "int32"),
        _field("optional", True, "boolean"),
        _field("autoIncremented", True, "boolean"),
        _field("generated", True, "boolean"),
        _field("comment", True, "string"),
        _field("defaultValueExpression", True, "string"),
        _array("enumValues", True, _STRING),
    ],
)

_TABLE: Json = {
    "field": "table",
    "optional": True,
    "type": "struct",
    "name": "io.debezium.connector.schema.Table",
    "version": 1,
    "fields": [
        _field("defaultCharsetName", True, "string"),
        _array("primaryKeyColumnNames", True, _STRING),
        _array("columns", False, _COLUMN),
        _field("comment", True, "string"),
    ],
}

_CHANGE = _struct(
    "io.debezium.connector.schema.Change", [_field("type", False, "string"), _field("id", False, "string"), _TABLE]
)

CHANGE_KEY: dict[str, Json] = {
    "type": "struct",
    "name": "io.debezium.connector.mysql.SchemaChangeKey",
    "optional": False,
    "version": 1,
    "fields": [_field("databaseName", False, "string")],
}


def change_value(source: Json) -> dict[str, Json]:
    """Return the schema of a statement's value, given that of `source`."""
    return {
        "optional": False,
        "type": "struct",
        "version": 1,
        "name": "io.debezium.connector.mysql.SchemaChangeValue",
        "fields": [
            source,
            _field("ts_ms", False, "int64"),
            _field("databaseName", True, "string"),
            _field("schemaName", True, "string"),
            _field("ddl", True, "string"),
            _array("tableChanges", False, _CHANGE),
        ],
    }

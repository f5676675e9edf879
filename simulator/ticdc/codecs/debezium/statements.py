"""DDL statements and watermarks of Debezium, which the new architecture sends (ticdc v8.5.7: codec.go EncodeDDLEvent).

Members of their `schema` begin with `field` (v8.5.4, too). TiCDC parses the statement once more to describe its
table: of the columns that it defines, comments are gone, and dates and times have the default and the digits of
seconds as they are written (pkg/sink/codec/debezium/helper.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.errors import DdlError, EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium.schemas import EVENT_FIELDS, Json, clean_name, has_extension, json_text, source
from simulator.ticdc.codecs.debezium.values import CLUSTER, source_pieces
from simulator.ticdc.codecs.large_messages import compress
from simulator.ticdc.codecs.row_changes import DdlEvent
from simulator.ticdc.codecs.wire_text import raw_quoted
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.defaults import stored_in_json
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import DEFAULT_SIZES, ColumnType
from simulator.tidb.syntax.alter import AddColumns, AlterDefault, ChangeColumn, ModifyColumn
from simulator.tidb.syntax.definitions import ColumnDefault, CreateTable, FieldType
from simulator.tidb.syntax.statements import AlterTable
from simulator.tso import physical

if TYPE_CHECKING:
    from simulator.tidb.ddl.catalog import ViewInfo


_CREATING = {Action.CREATE_SCHEMA, Action.CREATE_TABLE, Action.CREATE_TABLES, Action.CREATE_VIEW}
_ALTERING = {
    *(Action.ADD_COLUMN, Action.MODIFY_COLUMN, Action.DROP_COLUMN, Action.MULTI_SCHEMA_CHANGE),
    *(Action.ADD_TABLE_PARTITION, Action.REMOVE_PARTITIONING, Action.REORGANIZE_PARTITION),
    *(Action.EXCHANGE_TABLE_PARTITION, Action.ALTER_TABLE_PARTITIONING, Action.TRUNCATE_TABLE_PARTITION),
    *(Action.DROP_TABLE_PARTITION, Action.REBASE_AUTO_ID, Action.SET_DEFAULT_VALUE, Action.MODIFY_TABLE_COMMENT),
    *(Action.MODIFY_TABLE_CHARSET_AND_COLLATE, Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE, Action.ADD_INDEX),
    *(Action.ALTER_INDEX_VISIBILITY, Action.RENAME_INDEX, Action.RENAME_TABLE, Action.RENAME_TABLES),
    *(Action.ADD_PRIMARY_KEY, Action.DROP_PRIMARY_KEY),
}
_DROPPING = {Action.DROP_SCHEMA, Action.DROP_TABLE, Action.DROP_INDEX, Action.DROP_VIEW, Action.TRUNCATE_TABLE}
CHANGES: Mapping[int, str] = {
    **{int(action): "CREATE" for action in _CREATING},
    **{int(action): "ALTER" for action in _ALTERING},
    **{int(action): "DROP" for action in _DROPPING},
}
"""TiDB's action type → the type of the change. Other statements are not sent."""


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement."""
    key, value = ddl_payloads(event, options)
    described = change_value(source(has_extension(options, release), release))
    return _finished(key, CHANGE_KEY, options), _finished(value, described, options)


def ddl_payloads(event: DdlEvent, options: CodecOptions) -> tuple[bytes, bytes]:
    """Return the JSON of a statement's key and value."""
    build = physical(event.commit_ts) if options.build_ts is None else options.build_ts
    value = _source(event.schema, event.table, event.commit_ts) + b',"ts_ms":%d,' % build
    value += b'"databaseName":%s,"schemaName":null,"ddl":%s,"tableChanges":%s}' % (
        raw_quoted(event.schema),
        raw_quoted(event.query),
        json_text(_table_changes(event)),
    )
    return b'{"databaseName":%s}' % raw_quoted(event.schema), value


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes] | None:
    """Return key and value of a watermark, or None without enable-tidb-extension."""
    if not has_extension(options, release):
        return None
    key, value = watermark_payloads(ts, options)
    key_schema, value_schema = watermark_schemas(source(True, release))
    return _finished(key, key_schema, options), _finished(value, value_schema, options)


def watermark_payloads(ts: int, options: CodecOptions) -> tuple[bytes, bytes]:
    """Return the JSON of a watermark's key and value."""
    build = physical(ts) if options.build_ts is None else options.build_ts
    return b"{}", _source("", "", ts) + b',"ts_ms":%d,"transaction":null,"op":"m"}' % build


def watermark_schemas(source: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the schemas of a watermark's key and value, given that of `source`."""
    name = f"{clean_name(CLUSTER)}.watermark"
    return {"type": "struct", "name": f"{name}.Key", "optional": False, "fields": []}, {
        "type": "struct",
        "optional": False,
        "name": f"{name}.Envelope",
        "version": 1,
        "fields": [source, *EVENT_FIELDS],
    }


def _source(schema: str, table: str, ts: int) -> bytes:
    """Return the beginning of a payload, up to the end of `source`."""
    pieces = source_pieces(schema, table, b"%d" % physical(ts), b"%d" % ts)
    return b"".join(piece for piece in pieces if isinstance(piece, bytes))


def _finished(payload: bytes, schema: Json, options: CodecOptions) -> bytes:
    described = b"" if options.debezium_disable_schema else b',"schema":' + json_text(schema)
    return compress(b'{"payload":' + payload + described + b"}", options.large_message_handle_compression)


def _table_changes(event: DdlEvent) -> list[Json]:
    if not event.table or event.type_code == Action.TRUNCATE_TABLE or event.after is None:
        return []
    is_dropped = event.type_code == Action.DROP_TABLE
    described: Json = None if is_dropped else described_table(event.after.table, event.query)
    return [{"type": CHANGES[event.type_code], "id": _table_id(event), "table": described}]


def _table_id(event: DdlEvent) -> str:
    """Return the names of the table: the old and the new one of RENAME, the partitioned one of EXCHANGE PARTITION."""
    name = _quoted(event.schema, event.table)
    if event.type_code == Action.RENAME_TABLE and event.before is not None:
        return f"{_quoted(event.before.table.schema, event.before.table.name)},{name}"
    if event.type_code == Action.EXCHANGE_TABLE_PARTITION and event.after is not None:
        return _quoted(event.after.table.schema, event.after.table.name)
    return name


def _quoted(schema: str, table: str) -> str:
    return f'"{schema}"."{table}"'


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


EPOCH = "1970-01-01 00:00:00"
NOW = "CURRENT_TIMESTAMP"
NO_VALUE = "<nil>"
"""What Go prints for NULL."""

_TIMES = ("datetime", "timestamp", "time", "year")
"""Types of which the statement's own default and length count."""

_TIMESTAMP_WITH_TIMEZONE = 2014

_JDBC_TYPES = {
    **{"tinyint": 5, "smallint": 5, "mediumint": 4, "int": 4, "bigint": -5, "year": 4, "bit": -7, "json": 1111},
    **{"float": 6, "double": 8, "decimal": 3, "enum": 1, "set": 1, "date": 91, "time": 92, "datetime": 93},
    **{"timestamp": _TIMESTAMP_WITH_TIMEZONE, "char": 1, "binary": -2, "varchar": 12, "varbinary": -3},
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), 2004),
}
"""By TiDB's name; all others are VARCHAR (pkg/sink/codec/common/java.go MySQLType2JdbcType)."""

_VARCHAR = 12


@dataclass(frozen=True)
class Definition:
    """What a statement says about a column."""

    type: FieldType | None
    """None in ALTER COLUMN … SET DEFAULT."""

    default: ColumnDefault | None


def described_table(table: Table | ViewInfo, query: str) -> Json:
    """Return the table after a statement; raise EncodeError for a statement that crashes TiCDC."""
    if not isinstance(table, Table):
        columns: list[Json] = [_view_column(name, place) for place, name in enumerate(table.columns, 1)]
        return {"defaultCharsetName": "utf8mb4", "primaryKeyColumnNames": [], "columns": columns, "comment": None}
    definitions = dict(_definitions(query))
    if missing := definitions.keys() - {column.name for column in table.columns}:
        raise EncodeError(
            f"panic: invalid memory address: column {min(missing)} of the statement is not in the table under this name"
        )
    return {
        "defaultCharsetName": table.charset,
        "primaryKeyColumnNames": list(table.primary_key),
        "columns": [
            _column(column, place, definitions.get(column.name)) for place, column in enumerate(table.columns, 1)
        ],
        "comment": None,
    }


def _definitions(query: str) -> Iterator[tuple[str, Definition]]:
    from simulator.tidb.parser.ddl import parse_ddl  # imports sqlglot, which reading a stream does not need

    try:
        statement = parse_ddl(query)
    except DdlError as error:
        # up to 8.5.5, where names with a back-quote break the text of RENAME (helper.go parseColumns)
        raise EncodeError(
            f"panic: invalid memory address: TiCDC cannot read the statement it sends: {query}"
        ) from error
    if isinstance(statement, CreateTable):
        yield from ((column.name, Definition(column.type, column.default)) for column in statement.columns)
    for spec in statement.specs if isinstance(statement, AlterTable) else ():
        match spec:
            case AddColumns():
                yield from ((column.name, Definition(column.type, column.default)) for column in spec.columns)
            case ModifyColumn() | ChangeColumn():
                yield spec.column.name, Definition(spec.column.type, spec.column.default)
            case AlterDefault():
                yield spec.column, Definition(None, spec.default)


def _column(column: Column, place: int, definition: Definition | None) -> Json:
    type, default = column.type, _stored_default(column)
    if definition is not None and definition.type is not None and type.name in _TIMES:
        type, default = _written(type, default, definition.type, definition.default)
    binary = types.is_binary(type)
    jdbc_type = _JDBC_TYPES.get(types.bare_name(type), _VARCHAR)
    on_update = bool(column.on_update) and jdbc_type == _TIMESTAMP_WITH_TIMEZONE
    named, expression = _names(type)
    elements: list[Json] = [f"'{element}'" for element in type.elements]
    has_charset = types.family(type) in ("string", "text", "enum", "set") and not binary
    return {
        "name": column.name,
        "jdbcType": jdbc_type,
        "nativeType": None,
        "comment": column.comment or None if definition is None else None,
        "defaultValueExpression": _default_text(default),
        "enumValues": elements or None,
        "typeName": named,
        "typeExpression": expression,
        "charsetName": type.charset if has_charset else None,
        "length": _length(type),
        "scale": type.decimal if types.family(type) in ("decimal", "float") and type.decimal >= 0 else None,
        "position": place,
        "optional": not column.not_null,
        "autoIncremented": column.auto_increment or on_update,
        "generated": column.auto_increment or on_update,
    }


def _view_column(name: str, place: int) -> Json:
    """Return a column of a view, of which TiDB stores the name alone."""
    nothing: Mapping[str, Json] = dict.fromkeys(("comment", "defaultValueExpression", "enumValues"))
    sizes: Mapping[str, Json] = dict.fromkeys(("charsetName", "length", "scale"))
    named: Mapping[str, Json] = dict.fromkeys(("typeName", "typeExpression"), "UNSPECIFIED")
    return {
        **{"name": name, "jdbcType": _VARCHAR, "nativeType": None},
        **nothing,
        **named,
        **sizes,
        **{"position": place, "optional": True, "autoIncremented": False, "generated": False},
    }


def _written(
    type: ColumnType, default: str | None, spelled: FieldType, written: ColumnDefault | None
) -> tuple[ColumnType, str | None]:
    """Return type and default of a date or time as the statement has them."""
    sized = replace(type, length=spelled.length) if type.name == "year" else replace(type, decimal=spelled.decimal)
    if written is None:
        return sized, default
    if written.kind == "null":
        return sized, NO_VALUE
    if written.kind in ("string", "number"):
        return sized, written.text
    return sized, NOW if written.text.upper().startswith(NOW) else default


def _stored_default(column: Column) -> str | None:
    """Return the default as TiDB stores it in JSON, where bytes that are no UTF-8 are lost."""
    default = column.default
    if default is None:
        return None
    if column.default_expression and default.upper().startswith(NOW):
        return NOW
    if types.family(column.type) == "bit":
        return _bits(default.encode("latin-1"), column.type.length)
    if types.is_binary(column.type):
        return default.encode("latin-1").decode()
    return default


def _bits(text: bytes, length: int) -> str:
    """Return the binary digits of a BIT's default; the first byte has length % 8 digits or more (parseBit)."""
    if not text:
        return ""
    first, *others = stored_in_json(text)
    return format(first, f"0{length % 8 or 1}b") + "".join(format(byte, "08b") for byte in others)


def _default_text(default: str | None) -> str | None:
    if default is None or default == NO_VALUE:
        return None
    return EPOCH if default.upper() == NOW else default


def _names(type: ColumnType) -> tuple[str, str]:
    """Return the type's name and its expression, both in upper case (getExpressionAndName)."""
    name = types.bare_name(type).upper()
    if type.name in ("year", "bit", "varchar", "char", "decimal"):
        return name, name
    sign = " UNSIGNED ZEROFILL" if type.zerofill else " UNSIGNED" if type.unsigned else ""
    sizes = ""
    if type.name == "double" and type.decimal > 0:
        sizes = f"({type.length},{type.decimal})"
    if type.name == "vector" and type.length >= 0:
        sizes = f"({type.length})"
    return name + sign, name + sizes + sign


def _length(type: ColumnType) -> int | None:
    """Return the length of a column, None for that of its type (getLen)."""
    match types.family(type):
        case "datetime" | "time":
            return type.decimal if type.decimal >= 0 else None
        case "year" | "decimal":
            return type.length if type.length >= 0 else None
        case "set":
            return 2 * len(type.elements) - 1
        case "enum":
            return 1
        case "integer":
            usual, _ = DEFAULT_SIZES[type.name]
            if type.name != "bigint":
                usual -= type.unsigned
            usual += type.name == "tinyint" and type.zerofill
        case "bit" | "string" | "float" | "vector":
            usual, _ = DEFAULT_SIZES.get(type.name, (-1, -1))
        case _:
            return None
    return None if type.length in (usual, -1) else type.length

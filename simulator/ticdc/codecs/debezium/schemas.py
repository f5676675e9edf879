"""`schema` of Debezium's messages: Kafka Connect's description of `payload`, the same for all rows of a table.

A column's default is in its schema (`schema_default`), and stands for NULL in releases from 8.5.1 on, which take NULL
for the default (`null_text`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.debezium.values import CLUSTER, MILLISECOND_DECIMALS, is_string, value_format
from simulator.ticdc.codecs.wire_numbers import padded_float
from simulator.ticdc.codecs.wire_text import raw_escape, raw_quoted
from simulator.ticdc.table_info import visible_columns
from simulator.tidb.ddl.defaults import row_default, stored_value
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType

Json: TypeAlias = "str | int | None | Raw | Mapping[str, Json] | list[Json]"


class Raw(bytes):
    """Text that is JSON already."""


def json_text(value: Json) -> bytes:
    """Return JSON without spaces, its strings as jsoniter escapes them."""
    match value:
        case Raw():
            return value
        case None:
            return b"null"
        case bool():
            return b"true" if value else b"false"
        case str():
            return raw_quoted(value)
        case int():
            return b"%d" % value
        case list():
            return b"[" + b",".join(map(json_text, value)) + b"]"
    return b"{" + b",".join(raw_quoted(name) + b":" + json_text(member) for name, member in value.items()) + b"}"


@lru_cache(maxsize=1024)
def value_schema(table: Table, selected: frozenset[str] | None, extension: bool, release: Release) -> bytes:
    """Return the schema of a row; `selected` are the columns that column selectors leave.

    With `extension` the columns have `tidb_type`.
    """
    visible = visible_columns(table)
    ordered = table.columns if release.debezium_virtual_fields == "twice" else visible
    columns = [column for column in ordered if selected is None or column.name in selected]
    if release.debezium_virtual_fields != "none":
        columns += [column for column in table.columns if column not in visible]
    fields = [field_schema(column, extension, release) for column in columns]
    return json_text(_struct(f"{_name(table, release)}.Envelope", fields, [source(extension, release), *EVENT_FIELDS]))


@lru_cache(maxsize=1024)
def key_schema(table: Table, columns: tuple[Column, ...], extension: bool, release: Release) -> bytes:
    """Return the schema of a key of these columns."""
    fields = [field_schema(column, extension, release) for column in columns]
    name = f"{_name(table, release)}.Key"
    return json_text({"type": "struct", "name": name, "optional": False, "fields": fields})


def has_extension(options: CodecOptions, release: Release) -> bool:
    """Return whether schemas have `tidb_type`, and watermarks are sent."""
    return options.enable_tidb_extension and release.debezium_statements


def _name(table: Table, release: Release) -> str:
    """Return the name of a table's schemas, `cluster.schema.table`."""
    if not release.debezium_cleans_names:
        return ".".join((CLUSTER, table.schema, table.name))
    return ".".join((clean_name(CLUSTER), clean_name(table.schema), re.sub(r"[^A-Za-z0-9_.]", "_", table.name)))


def clean_name(name: str) -> str:
    """Return a name of letters, digits and `_`, and a `_` before a digit at its beginning (common.SanitizeName)."""
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return "_" + cleaned if cleaned[:1].isdecimal() else cleaned


def _struct(envelope: str, columns: list[Json], others: Iterable[Json]) -> Json:
    row = envelope.removesuffix("Envelope") + "Value"
    images: list[Json] = [
        {"type": "struct", "optional": True, "name": row, "field": image, "fields": columns}
        for image in ("before", "after")
    ]
    return {"type": "struct", "optional": False, "name": envelope, "version": 1, "fields": [*images, *others]}


def field_schema(column: Column, extension: bool, release: Release) -> Json:
    """Return the schema of a column."""
    described, default = described_column(column, extension, release), schema_default(column, release)
    return described if default is None else {**described, "default": Raw(default)}


def described_column(column: Column, extension: bool, release: Release) -> dict[str, Json]:
    """Return the schema of a column without its default."""
    type = column.type
    name, parameters = _semantic_type(type, release)
    described: dict[str, Json] = {"tidb_type": tidb_type(type)} if extension else {}
    described |= {"type": connect_type(type, release), "optional": not column.not_null}
    if name:
        described["name"] = name
        described |= {"version": 1} if type.name not in _WITHOUT_VERSION else {}
    if parameters:
        described["parameters"] = parameters
    described["field"] = column.name
    return described


_WITHOUT_VERSION = {"vector"}


def tidb_type(type: ColumnType) -> str:
    """Return TiDB's name of a type: `int unsigned`."""
    return types.bare_name(type) + (" unsigned" if types.is_unsigned(type) and type.name not in _SIGNLESS else "")


_SIGNLESS = {"year", "bit", "varchar", "char", "decimal"}
"""Types whose names tell no sign (ticdc v8.5.4: pkg/sink/codec/debezium/helper.go getTiDBType)."""


_CONNECT_TYPES = {
    **{"tinyint": "int16", "smallint": "int16", "mediumint": "int32", "int": "int32", "bigint": "int64"},
    **{"float": "float", "double": "double", "decimal": "double", "year": "int32", "date": "int32", "time": "int64"},
    "datetime": "int64",
}
_UNSIGNED_TYPES = {"smallint": "int32", "int": "int64"}


def connect_type(type: ColumnType, release: Release) -> str:
    """Return the type of values in Kafka Connect: `int32`, `string`."""
    if type.name == "float" and type.decimal >= 0 and release.debezium_scaled_float_is_double:
        return "double"
    if type.name == "bit":
        return "boolean" if type.length == 1 else "bytes"
    wider = _UNSIGNED_TYPES.get(type.name) if type.unsigned else None
    return wider or _CONNECT_TYPES.get(type.name, "string")


_SEMANTIC_TYPES = {
    "date": "io.debezium.time.Date",
    "time": "io.debezium.time.MicroTime",
    "timestamp": "io.debezium.time.ZonedTimestamp",
    "year": "io.debezium.time.Year",
    "json": "io.debezium.data.Json",
    "vector": "io.debezium.data.TiDBVectorFloat32",
}


def _semantic_type(type: ColumnType, release: Release) -> tuple[str, Json]:
    """Return the name of Debezium's type, and its parameters; empty if there are none."""
    match type.name:
        case "bit" if type.length != 1:
            return "io.debezium.data.Bits", {"length": str(type.length)}
        case "enum":
            elements = map(escaped_member, type.elements) if release.debezium_cleans_names else type.elements
            return "io.debezium.data.Enum", {"allowed": ",".join(elements)}
        case "set":
            return "io.debezium.data.EnumSet", {"allowed": ",".join(type.elements)}
        case "datetime":
            micros = type.decimal > MILLISECOND_DECIMALS
            return f"io.debezium.time.{'MicroTimestamp' if micros else 'Timestamp'}", {}
    return _SEMANTIC_TYPES.get(type.name, ""), {}


def escaped_member(member: str) -> str:
    """Return the text of an ENUM's member (tiflow: pkg/sink/codec/common/helper.go EscapeEnumAndSetOptions)."""
    return member.replace(",", "\\,").replace("\\'", "'").replace("''", "'")


def member(type: str, name: str, optional: bool = False) -> Json:
    """Return the schema of a member that is no column."""
    return {"type": type, "optional": optional, "field": name}


_SNAPSHOT: Json = {
    "type": "string",
    "optional": True,
    "name": "io.debezium.data.Enum",
    "version": 1,
    "parameters": {"allowed": "true,last,false,incremental"},
    "default": "false",
    "field": "snapshot",
}


def source(extension: bool, release: Release) -> Json:
    """Return the schema of `source`; with `extension` it has TiCDC's own members in some releases."""
    has_own = extension and release.debezium_source_extension
    return {
        "type": "struct",
        "fields": [*_SOURCE_FIELDS, *(TICDC_FIELDS if has_own else ())],
        "optional": False,
        "name": "io.debezium.connector.mysql.Source",
        "field": "source",
    }


LOG_FIELDS: tuple[Json, ...] = (
    member("int64", "server_id"),
    member("string", "gtid", optional=True),
    member("string", "file"),
    member("int64", "pos"),
    member("int32", "row"),
    member("int64", "thread", optional=True),
    member("string", "query", optional=True),
)
"""The members of `source` that tell a place in MySQL's log."""

_SOURCE_FIELDS: tuple[Json, ...] = (
    member("string", "version"),
    member("string", "connector"),
    member("string", "name"),
    member("int64", "ts_ms"),
    _SNAPSHOT,
    member("string", "db"),
    member("string", "sequence", optional=True),
    member("string", "table", optional=True),
    *LOG_FIELDS,
)
"""Debezium's own members of `source`."""

TICDC_FIELDS: tuple[Json, ...] = (member("int64", "commit_ts"), member("string", "cluster_id"))

EVENT_FIELDS: tuple[Json, ...] = (
    member("string", "op"),
    member("int64", "ts_ms", optional=True),
    {
        "type": "struct",
        "fields": [member("string", "id"), member("int64", "total_order"), member("int64", "data_collection_order")],
        "optional": True,
        "name": "event.block",
        "version": 1,
        "field": "transaction",
    },
)


EPOCH = b"1970-01-01T00:00:00Z"
NOW = "CURRENT_TIMESTAMP"
DOUBLE = ColumnType("double")


def schema_default(column: Column, release: Release) -> bytes | None:
    """Return the JSON of a column's default in its schema; None if it has none there."""
    if column.default is None or release.debezium_defaults == "none":
        return None
    if release.debezium_defaults == "texts":
        return _as_text(column, column.default)
    return _as_value(column, column.default, release)


def _as_text(column: Column, default: str) -> bytes | None:
    """As 8.5.0 has it: every number is parsed as a float, which no date and time is."""
    match types.family(column.type):
        case "bit":
            return raw_quoted(default.encode("latin-1").decode("utf-8", "surrogateescape"))
        case "date" | "time":
            return None
        case "datetime":
            if column.default_expression or default.startswith("0000-00-00"):
                return b"0" if column.not_null or column.default_expression else None
            return raw_quoted(default)
        case "integer" | "float" | "decimal" | "year":
            return _float(default)
    return _string(column, default)


def _float(text: str) -> bytes:
    written: bytes = padded_float(_cells(text), DOUBLE)[0].as_py()
    return written


def _string(column: Column, default: str) -> bytes:
    """Return the text of a default, even if it stands for bytes."""
    if not types.is_binary(column.type):
        return raw_quoted(default)
    return raw_quoted(default.encode("latin-1").decode())


def _as_value(column: Column, default: str, release: Release) -> bytes | None:
    match types.family(column.type):
        case "datetime" if column.default_expression and column.type.name == "timestamp":
            return b'"' + EPOCH + b'"' if column.not_null else None
        case "datetime" if column.default_expression:
            return b"0"
        case "datetime" if default.startswith("0000-00-00") and column.type.name == "timestamp":
            return b'"' + EPOCH + b'"' if column.not_null else None
        case "date" if column.default_expression:
            return b"0" if column.not_null else None
        case "year":
            year = float(default)
            return _float(str(year + (2000 if year < 70 else 1900 if year < 100 else 0)))
        case "integer" | "float" | "decimal":
            return _float(default)
        case "bit" | "date" | "time" | "datetime":
            return _written(column, default, release)
    return _string(column, default)


def _written(column: Column, default: str, release: Release) -> bytes | None:
    """Return a default in the form of values."""
    value = stored_value(default, column.type) or ""
    text = value_format(column, release)(_cells(value), column.type)[0].as_py()
    if text is None:
        return None
    return b'"%s"' % text if is_string(column.type) else bytes(text)


def null_text(column: Column, release: Release, time_zone: str) -> bytes | None:
    """Return what stands for NULL between the quotes of a string, or as it is; None for NULL.

    Raise EncodeError if the release stops at NULL.
    """
    default, type = column.default, column.type
    if default is None or not release.debezium_null_is_default:
        return None
    if types.family(type) in ("enum", "set") and release.debezium_null_enum == "empty":
        return b""
    return (_null_by_type if release.debezium_null_by_type else _null_as_text)(column, default, release, time_zone)


def _null_by_type(column: Column, default: str, release: Release, time_zone: str) -> bytes | None:
    cell = null_cell(column, release)
    return None if cell is None else _member(column, cell, release, time_zone)


def null_cell(column: Column, release: Release) -> str | None:
    """Return the TiDB text that stands for NULL, as the types of TiDB's Datum hold a default; None for NULL.

    Raise EncodeError for a DATE, whose text is none.
    """
    default, type = column.default if column.default_expression else row_default(column), column.type
    if default is None:
        return None
    match types.family(type):
        case "date":
            raise EncodeError(
                f"panic: interface conversion: interface {{}} is nil, not types.Time: NULL in column {column.name}, a "
                f"DATE with a default; TiCDC {release.name} crashes on it in debezium"
            )
        case "time":
            return "00:00:00" + fraction(type)
        case "integer" if type.name == "bigint" and default.isdecimal() and int(default) >= 1 << 63:
            return "0"
        case "datetime" if type.name == "timestamp":
            return None if column.default_expression or default.startswith("0000-00-00") else default
        case "datetime" if column.default_expression:
            return "1970-01-01 00:00:00" + fraction(type)
    return default


def fraction(type: ColumnType) -> str:
    """Return the fraction of a whole second as the type has it."""
    return "." + "0" * type.decimal if type.decimal > 0 else ""


def _null_moment(column: Column, default: str, release: Release, time_zone: str) -> bytes | None:
    """Return what stands for NULL in a DATETIME or TIMESTAMP."""
    is_timestamp = column.type.name == "timestamp"
    if column.default_expression:
        return None if is_timestamp else b"0"
    return None if is_timestamp and default.startswith("0000-00-00") else _member(column, default, release, time_zone)


def _null_as_text(column: Column, default: str, release: Release, time_zone: str) -> bytes | None:
    type = column.type
    match types.family(type):
        case "enum" | "set" if release.debezium_null_enum == "stops":
            kind = types.family(type)
            text = f"unexpected column value type string for {kind} column {column.name}"
            raise EncodeError(text, "CDC:ErrDebeziumEncodeFailed")
        case "datetime":
            return _null_moment(column, default, release, time_zone)
        case "year":
            return raw_quoted(default)  # the value is a string there, which TiCDC writes as one
        case "float":
            return _float(default)
        case "date" if column.default_expression:
            return None
        case "bit":
            return _member(column, row_default(column) or "", release, time_zone)
        case "string" | "text" if types.is_binary(type):
            again = raw_escape(pa.array([default.encode("latin-1")], pa.binary()))[0].as_py()
            # TiCDC writes the member once as bytes and once as text
            return b'%s",%s:"%s' % (_member(column, default, release, time_zone), raw_quoted(column.name), again)
    return _member(column, default, release, time_zone)


def _member(column: Column, default: str, release: Release, time_zone: str) -> bytes:
    written: bytes = value_format(column, release, time_zone)(_cells(default), column.type)[0].as_py()
    return written


def _cells(text: str) -> pa.Array:
    return pa.array([text.encode("utf-8", "surrogatepass")], pa.binary())

"""TiCDC's Avro (docs: ticdc-avro-protocol), and records by the schemas that messages name (Avro's specification, "Schema
Declaration", "Names", "Binary Encoding").

A message is one event. Schema, table and columns have the names of the schema, in which characters that Avro does not
allow are `_`. A DELETE has only its key, and neither it nor a row without enable-tidb-extension says its commit-ts. With
avro-enable-watermark releases of the new architecture send a byte 3 and the commit-ts as its value.

A schema is checked as far as messages are read by it, so that one that is damaged is told and nothing else. fastavro
reads and writes texts as bytes here, which may be no UTF-8, and knows no logical types, whose Python values hold less.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context
from functools import lru_cache, partial
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException

from simulator.limits import counted
from simulator.reader.decode.decoder import ComparableText, Decoder, surrogate_text, zero
from simulator.reader.decode.message_bytes import HEADER, integer, parse, schema_text, text
from simulator.reader.events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
"""With points, as goavro takes the names of tables before 6.1."""
TEXTS = ("namespace", "logicalType", "connect.name", "connect.type", "connect.field")
"""What is a text, where it is there."""

DIGITS = 65
"""The most that a DECIMAL can have."""

AvroType: TypeAlias = "str | list[Any] | dict[str, Any]"
"""A type in a schema: a name, a union, or a description."""


@dataclass(frozen=True)
class RecordSchema:
    """The schema of a record in a registry."""

    description: Mapping[str, Any]
    """Its JSON."""

    wire: Any
    """What fastavro reads and writes by it."""


@lru_cache(maxsize=1024)
def record_schema(text: str) -> RecordSchema:
    """Return the schema of a record, given its JSON; raises ValueError if it is none."""
    schema = json.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its schema is no record")
    _check_type(schema, set())
    try:
        return RecordSchema(schema, parse_schema(_wire(schema)))
    except SchemaParseException as error:
        raise ValueError(f"its schema: {error}") from None


def read(content: bytes, schema: Any) -> Any:
    """Return the value that bytes encode: the fields of a record by name, and for a record in a union of several ones its
    name and itself. Raises ValueError for bytes that no encoder writes."""
    stream, written = BytesIO(content), BytesIO()
    try:
        value = schemaless_reader(stream, schema, return_named_type=True, return_named_type_override=True)
    except (EOFError, LookupError, OverflowError) as error:
        raise ValueError(f"at byte {stream.tell()}: {error}") from error
    if left := len(content) - stream.tell():
        raise ValueError(f"after the record: {counted(left, 'byte')}")
    schemaless_writer(written, schema, value)
    if written.getvalue() != content:
        raise ValueError("its bytes are not those that an encoder writes for its values")
    return value


def _wire(type: AvroType) -> Any:
    """Return a type as bytes have it."""
    if isinstance(type, list):
        return [*map(_wire, type)]
    if isinstance(type, str):
        return "bytes" if type == "string" else type
    match type["type"]:
        case "record":
            fields = [{"name": field["name"], "type": _wire(field["type"])} for field in type["fields"]]
            return {**{name: type[name] for name in ("type", "name", "namespace") if name in type}, "fields": fields}
        case "array":
            return {"type": "array", "items": _wire(type["items"])}
    return _wire(type["type"])


def _check_type(type: object, names: set[str]) -> None:
    """Raise ValueError for what is no type; `names` are those of the records so far."""
    if isinstance(type, list):
        if any(isinstance(branch, list) for branch in type) or all(branch == "null" for branch in type):
            raise ValueError("a union in its schema has no type besides null, or has a union in it")
        for branch in type:
            _check_type(branch, names)
    elif isinstance(type, dict):
        _check_description(type, names)
    elif not isinstance(type, str) or type not in PRIMITIVES | names:
        raise ValueError(f"type {type!r:.60} in its schema is not known")


def _check_description(type: Mapping[str, Any], names: set[str]) -> None:
    if wrong := next((name for name in TEXTS if not isinstance(type.get(name, ""), str)), None):
        raise ValueError(f"{wrong} in its schema is {type[wrong]!r:.60}, a text is expected")
    parameters = type.get("connect.parameters", {})
    if not isinstance(parameters, dict) or not all(isinstance(each, str) for each in parameters.values()):
        raise ValueError(f"connect.parameters in its schema are {parameters!r:.60}, texts are expected")
    match type.get("type"):
        case "record":
            _check_record(type, names)
        case "array":
            _check_type(type.get("items"), names)
        case str(kind) if kind in PRIMITIVES:
            if type.get("logicalType") == "decimal":
                _check_decimal(type)
        case other:
            raise ValueError(f"type {other!r:.60} in its schema is not known")


def _check_record(type: Mapping[str, Any], names: set[str]) -> None:
    fields = type.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise ValueError("a record in its schema has no fields")
    called = [type.get("name"), *(field.get("name") for field in fields)]
    if wrong := [name for name in called if not isinstance(name, str) or not NAME.fullmatch(name)]:
        raise ValueError(f"{wrong[0]!r:.60} in its schema is no name")
    full = f"{type['namespace']}.{type['name']}" if "namespace" in type else type["name"]
    if full in names or len({*called[1:]}) < len(fields):
        raise ValueError(f"a name in {full:.60}, or that name itself, is twice in its schema")
    for field in fields:
        _check_description({**field, "type": "null"}, names)
        _check_type(field.get("type"), names)
    names.add(full)  # after its fields, for no record has itself in it


def _check_decimal(type: Mapping[str, Any]) -> None:
    """Raise ValueError for lengths that no DECIMAL has."""
    lengths = type.get("precision"), type.get("scale", 0)
    match lengths:
        case int(precision), int(scale) if 0 <= scale <= precision <= DIGITS:
            return
    raise ValueError(f"precision and scale of a decimal in its schema are {lengths!r:.60}")


DDL, WATERMARK, DELETE = b"\x01", b"\x02", b"\x03"
TSO_BYTES = 9
EXACT = Context(prec=DIGITS)

UNSIGNED = "BIGINT UNSIGNED"
"""TiDB's type whose values wrap from 2^63 on."""

OPERATIONS = {"c": "INSERT", "u": "UPDATE"}
UNKNOWN_DATABASE = "?"
"""Stands for the database in messages before 6.1."""

EARLY_TYPES = {
    **{"int": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "string": "TEXT", "bytes": "BLOB"},
    **{"timestamp-millis": "DATETIME", "time-millis": "TIME", "decimal": "BIGINT UNSIGNED"},
}
"""Types of messages before 6.1, which do not have TiDB's, by Avro's."""

COMMIT_TS = "_tidb_commit_ts"
TIME_FIELDS = frozenset({COMMIT_TS, "_tidb_commit_physical_time"})
EXTENSION = ("_tidb_op", *TIME_FIELDS, "_tidb_row_level_checksum", "_tidb_corrupted", "_tidb_checksum_version")


@dataclass(frozen=True, eq=False)
class AvroTable:
    """What the schema of a record says of its table. A schema has one."""

    schema: str
    table: str
    columns: Mapping[str, ColumnInfo]
    converters: Mapping[str, Callable[[Any], Value]]
    """Return TiDB's text, or bytes, of the value that fastavro reads, by field."""


@dataclass(frozen=True)
class AvroRecord:
    """A record, decoded."""

    table: AvroTable
    values: Image
    extension: Mapping[str, Value]


def sent_name(name: str) -> str:
    """Return a name as Avro allows it: letters, digits and `_`, no digit first."""
    allowed = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{allowed}" if re.match("[0-9]", name) else allowed


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    if not key and value is not None and value[:1] in (DDL, WATERMARK):
        return value[1:2] == b"{" or len(value) == TSO_BYTES
    parts = [key] if key is not None and is_delete_time(value) else [part for part in (key, value) if part is not None]
    return bool(parts) and all(part is not None and part[:1] == b"\0" and len(part) > HEADER for part in parts)


def decode(key: bytes | None, value: bytes | None, schemas: Mapping[int, str]) -> tuple[Event, ...]:
    """Return the event of one message; raises ValueError or KeyError if it is invalid or its schema is not known."""
    if not key and value is not None and value[:1] in (DDL, WATERMARK):
        return (_statement(value[1:]) if value[:1] == DDL else _watermark(value),)
    commit_ts = None
    if value is not None and key is not None and is_delete_time(value):
        commit_ts, value = int.from_bytes(value[1:], "big"), None
    keys, row = (None if part is None else _record(part, schemas) for part in (key, value))
    named = row or keys
    if named is None:
        raise ValueError("neither key nor value")
    table = named.table
    columns = _with_key(table, tuple(keys.values if keys else ()))
    if row is None:
        return (
            RowEvent(commit_ts, table.schema, table.table, "DELETE", named.values, None, columns, only_handle=True),
        )
    operation = OPERATIONS[str(row.extension.get("_tidb_op", "c"))]
    ts = row.extension.get(COMMIT_TS)
    commit_ts = None if ts is None else int(ts)
    return (RowEvent(commit_ts, table.schema, table.table, operation, None, row.values, columns),)


def is_delete_time(value: bytes | None) -> bool:
    """Return whether a value is the commit-ts of a DELETE."""
    return value is not None and value[:1] == DELETE and len(value) == TSO_BYTES


def _statement(content: bytes) -> DdlEvent:
    fields = parse(content)
    schema, table, query = (text(fields[name]) for name in ("schema", "table", "query"))
    return DdlEvent(integer(fields["commitTs"]), schema, table, query, integer(fields["type"]))


def _watermark(value: bytes) -> Watermark:
    if len(value) != TSO_BYTES:
        raise ValueError(f"a watermark of {counted(len(value), 'byte')}: {TSO_BYTES} are expected")
    return Watermark(int.from_bytes(value[1:], "big"))


def _record(message: bytes, schemas: Mapping[int, str]) -> AvroRecord:
    text = schema_text(message, schemas)
    table, found = _table(text), read(message[HEADER:], record_schema(text).wire)
    values = {name: convert(found[name]) for name, convert in table.converters.items()}
    extension = {name: values.pop(name) for name in EXTENSION if name in values}
    return AvroRecord(table, values, extension)


@lru_cache(maxsize=1024)
def _table(text: str) -> AvroTable:
    """Return what a schema says of its table, given its JSON; raises ValueError or KeyError for another record."""
    schema = record_schema(text).description
    types = {str(field["name"]): field["type"] for field in schema["fields"]}
    columns = {name: _info(type) for name, type in types.items() if name not in EXTENSION}
    converters = {name: _converter(type) for name, type in types.items()}
    return AvroTable(schema.get("namespace", UNKNOWN_DATABASE).rpartition(".")[2], schema["name"], columns, converters)


@lru_cache(maxsize=1024)
def _with_key(table: AvroTable, names: tuple[str, ...]) -> Mapping[str, ColumnInfo]:
    """Return the columns of a table whose key has these."""
    return {name: ColumnInfo(info.type, key=name in names, binary=info.binary) for name, info in table.columns.items()}


def _info(type: Any) -> ColumnInfo:
    """Return the column of a field, whose type is TiDB's name in the schema."""
    inner = next(each for each in type if each != "null") if isinstance(type, list) else type
    if isinstance(inner, str) or "connect.parameters" not in inner:
        kind = inner if isinstance(inner, str) else inner["logicalType"]
        return ColumnInfo(EARLY_TYPES[kind], binary=kind == "bytes")
    name = inner["connect.parameters"]["tidb_type"]
    return ColumnInfo(name, binary=name == "BLOB")


def _date_time(millis: int) -> str:
    """Return the text of milliseconds since 1970."""
    found = datetime(1970, 1, 1) + timedelta(milliseconds=millis)
    return found.isoformat(" ", "milliseconds" if millis % 1000 else "seconds")


def _duration(millis: int) -> str:
    seconds, rest = divmod(abs(millis), 1000)
    text = f"{'-' if millis < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:03}" if rest else text


TIMES = {"timestamp-millis": _date_time, "time-millis": _duration}


def _converter(type: AvroType) -> Callable[[Any], Value]:
    """Return what makes TiDB's text, or bytes, of the values of a type; raises ValueError for one that TiCDC's records do
    not have."""
    if isinstance(type, list):
        convert = _converter(next(each for each in type if each != "null"))
        return lambda value: None if value is None else convert(value)
    described: dict[str, Any] = {"type": type} if isinstance(type, str) else type
    parameters, logical = described.get("connect.parameters"), described.get("logicalType")
    if parameters is None and logical in TIMES:
        return TIMES[logical]
    match described["type"]:
        case "int" | "long":
            wraps = parameters is not None and parameters["tidb_type"] == UNSIGNED
            return lambda number: str(number + (1 << 64) if wraps and number < 0 else number)
        case "boolean":
            return lambda value: str(int(value))
        case "float":
            return lambda number: np.format_float_positional(np.float32(number), trim="-")
        case "double":
            return lambda number: np.format_float_positional(np.float64(number), trim="-")
        case "string":
            return lambda content: content.decode("utf-8", "surrogateescape")
        case "bytes":
            return partial(_bytes, type=type)
    raise ValueError(f"a field is {described['type']!r}, which TiCDC's records do not have")


def _bytes(content: bytes, type: Any) -> Value:
    if type == "bytes":
        return content
    if type.get("logicalType") == "decimal":
        unscaled = int.from_bytes(content, "big", signed=True)
        return format(EXACT.scaleb(unscaled, -type["scale"]), "f")
    return str(int.from_bytes(content, "big")) if type["connect.parameters"]["tidb_type"] == "BIT" else content


def record_text(message: bytes | None, schemas: Mapping[int, str], hidden: frozenset[str]) -> str:
    """Return a record as JSON: its schema, and its fields, bytes in hexadecimal, 0 for hidden ones."""
    if not message:
        return "null"
    if message.startswith(DELETE):
        return json.dumps("0" if hidden else message.hex())
    schema = schema_text(message, schemas)
    found = {**read(message[HEADER:], record_schema(schema).wire), **dict.fromkeys(hidden, 0)}
    return f'{{"schema":{schema},"fields":{json.dumps(found, default=bytes.hex)}}}'


def commit_ts_of(message: bytes | None, schemas: Mapping[int, str]) -> int:
    """Return the commit-ts of a record with TiDB's extension, else 0."""
    if not message:
        return 0
    if message.startswith(DELETE):
        return int.from_bytes(message[1:], "big")
    return int(read(message[HEADER:], record_schema(schema_text(message, schemas)).wire).get(COMMIT_TS, 0))


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    if not key and value and value.startswith(WATERMARK):
        ts = int.from_bytes(value[1:9], "big")
        return ComparableText(ts, "", surrogate_text(key), "0" if "commit-ts" in ignored else str(ts), True)
    if not key and value and value.startswith(DDL):
        shown = surrogate_text(value[1:])
        fields = json.loads(shown)
        if "commit-ts" in ignored:
            shown = zero(shown, "commitTs", fields["commitTs"])
        return ComparableText(fields["commitTs"], f"{fields['schema']}.{fields['table']}", surrogate_text(key), shown)
    record = record_schema(schema_text(key or value or b"", schemas)).description
    hidden = TIME_FIELDS if "commit-ts" in ignored else frozenset()
    shown_key, shown_value = (record_text(part, schemas, hidden) for part in (key, value))
    commit_ts = commit_ts_of(value, schemas)
    return ComparableText(commit_ts, f"{record.get('namespace', '?')}.{record['name']}", shown_key, shown_value)


DECODER = Decoder(
    lambda key, value: decode(key, value, {}),
    lambda key, value: ((key, value),),
    looks_like,
    "Avro (a byte 0 and the id of a schema)",
    comparable,
    with_schemas=decode,
    sequential=True,
    sent_name=sent_name,
)
"""A message is one event."""

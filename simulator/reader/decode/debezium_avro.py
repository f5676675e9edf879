"""TiCDC's Debezium in Avro (ticdc v26.3.3: pkg/sink/codec/debezium/avro_decoder.go).

A message is one event. A record is read by the schema that a message names as the members that Debezium's JSON has, of
which `debezium` makes the event: numbers are their digits, bytes base64, and members have the names of `connect.field`;
a DECIMAL is its digits.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from simulator.reader.decode.avro import AvroType, read, record_schema
from simulator.reader.decode.debezium import payload_event
from simulator.reader.decode.decoder import ComparableText, Decoder
from simulator.reader.decode.message_bytes import HEADER, Digits, members, schema_text
from simulator.reader.decode.row_images import CONNECT
from simulator.reader.events import ColumnInfo, Event

SOURCE = b"\x162.4.0.Final\x0aTiCDC"
"""The beginning of `source`: two texts, each after the double of its length."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    return value is not None and value[:1] == b"\0" and SOURCE in value


def decode(key: bytes | None, value: bytes | None, schemas: Mapping[int, str]) -> tuple[Event, ...]:
    """Return the event of one message; raises ValueError or KeyError if it is invalid or its schema is not known."""
    if value is None:
        raise ValueError("the value is null")
    text = schema_text(value, schemas)
    payload = _members(text, value)
    keys = tuple(() if key is None else _members(schema_text(key, schemas), key))
    return (payload_event(payload, partial(_columns, schema=text, keys=keys)),)


@lru_cache(maxsize=1024)
def _columns(names: tuple[str, ...], schema: str, keys: tuple[str, ...]) -> Mapping[str, ColumnInfo]:
    types = parsed(schema).column_types
    return {name: ColumnInfo(CONNECT + types[name], key=name in keys) for name in names}


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    schema = schema_text(value or b"", schemas)
    payload = _members(schema, value or b"")
    source = payload["source"]
    commit_ts, table = int(source["commit_ts"]), f"{source['db']}.{source['table']}"
    if "commit-ts" in ignored:
        payload = {**payload, "source": {**source, "commit_ts": 0, "ts_ms": 0}}
    if "build-ts" in ignored:
        payload = {**payload, "ts_ms": 0}
    if "schemas" in ignored:
        schema = "null"
    key_schema = "" if key is None else schema_text(key, schemas)
    shown_key = "" if key is None else _text(key_schema, _members(key_schema, key))
    return ComparableText(commit_ts, table, shown_key, _text(schema, payload), payload.get("op") == "m")


def _members(schema: str, message: bytes) -> dict[str, Any]:
    """Return the members of the message of a schema; raises ValueError."""
    return members(parsed(schema).convert(read(message[HEADER:], record_schema(schema).wire)))


def _text(schema: str, payload: Mapping[str, Any]) -> str:
    return f'{{"schema":{schema},"payload":{json.dumps(payload)}}}'


Convert: TypeAlias = "Callable[[Any], Any]"

CONNECT_TYPES = {"int": "int32", "long": "int64"}
"""Kafka Connect's names of Avro's types where they differ."""


@dataclass(frozen=True)
class AvroSchema:
    """A schema of a registry."""

    convert: Convert
    """Returns the members of a record that fastavro read."""

    column_types: Mapping[str, str]
    """The type of each column of a row: Debezium's name, or Kafka Connect's."""


@lru_cache(maxsize=1024)
def parsed(text: str) -> AvroSchema:
    """Return the schema of its JSON. Raises ValueError."""
    named: dict[str, Any] = {}
    description = record_schema(text).description
    convert = _converter(dict(description), named)
    images = (field["type"] for field in description["fields"] if field["name"] in ("before", "after"))
    described = (named.get(each, each) if isinstance(each, str) else each for type in images for each in type)
    row = next((each for each in described if each != "null"), {"fields": ()})
    return AvroSchema(convert, {field_name(field): _connect_type(field["type"]) for field in row["fields"]})


def _converter(type: AvroType, named: dict[str, Any]) -> Convert:
    """Return what makes the value that JSON has of the one that fastavro reads, and add the records to `named`."""
    if isinstance(type, list):
        convert = _converter(next(each for each in type if each != "null"), named)
        return lambda value: None if value is None else convert(value)
    described = named.get(type, {"type": type}) if isinstance(type, str) else type
    match described["type"]:
        case "record":
            fields = described["fields"]
            converters = [(each["name"], field_name(each), _converter(each["type"], named)) for each in fields]
            named[f"{described['namespace']}.{described['name']}"] = described
            return lambda record: {shown: convert(record[name]) for name, shown, convert in converters}
        case "array":
            item = _converter(described["items"], named)
            return lambda items: [*map(item, items)]
        case "null" | "boolean":
            return lambda value: value
        case "int" | "long":
            return lambda number: Digits(number)
        case "float":
            return lambda number: _digits(np.float32(number))
        case "double":
            return lambda number: _digits(np.float64(number))
        case "string":
            return lambda content: content.decode("utf-8", "surrogateescape")
        case "bytes":
            return partial(_bytes, type=described)
        case other:
            raise ValueError(f"type {other!r} of a schema")


def field_name(field: Mapping[str, Any]) -> str:
    """Return the name of a member."""
    return str(field.get("connect.field", field["name"]))


def _digits(number: Any) -> Digits:
    return Digits(np.format_float_positional(number, unique=True, trim="-"))


def _bytes(content: bytes, type: Mapping[str, Any]) -> str:
    if type.get("logicalType") != "decimal":
        return base64.b64encode(content).decode()
    return Digits(format(Decimal(int.from_bytes(content, "big", signed=True)).scaleb(-type["scale"]), "f"))


def _connect_type(type: AvroType) -> str:
    if isinstance(type, list):
        return _connect_type(next(each for each in type if each != "null"))
    if isinstance(type, str):
        return CONNECT_TYPES.get(type, type)
    return str(type.get("connect.name") or type.get("connect.type") or _connect_type(type["type"]))


DECODER = Decoder(
    lambda key, value: decode(key, value, {}),
    lambda key, value: ((key, value),),
    looks_like,
    "Debezium in Avro (a byte 0 and the id of a schema)",
    comparable,
    with_schemas=decode,
    always_timed=True,
)
"""A message is one event."""

"""TiCDC's Debezium in Avro (ticdc v26.3.3: pkg/sink/codec/debezium/avro_decoder.go).

A message is one event. A record is read by the schema that a message names as the members that Debezium's JSON has, of
which `debezium` makes the event: numbers are their digits, bytes base64, and members have the names of `connect.field`;
a DECIMAL is its digits.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np

from simulator.reader.decode.avro_reader import AvroReader
from simulator.reader.decode.avro_schemas import HEADER, AvroType, record_schema, schema_text
from simulator.reader.decode.debezium import payload_event
from simulator.reader.decode.decoder import ComparableText, Decoder
from simulator.reader.decode.message_bytes import Digits, members
from simulator.reader.decode.row_images import CONNECT
from simulator.reader.decode.stream_events import ColumnInfo, Event

SOURCE = b"\x162.4.0.Final\x0aTiCDC"
"""The beginning of `source`: two texts, each after the double of its length."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    return value is not None and value[:1] == b"\0" and SOURCE in value


def decode(key: bytes | None, value: bytes | None, schemas: Mapping[int, str]) -> tuple[Event, ...]:
    """Return the event of one message; raises ValueError or KeyError if it is invalid or its schema is not known."""
    if value is None:
        raise ValueError("the value is null")
    text = schema_text(value, schemas)
    payload = parsed(text).read(value[HEADER:])
    keys = tuple(_keys(key, schemas))
    return (payload_event(payload, partial(_columns, schema=text, keys=keys)),)


def _keys(key: bytes | None, schemas: Mapping[int, str]) -> Mapping[str, object]:
    if key is None:
        return {}
    return parsed(schema_text(key, schemas)).read(key[HEADER:])


@lru_cache(maxsize=1024)
def _columns(names: tuple[str, ...], schema: str, keys: tuple[str, ...]) -> Mapping[str, ColumnInfo]:
    types = parsed(schema).column_types()
    return {name: ColumnInfo(CONNECT + types[name], key=name in keys) for name in names}


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    schema, payload = _members(value or b"", schemas)
    source = payload["source"]
    commit_ts, table = int(source["commit_ts"]), f"{source['db']}.{source['table']}"
    if "commit-ts" in ignored:
        payload = {**payload, "source": {**source, "commit_ts": 0, "ts_ms": 0}}
    if "build-ts" in ignored:
        payload = {**payload, "ts_ms": 0}
    if "schemas" in ignored:
        schema = "null"
    shown_key = "" if key is None else _text(*_members(key, schemas))
    return ComparableText(commit_ts, table, shown_key, _text(schema, payload), payload.get("op") == "m")


def _members(message: bytes, schemas: Mapping[int, str]) -> tuple[str, dict[str, Any]]:
    """Return the schema of a message and its members; raises ValueError."""
    schema = schema_text(message, schemas)
    return schema, parsed(schema).read(message[HEADER:])


def _text(schema: str, payload: Mapping[str, Any]) -> str:
    return f'{{"schema":{schema},"payload":{json.dumps(payload)}}}'


CONNECT_TYPES = {"int": "int32", "long": "int64"}
"""Kafka Connect's names of Avro's types where they differ."""


@dataclass(frozen=True)
class AvroSchema:
    """A schema of a registry."""

    type: AvroType
    named: Mapping[str, dict[str, Any]]
    """The records in it by their full names."""

    def read(self, content: bytes) -> dict[str, Any]:
        """Return the members of a record; raises ValueError."""
        reader = AvroReader(content)
        found = members(self._value(reader, self.type))
        reader.end("record")
        return found

    def column_types(self) -> Mapping[str, str]:
        """Return the type of each column of a row: Debezium's name, or Kafka Connect's."""
        envelope = self.type if isinstance(self.type, dict) else {}
        images = (field["type"] for field in envelope["fields"] if field["name"] in ("before", "after"))
        record = next((self._described(each) for type in images for each in type if each != "null"), {})
        return {field_name(field): _connect_type(field["type"]) for field in record["fields"]}

    def _described(self, type: AvroType) -> dict[str, Any]:
        """Return the description of a type that is no union."""
        if isinstance(type, str):
            return self.named.get(type, {"type": type})
        if isinstance(type, dict):
            return type
        raise ValueError("a union in a union")

    def _value(self, reader: AvroReader, type: AvroType) -> Any:
        """Return the next value."""
        if isinstance(type, list):
            return self._value(reader, reader.symbol(type))
        described = self._described(type)
        match described["type"]:
            case "record":
                return {field_name(field): self._value(reader, field["type"]) for field in described["fields"]}
            case "array":
                return reader.array(lambda reader: self._value(reader, described["items"]))
            case "null":
                return None
            case "boolean":
                return reader.boolean()
            case "int" | "long":
                return Digits(reader.long())
            case "float":
                return _digits(np.float32(reader.single()))
            case "double":
                return _digits(np.float64(reader.double()))
            case "string":
                return reader.text()
            case "bytes":
                return _bytes(reader.bytes(), described)
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


@lru_cache(maxsize=1024)
def parsed(text: str) -> AvroSchema:
    """Return the schema of its JSON."""
    type = record_schema(text)
    return AvroSchema(type, dict(_records(type)))


def _records(type: AvroType) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(type, list):
        for each in type:
            yield from _records(each)
    elif isinstance(type, dict):
        if type["type"] == "record":
            yield f"{type['namespace']}.{type['name']}", type
        inner = [field["type"] for field in type.get("fields", ())] + [
            type[name] for name in ("items",) if name in type
        ]
        for each in inner:
            yield from _records(each)


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

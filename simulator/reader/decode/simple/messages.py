"""Decodes TiCDC's Simple messages (docs: ticdc-simple-protocol; tiflow v8.0 pkg/sink/codec/simple).

One message is one event. A row has its values as text, without types: these are in the table's schema, which an earlier
DDL or BOOTSTRAP told. Without it bytes in JSON stay base64.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.reader.decode.go_json import members, parse, text
from simulator.reader.decode.simple import avro, avro_first
from simulator.reader.decode.stream_events import (
    ColumnInfo,
    DdlEvent,
    Event,
    Image,
    RowEvent,
    TableSchemas,
    Value,
    Watermark,
)
from simulator.reader.decode.whole_messages import decompress_value

OPERATIONS = ("INSERT", "UPDATE", "DELETE")
BINARY = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"))
"""mysqlTypes of bytes."""

STATEMENTS = ("CREATE", "RENAME", "CINDEX", "DINDEX", "ERASE", "TRUNCATE", "ALTER", "QUERY", "DDL")
"""Types of statements; `DDL` is that of all in the first form (7.6)."""

AVRO = (avro, avro_first)


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    try:
        content = decompress_value(value or b"")
    except ValueError:
        return False
    return any(form.looks_like(content) for form in AVRO) or content[:11] == b'{"version":' and b'"buildTs":' in content


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the event of a message, none for a BOOTSTRAP; raises ValueError or KeyError if it is no Simple."""
    return _events(_message(value), None)


def decode_told(key: bytes | None, value: bytes | None, known: TableSchemas) -> tuple[Event, ...]:
    """Decode with the table schemas that are known, and add those that the message tells."""
    message = _message(value)
    known |= {**_told(message), **known}  # as TiCDC's memoryTableInfoProvider.Write does, the first one stays
    return _events(message, known)


def told(key: bytes | None, value: bytes | None) -> TableSchemas:
    """Return the table schemas that a statement or BOOTSTRAP tells."""
    return _told(_message(value))


def _message(value: bytes | None) -> dict[str, Any]:
    if value is None:
        raise ValueError("the value is null")
    content = decompress_value(value)
    return next((form.read(content) for form in AVRO if form.looks_like(content)), None) or parse(content)


def _told(message: dict[str, Any]) -> TableSchemas:
    schemas = [members(message[name]) for name in ("preTableSchema", "tableSchema") if name in message]
    return {(text(each["schema"]), text(each["table"]), int(each["version"])): _columns(each) for each in schemas}


def _columns(schema: dict[str, Any]) -> dict[str, ColumnInfo]:
    keys = _handle_key([members(index) for index in schema["indexes"] or ()])
    return {text(column["name"]): _column(members(column), keys) for column in schema["columns"]}


def _handle_key(indexes: list[dict[str, Any]]) -> frozenset[str]:
    """Return the columns of the primary key, else of the first unique key without NULL."""
    certain = [index for index in indexes if index["primary"] or index["unique"] and not index["nullable"]]
    first = sorted(certain, key=lambda index: not index["primary"])[:1]
    return frozenset(name for index in first for name in index["columns"])


def _column(column: dict[str, Any], keys: frozenset[str]) -> ColumnInfo:
    type = members(column["dataType"])
    name, sign = text(type["mysqlType"]), " unsigned" if type.get("unsigned") else ""
    return ColumnInfo(name + sign, key=column["name"] in keys, binary=name in BINARY)


def _events(message: dict[str, Any], known: TableSchemas | None) -> tuple[Event, ...]:
    kind = text(message["type"])
    commit_ts = int(message["commitTs"])
    if kind == "WATERMARK":
        return (Watermark(commit_ts),)
    if kind == "BOOTSTRAP":
        members(message["tableSchema"])
        return ()
    if kind in STATEMENTS:
        schema = members(message.get("tableSchema") or {})
        database, table = (text(schema.get(name, "")) for name in ("schema", "table"))
        return (DdlEvent(commit_ts, database, table, text(message.get("sql", "")), kind),)
    if kind not in OPERATIONS:
        raise ValueError(f"type {kind!r} is unknown: WATERMARK, BOOTSTRAP, {', '.join((*STATEMENTS, *OPERATIONS))}")
    return (_row(message, kind, commit_ts, known),)


def _row(message: dict[str, Any], kind: str, commit_ts: int, known: TableSchemas | None) -> RowEvent:
    database = text(message["schema" if "schema" in message else "database"])
    table, version = text(message["table"]), int(message.get("schemaVersion", 0))
    only_handle = message.get("handleKeyOnly") is True
    columns = (known or {}).get((database, table, version))
    untold = "" if known is None or columns is not None else f"version {version} of the schema of {database}.{table}"
    names = {**members(message.get("old") or {}), **members(message.get("data") or {})}
    if columns is None:
        columns = {name: ColumnInfo("", key=only_handle) for name in names}
    else:
        columns = {name: columns[name] for name in names}
    return RowEvent(
        commit_ts,
        database,
        table,
        kind,
        _image(message, "old", columns) if kind != "INSERT" else None,
        _image(message, "data", columns) if kind != "DELETE" else None,
        columns,
        only_handle=only_handle,
        stored_at=text(message.get("claimCheckLocation", "")),
        untold=untold,
    )


def _image(message: dict[str, Any], name: str, columns: Mapping[str, ColumnInfo]) -> Image:
    image = members(message.get(name) or {})
    return {column: _value(value, columns[column]) for column, value in image.items()}


def _value(value: object, column: ColumnInfo) -> Value:
    """Return the text of a value; a TIMESTAMP is an object with it, in Avro BIGINT UNSIGNED, too."""
    if isinstance(value, dict):
        value = value["value"]
    if isinstance(value, bytes) or value is None:
        return value
    if isinstance(value, float):
        return np.format_float_positional(np.float32(value) if column.type == "float" else value, trim="-")
    if isinstance(value, int):  # Avro has no unsigned numbers, and TiCDC sends those of BIT(64) as they are
        return str(value % (1 << 64) if str(column.type).startswith("bit") else value)
    return base64.b64decode(text(value), validate=True) if column.binary else str(value)

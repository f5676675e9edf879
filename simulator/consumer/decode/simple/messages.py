"""Decodes TiCDC's Simple messages (docs: ticdc-simple-protocol; tiflow v8.0 pkg/sink/codec/simple).

One message is one event. A row has its values as text, without types: these are in the table's schema, which an earlier
DDL or BOOTSTRAP told. Bytes in JSON therefore stay base64 here.
"""

from __future__ import annotations

from typing import Any

from simulator.consumer.decode.go_json import members, parse, text
from simulator.consumer.decode.simple import avro
from simulator.consumer.decode.stream_events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark
from simulator.consumer.decode.whole_messages import decompress_value

OPERATIONS = ("INSERT", "UPDATE", "DELETE")
STATEMENTS = ("CREATE", "RENAME", "CINDEX", "DINDEX", "ERASE", "TRUNCATE", "ALTER", "QUERY")


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    try:
        content = decompress_value(value or b"")
    except ValueError:
        return False
    return avro.looks_like(content) or content[:11] == b'{"version":' and b'"buildTs":' in content


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the event of a message, none for a BOOTSTRAP; raises ValueError or KeyError if it is no Simple."""
    if value is None:
        raise ValueError("the value is null")
    content = decompress_value(value)
    message = avro.read(content) if avro.looks_like(content) else parse(content)
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
    return (_row(message, kind, commit_ts),)


def _row(message: dict[str, Any], kind: str, commit_ts: int) -> RowEvent:
    before = _image(message, "old") if kind != "INSERT" else None
    after = _image(message, "data") if kind != "DELETE" else None
    only_handle = message.get("handleKeyOnly") is True
    columns = {name: ColumnInfo("", key=only_handle) for name in (*(before or ()), *(after or ()))}
    return RowEvent(
        commit_ts,
        text(message["database"]),
        text(message["table"]),
        kind,
        before,
        after,
        columns,
        only_handle=only_handle,
        stored_at=text(message.get("claimCheckLocation", "")),
    )


def _image(message: dict[str, Any], name: str) -> Image:
    return {column: _value(value) for column, value in members(message.get(name) or {}).items()}


def _value(value: object) -> Value:
    """Return the text of a value; a TIMESTAMP is an object with it, in Avro BIGINT UNSIGNED, too."""
    if isinstance(value, dict):
        value = value["value"]
    if isinstance(value, bytes) or value is None:
        return value
    return str(value) if isinstance(value, int | float) else text(value)

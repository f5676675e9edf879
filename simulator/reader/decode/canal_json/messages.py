"""Decodes TiCDC's Canal-JSON messages (docs: canal-json; tiflow v8.5 pkg/sink/codec/canal).

One message is one event. Every value is text or null; bytes are Latin-1 text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.reader.decode.go_json import integer, members, parse, text
from simulator.reader.decode.stream_events import LOST, ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark
from simulator.reader.decode.whole_messages import decompress_value

OPERATIONS = ("INSERT", "UPDATE", "DELETE")
WATERMARK = "TIDB_WATERMARK"
BINARY = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"))
"""mysqlTypes of bytes."""

BLOB = 2004
"""The sqlType of bytes as Latin-1 text. Before 5.4 BINARY and VARBINARY had the sqlTypes of CHAR and VARCHAR, and were
written as text (tiflow v4.0 cdc/sink/codec/canal.go)."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    try:
        text = decompress_value(value or b"")
    except ValueError:
        return False
    return text[:1] == b"{" and b'"isDdl"' in text


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the events of one message; raises ValueError or KeyError if it is no Canal-JSON."""
    if value is None:
        raise ValueError("the value is null")
    message = parse(decompress_value(value))
    extension = members(message.get("_tidb") or {})
    kind, es = text(message["type"]), integer(message["es"])
    if kind == WATERMARK:
        return (Watermark(integer(extension["watermarkTs"])),)
    commit_ts = integer(extension["commitTs"]) if "commitTs" in extension else None
    schema, table = text(message["database"]), text(message["table"])
    if message["isDdl"]:
        return (DdlEvent(commit_ts, schema, table, text(message["sql"]), kind, es),)
    if kind not in OPERATIONS:
        raise ValueError(f"type {kind!r} of a row: {', '.join(OPERATIONS)} are known")
    rows = _rows(message, kind, commit_ts, schema, table, es, extension.get("onlyHandleKey") is True)
    stored_at = text(extension.get("claimCheckLocation", ""))
    return tuple(replace(row, only_handle=True, stored_at=stored_at) for row in rows) if stored_at else rows


def _rows(
    message: dict[str, Any], op: str, commit_ts: int | None, schema: str, table: str, es: int, only_handle: bool
) -> tuple[RowEvent, ...]:
    columns = _columns(message)
    data, old = message["data"], message.get("old")
    if op != "UPDATE":
        old = [{}] * len(data)
    elif not old or len(old) != len(data):
        raise ValueError("an UPDATE needs as many rows in old as in data")
    events = []
    for number, row in enumerate(data):
        if row is None and op == "INSERT":
            continue  # that a transaction inserts and deletes (`releases` empty_changes)
        if not row:
            raise ValueError("a row of data without columns")
        image = {name: _value(value, columns[name]) for name, value in members(row).items()}
        before = _old_image(members(old[number]), columns) if op == "UPDATE" else image if op == "DELETE" else None
        after = None if op == "DELETE" else image
        events.append(RowEvent(commit_ts, schema, table, op, before, after, columns, es=es, only_handle=only_handle))
    if not data:
        raise ValueError("a row message without rows in data")
    return tuple(events)


def _columns(message: dict[str, Any]) -> dict[str, ColumnInfo]:
    keys = frozenset(message.get("pkNames") or ())
    types, codes = (members(message.get(name) or {}) for name in ("mysqlType", "sqlType"))
    return {
        name: ColumnInfo(
            text(value), None, name in keys, integer(codes[name]), value.split("(")[0].split(" ")[0] in BINARY
        )
        for name, value in types.items()
    }


def _old_image(row: dict[str, Any], columns: dict[str, ColumnInfo]) -> Image:
    """Drop the columns that column selectors exclude, which the new architecture up to 8.5.4 writes into `old` as empty
    texts (ticdc pkg/sink/codec/canal/canal_json_encoder.go)."""
    return {name: _value(value, columns[name]) for name, value in row.items() if name in columns or value != ""}


def _value(value: object, column: ColumnInfo) -> Value:
    """Return text, or bytes of a binary column; the text if Canal-JSON before 5.4 lost bytes that were not UTF-8."""
    if value is None:
        return None
    content = text(value)
    if not column.binary:
        return content
    if column.sql_type == BLOB:
        return content.encode("latin-1")
    return content if LOST in content else content.encode("utf-8")

"""Decodes TiCDC's Debezium messages (docs: ticdc-debezium; tiflow v8.0.0 and ticdc v8.5.4, pkg/sink/codec/debezium).

A message is one event. Values stay as messages have them, numbers as their digits, `true` and `false` as words;
`connect_texts` makes TiDB text of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from simulator.reader.decode.connect_texts import CONNECT
from simulator.reader.decode.go_json import integer, members, parse, text
from simulator.reader.decode.stream_events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark
from simulator.reader.decode.whole_messages import decompress_value

WATERMARK = "m"
SCHEMA = b'},"schema":{'
OPERATIONS = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    try:
        content = decompress_value(value or b"")
    except ValueError:
        return False
    return content[:11] == b'{"payload":' and b'"connector":"TiCDC"' in content


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the event of one message; raises ValueError or KeyError if it is no Debezium."""
    if value is None:
        raise ValueError("the value is null")
    payload, schema = _parts(decompress_value(value))

    def columns(names: tuple[str, ...]) -> Mapping[str, ColumnInfo]:
        keys = _parts(decompress_value(key))[0] if key else {}
        return _columns(names, schema, tuple(keys))

    return (payload_event(payload, columns),)


def payload_event(payload: Mapping[str, Any], columns: Callable[[tuple[str, ...]], Mapping[str, ColumnInfo]]) -> Event:
    """Return the event of a payload, given what the schema says about the columns of a row; raises ValueError or KeyError
    if it is none."""
    source = members(payload["source"])
    if "op" not in payload:
        place = text(source["db"]), text(source["table"])
        return DdlEvent(integer(source["commit_ts"]), *place, text(payload["ddl"]), _change(payload))
    op = text(payload["op"])
    if op == WATERMARK:
        return Watermark(integer(source["commit_ts"]))
    if op not in OPERATIONS:
        raise ValueError(f"op {op!r} of a row: {', '.join(OPERATIONS)} are known")
    before, after = (_image(payload.get(side)) for side in ("before", "after"))
    _check_sides(OPERATIONS[op], before, after)
    described = columns(tuple({**(before or {}), **(after or {})}))
    place = text(source["db"]), text(source["table"])
    return RowEvent(integer(source["commit_ts"]), *place, OPERATIONS[op], before, after, described)


def _change(payload: Mapping[str, Any]) -> str:
    """Return the type of a schema change, DROP TABLE and RENAME by canal's names; empty if it changes no table."""
    changes = payload["tableChanges"]
    if not changes:
        return ""
    change = members(changes[0])
    if change["table"] is None:
        return "ERASE"
    return "RENAME" if '","' in text(change["id"]) else text(change["type"])


def _check_sides(op: str, before: Image | None, after: Image | None) -> None:
    if (after is None) != (op == "DELETE") or op == "DELETE" and before is None:
        raise ValueError(f"before and after do not fit the {op}")


def _image(row: object) -> Image | None:
    return None if row is None else {name: _value(value) for name, value in members(row).items()}


def _value(value: object) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"a string, a number, true, false or null is expected, this is {value!r}")


def _parts(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the payload of a message, and the text of its schema, which is empty if there is none.

    No value of a column is an object, so that SCHEMA is nowhere else.
    """
    payload, found, schema = message.partition(SCHEMA)
    if found and not schema.endswith(b"}"):
        raise ValueError("the end is missing")
    whole = parse(payload + b"}}" if found else message, "surrogateescape")
    return members(whole["payload"]), b"{" + schema[:-1] if found else b""


@lru_cache(maxsize=1024)
def _columns(names: tuple[str, ...], schema: bytes, keys: tuple[str, ...]) -> Mapping[str, ColumnInfo]:
    types = _types(schema) if schema else {}
    return {name: ColumnInfo(CONNECT + types.get(name, ""), key=name in keys) for name in names}


def _types(schema: bytes) -> Mapping[str, str]:
    """Return the type of each column: Debezium's name, or Kafka Connect's."""
    described = parse(schema, "surrogateescape")
    images = [image for image in described["fields"] if image.get("field") in ("before", "after")]
    return {field["field"]: field.get("name", field["type"]) for image in images for field in image["fields"]}

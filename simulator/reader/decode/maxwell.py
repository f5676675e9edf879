"""TiCDC's Maxwell (tiflow v8.5.3 pkg/sink/codec/maxwell).

A message has the objects of several rows, one after the other, or a statement. Messages tell no types: bytes stay
base64 until the column of a table is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simulator.reader.decode import message_bytes
from simulator.reader.decode.decoder import ComparableText, Decoder, surrogate_text, zero
from simulator.reader.decode.message_bytes import Digits, integer, members, text
from simulator.reader.events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value

MAXWELL = "maxwell"
"""The type of all columns in a layout."""

OPERATIONS = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}
STATEMENTS = {"table-create": "CREATE", "table-drop": "ERASE", "database-create": "CREATE", "database-drop": "ERASE"}


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    return (
        (value or b"")[:12] == b'{"database":'
        or (value or b"")[:9] == b'{"type":"'
        and b'","database":' in (value or b"")
    )


def texts(key: bytes | None, value: bytes | None) -> tuple[tuple[bytes | None, bytes | None], ...]:
    """Return key and value of each event; raises ValueError."""
    content = (value or b"").decode("utf-8")
    found, place = [], 0
    while place < len(content):
        _, end = message_bytes.DECODER.raw_decode(content, place)
        found.append((key, content[place:end].encode()))
        place = end
    return tuple(found)


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the events of one message; raises ValueError or KeyError if it is no Maxwell."""
    if not value:
        raise ValueError("the value is null")
    content, place = value.decode("utf-8"), 0
    events: list[Event] = []
    while place < len(content):
        document, place = message_bytes.DECODER.raw_decode(content, place)
        message = members(document)
        if "sql" in message or "data" in message or "old" in message:  # else a transaction inserts and deletes the row
            events.append(_event(message))
    return tuple(events)


def _event(message: dict[str, Any]) -> Event:
    schema, table, kind = text(message["database"]), text(message["table"]), text(message["type"])
    if "sql" in message:
        return DdlEvent(integer(message["ts"]), schema, table, text(message["sql"]), _statement(message, kind))
    if kind not in OPERATIONS:
        raise ValueError(f"type {kind!r} of a row: {', '.join(OPERATIONS)} are known")
    data, old = (_image(members(message.get(name, {}))) for name in ("data", "old"))
    columns = {name: ColumnInfo(MAXWELL) for name in {**data, **old}}
    op = OPERATIONS[kind]
    before, after = {"INSERT": (None, data), "UPDATE": (old, data), "DELETE": (old, None)}[op]
    return RowEvent(None, schema, table, op, before, after, columns, es=1000 * integer(message["ts"]))


def _statement(message: dict[str, Any], kind: str) -> str:
    """Return canal's name of a statement's kind."""
    names = [tuple(members(message[side])[name] for name in ("database", "table")) for side in ("old", "def")]
    if kind == "table-alter" and names[0][1] and names[0] != names[1]:
        return "RENAME"
    return STATEMENTS.get(kind, "ALTER")


def _image(row: dict[str, Any]) -> Image:
    return {name: _value(value) for name, value in row.items()}


def _value(value: object) -> Value:
    if value is None or isinstance(value, (str, Digits)):
        return value
    raise ValueError(f"a string, a number or null is expected, this is {value!r}")


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown, head = surrogate_text(value), surrogate_text(key if (key or b"")[:1] == b"{" else None)
    document = json.loads(shown)
    is_statement = "sql" in document
    if "commit-ts" in ignored:
        shown, head = (zero(each, "ts", document["ts"]) for each in (shown, head))
    commit_ts = document["ts"] if is_statement else 0
    return ComparableText(commit_ts, f"{document['database']}.{document['table']}", head, shown)


DECODER = Decoder(
    decode, texts, looks_like, "Maxwell (objects with database, table, type and ts)", comparable, sequential=True
)
"""Rows say their time in seconds, so that their place in the partition tells the order."""

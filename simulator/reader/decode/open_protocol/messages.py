"""Decodes Open Protocol messages (docs: open-protocol; tiflow v8.5 pkg/sink/codec/open).

A key has version 1 and length-prefixed JSON objects, a value as many; the value of a resolved event is empty.

With only-output-updated-columns the new architecture writes a column that becomes NULL into `p` as `"t":15,"f":64,
"v":"…"` beside the named ones (ticdc up to v8.5.7 and v26.3.4: pkg/sink/codec/open/codec.go). Such a value gets a name
only if it can belong to no other column.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypeAlias

from simulator.quantities import counted
from simulator.reader.decode.go_json import integer, members, pairs, parse, text, unquote
from simulator.reader.decode.stream_events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark
from simulator.reader.decode.whole_messages import decompress_value
from simulator.ticdc.table_info import BINARY

VERSION = (1).to_bytes(8, "big")
ROW, DDL, RESOLVED = 1, 2, 3

STRINGS = frozenset((15, 253, 254))
"""Type codes of CHAR and VARCHAR, BINARY and VARBINARY."""

LONG_STRINGS = frozenset((249, 250, 251, 252))
"""Type codes of the TEXT and BLOB families."""

ANY_STRINGS = STRINGS | LONG_STRINGS

INVALID = "surrogateescape"
"""The new architecture copies bytes that are not UTF-8 (ticdc pkg/util/json_writer.go)."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    if key is None or key[:8] != VERSION:
        return False
    return len(key) > len(VERSION) or (value or b"")[:1] != b"{"  # that is Maxwell


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the events of one message; raises ValueError or KeyError if it is no Open Protocol."""
    pairs = (pair for pair in texts(key, value) if not is_empty(*pair))
    return tuple(_event(parse(head), decompress_value(body)) for head, body in pairs)


def is_empty(head: bytes, body: bytes) -> bool:
    """Return whether an event is a row that a transaction inserts and deletes (`releases` empty_changes)."""
    if body != b"{}" or not head.startswith(b'{"ts":'):
        return False
    key = parse(head)
    return integer(key["t"]) == ROW and "ohk" not in key and "ccl" not in key


def texts(key: bytes | None, value: bytes | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return key and value of each event of one message; raises ValueError if it is no Open Protocol."""
    if key is None or value is None:
        raise ValueError(f"the {'key' if key is None else 'value'} is null")
    if key[:8] != VERSION:
        raise ValueError(f"the key begins with {key[:8].hex() or 'nothing'}, not with version 1")
    keys, values = _frames(key[8:], "key"), _frames(value, "value")
    if not values and len(keys) == 1:
        values = [b""]
    if len(keys) != len(values) or not keys:
        raise ValueError(f"{counted(len(keys), 'event')} in the key, {len(values)} in the value")
    return tuple(zip(keys, values, strict=True))


def _frames(data: bytes, where: str) -> list[bytes]:
    frames, at = [], 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "big")
        if at + 8 > len(data) or end > len(data):
            raise ValueError(f"the {where} ends inside the event that begins at byte {at} of {len(data)}")
        frames.append(data[at + 8 : end])
        at = end
    return frames


def _event(key: dict[str, Any], body: bytes) -> Event:
    kind, commit_ts = integer(key["t"]), integer(key["ts"])
    if kind == RESOLVED:
        if body:
            raise ValueError(f"a resolved event with a value of {counted(len(body), 'byte')}")
        return Watermark(commit_ts)
    value, schema, table = parse(body, INVALID), text(key.get("scm", "")), text(key.get("tbl", ""))
    if kind == DDL:
        return DdlEvent(commit_ts, schema, table, text(value["q"]), integer(value["t"]))
    if kind != ROW:
        raise ValueError(f"event type {kind}: 1 (row), 2 (DDL) and 3 (resolved) are known")
    return _row(key, value, commit_ts, schema, table, body)


def _row(key: dict[str, Any], value: dict[str, Any], commit_ts: int, schema: str, table: str, body: bytes) -> RowEvent:
    deleted, updated, previous = (members(value[name]) if name in value else None for name in "dup")
    if not value:
        raise ValueError("nothing is left of the row but {}: its table has no handle key that it could be cut down to")
    if (deleted is None) == (updated is None):
        raise ValueError("a row event has exactly one of the members u and d")
    columns = deleted if updated is None else updated
    assert columns is not None
    infos = {name: _info(members(column)) for name, column in columns.items()}
    nameless: list[dict[str, Any]] = []
    if previous is not None and not all(isinstance(column, dict) for column in previous.values()):
        previous, nameless = match_nameless(pairs(body, INVALID), columns)
    return RowEvent(
        commit_ts=commit_ts,
        schema=schema,
        table=table,
        op="DELETE" if updated is None else "INSERT" if previous is None else "UPDATE",
        before=_image(deleted if updated is None else previous, infos),
        after=_image(updated, infos),
        columns=infos,
        rid=integer(key["rid"]) if "rid" in key else None,
        ptn=integer(key["ptn"]) if "ptn" in key else None,
        unnamed=tuple(_value(column, _info(column)) for column in nameless),
        only_handle=key.get("ohk") is True or "ccl" in key,
        stored_at=text(key.get("ccl", "")),
    )


def _info(column: Mapping[str, Any]) -> ColumnInfo:
    flags = integer(column["f"]) if "f" in column else None
    code = integer(column["t"])
    binary = bool((flags or 0) & BINARY) and code in ANY_STRINGS
    return ColumnInfo(code, flags, column.get("h") is True, binary=binary)


def _image(columns: dict[str, Any] | None, infos: Mapping[str, ColumnInfo]) -> Image | None:
    """Return values by column. In `p` of the new architecture's 8.5.4 and 8.5.5 `f` is TiDB's own flag word, so that
    the flags of `u` and `d` are used."""
    if columns is None:
        return None
    return {
        name: _value(members(column), infos[name] if name in infos else _info(column))
        for name, column in columns.items()
    }


def _early(value: str) -> Value:
    """Return a string of 4.0.0 to 4.0.4: base64, or plain text if the row was in TiKV's second format."""
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return value
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


ZERO_OBJECTS: Mapping[int, tuple[str, Mapping[str, str]]] = {
    246: ("0", {}),
    10: ("0000-00-00", {}),
    **dict.fromkeys((7, 12), ("0000-00-00 00:00:00", {})),
    11: ("00:00:00", {"Duration": "0", "Fsp": "0"}),
    248: ("0", {"Name": "", "Value": "0"}),
}
"""By type code the texts of zeros that TiCDC up to 5.3.0 sends as objects (`ticdc.older_rows`)."""


def _value(column: Mapping[str, Any], info: ColumnInfo) -> Value:
    """Return text, or bytes of a binary column. Without `f` (before 4.0.5) it may be either."""
    code, value = integer(column["t"]), column["v"]
    if value is None:
        return None
    binary = bool((info.flags or 0) & BINARY)
    if info.flags is None and code in ANY_STRINGS:
        return _early(text(value))
    if code in LONG_STRINGS:
        data = base64.b64decode(text(value), validate=True)
        return data if binary else data.decode("utf-8", INVALID)
    if code in STRINGS and binary:
        return unquote(text(value))
    if isinstance(value, dict) and value == ZERO_OBJECTS.get(code, ("", None))[1]:
        return ZERO_OBJECTS[code][0]
    if not isinstance(value, str):
        raise ValueError(f"a value that is neither text nor number: {value!r}")
    return str(value)


Column: TypeAlias = "dict[str, Any]"
"""`t`, `f`, `v` of one column."""


def match_nameless(
    value: list[tuple[str, Any]], updated: Mapping[str, Column]
) -> tuple[dict[str, Column], list[Column]]:
    """Return the members of `p` by name, and those without a name; `value` is the message's value as pairs."""
    columns: dict[str, Column] = {}
    nameless: list[Column] = []
    for name, column in next(content for member, content in value if member == "p"):
        if isinstance(column, list):
            columns[name] = dict(column)
            continue
        if name == "t":
            nameless.append({})
        if not nameless:
            raise ValueError(f"member {name!r} of p is no column")
        nameless[-1][name] = column
    return _matched(columns, nameless, updated)


def _matched(
    columns: dict[str, Column], nameless: list[Column], updated: Mapping[str, Column]
) -> tuple[dict[str, Column], list[Column]]:
    """Name values where as many columns became NULL as there are nameless values of their type and flags, both in table
    order."""
    remaining: list[Column] = []
    for kind in dict.fromkeys(map(_kind, nameless)):
        values = [column for column in nameless if _kind(column) == kind]
        empty = [
            name
            for name, column in updated.items()
            if column["v"] is None and name not in columns and _kind(column) == kind
        ]
        if len(empty) == len(values):
            columns.update(zip(empty, values, strict=True))
        else:
            remaining += values
    return columns, remaining


def _kind(column: Column) -> tuple[Any, Any]:
    return column["t"], column.get("f")

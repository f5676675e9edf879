"""TiCDC's Canal-JSON (docs: canal-json; tiflow v8.5 pkg/sink/codec/canal).

A message is one event. Every value is text or null; bytes are Latin-1 text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.cells import buffers, spans
from simulator.reader.decode.decoder import ComparableText, Decoder, JsonColumns, Outline, surrogate_text, zero
from simulator.reader.decode.json_cuts import FramedEvents, Number, bytes_at, cut
from simulator.reader.decode.message_bytes import (
    ASCII,
    LATIN,
    TEXT,
    Cell,
    decompress_cells,
    decompress_value,
    integer,
    members,
    parse,
    text,
)
from simulator.reader.decode.row_images import BINARY_NAMES
from simulator.reader.events import LOST, ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark

OPERATIONS = ("INSERT", "UPDATE", "DELETE")
WATERMARK = "TIDB_WATERMARK"
BLOB = 2004
"""The sqlType of bytes as Latin-1 text. Before 5.4 BINARY_NAMES and VARBINARY had the sqlTypes of CHAR and VARCHAR, and were
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
    columns = _columns(message)
    images = _images(message, kind, columns)
    stored_at = text(extension.get("claimCheckLocation", ""))
    cut = bool(stored_at) or extension.get("onlyHandleKey") is True
    return tuple(
        RowEvent(commit_ts, schema, table, kind, *pair, columns, es=es, only_handle=cut, stored_at=stored_at)
        for pair in images
    )


def _images(
    message: dict[str, Any], op: str, columns: dict[str, ColumnInfo]
) -> list[tuple[Image | None, Image | None]]:
    """Return the old and the new row of each change."""
    data, old = message["data"], message.get("old")
    if op != "UPDATE":
        old = [{}] * len(data)
    elif not old or len(old) != len(data):
        raise ValueError("an UPDATE needs as many rows in old as in data")
    images: list[tuple[Image | None, Image | None]] = []
    for number, row in enumerate(data):
        if row is None and op == "INSERT":
            continue  # that a transaction inserts and deletes (`releases` empty_changes)
        if not row:
            raise ValueError("a row of data without columns")
        image = {name: _value(value, columns[name]) for name, value in members(row).items()}
        before = _old_image(members(old[number]), columns) if op == "UPDATE" else image if op == "DELETE" else None
        images.append((before, None if op == "DELETE" else image))
    if not data:
        raise ValueError("a row message without rows in data")
    return images


def _columns(message: dict[str, Any]) -> dict[str, ColumnInfo]:
    keys = frozenset(message.get("pkNames") or ())
    types, codes = (members(message.get(name) or {}) for name in ("mysqlType", "sqlType"))
    return {
        name: ColumnInfo(
            text(value), None, name in keys, integer(codes[name]), value.split("(")[0].split(" ")[0] in BINARY_NAMES
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


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown = surrogate_text(decompress_value(value or b""))
    fields = json.loads(shown)
    extension = fields.get("_tidb") or {}
    is_watermark = fields["type"] == "TIDB_WATERMARK"
    name = "watermarkTs" if is_watermark else "commitTs"
    if "commit-ts" in ignored:
        for member, number in ((name, extension.get(name)), ("es", fields["es"])):
            shown = zero(shown, member, number)
    if "build-ts" in ignored:
        shown = zero(shown, "ts", fields["ts"])
    for member in ("sqlType", "mysqlType") if "members" in ignored else ():
        shown = with_sorted_members(shown, member)
    commit_ts = extension.get(name) or fields["es"] << tso.LOGICAL_BITS
    return ComparableText(
        commit_ts, f"{fields['database']}.{fields['table']}", surrogate_text(key), shown, is_watermark
    )


def with_sorted_members(text: str, name: str) -> str:
    """Return the text of a JSON object with the members of one of its objects sorted."""
    start = text.index(f'"{name}":') + len(f'"{name}":')
    members: Any
    members, end = json.JSONDecoder().raw_decode(text, start)
    return text[:start] + json.dumps(members, sort_keys=True, ensure_ascii=False) + text[end:]


LINE_END = b"\r\n"


def events(keys: pa.Array, values: pa.Array) -> FramedEvents:
    """Return the messages, without the CR LF that rows of 6.5.0 to 6.5.11, 6.6 and 7.0 end with."""
    data, bounds = buffers(values.fill_null(b""))
    ends = np.maximum(bounds[1:] - 2, bounds[:-1])
    ended = (bytes_at(data, ends, 2) == np.frombuffer(LINE_END, np.uint8)).all(axis=1) & (np.diff(bounds) > 2)
    texts, fine = decompress_cells(spans(data, bounds[:-1], bounds[1:] - 2 * ended))
    return FramedEvents.alone(keys, texts, fine & np.asarray(values.is_valid()))


def outline(event: RowEvent, members: Mapping[str, Any]) -> Outline | None:
    extension = members.get("_tidb") or {}
    if "onlyHandleKey" in extension:
        return None
    return Outline(
        commit_ts=("es",) if event.commit_ts is None else ("_tidb", "commitTs"),
        before={"DELETE": "data", "UPDATE": "old"}.get(event.op),
        after=None if event.op == "DELETE" else "data",
        cell=_cell,
        listed=True,
    )


def _cell(info: ColumnInfo, value: object) -> Cell:
    return TEXT if not info.binary else LATIN if info.sql_type == BLOB else ASCII


COLUMNS = JsonColumns(
    events=events,
    cut=lambda events: cut(events.values, (Number(b'"es":', "es"), Number(b',"ts":')), b'":[{', ("data", "old")),
    outline=outline,
    rows=("value", ('"isDdl":false',)),
    without_build_time=lambda texts: pc.replace_substring_regex(texts, r'"ts":\d+', '"ts":0', max_replacements=1),
)

DECODER = Decoder(
    decode, lambda key, value: ((key, value),), looks_like, "Canal-JSON (an object with isDdl)", comparable, COLUMNS
)

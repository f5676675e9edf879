"""TiCDC's Simple (docs: ticdc-simple-protocol; tiflow v8.0 pkg/sink/codec/simple).

One message is one event. A row has its values as text, without types: these are in the table's schema, which an earlier
DDL or BOOTSTRAP told. Without it bytes in JSON stay base64.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, buffers
from simulator.reader.decode import simple_avro
from simulator.reader.decode.decoder import (
    ComparableText,
    Decoder,
    JsonColumns,
    Numbers,
    Outline,
    SchemaMemory,
    surrogate_text,
    without_ids,
    zero,
)
from simulator.reader.decode.json_cuts import FramedEvents, Number, bytes_at, cut
from simulator.reader.decode.message_bytes import (
    BASE64_BYTES,
    TEXT,
    Cell,
    decompress_cells,
    decompress_value,
    members,
    parse,
    text,
)
from simulator.reader.decode.row_images import BINARY_NAMES
from simulator.reader.events import ColumnInfo, DdlEvent, Event, Image, RowEvent, TableSchemas, Value, Watermark

OPERATIONS = ("INSERT", "UPDATE", "DELETE")
STATEMENTS = ("CREATE", "RENAME", "CINDEX", "DINDEX", "ERASE", "TRUNCATE", "ALTER", "QUERY", "DDL")
"""Types of statements; `DDL` is that of all in the first form (7.6)."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    try:
        content = decompress_value(value or b"")
    except ValueError:
        return False
    return simple_avro.looks_like(content) or content[:11] == b'{"version":' and b'"buildTs":' in content


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the event of a message, none for a BOOTSTRAP; raises ValueError or KeyError if it is no Simple."""
    return _events(_message(value), None)


def decode_told(key: bytes | None, value: bytes | None, known: TableSchemas) -> tuple[Event, ...]:
    """Decode with the table schemas that are known, and add those that the message tells."""
    message = _message(value)
    known |= {**told_in(message), **known}  # as TiCDC's memoryTableInfoProvider.Write does, the first one stays
    return _events(message, known)


def told(key: bytes | None, value: bytes | None) -> TableSchemas:
    """Return the table schemas that a statement or BOOTSTRAP tells."""
    return told_in(_message(value))


def _message(value: bytes | None) -> dict[str, Any]:
    if value is None:
        raise ValueError("the value is null")
    content = decompress_value(value)
    return simple_avro.read(content) if simple_avro.looks_like(content) else parse(content)


def told_in(message: dict[str, Any]) -> TableSchemas:
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
    return ColumnInfo(name + sign, key=column["name"] in keys, binary=name in BINARY_NAMES)


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


SIMPLE_IDS = (
    re.compile(r'(?<=[,{])"(tableID|schemaVersion)":(\d+)'),
    re.compile(r'(?<=,)"(version)":(\d+)(?=,"columns":)'),
)
"""Ids of tables and versions of schemas in Simple."""


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    content = decompress_value(value or b"")
    shown = surrogate_text(content) if content[:1] == b"{" else _avro_text(content, "members" in ignored)
    fields = json.loads(shown)
    if "commit-ts" in ignored:
        shown = zero(shown, "commitTs", fields["commitTs"])
    if "build-ts" in ignored:
        shown = zero(shown, "buildTs", fields["buildTs"])
    ids: Numbers = ()
    if "ids" in ignored:
        shown, ids = without_ids(shown, SIMPLE_IDS)
    named = fields.get("tableSchema") or fields
    table = f"{named.get('database') or named.get('schema') or ''}.{named.get('table') or ''}"
    return ComparableText(fields["commitTs"], table, surrogate_text(key), shown, fields["type"] == "WATERMARK", ids)


def _avro_text(content: bytes, sorts_members: bool) -> str:
    """Return the members of an Avro message as JSON."""
    message = simple_avro.read(content)
    parts = {
        name: dict(sorted(part.items())) if sorts_members and name in ("data", "old") else part
        for name, part in message.items()
    }
    return json.dumps(parts, default=lambda value: {"hex": value.hex()}, ensure_ascii=False, separators=(",", ":"))


ROWS = b'{"version":1,"database":', b'{"version":1,"schema":'
"""The beginnings of rows in JSON; the second one is that of the first form (7.6)."""

WATERMARK = b'{"version":1,"type":"WATERMARK",'


def may_tell(values: pa.Array) -> Mask:
    """Return which values are no rows or watermarks."""
    heads = [pc.starts_with(values, head) for head in (*ROWS, WATERMARK)]
    data, bounds = buffers(values)
    begins = bytes_at(data, bounds[:-1], 2)
    is_avro = [(begins == np.frombuffer(head, np.uint8)).all(axis=1) for head in AVRO_HEADS]
    told: Mask = ~np.logical_or.reduce([*is_avro, *(np.asarray(head) for head in heads)])
    return told


AVRO_HEADS = b"\x16\0", b"\x16\6", b"\x0a\2", b"\x10\2"
"""The beginnings of watermarks and rows in Avro; the last two are those of the first form."""


def events(keys: pa.Array, values: pa.Array) -> FramedEvents:
    """Return the messages in JSON."""
    texts, fine = decompress_cells(values.fill_null(b"") if values.null_count else values)
    return FramedEvents.alone(keys, texts, fine & np.asarray(pc.starts_with(texts, b'{"')))


def _outline(event: RowEvent, members: Mapping[str, Any]) -> Outline:
    return Outline(
        ("commitTs",), None if event.op == "INSERT" else "old", None if event.op == "DELETE" else "data", _cell
    )


def _cell(info: ColumnInfo, value: object) -> Cell:
    """A TIMESTAMP is an object with its text."""
    cell = BASE64_BYTES if info.binary else TEXT
    if value is None and str(info.type) == "timestamp":
        value = {"location": "", "value": ""}
    if not isinstance(value, dict):
        return cell
    kind = pa.struct([(name, pa.string()) for name in value])
    return Cell(kind, lambda objects: cell.convert(pc.struct_field(objects, "value")))


COLUMNS = JsonColumns(
    events=events,
    cut=lambda events: cut(
        events.values, (Number(b'"commitTs":', "commitTs"), Number(b',"buildTs":')), b'":{"', ("data", "old")
    ),
    outline=_outline,
    rows=("value", tuple(head.decode() for head in ROWS)),
)

DECODER = Decoder(
    decode,
    lambda key, value: ((key, value),),
    looks_like,
    "Simple (an object with version and buildTs, or Avro that begins with 0x16)",
    comparable,
    COLUMNS,
    SchemaMemory(may_tell, told, told_in, decode_told),
)

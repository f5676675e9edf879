"""TiCDC's Debezium (docs: ticdc-debezium; tiflow v8.0.0 and ticdc v8.5.4, pkg/sink/codec/debezium).

A message is one event. Values stay as messages have them, numbers as their digits, `true` and `false` as words;
`row_images` makes TiDB text of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, buffers, have_at, spans
from simulator.reader.decode.decoder import ComparableText, Decoder, JsonColumns, Outline, surrogate_text, zero
from simulator.reader.decode.json_cuts import CutEvents, FramedEvents, Number, Shared, cut, joined
from simulator.reader.decode.message_bytes import (
    REAL,
    SIGNED,
    TEXT,
    TRUTH,
    Cell,
    Digits,
    decompress_cells,
    decompress_value,
    integer,
    members,
    parse,
    text,
)
from simulator.reader.decode.row_images import CONNECT
from simulator.reader.events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark

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


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown = surrogate_text(decompress_value(value or b""))
    document = json.loads(shown)
    payload = document.get("payload", document)
    source = payload["source"]
    if "commit-ts" in ignored:
        for member in ("commit_ts", "ts_ms"):
            shown = zero(shown, member, source.get(member))
    if "build-ts" in ignored:
        shown = zero(shown, "ts_ms", payload.get("ts_ms"))
    table = f"{source.get('db') or ''}.{source.get('table') or ''}"
    return ComparableText(source["commit_ts"], table, surrogate_text(key), shown, payload.get("op") == "m")


def events(keys: pa.Array, values: pa.Array) -> FramedEvents:
    (key_texts, fine_keys), (texts, fine) = (
        decompress_cells(side.fill_null(b"") if side.null_count else side) for side in (keys, values)
    )
    return FramedEvents.alone(key_texts, texts, fine & fine_keys & np.asarray(values.is_valid()))


def _cut_events(events: FramedEvents) -> CutEvents:
    """A schema is the same in all rows of a table. The key is a member of the object."""
    (heads, schemas, fine), (key_heads, key_schemas, fine_keys) = _payloads(events.values), _payloads(events.keys)
    no_key = pc.equal(pc.binary_length(events.keys), 0)
    keys = pc.if_else(no_key, pa.scalar(b"null", pa.binary()), joined([key_heads, END]))
    found = cut(heads, NUMBERS, b'":{"', ("before", "after"))
    objects = joined([found.objects, ',"key":', keys, "}"])
    fine &= found.fine & (fine_keys | np.asarray(no_key))
    return CutEvents((*found.constants, schemas, key_schemas), objects, found.numbers, fine)


NUMBERS = Number(b'"ts_ms":'), Number(b'"commit_ts":', "commit_ts"), Number(b'"ts_ms":')
END = "}}"


def _payloads(texts: pa.Array) -> tuple[pa.Array, Shared, Mask]:
    """Return the payloads without their end, the schemas, and which texts have such an end."""
    data, bounds = buffers(texts)
    starts, ends = bounds[:-1], bounds[1:]
    fine: Mask = ends - starts > 2
    for place in (1, 2):
        fine[fine] = data[ends[fine] - place] == ord("}")
    first = len(texts[0].as_py().partition(SCHEMA)[2]) if len(texts) else 0
    known = np.maximum(ends - first - len(SCHEMA), starts)
    if not (first and have_at(data, known, SCHEMA).all()):
        found = pc.find_substring(texts, SCHEMA).to_numpy(zero_copy_only=False)
        known = np.where(found < 0, np.maximum(ends - 2, starts), starts + found)
    has_schema = ends - known > 2
    return spans(data, starts, known), Shared.between(data, known, np.where(has_schema, ends, known)), fine


def _outline(event: RowEvent, members: Mapping[str, Any]) -> Outline:
    has_before = event.before is not None
    return Outline(("commit_ts",), "before" if has_before else None, None if event.after is None else "after", _cell)


KINDS = {
    **dict.fromkeys(("int16", "int32", "int64"), SIGNED),
    **dict.fromkeys(
        (f"io.debezium.time.{name}" for name in ("Date", "Timestamp", "MicroTimestamp", "MicroTime", "Year")), SIGNED
    ),
    **dict.fromkeys(("float", "double"), REAL),
    "boolean": TRUTH,
}
"""How the values of a type are read; others are texts."""


def _cell(info: ColumnInfo, value: object) -> Cell | None:
    kind = str(info.type).removeprefix(CONNECT)
    if kind:
        return KINDS.get(kind, TEXT)
    return SIGNED if isinstance(value, Digits) else TEXT if isinstance(value, str) else None


COLUMNS = JsonColumns(events=events, cut=_cut_events, outline=_outline, rows=("value", ('"op":"',)))

DECODER = Decoder(
    decode,
    lambda key, value: ((key, value),),
    looks_like,
    "Debezium (an object with payload and source)",
    comparable,
    COLUMNS,
    always_timed=True,
)

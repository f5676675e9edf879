"""Messages as trees that a test can change at any path, and trees as messages, for each protocol.

A tree is plain JSON: `{"key": …, "value": …}`, or what a protocol's form says. Written again without a change, it has the
same bytes.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import fastavro

Tree = Any
"""JSON: dict, list, str, int, float, bool, None."""

Bytes = bytes | None


@dataclass(frozen=True)
class Form:
    """How messages of a protocol are read and written."""

    read: Callable[[Bytes, Bytes], Tree]
    write: Callable[[Tree], tuple[Bytes, Bytes]]
    kind: Callable[[Tree], str] = lambda tree: ""
    """The kind of messages that are no event, such as `BOOTSTRAP kinds`; else empty."""


class Number(float):
    """A number that is written as it was read."""

    text: str

    def __new__(cls, text: str) -> Number:
        number = super().__new__(cls, text)
        number.text = text
        return number


def from_json(text: Bytes) -> Tree:
    return None if text is None else json.loads(text, parse_float=Number)


def to_json(tree: Tree) -> Bytes:
    return None if tree is None else _text(tree).encode()


def _text(tree: Tree) -> str:
    if isinstance(tree, dict):
        return "{" + ",".join(f"{_text(name)}:{_text(member)}" for name, member in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(_text, tree)) + "]"
    return tree.text if isinstance(tree, Number) else json.dumps(tree, ensure_ascii=False)


def _read_json(key: Bytes, value: Bytes) -> Tree:
    return {"key": from_json(key), "value": from_json(value)}


def _write_json(tree: Tree) -> tuple[Bytes, Bytes]:
    return to_json(tree.get("key")), to_json(tree.get("value"))


def _read_open(key: Bytes, value: Bytes) -> Tree:
    """`{"version": 1, "events": [{"key": …, "value": …}]}`."""
    assert key is not None and value is not None
    pairs = zip(_frames(key[8:]), _frames(value), strict=True)
    events = [{"key": from_json(head), "value": from_json(body) if body else None} for head, body in pairs]
    return {"version": struct.unpack(">Q", key[:8])[0], "events": events}


def _write_open(tree: Tree) -> tuple[Bytes, Bytes]:
    heads, bodies = (
        [to_json(event.get(name)) or b"" for event in tree.get("events") or ()] for name in ("key", "value")
    )
    version = tree.get("version")
    return (b"" if version is None else struct.pack(">q", version)) + _framed(heads), _framed(bodies)


def _frames(data: bytes) -> list[bytes]:
    found = []
    while data:
        (size,) = struct.unpack(">Q", data[:8])
        found.append(data[8 : 8 + size])
        data = data[8 + size :]
    return found


def _framed(parts: list[bytes]) -> bytes:
    return b"".join(struct.pack(">Q", len(part)) + part for part in parts)


def _json_bootstrap(tree: Tree) -> str:
    message = tree["value"]
    return f"BOOTSTRAP {message['tableSchema']['table']}" if message["type"] == "BOOTSTRAP" else ""


def _read_simple_avro(key: Bytes, value: Bytes) -> Tree:
    """The message without the branch of the schema; `kind` is there twice."""
    assert value is not None and value[:1] == SIMPLE_BRANCH
    return {"key": None if key is None else key.decode(), "value": avro_tree(SIMPLE, value[1:])}


def _write_simple_avro(tree: Tree) -> tuple[Bytes, Bytes]:
    key, value = tree.get("key"), tree.get("value")
    return (None if key is None else key.encode(), None if value is None else SIMPLE_BRANCH + avro_bytes(SIMPLE, value))


def _avro_bootstrap(tree: Tree) -> str:
    payload = tree["value"]["payload"]
    return f"BOOTSTRAP {payload['Bootstrap']['tableSchema']['table']}" if "Bootstrap" in payload else ""


def confluent(schemas: Mapping[int, str]) -> Form:
    """The form of messages that name schemas: `{"key": {"#1": …}, "value": {"#2": …}}`; others are a byte and JSON, or
    a byte and a number."""
    known = {id: readable(json.loads(text)) for id, text in schemas.items()}

    def read(content: Bytes) -> Tree:
        if content is None:
            return None
        if content[:1] == b"\0":
            id = int.from_bytes(content[1:5], "big")
            return {f"#{id}": avro_tree(known[id], content[5:])}
        first, rest = content[0], content[1:]
        return (
            {"first": first, "json": from_json(rest)}
            if rest[:1] == b"{"
            else {"first": first, "ts": int.from_bytes(rest, "big")}
        )

    def written(tree: Tree) -> Bytes:
        if tree is None:
            return None
        if "first" in tree:
            rest = to_json(tree["json"]) if "json" in tree else struct.pack(">Q", tree["ts"])
            return bytes([tree["first"]]) + (rest or b"")
        ((name, datum),) = tree.items()
        id = int(name[1:])
        return b"\0" + id.to_bytes(4, "big") + avro_bytes(known[id], datum)

    return Form(
        lambda key, value: {"key": read(key), "value": read(value)},
        lambda tree: (written(tree.get("key")), written(tree.get("value"))),
    )


def form_of(name: str, schemas: Mapping[int, str]) -> Form:
    """The form of messages; `schemas` are those of a registry."""
    return FORMS.get(name) or confluent(schemas)


FORMS: Mapping[str, Form] = {
    "open-protocol": Form(_read_open, _write_open),
    "canal-json": Form(_read_json, _write_json),
    "debezium": Form(_read_json, _write_json),
    "simple": Form(_read_json, _write_json, _json_bootstrap),
    "simple-avro": Form(_read_simple_avro, _write_simple_avro, _avro_bootstrap),
}

SIMPLE_BRANCH = b"\x16"
"""The branch of TiCDC's schema that a message is."""


SIMPLE_RECORDS = """
Timestamp location:string value:string
UnsignedBigint value:long
DataType mysqlType:string charset:string collate:string length:long decimal:int? elements:string*? unsigned:boolean?
    zerofill:boolean?
Column name:string dataType:DataType nullable:boolean default:string?
Index name:string unique:boolean primary:boolean nullable:boolean columns:string*
Table schema:string table:string tableID:long version:long columns:Column* indexes:Index*
Checksum version:int corrupted:boolean current:long previous:long
Watermark version:int commitTs:long buildTs:long
Bootstrap version:int buildTs:long tableSchema:Table
DDL version:int type:int sql:string commitTs:long buildTs:long tableSchema:Table? preTableSchema:Table?
DML version:int database:string table:string tableID:long type:int commitTs:long buildTs:long schemaVersion:long
    claimCheckLocation:string? handleKeyOnly:boolean? checksum:Checksum? data:VALUES? old:VALUES?
Message kind:int payload:Watermark|Bootstrap|DDL|DML
"""
"""Simple's schema (tiflow v8.0 pkg/sink/codec/simple/message.json) behind its branch, a record a line; enums are numbers,
`?` is a union with null, `*` an array."""

VALUES = "null|long|float|double|string|bytes|Timestamp|UnsignedBigint"


def _record(name: str, fields: Mapping[str, Tree]) -> Tree:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": type} for field, type in fields.items()]}


def _type(text: str) -> Tree:
    if text.endswith("?"):
        return ["null", _type(text[:-1])]
    if text.endswith("*"):
        return {"type": "array", "items": _type(text[:-1])}
    if text == "VALUES":
        return {"type": "map", "values": _type(VALUES)}
    return text.split("|") if "|" in text else text


def _simple_schema() -> Schema:
    known: dict[str, Schema] = {}
    numbers, parsed = itertools.count(), None
    for line in re.split(r"\n(?! )", SIMPLE_RECORDS.strip()):
        name, *fields = line.split()
        record = _record(name, {field: _type(type) for field, _, type in (each.partition(":") for each in fields)})
        parsed = fastavro.parse_schema(_readable(record, numbers), known)
    return parsed


# Avro as trees that tell the branch of each union, as Avro's JSON encoding does. fastavro tells none: a union of records
# with one field each, which is called as the branch, has the same bytes. A symbol of an enum is its number, and logical
# types are what they lie on.

Schema = Any
"""A schema's JSON: a name, a list for a union, or a dict."""


def readable(schema: Schema) -> Schema:
    """The schema of the same bytes whose data are trees, for fastavro."""
    return fastavro.parse_schema(_readable(schema, itertools.count()))


def _readable(schema: Schema, numbers: Iterator[int]) -> Schema:
    if isinstance(schema, list):
        return [
            each if each == "null" else _record(f"Branch{next(numbers)}", {_branch(each): _readable(each, numbers)})
            for each in schema
        ]
    if not isinstance(schema, dict) or not isinstance(schema["type"], str):
        return _readable(schema["type"], numbers) if isinstance(schema, dict) else schema
    if schema["type"] == "enum":
        return "int"
    made = {name: schema[name] for name in ("type", "name", "namespace") if name in schema}
    made |= {name: _readable(schema[name], numbers) for name in ("items", "values") if name in schema}
    if "fields" in schema:
        made["fields"] = [
            {"name": field["name"], "type": _readable(field["type"], numbers)} for field in schema["fields"]
        ]
    return made


def _branch(schema: Schema) -> str:
    return schema if isinstance(schema, str) else schema.get("name", schema["type"])


def avro_tree(schema: Schema, data: bytes) -> Any:
    """The tree of a datum; raises ValueError for bytes behind it."""
    stream = io.BytesIO(data)
    tree = fastavro.schemaless_reader(stream, schema, None)
    if stream.read():
        raise ValueError("bytes are left")
    return tree


def avro_bytes(schema: Schema, tree: Any) -> bytes:
    """The datum of a tree; raises TypeError, LookupError or ValueError if the schema has none."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, tree, strict=True)
    return stream.getvalue()


SIMPLE = _simple_schema()

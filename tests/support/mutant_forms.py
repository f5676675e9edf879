"""Messages as trees that a test can change at any path, and trees as messages, for each protocol.

A tree is plain JSON: `{"key": …, "value": …}`, or what a protocol's form says. Written again without a change, it has the
same bytes.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
    return {"key": None if key is None else key.decode(), "value": avro_tree(SIMPLE_SCHEMA, value[1:])}


def _write_simple_avro(tree: Tree) -> tuple[Bytes, Bytes]:
    key, value = tree.get("key"), tree.get("value")
    return (
        None if key is None else key.encode(),
        None if value is None else SIMPLE_BRANCH + avro_bytes(SIMPLE_SCHEMA, value),
    )


def _avro_bootstrap(tree: Tree) -> str:
    payload = tree["value"]["payload"]
    return f"BOOTSTRAP {payload['Bootstrap']['tableSchema']['table']}" if "Bootstrap" in payload else ""


def confluent(schemas: Mapping[int, str]) -> Form:
    """The form of messages that name schemas: `{"key": {"#1": …}, "value": {"#2": …}}`; others are a byte and JSON, or
    a byte and a number."""
    known = {id: json.loads(text) for id, text in schemas.items()}

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


def _record(name: str, /, **fields: Tree) -> Tree:
    types = [{"name": field, "type": type} for field, type in fields.items()]
    return {"type": "record", "name": name, "fields": types}


def _list(items: Tree) -> Tree:
    return {"type": "array", "items": items}


def _enum(name: str, count: int) -> Tree:
    return {"type": "enum", "name": name, "symbols": [str(number) for number in range(count)]}


def _or_null(type: Tree) -> Tree:
    return ["null", type]


_TYPE = _record(
    "DataType",
    mysqlType="string",
    charset="string",
    collate="string",
    length="long",
    decimal=_or_null("int"),
    elements=_or_null(_list("string")),
    unsigned=_or_null("boolean"),
    zerofill=_or_null("boolean"),
)
_COLUMN = _record("Column", name="string", dataType=_TYPE, nullable="boolean", default=_or_null("string"))
_INDEX = _record(
    "Index", name="string", unique="boolean", primary="boolean", nullable="boolean", columns=_list("string")
)
_TABLE = _record(
    "Table",
    schema="string",
    table="string",
    tableID="long",
    version="long",
    columns=_list(_COLUMN),
    indexes=_list(_INDEX),
)
_VALUE = [
    *("null", "long", "float", "double", "string", "bytes"),
    _record("Timestamp", location="string", value="string"),
    _record("UnsignedBigint", value="long"),
]
_VALUES = _or_null({"type": "map", "values": _VALUE})
_CHECKSUM = _record("Checksum", version="int", corrupted="boolean", current="long", previous="long")
SIMPLE_SCHEMA: Tree = _record(
    "Message",
    kind=_enum("Kind", 4),
    payload=[
        _record("Watermark", version="int", commitTs="long", buildTs="long"),
        _record("Bootstrap", version="int", buildTs="long", tableSchema=_TABLE),
        _record(
            "DDL",
            version="int",
            type=_enum("Statement", 8),
            sql="string",
            commitTs="long",
            buildTs="long",
            tableSchema=_or_null("Table"),
            preTableSchema=_or_null("Table"),
        ),
        _record(
            "DML",
            version="int",
            database="string",
            table="string",
            tableID="long",
            type=_enum("Operation", 3),
            commitTs="long",
            buildTs="long",
            schemaVersion="long",
            claimCheckLocation=_or_null("string"),
            handleKeyOnly=_or_null("boolean"),
            checksum=_or_null(_CHECKSUM),
            data=_VALUES,
            old=_VALUES,
        ),
    ],
)
"""Simple's schema (tiflow v8.0 pkg/sink/codec/simple/message.json) behind its branch; enums count their symbols only."""


# Avro as trees that tell the branch of each union, as Avro's JSON encoding does; no library tells branches. A symbol of
# an enum is its number, bytes are bytes, and logical types are what they lie on.

Schema = Any
"""A schema's JSON: a name, a list for a union, or a dict."""

Names = dict[str, Schema]
"""Named types, by full and by short name."""

FIXED: Mapping[str, str] = {"float": "<f", "double": "<d", "boolean": "<?"}


def avro_tree(schema: Schema, data: bytes) -> Any:
    """The tree of a datum; raises ValueError for bytes behind it."""
    stream, names = io.BytesIO(data), _names(schema, {})
    tree = _read(schema, stream, names)
    if stream.read():
        raise ValueError("bytes are left")
    return tree


def avro_bytes(schema: Schema, tree: Any) -> bytes:
    """The datum of a tree; raises TypeError, LookupError or struct.error if the schema has none."""
    return _written(schema, tree, _names(schema, {}))


def _names(schema: Schema, names: Names, space: str = "") -> Names:
    if isinstance(schema, list):
        for each in schema:
            _names(each, names, space)
    elif isinstance(schema, dict):
        if "name" in schema:
            space = schema.get("namespace", space)
            names[schema["name"]] = names[f"{space}.{schema['name']}"] = schema
        for each in (*(field["type"] for field in schema.get("fields", ())), schema.get("items"), schema.get("values")):
            _names(each, names, space)
        if not isinstance(schema["type"], str):
            _names(schema["type"], names, space)
    return names


def _branch(schema: Schema) -> str:
    return schema if isinstance(schema, str) else schema.get("name", schema["type"])


def _resolved(schema: Schema, names: Names) -> Schema:
    while (
        isinstance(schema, str) and schema in names or isinstance(schema, dict) and not isinstance(schema["type"], str)
    ):
        schema = names[schema] if isinstance(schema, str) else schema["type"]
    return schema


def _read(schema: Schema, stream: io.BytesIO, names: Names) -> Any:
    schema = _resolved(schema, names)
    if isinstance(schema, list):
        branch = schema[_long(stream)]
        return None if branch == "null" else {_branch(branch): _read(branch, stream, names)}
    match schema if isinstance(schema, str) else schema["type"]:
        case "null":
            return None
        case "int" | "long" | "enum":
            return _long(stream)
        case "string":
            return _taken(stream, _long(stream)).decode("utf-8", "surrogateescape")
        case "bytes":
            return _taken(stream, _long(stream))
        case "record":
            return {field["name"]: _read(field["type"], stream, names) for field in schema["fields"]}
        case "array":
            return _items(stream, lambda: _read(schema["items"], stream, names))
        case "map":
            return dict(
                _items(stream, lambda: (_read("string", stream, names), _read(schema["values"], stream, names)))
            )
        case name:
            return struct.unpack(FIXED[name], _taken(stream, struct.calcsize(FIXED[name])))[0]


def _items(stream: io.BytesIO, read: Callable[[], Any]) -> list[Any]:
    found = []
    while count := _long(stream):
        if count < 0:
            _long(stream)
        found += [read() for _ in range(abs(count))]
    return found


def _taken(stream: io.BytesIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise ValueError("the datum ends too early")
    return data


def _long(stream: io.BytesIO) -> int:
    number = shift = 0
    while True:
        (byte,) = _taken(stream, 1)
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)


def _written(schema: Schema, tree: Any, names: Names) -> bytes:
    schema = _resolved(schema, names)
    if isinstance(schema, list):
        if tree is None:
            return _number(schema.index("null"))
        ((name, value),) = tree.items()
        branches = [_branch(each) for each in schema]
        return _number(branches.index(name)) + _written(schema[branches.index(name)], value, names)
    match schema if isinstance(schema, str) else schema["type"]:
        case "null":
            return b""
        case "int" | "long" | "enum":
            return _number(tree)
        case "string":
            data: bytes = tree.encode("utf-8", "surrogateescape")
            return _number(len(data)) + data
        case "bytes":
            return _number(len(tree)) + bytes(tree)
        case "record":
            return b"".join(_written(field["type"], tree[field["name"]], names) for field in schema["fields"])
        case "array":
            return _blocks([_written(schema["items"], item, names) for item in tree])
        case "map":
            pairs = (
                (_written("string", name, names), _written(schema["values"], item, names))
                for name, item in tree.items()
            )
            return _blocks([name + item for name, item in pairs])
        case name:
            return struct.pack(FIXED[name], tree)


def _blocks(items: list[bytes]) -> bytes:
    return (_number(len(items)) + b"".join(items) if items else b"") + _number(0)


def _number(number: int) -> bytes:
    if isinstance(number, bool) or not -(1 << 63) <= number < 1 << 63:
        raise TypeError("no long")
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])

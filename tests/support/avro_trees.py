"""Avro as trees that tell the branch of each union, as Avro's JSON encoding does, and back; no library tells branches.

A symbol of an enum is its number, bytes are bytes, and logical types are what they lie on.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Mapping
from typing import Any

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

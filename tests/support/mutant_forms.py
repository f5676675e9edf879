"""Messages as trees that a test can change at any path, and trees as messages, for each protocol.

A tree is plain JSON: `{"key": …, "value": …}`, or what a protocol's form says. Written again without a change, it has the
same bytes.
"""

from __future__ import annotations

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
    kind: Callable[[Bytes, Bytes], str] = lambda key, value: ""
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


FORMS: Mapping[str, Form] = {
    "open-protocol": Form(_read_open, _write_open),
    "canal-json": Form(_read_json, _write_json),
}

"""Avro's messages as the bytes of each field, cut by the schema that the message names. No library is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

WIDE_BITS = 57
"""BIT of this length and more: the recording's TiDB reverses their bytes (tests/endtoend/README.md)."""


DDL, WATERMARK = b"\x01", b"\x02"


def shown(key: bytes, value: bytes | None, schemas: Mapping[int, str]) -> tuple[str, str] | None:
    """The table and the text of an event, without its times; None for a watermark."""
    if not key and value and value.startswith(WATERMARK):
        return None
    if not key and value and value.startswith(DDL):
        fields = json.loads(value[1:])
        text = value[1:].decode().replace(f'"commitTs":{fields["commitTs"]}', '"commitTs":…')
        return f"{fields['schema']}.{fields['table']}", text
    record = json.loads(_schema(key or value or b"", schemas))
    texts = ("null" if part is None else _record(part, schemas) for part in (key or None, value))
    return f"{record['namespace']}.{record['name']}", "key {} value {}".format(*texts)


def _schema(message: bytes, schemas: Mapping[int, str]) -> str:
    assert message[0] == 0
    return schemas[int.from_bytes(message[1:5], "big")]


def _record(message: bytes, schemas: Mapping[int, str]) -> str:
    """The schema, and the hexadecimal bytes of each field."""
    schema = _schema(message, schemas)
    cut = (f"{name}={_text(name, type, piece)}" for name, type, piece in pieces(message[5:], schema))
    return f"{schema} {', '.join(cut)}"


def pieces(record: bytes, schema: str) -> Iterator[tuple[str, Any, bytes]]:
    """Name, type and bytes of each field."""
    place = 0
    for field in json.loads(schema)["fields"]:
        end = _end(record, place, field["type"])
        yield field["name"], field["type"], record[place:end]
        place = end
    assert place == len(record)


def _end(record: bytes, place: int, type: Any) -> int:
    """Where a value ends."""
    if isinstance(type, list):
        branch, place = long(record, place)
        return place if type[branch] == "null" else _end(record, place, type[branch])
    name = type if isinstance(type, str) else type["type"]
    if name in ("int", "long"):
        return long(record, place)[1]
    if name in ("bytes", "string"):
        length, place = long(record, place)
        return place + length
    return place + {"float": 4, "double": 8}[name]


def long(record: bytes, place: int) -> tuple[int, int]:
    """A zigzag number, and where it ends."""
    number, shift = 0, 0
    while record[place] & 0x80:
        number |= (record[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
    number |= record[place] << shift
    return number >> 1 ^ -(number & 1), place + 1


def _text(name: str, type: Any, piece: bytes) -> str:
    if name in ("_tidb_commit_ts", "_tidb_commit_physical_time"):
        return "…"
    if isinstance(type, list):
        inner = next(each for each in type if each != "null")
        return f"{piece[:1].hex()} {_text(name, inner, piece[1:])}"
    if isinstance(type, dict) and int(type["connect.parameters"].get("length", 0)) >= WIDE_BITS and piece:
        # the bytes without zeros before them, or reversed, whichever is less
        value = piece[1:].rjust(8, b"\0")
        return min(value, value[::-1]).hex()
    return piece.hex()

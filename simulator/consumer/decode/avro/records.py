"""Avro's records cut into the bytes of each field by the schema that a message names. The decoder is not used, so that
no difference of bytes is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from simulator.errors import UserError
from simulator.quantities import counted

DDL, WATERMARK, DELETE = b"\x01", b"\x02", b"\x03"
"""First bytes of messages that are no records; DELETE in values with the commit-ts."""

HEADER = 5
"""Bytes before a record: 0, and the schema's id."""

COMMIT_TS = "_tidb_commit_ts"
TIMES = frozenset({COMMIT_TS, "_tidb_commit_physical_time"})


def schema_of(message: bytes, schemas: Mapping[int, str]) -> str:
    """Return the schema that a record names; raises UserError if it is not known."""
    number = int.from_bytes(message[1:HEADER], "big")
    if number not in schemas:
        raise UserError(f"the schema {number} is not known; the schemas of the registry are needed to compare Avro")
    return schemas[number]


def record_text(message: bytes | None, schemas: Mapping[int, str], hidden: frozenset[str]) -> str:
    """Return a record as JSON: its schema, and the hexadecimal bytes of each field, 0 for hidden ones."""
    if not message:
        return "null"
    if message.startswith(DELETE):
        return json.dumps("0" if hidden else message.hex())
    schema = schema_of(message, schemas)
    fields = {name: "0" if name in hidden else piece.hex() for name, piece in pieces(message[HEADER:], schema)}
    return f'{{"schema":{schema},"fields":{json.dumps(fields)}}}'


def commit_ts_of(message: bytes | None, schemas: Mapping[int, str]) -> int:
    """Return the commit-ts of a record with TiDB's extension, else 0."""
    if not message:
        return 0
    if message.startswith(DELETE):
        return int.from_bytes(message[1:], "big")
    schema = schema_of(message, schemas)
    if COMMIT_TS not in schema:
        return 0
    return next((long(piece, 0)[0] for name, piece in pieces(message[HEADER:], schema) if name == COMMIT_TS), 0)


def pieces(record: bytes, schema: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each field; raises ValueError if the record is shorter or longer than its schema says."""
    place = 0
    for name, type in _fields(schema):
        end = _end(record, place, type)
        yield name, record[place:end]
        place = end
    if place != len(record):
        raise ValueError(f"the record has {counted(len(record), 'byte')}, its schema {place}")


@lru_cache(maxsize=1024)
def _fields(schema: str) -> tuple[tuple[str, Any], ...]:
    return tuple((field["name"], field["type"]) for field in json.loads(schema)["fields"])


def _end(record: bytes, place: int, type: Any) -> int:
    """Return where a value ends."""
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
    """Return a zigzag number, and where it ends."""
    number, shift = 0, 0
    while record[place] & 0x80:
        number |= (record[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
    number |= record[place] << shift
    return number >> 1 ^ -(number & 1), place + 1

"""Avro's records cut into the bytes of each field by the schema that a message names. Values are not read, so that no
difference of bytes is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from simulator.reader.decode.avro_reader import AvroReader
from simulator.reader.decode.avro_schemas import HEADER, AvroType, record_schema, schema_text

DDL, WATERMARK, DELETE = b"\x01", b"\x02", b"\x03"
"""First bytes of messages that are no records; DELETE in values with the commit-ts."""

COMMIT_TS = "_tidb_commit_ts"
TIMES = frozenset({COMMIT_TS, "_tidb_commit_physical_time"})


def record_text(message: bytes | None, schemas: Mapping[int, str], hidden: frozenset[str]) -> str:
    """Return a record as JSON: its schema, and the hexadecimal bytes of each field, 0 for hidden ones."""
    if not message:
        return "null"
    if message.startswith(DELETE):
        return json.dumps("0" if hidden else message.hex())
    schema = schema_text(message, schemas)
    fields = {name: "0" if name in hidden else piece.hex() for name, piece in pieces(message[HEADER:], schema)}
    return f'{{"schema":{schema},"fields":{json.dumps(fields)}}}'


def commit_ts_of(message: bytes | None, schemas: Mapping[int, str]) -> int:
    """Return the commit-ts of a record with TiDB's extension, else 0."""
    if not message:
        return 0
    if message.startswith(DELETE):
        return int.from_bytes(message[1:], "big")
    schema = schema_text(message, schemas)
    if COMMIT_TS not in schema:
        return 0
    found = (piece for name, piece in pieces(message[HEADER:], schema) if name == COMMIT_TS)
    return next((AvroReader(piece).long() for piece in found), 0)


def pieces(record: bytes, schema: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each field; raises ValueError if the record is not one of its schema."""
    reader = AvroReader(record)
    for field in record_schema(schema)["fields"]:
        begin = reader.at
        _pass(reader, field["type"])
        yield field["name"], record[begin : reader.at]
    reader.end("record")


def _pass(reader: AvroReader, type: AvroType) -> None:
    """Read a value."""
    if isinstance(type, list):
        _pass(reader, reader.symbol(type))
        return
    match type if isinstance(type, str) else type["type"]:
        case "null":
            return
        case "boolean":
            reader.boolean()
        case "int" | "long":
            reader.long()
        case "float":
            reader.single()
        case "double":
            reader.double()
        case "bytes" | "string":
            reader.bytes()
        case other:
            raise ValueError(f"a field is {other!r}, which TiCDC's records do not have")

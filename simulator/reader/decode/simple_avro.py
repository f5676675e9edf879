"""Reads Simple's messages in Avro (tiflow v8.0 pkg/sink/codec/simple/message.json) as the members that JSON has; those of
its first form (v7.6.0) with `simple_avro_first`.

A value of a row is None, int, float, str, bytes, or a dict for TIMESTAMP and BIGINT UNSIGNED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from simulator.reader.decode.avro_reader import AvroReader

MESSAGE = 11
"""The branch of the schema that a message is."""

KINDS = ("WATERMARK", "BOOTSTRAP", "DDL", "DML")
STATEMENTS = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
OPERATIONS = ("INSERT", "UPDATE", "DELETE")


def looks_like(content: bytes) -> bool:
    """Whether it begins with the branch of a message and one of its types, twice."""
    return content[:1] == bytes([2 * MESSAGE]) and content[1:2] == content[2:3] and content[1:2] in b"\0\2\4\6"


def read(content: bytes) -> dict[str, Any]:
    """Return the members of a message; raises ValueError."""
    reader = AvroReader(content)
    if reader.long() != MESSAGE:
        raise ValueError("the schema's branch is not Message")
    kind = reader.symbol(KINDS)
    if reader.long() != KINDS.index(kind):
        raise ValueError(f"a {kind} has another payload")
    message: dict[str, Any] = {"version": reader.long()}
    _PAYLOADS[kind](reader, message)
    reader.end("message")
    return message


def read_watermark(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type="WATERMARK", commitTs=reader.long(), buildTs=reader.long())


def _read_bootstrap(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type="BOOTSTRAP", commitTs=0, buildTs=reader.long(), tableSchema=_schema(reader))


def _read_ddl(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type=reader.symbol(STATEMENTS), sql=reader.text(), commitTs=reader.long(), buildTs=reader.long())
    read_present(reader, message, ("tableSchema", "preTableSchema"), _schema)


def _read_dml(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(database=reader.text(), table=reader.text(), tableID=reader.long(), type=reader.symbol(OPERATIONS))
    message.update(commitTs=reader.long(), buildTs=reader.long(), schemaVersion=reader.long())
    read_present(reader, message, ("claimCheckLocation",), AvroReader.text)
    read_present(reader, message, ("handleKeyOnly",), AvroReader.boolean)
    read_rows(reader, message, _value)


def read_present(
    reader: AvroReader, message: dict[str, Any], names: Iterable[str], read: Callable[[AvroReader], object]
) -> None:
    """Read the members that are there, each a union with null."""
    for name in names:
        if reader.is_present():
            message[name] = read(reader)


def read_rows(reader: AvroReader, message: dict[str, Any], value: Callable[[AvroReader], object]) -> None:
    """Read the checksum and the rows, whose values one function reads: they end a message in both forms."""
    read_present(reader, message, ("checksum",), _checksum)
    read_present(reader, message, ("data", "old"), lambda reader: reader.map(value))


def _checksum(reader: AvroReader) -> dict[str, Any]:
    found: dict[str, Any] = {"version": reader.long(), "corrupted": reader.boolean()}
    return {**found, "current": reader.long(), "previous": reader.long()}


_PAYLOADS = {"WATERMARK": read_watermark, "BOOTSTRAP": _read_bootstrap, "DDL": _read_ddl, "DML": _read_dml}


def _value(reader: AvroReader) -> object:
    match branch := reader.long():
        case 0:
            return None
        case 1:
            return reader.long()
        case 2:
            return reader.single()
        case 3:
            return reader.double()
        case 4:
            return reader.text()
        case 5:
            return reader.bytes()
        case 6:
            return {"location": reader.text(), "value": reader.text()}
        case 7:
            return {"value": reader.long() % (1 << 64)}
    raise ValueError(f"branch {branch} of a value")


def _schema(reader: AvroReader) -> dict[str, Any]:
    schema = {"schema": reader.text(), "table": reader.text(), "tableID": reader.long(), "version": reader.long()}
    return {**schema, "columns": reader.array(_column), "indexes": reader.array(read_index)}


def _column(reader: AvroReader) -> dict[str, Any]:
    name = reader.text()
    type: dict[str, Any] = {"mysqlType": reader.text(), "charset": reader.text(), "collate": reader.text()}
    type["length"] = reader.long()
    type["decimal"] = reader.long() if reader.is_present() else None
    type["elements"] = reader.array(AvroReader.text) if reader.is_present() else None
    for flag in ("unsigned", "zerofill"):
        type[flag] = reader.boolean() if reader.is_present() else None
    nullable = reader.boolean()
    return {
        "name": name,
        "dataType": type,
        "nullable": nullable,
        "default": reader.text() if reader.is_present() else None,
    }


def read_index(reader: AvroReader) -> dict[str, Any]:
    index: dict[str, Any] = {"name": reader.text()}
    for flag in ("unique", "primary", "nullable"):
        index[flag] = reader.boolean()
    return {**index, "columns": reader.array(AvroReader.text)}

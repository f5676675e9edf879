"""Reads Simple's messages in Avro (tiflow v8.0 pkg/sink/codec/simple/message.json) as the members that JSON has; those of
its first form (v7.6.0) with `avro_first`.

A value of a row is None, int, float, str, bytes, or a dict for TIMESTAMP and BIGINT UNSIGNED.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from simulator.quantities import counted

Item = TypeVar("Item")

MESSAGE = 11
"""The branch of the schema that a message is."""

KINDS = ("WATERMARK", "BOOTSTRAP", "DDL", "DML")
STATEMENTS = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
OPERATIONS = ("INSERT", "UPDATE", "DELETE")


def looks_like(content: bytes) -> bool:
    """Whether it begins with the branch of a message and one of its types, twice."""
    return content[:1] == bytes([2 * MESSAGE]) and content[1:2] == content[2:3] and content[1:2] in b"\0\2\4\6"


@dataclass
class AvroReader:
    content: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.content):
            raise ValueError(f"at byte {self.at} {counted(size, 'byte')} expected, {len(self.content) - self.at} there")
        self.at += size
        return self.content[self.at - size : self.at]

    def long(self) -> int:
        found, shift = 0, 0
        while True:
            (byte,) = self.take(1)
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (found >> 1) ^ -(found & 1)
            if shift > 63:
                raise ValueError(f"a number of more than 64 bits ends at byte {self.at}")

    def text(self) -> str:
        return self.bytes().decode("utf-8", "surrogateescape")

    def bytes(self) -> bytes:
        return self.take(self.long())

    def boolean(self) -> bool:
        (byte,) = self.take(1)
        return bool(byte)

    def symbol(self, symbols: tuple[str, ...]) -> str:
        number = self.long()
        if not 0 <= number < len(symbols):
            raise ValueError(f"symbol {number} of {', '.join(symbols)}")
        return symbols[number]

    def is_present(self) -> bool:
        branch = self.long()
        if branch not in (0, 1):
            raise ValueError(f"branch {branch} of null and something")
        return branch == 1

    def array(self, read: Callable[[AvroReader], Item]) -> list[Item]:
        """Return the items of an array, which `read` reads one by one."""
        found: list[Item] = []
        while count := self._block():
            found += [read(self) for _ in range(count)]
        return found

    def map(self, read: Callable[[AvroReader], Item]) -> dict[str, Item]:
        """Return a map, whose values `read` reads one by one."""
        return dict(self.array(lambda reader: (reader.text(), read(reader))))

    def _block(self) -> int:
        """Return the items of the next block of an array or a map; 0 at its end."""
        count = self.long()
        if count < 0:
            self.long()
        return abs(count)


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
    if reader.at != len(content):
        raise ValueError(f"after the message: {counted(len(content) - reader.at, 'byte')}")
    return message


def _read_watermark(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type="WATERMARK", commitTs=reader.long(), buildTs=reader.long())


def _read_bootstrap(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type="BOOTSTRAP", commitTs=0, buildTs=reader.long(), tableSchema=_schema(reader))


def _read_ddl(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type=reader.symbol(STATEMENTS), sql=reader.text(), commitTs=reader.long(), buildTs=reader.long())
    for name in ("tableSchema", "preTableSchema"):
        if reader.is_present():
            message[name] = _schema(reader)


def _read_dml(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(database=reader.text(), table=reader.text(), tableID=reader.long(), type=reader.symbol(OPERATIONS))
    message.update(commitTs=reader.long(), buildTs=reader.long(), schemaVersion=reader.long())
    if reader.is_present():
        message["claimCheckLocation"] = reader.text()
    if reader.is_present():
        message["handleKeyOnly"] = reader.boolean()
    if reader.is_present():
        message["checksum"] = read_checksum(reader)
    for name in ("data", "old"):
        if reader.is_present():
            message[name] = reader.map(_value)


def read_checksum(reader: AvroReader) -> dict[str, Any]:
    found: dict[str, Any] = {"version": reader.long(), "corrupted": reader.boolean()}
    return {**found, "current": reader.long(), "previous": reader.long()}


_PAYLOADS = {"WATERMARK": _read_watermark, "BOOTSTRAP": _read_bootstrap, "DDL": _read_ddl, "DML": _read_dml}


def _value(reader: AvroReader) -> object:
    match branch := reader.long():
        case 0:
            return None
        case 1:
            return reader.long()
        case 2:
            return struct.unpack("<f", reader.take(4))[0]
        case 3:
            return struct.unpack("<d", reader.take(8))[0]
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

"""Reads Simple's messages in Avro (tiflow v8.0 pkg/sink/codec/simple/message.json) as the members that JSON has, and those of
its first form (v7.6.0, the same file).

A value of a row is None, int, float, str, bytes, bool, or a dict for TIMESTAMP and BIGINT UNSIGNED.

fastavro reads records of a registry's schema. The values of Simple are branches of a union of eight types, which it takes
twice as long to read and to hold against the bytes that an encoder writes (Avro's specification, "Binary Encoding").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from simulator.limits import counted

MESSAGE = 11
"""The branch of the schema that a message is."""

KINDS = ("WATERMARK", "BOOTSTRAP", "DDL", "DML")
FIRST_KINDS = {5: b"WATERMARK", 6: b"BOOTSTRAP", 7: b"DDL", 8: b""}
"""Kinds of messages in the first form by their branch of the schema, with what says so once more; a row is the last."""

STATEMENTS = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
OPERATIONS = ("INSERT", "UPDATE", "DELETE")

Item = TypeVar("Item")


@dataclass
class AvroReader:
    """Reads values one after the other; raises ValueError for bytes that no encoder writes."""

    content: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.content):
            raise ValueError(f"at byte {self.at} {counted(size, 'byte')} expected, {self.left} there")
        self.at += size
        return self.content[self.at - size : self.at]

    @property
    def left(self) -> int:
        """Return the number of bytes that were not read."""
        return len(self.content) - self.at

    def end(self, what: str) -> None:
        """Raise ValueError if bytes are left after a value."""
        if self.left:
            raise ValueError(f"after the {what}: {counted(self.left, 'byte')}")

    def long(self) -> int:
        found, shift = 0, 0
        while True:
            (byte,) = self.take(1)
            found |= (byte & 0x7F) << shift
            if shift > 63 or found >> 64:
                raise ValueError(f"a number of more than 64 bits ends at byte {self.at}")
            if byte < 0x80:
                break
            shift += 7
        if shift and not byte:
            raise ValueError(f"a number that ends at byte {self.at} has more bytes than it needs")
        return (found >> 1) ^ -(found & 1)

    def single(self) -> float:
        """Return the next number of 32 bits."""
        (found,) = struct.unpack("<f", self.take(4))
        return float(found)

    def double(self) -> float:
        """Return the next number of 64 bits."""
        (found,) = struct.unpack("<d", self.take(8))
        return float(found)

    def text(self) -> str:
        return self.bytes().decode("utf-8", "surrogateescape")

    def bytes(self) -> bytes:
        return self.take(self.long())

    def boolean(self) -> bool:
        (byte,) = self.take(1)
        if byte > 1:
            raise ValueError(f"byte {byte} is neither true nor false")
        return bool(byte)

    def symbol(self, symbols: Sequence[Item]) -> Item:
        """Return the next symbol of an enumeration, or branch of a union."""
        number = self.long()
        if not 0 <= number < len(symbols):
            raise ValueError(f"symbol {number} of {', '.join(map(str, symbols))}")
        return symbols[number]

    def is_present(self) -> bool:
        return self.symbol((False, True))

    def array(self, read: Callable[[AvroReader], Item]) -> list[Item]:
        """Return the items of an array, which `read` reads one by one."""
        found: list[Item] = []
        while count := self._block():
            found += [read(self) for _ in range(count)]
        return found

    def map(self, read: Callable[[AvroReader], Item]) -> dict[str, Item]:
        """Return a map, whose values `read` reads one by one."""
        pairs = self.array(lambda reader: (reader.text(), read(reader)))
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a map has a name twice")
        return found

    def _block(self) -> int:
        """Return the items of the next block of an array or a map; 0 at its end."""
        count = self.long()
        if count < 0:
            self.long()
        if abs(count) > self.left:
            raise ValueError(f"{counted(abs(count), 'item')} in {counted(self.left, 'byte')}")
        return abs(count)


def looks_like(content: bytes) -> bool:
    """Whether it begins with the branch of a message and one of its types, twice, or as the first form does."""
    is_message = content[:1] == bytes([2 * MESSAGE]) and content[1:2] == content[2:3] and content[1:2] in b"\0\2\4\6"
    return is_message or _is_first(content)


def _is_first(content: bytes) -> bool:
    """Whether it begins with the branch of a message, version 1 and the kind."""
    kind = FIRST_KINDS.get(content[0] // 2 if content and content[0] % 2 == 0 else 0)
    return kind is not None and content[1:2] == b"\2" and content.startswith(kind, 2)


def read(content: bytes) -> dict[str, Any]:
    """Return the members of a message; raises ValueError."""
    reader = AvroReader(content)
    message = _read_first(reader) if _is_first(content) else _read(reader)
    reader.end("message")
    return message


Members: TypeAlias = "dict[str, Any]"
Payload: TypeAlias = "Callable[[AvroReader, Members], None]"
"""Adds the members that a kind of messages has."""


def _read(reader: AvroReader) -> Members:
    if reader.long() != MESSAGE:
        raise ValueError("the schema's branch is not Message")
    kind = reader.symbol(KINDS)
    if reader.long() != KINDS.index(kind):
        raise ValueError(f"a {kind} has another payload")
    message: Members = {"version": reader.long()}
    PAYLOADS[kind](reader, message)
    return message


def _read_first(reader: AvroReader) -> Members:
    """Read a message of the first form, of which the kind was seen."""
    branch = reader.long()
    message: Members = {"version": reader.long()}
    reader.take(len(FIRST_KINDS[branch]))
    FIRST_PAYLOADS[branch](reader, message)
    return message


def _watermark(reader: AvroReader, message: Members) -> None:
    message.update(type="WATERMARK", commitTs=reader.long(), buildTs=reader.long())


def _bootstrap(reader: AvroReader, message: Members, schema: Callable[[AvroReader], Members]) -> None:
    message.update(type="BOOTSTRAP", commitTs=0, buildTs=reader.long(), tableSchema=schema(reader))


def _ddl(reader: AvroReader, message: Members) -> None:
    message.update(type=reader.symbol(STATEMENTS), sql=reader.text(), commitTs=reader.long(), buildTs=reader.long())
    _read_present(reader, message, ("tableSchema", "preTableSchema"), _schema)


def _first_ddl(reader: AvroReader, message: Members) -> None:
    message.update(type="DDL", sql=reader.text(), commitTs=reader.long(), buildTs=reader.long())
    _read_present(reader, message, ("tableSchema", "preTableSchema"), _first_schema)


def _dml(reader: AvroReader, message: Members) -> None:
    message.update(database=reader.text(), table=reader.text(), tableID=reader.long(), type=reader.symbol(OPERATIONS))
    message.update(commitTs=reader.long(), buildTs=reader.long(), schemaVersion=reader.long())
    _read_present(reader, message, ("claimCheckLocation",), AvroReader.text)
    _read_present(reader, message, ("handleKeyOnly",), AvroReader.boolean)
    _read_rows(reader, message, VALUES)


def _first_dml(reader: AvroReader, message: Members) -> None:
    message.update(schema=reader.text(), table=reader.text(), type=reader.symbol(OPERATIONS))
    message.update(commitTs=reader.long(), buildTs=reader.long(), schemaVersion=reader.long())
    message.update(claimCheckLocation=reader.text(), handleKeyOnly=reader.boolean())
    _read_rows(reader, message, FIRST_VALUES)


def _read_present(
    reader: AvroReader, message: Members, names: Iterable[str], read: Callable[[AvroReader], object]
) -> None:
    """Read the members that are there, each a union with null."""
    for name in names:
        if reader.is_present():
            message[name] = read(reader)


def _read_rows(reader: AvroReader, message: Members, branches: Sequence[Callable[[AvroReader], object]]) -> None:
    """Read the checksum and the rows, which end a message in both forms; values are one of these branches."""

    def value(reader: AvroReader) -> object:
        branch = reader.long()
        if not 0 <= branch < len(branches):
            raise ValueError(f"branch {branch} of a value")
        return branches[branch](reader)

    _read_present(reader, message, ("checksum",), _checksum)
    _read_present(reader, message, ("data", "old"), lambda reader: reader.map(value))


def _checksum(reader: AvroReader) -> Members:
    found: Members = {"version": reader.long(), "corrupted": reader.boolean()}
    return {**found, "current": reader.long(), "previous": reader.long()}


VALUES: Sequence[Callable[[AvroReader], object]] = (
    lambda reader: None,
    AvroReader.long,
    AvroReader.single,
    AvroReader.double,
    AvroReader.text,
    AvroReader.bytes,
    lambda reader: {"location": reader.text(), "value": reader.text()},
    lambda reader: {"value": reader.long() % (1 << 64)},
)
FIRST_VALUES: Sequence[Callable[[AvroReader], object]] = (
    lambda reader: None,
    AvroReader.long,
    AvroReader.long,
    AvroReader.single,
    AvroReader.double,
    AvroReader.text,
    AvroReader.boolean,
    AvroReader.bytes,
)


def _schema(reader: AvroReader) -> Members:
    schema = {"schema": reader.text(), "table": reader.text(), "tableID": reader.long(), "version": reader.long()}
    return {**schema, "columns": reader.array(_column), "indexes": reader.array(_index)}


def _first_schema(reader: AvroReader) -> Members:
    schema = {"schema": reader.text(), "table": reader.text(), "version": reader.long()}
    return {**schema, "columns": reader.array(_first_column), "indexes": reader.array(_index)}


def _column(reader: AvroReader) -> Members:
    name = reader.text()
    type: Members = {"mysqlType": reader.text(), "charset": reader.text(), "collate": reader.text()}
    type["length"] = reader.long()
    type["decimal"] = reader.long() if reader.is_present() else None
    type["elements"] = reader.array(AvroReader.text) if reader.is_present() else None
    for flag in ("unsigned", "zerofill"):
        type[flag] = reader.boolean() if reader.is_present() else None
    return _with_default(reader, name, type)


def _first_column(reader: AvroReader) -> Members:
    name = reader.text()
    type: Members = {"mysqlType": reader.text(), "charset": reader.text(), "collate": reader.text()}
    type.update(length=reader.long(), decimal=reader.long(), elements=reader.array(AvroReader.text))
    type.update(unsigned=reader.boolean(), zerofill=reader.boolean())
    return _with_default(reader, name, type)


def _with_default(reader: AvroReader, name: str, type: Members) -> Members:
    nullable = reader.boolean()
    default = reader.text() if reader.is_present() else None
    return {"name": name, "dataType": type, "nullable": nullable, "default": default}


def _index(reader: AvroReader) -> Members:
    index: Members = {"name": reader.text()}
    for flag in ("unique", "primary", "nullable"):
        index[flag] = reader.boolean()
    return {**index, "columns": reader.array(AvroReader.text)}


PAYLOADS: dict[str, Payload] = {
    "WATERMARK": _watermark,
    "BOOTSTRAP": partial(_bootstrap, schema=_schema),
    "DDL": _ddl,
    "DML": _dml,
}
FIRST_PAYLOADS: dict[int, Payload] = {
    5: _watermark,
    6: partial(_bootstrap, schema=_first_schema),
    7: _first_ddl,
    8: _first_dml,
}

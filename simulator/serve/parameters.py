"""The values of a prepared statement's parameters, as literals (tidb pkg/server/internal/parse/parse.go, ExecArgs)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from contextlib import suppress

from mysql_mimic.types import ColumnType

from simulator.errors import SqlError
from simulator.tidb.parser.literals import float_literal
from simulator.tidb.syntax.expressions import Literal, Node, Unary

UNSIGNED = 0x80

BLOBS = (ColumnType.TINY_BLOB, ColumnType.MEDIUM_BLOB, ColumnType.LONG_BLOB, ColumnType.BLOB)
TEXTS = (
    ColumnType.VARCHAR,
    ColumnType.VAR_STRING,
    ColumnType.STRING,
    ColumnType.ENUM,
    ColumnType.SET,
    ColumnType.BIT,
    ColumnType.GEOMETRY,
    ColumnType.JSON,
)

INTEGERS: Mapping[int, tuple[str, str]] = {
    ColumnType.TINY: ("<b", "<B"),
    ColumnType.SHORT: ("<h", "<H"),
    ColumnType.YEAR: ("<h", "<H"),
    ColumnType.INT24: ("<i", "<I"),
    ColumnType.LONG: ("<i", "<I"),
    ColumnType.LONGLONG: ("<q", "<Q"),
}
"""The formats of signed and unsigned integers by type."""

ParameterTypes = tuple[tuple[int, int], ...]
"""The type and the flags of each parameter."""


def malformed() -> SqlError:
    return SqlError(1835, "HY000", "Malformed communication packet.")


class Reader:
    """Reads the fields of a packet. Raises SqlError 1835 if it is too short."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self._data = data
        self._place = place

    def take(self, size: int) -> bytes:
        end = self._place + size
        if size < 0 or end > len(self._data):
            raise malformed()
        taken = self._data[self._place : end]
        self._place = end
        return taken

    def number(self, format: str) -> int:
        (number,) = struct.unpack(format, self.take(struct.calcsize(format)))
        return int(number)

    def floating(self, format: str) -> float:
        (number,) = struct.unpack(format, self.take(struct.calcsize(format)))
        return float(number)

    def length(self) -> int:
        first = self.number("<B")
        if first < 0xFB:
            return first
        if first == 0xFC:
            return self.number("<H")
        if first == 0xFD:
            return int.from_bytes(self.take(3), "little")
        return self.number("<Q")

    def text(self) -> bytes:
        return self.take(self.length())

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._place)


def read_parameters(
    reader: Reader,
    count: int,
    known_types: ParameterTypes,
    long_data: Mapping[int, bytes],
    has_names: bool,
    charset: str = "utf8mb4",
) -> tuple[list[Node], ParameterTypes]:
    """Return the literals of `count` parameters and their types, which a client sends with the first execution only.

    `long_data` has the values that COM_STMT_SEND_LONG_DATA sent. `has_names` is whether names follow the types, which
    CLIENT_QUERY_ATTRIBUTES decides. Raises SqlError.
    """
    nulls = reader.take((count + 7) // 8)
    types = known_types
    if reader.number("<B"):
        read = []
        for _ in range(count):
            read.append((reader.number("<B"), reader.number("<B")))
            if has_names:
                reader.text()
        types = tuple(read)
    if len(types) != count:
        raise malformed()
    values: list[Node] = []
    for place, (type, flags) in enumerate(types):
        if place in long_data:
            values.append(_text_or_bytes(type, long_data[place], charset))
        elif nulls[place // 8] >> place % 8 & 1:
            values.append(Literal("null"))
        else:
            values.append(_read_value(reader, type, bool(flags & UNSIGNED), charset))
    return values, types


def _read_value(reader: Reader, type: int, is_unsigned: bool, charset: str) -> Node:
    if type in INTEGERS:
        return signed(str(reader.number(INTEGERS[type][is_unsigned])), "integer")
    if type in BLOBS or type in TEXTS:
        return _text_or_bytes(type, reader.text(), charset)
    if type in READERS:
        return READERS[type](reader)
    raise SqlError(1105, "HY000", f"Unknown field type {type}")


def _text_or_bytes(type: int, value: bytes, charset: str) -> Node:
    """Return a text; bytes that are no UTF-8 are a binary string, whatever the client calls them."""
    if type not in BLOBS:
        with suppress(UnicodeDecodeError):
            return Literal("string", value.decode(), charset)
    return Literal("hex", value.hex())


def signed(digits: str, kind: str) -> Node:
    """Return a number as a literal, after a minus if it is negative."""
    return Unary("-", Literal(kind, digits[1:])) if digits.startswith("-") else Literal(kind, digits)


def _float(value: float) -> Node:
    return Unary("-", float_literal(-value)) if value < 0 else float_literal(value)


def _read_float(reader: Reader) -> Node:
    return _float(reader.floating("<f"))


def _read_datetime(reader: Reader) -> Node:
    size = reader.number("<B")
    if size == 0:
        return Literal("string", "0000-00-00 00:00:00", "utf8mb4")
    year, month, day = reader.number("<H"), reader.number("<B"), reader.number("<B")
    text = f"{year:04}-{month:02}-{day:02}"
    if size >= 7:
        text += " " + ":".join(f"{reader.number('<B'):02}" for _ in range(3))
    if size == 11:
        text += f".{reader.number('<I'):06}"
    return Literal("string", text, "utf8mb4")


def _read_time(reader: Reader) -> Node:
    size = reader.number("<B")
    if size == 0:
        return Literal("string", "0", "utf8mb4")
    is_negative, days = reader.number("<B"), reader.number("<I")
    hours, minutes, seconds = (reader.number("<B") for _ in range(3))
    text = f"{'-' if is_negative else ''}{days * 24 + hours:02}:{minutes:02}:{seconds:02}"
    if size == 12:
        text += f".{reader.number('<I'):06}"
    return Literal("string", text, "utf8mb4")


READERS: Mapping[int, Callable[[Reader], Node]] = {
    ColumnType.NULL: lambda reader: Literal("null"),
    ColumnType.FLOAT: _read_float,
    ColumnType.DOUBLE: lambda reader: _float(reader.floating("<d")),
    ColumnType.DECIMAL: lambda reader: signed(reader.text().decode("ascii", "replace"), "decimal"),
    ColumnType.NEWDECIMAL: lambda reader: signed(reader.text().decode("ascii", "replace"), "decimal"),
    ColumnType.DATE: _read_datetime,
    ColumnType.DATETIME: _read_datetime,
    ColumnType.TIMESTAMP: _read_datetime,
    ColumnType.TIME: _read_time,
}

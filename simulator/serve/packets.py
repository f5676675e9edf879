"""MySQL's packets: what a server answers (OK, errors, columns, rows as text or in binary), and values of parameters.

Values become literals (tidb pkg/server/internal/parse/parse.go, ExecArgs).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial

from mysql_mimic import packets
from mysql_mimic.packets import make_ok
from mysql_mimic.results import NullBitmap
from mysql_mimic.results import ResultColumn as EncodedColumn
from mysql_mimic.types import Capabilities, ColumnType, ServerStatus, str_len, uint_1, uint_2, uint_4, uint_len

from simulator.errors import DdlError, SqlError
from simulator.serve.charsets import parameter_text, results_charset, sent_charset_id, sent_name
from simulator.serve.database import Client
from simulator.tidb.engine import ResultColumn, StatementOutcome
from simulator.tidb.errors import error_number, sqlstate
from simulator.tidb.model import types
from simulator.tidb.parser.tokens import float_literal
from simulator.tidb.syntax.expressions import Literal, Node, Unary


def error_packet(error: SqlError | DdlError) -> bytes:
    """Return an error with TiDB's number, SQLSTATE and text."""
    number = error_number(error)
    state = error.state if isinstance(error, SqlError) else sqlstate(number)
    return b"\xff" + uint_2(number) + b"#" + state.encode() + error.text.encode("utf-8", "surrogateescape")


@lru_cache(1024)
def column_definition(results: str, column: ResultColumn) -> bytes:
    """Return the description of a column for a client with a character set of results."""
    schema, table, original_table, original_name = column.origin
    names = ("def", schema, table, original_table, column.name, original_name)
    texts = b"".join(str_len(sent_name(name, results)) for name in names)
    numbers = (sent_charset_id(column, results), column.length, column.code, column.flags, column.decimals)
    return texts + struct.pack("<BHIBHBH", 12, *numbers, 0)


def text_columns(columns: Sequence[ResultColumn]) -> list[EncodedColumn]:
    """Return columns whose values are sent as the bytes that they are."""
    return [EncodedColumn(column.name, ColumnType.VAR_STRING) for column in columns]


def text_row(row: Sequence[bytes | None]) -> bytes:
    """Return a row of the text protocol."""
    return b"".join(b"\xfb" if value is None else str_len(value) for value in row)


def binary_rows(rows: Sequence[Sequence[bytes | None]], columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """Yield the rows of the binary protocol."""
    encoders = [BINARY.get(column.code, str_len) for column in columns]
    for row in rows:
        nulls = NullBitmap.new(len(row), offset=2)
        values = []
        for place, (value, encode) in enumerate(zip(row, encoders, strict=True)):
            if value is None:
                nulls.flip(place)
            else:
                values.append(encode(value))
        yield b"\0" + bytes(nulls) + b"".join(values)


def _integer(size: int) -> Callable[[bytes], bytes]:
    mask = (1 << 8 * size) - 1
    return lambda text: (int(text) & mask).to_bytes(size, "little")


def _datetime(text: bytes) -> bytes:
    """Return a date or a time of a date, from `2024-01-02`, `2024-01-02 03:04:05` or `2024-01-02 03:04:05.000006`."""
    date, _, time = text.partition(b" ")
    year, month, day = map(int, date.split(b"-"))
    clock, _, fraction = time.partition(b".")
    parts = [int(part) for part in clock.split(b":")] if clock else [0, 0, 0]
    micros = int(fraction.ljust(6, b"0")) if fraction else 0
    if micros:
        return struct.pack("<BHBBBBBI", 11, year, month, day, *parts, micros)
    if any(parts):
        return struct.pack("<BHBBBBB", 7, year, month, day, *parts)
    if year or month or day:
        return struct.pack("<BHBB", 4, year, month, day)
    return b"\0"


def _time(text: bytes) -> bytes:
    """Return a duration, from `-838:59:59.000000`."""
    clock, _, fraction = text.removeprefix(b"-").partition(b".")
    hours, minutes, seconds = map(int, clock.split(b":"))
    micros = int(fraction.ljust(6, b"0")) if fraction else 0
    days, hours = divmod(hours, 24)
    head = struct.pack("<BIBBB", text.startswith(b"-"), days, hours, minutes, seconds)
    if micros:
        return bytes([12]) + head + struct.pack("<I", micros)
    return bytes([8]) + head if days or hours or minutes or seconds else b"\0"


BINARY: Mapping[int, Callable[[bytes], bytes]] = {
    ColumnType.TINY: _integer(1),
    ColumnType.SHORT: _integer(2),
    ColumnType.YEAR: _integer(2),
    ColumnType.INT24: _integer(4),
    ColumnType.LONG: _integer(4),
    ColumnType.LONGLONG: _integer(8),
    ColumnType.FLOAT: lambda text: struct.pack("<f", float(text)),
    ColumnType.DOUBLE: lambda text: struct.pack("<d", float(text)),
    ColumnType.DATE: _datetime,
    ColumnType.DATETIME: _datetime,
    ColumnType.TIMESTAMP: _datetime,
    ColumnType.TIME: _time,
}
"""Encoders of a value's text by type; other types are sent as their text."""


NO_FLAGS = ServerStatus(0)
MORE = ServerStatus.SERVER_MORE_RESULTS_EXISTS
CURSOR = ServerStatus.SERVER_STATUS_CURSOR_EXISTS
LAST_ROW = ServerStatus.SERVER_STATUS_LAST_ROW_SENT

PARAMETER = ResultColumn("?", types.ColumnType("varchar"))


class Answers:
    """Makes packets for a client with some capabilities."""

    def __init__(self, client: Client, capabilities: Capabilities) -> None:
        self._client, self._capabilities = client, capabilities

    def ok(self, outcome: StatementOutcome | None = None, flags: ServerStatus = NO_FLAGS) -> bytes:
        """Return the answer to a command without rows, and what the statement did."""
        outcome = outcome or StatementOutcome()
        insert_id = outcome.insert_id % 2**64  # a negative id is TiDB's uint64 of it
        warnings = min(len(outcome.warnings), 0xFFFF)
        ok = make_ok(self._capabilities, self._status(flags), False, outcome.affected, insert_id, warnings)
        return ok + (str_len(outcome.message.encode()) if outcome.message else b"")

    def columns(self, columns: Sequence[ResultColumn], has_rows: bool = True) -> Iterator[bytes]:
        """Yield the packets before the rows of a result; without `has_rows`, before those of a cursor."""
        yield uint_len(len(columns))
        yield from map(self._definition, columns)
        if has_rows:
            yield from self._separator()

    def prepared(self, number: int, parameters: int, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
        """Yield the answer to COM_STMT_PREPARE."""
        yield b"\0" + uint_4(number) + uint_2(len(columns)) + uint_2(parameters) + b"\0" + uint_2(0)
        for definitions in ([PARAMETER] * parameters, columns):
            yield from map(self._definition, definitions)
            yield from self._separator() if definitions else ()

    def fields(self, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
        """Yield the answer to COM_FIELD_LIST."""
        for column in columns:
            yield self._definition(column) + uint_1(0xFB)
        yield self.end(None)

    @property
    def _definition(self) -> Callable[[ResultColumn], bytes]:
        return partial(column_definition, results_charset(self._client.session.settings))

    def end(self, outcome: StatementOutcome | None, flags: ServerStatus = NO_FLAGS) -> bytes:
        """Return the packet after the last row."""
        warnings = 0 if outcome is None else len(outcome.warnings)
        if Capabilities.CLIENT_DEPRECATE_EOF in self._capabilities:
            return make_ok(self._capabilities, self._status(flags), True, 0, 0, min(warnings, 0xFFFF))
        return packets.make_eof(self._capabilities, self._status(flags), warnings)

    def _separator(self) -> Iterator[bytes]:
        if Capabilities.CLIENT_DEPRECATE_EOF not in self._capabilities:
            yield packets.make_eof(self._capabilities, self._status(NO_FLAGS))

    def _status(self, flags: ServerStatus) -> ServerStatus:
        """Return flags with those of the session."""
        session = self._client.session
        settings = session.settings
        return _status_of(
            flags, settings.autocommit, session.transaction is not None, "NO_BACKSLASH_ESCAPES" in settings.sql_mode
        )


@cache
def _status_of(flags: ServerStatus, autocommit: bool, in_transaction: bool, without_escapes: bool) -> ServerStatus:
    if autocommit:
        flags |= ServerStatus.SERVER_STATUS_AUTOCOMMIT
    if in_transaction:
        flags |= ServerStatus.SERVER_STATUS_IN_TRANS
    if without_escapes:
        flags |= ServerStatus.SERVER_STATUS_NO_BACKSLASH_ESCAPES
    return flags


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

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def take(self, size: int) -> bytes:
        end = self._place + size
        if size < 0 or end > len(self._data):
            raise malformed()
        taken = self._data[self._place : end]
        self._place = end
        return taken

    def number(self, format: str) -> int:
        return int(struct.unpack(format, self.take(struct.calcsize(format)))[0])

    def floating(self, format: str) -> float:
        return float(struct.unpack(format, self.take(struct.calcsize(format)))[0])

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

    def terminated(self) -> bytes:
        """Return the bytes before the next NUL; none if there is no NUL."""
        end = self._data.find(b"\0", self._place)
        if end < 0:
            return b""
        return self.take(end + 1 - self._place)[:-1]

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._place)


def read_parameters(
    reader: Reader, count: int, known_types: ParameterTypes, long_data: Mapping[int, bytes], charset: str
) -> tuple[list[Node], ParameterTypes]:
    """Return the literals of `count` parameters and their types, which a client sends with the first execution only.

    `long_data` has the values that COM_STMT_SEND_LONG_DATA sent. Texts are of a character set. Raises SqlError.
    """
    nulls = reader.take((count + 7) // 8)
    types = known_types
    if reader.number("<B"):
        types = tuple((reader.number("<B"), reader.number("<B")) for _ in range(count))
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
        return _signed(str(reader.number(INTEGERS[type][is_unsigned])), "integer")
    if type in BLOBS or type in TEXTS:
        return _text_or_bytes(type, reader.text(), charset)
    if type in READERS:
        return READERS[type](reader)
    raise SqlError(1105, "HY000", f"Unknown field type {type}")


def _text_or_bytes(type: int, value: bytes, charset: str) -> Node:
    """Return a text; bytes that are none are a binary string, whatever the client calls them."""
    if type not in BLOBS:
        with suppress(UnicodeDecodeError):
            return _text(parameter_text(value, charset).decode())
    return Literal("hex", value.hex())


def _text(value: str) -> Node:
    return Literal("string", value, "utf8mb4")


def _signed(digits: str, kind: str) -> Node:
    """Return a number as a literal, after a minus if it is negative."""
    return Unary("-", Literal(kind, digits[1:])) if digits.startswith("-") else Literal(kind, digits)


def _float(value: float) -> Node:
    return Unary("-", float_literal(-value)) if value < 0 else float_literal(value)


def _read_datetime(reader: Reader) -> Node:
    size = reader.number("<B")
    if size == 0:
        return _text("0000-00-00 00:00:00")
    year, month, day = reader.number("<H"), reader.number("<B"), reader.number("<B")
    text = f"{year:04}-{month:02}-{day:02}"
    if size >= 7:
        text += " " + ":".join(f"{reader.number('<B'):02}" for _ in range(3))
    if size == 11:
        text += f".{reader.number('<I'):06}"
    return _text(text)


def _read_time(reader: Reader) -> Node:
    size = reader.number("<B")
    if size == 0:
        return _text("0")
    is_negative, days = reader.number("<B"), reader.number("<I")
    hours, minutes, seconds = (reader.number("<B") for _ in range(3))
    text = f"{'-' if is_negative else ''}{days * 24 + hours:02}:{minutes:02}:{seconds:02}"
    if size == 12:
        text += f".{reader.number('<I'):06}"
    return _text(text)


READERS: Mapping[int, Callable[[Reader], Node]] = {
    ColumnType.NULL: lambda reader: Literal("null"),
    ColumnType.FLOAT: lambda reader: _float(reader.floating("<f")),
    ColumnType.DOUBLE: lambda reader: _float(reader.floating("<d")),
    ColumnType.DECIMAL: lambda reader: _signed(reader.text().decode("ascii", "replace"), "decimal"),
    ColumnType.NEWDECIMAL: lambda reader: _signed(reader.text().decode("ascii", "replace"), "decimal"),
    ColumnType.DATE: _read_datetime,
    ColumnType.DATETIME: _read_datetime,
    ColumnType.TIMESTAMP: _read_datetime,
    ColumnType.TIME: _read_time,
}

"""MySQL's protocol, as a server speaks it: packets, their compression, and who may log in.

A server sends OK, errors, definitions of columns, and rows as text or in binary. Users have passwords, and log in by
mysql_native_password or caching_sha2_password.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256

from mysql_mimic.auth import (
    AuthInfo,
    AuthPlugin,
    AuthState,
    Forbidden,
    IdentityProvider,
    NativePasswordAuthPlugin,
    Success,
    User,
)
from mysql_mimic.packets import make_ok
from mysql_mimic.results import NullBitmap
from mysql_mimic.results import ResultColumn as EncodedColumn
from mysql_mimic.stream import ConnectionClosed
from mysql_mimic.types import Capabilities, ColumnType, ServerStatus, str_len, uint_2
from mysql_mimic.utils import nonce, xor

from simulator.errors import DdlError, SqlError
from simulator.tidb.engine.outcome import ResultColumn
from simulator.tidb.errors import error_number, sqlstate


def ok_packet(
    capabilities: Capabilities,
    status: ServerStatus,
    affected: int = 0,
    insert_id: int = 0,
    warnings: int = 0,
    info: str = "",
    is_end: bool = False,
) -> bytes:
    """Return an OK packet, or with `is_end` the one at the end of rows. A negative id is sent as TiDB's uint64 of it."""
    ok = make_ok(capabilities, status, is_end, affected, insert_id % 2**64, min(warnings, 0xFFFF))
    return ok + (str_len(info.encode()) if info else b"")


def error_packet(error: SqlError | DdlError) -> bytes:
    """Return an error with TiDB's number, SQLSTATE and text."""
    number = error_number(error)
    state = error.state if isinstance(error, SqlError) else sqlstate(number)
    return b"\xff" + uint_2(number) + b"#" + state.encode() + error.text.encode("utf-8", "surrogateescape")


@lru_cache(1024)
def column_definition(column: ResultColumn) -> bytes:
    """Return the description of a column."""
    schema, table, original_table, original_name = column.origin
    names = ("def", schema, table, original_table, column.name, original_name)
    texts = b"".join(str_len(name.encode("utf-8", "surrogateescape")) for name in names)
    numbers = (column.charset_id, column.length, column.code, column.flags, column.decimals)
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


HEADER = 7
LARGEST_FRAME = 0xFFFFFF
LEAST_COMPRESSED = 50
"""Bytes; less is sent as it is (tidb pkg/server/internal/packetio.go, minCompressLength)."""


class CompressedStreams:
    """Takes the place of the reader and the writer of a connection, whose packets are inside of compressed frames.

    A frame has the length of what follows it, a sequence number of its own, and the length before compression by zlib,
    which is 0 for a frame that is sent as it is.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._unread = bytearray()
        self._sequence = 0

    async def readexactly(self, size: int) -> bytes:
        """Return so many bytes of packets. Raises IncompleteReadError at the end of the connection, and ConnectionClosed
        for bytes that are no frame."""
        while len(self._unread) < size:
            header = await self._reader.readexactly(HEADER)
            length, original = int.from_bytes(header[:3], "little"), int.from_bytes(header[4:], "little")
            self._sequence = (header[3] + 1) % 256
            frame = await self._reader.readexactly(length)
            self._unread += _decompressed(frame, original) if original else frame
        data = bytes(self._unread[:size])
        del self._unread[:size]
        return data

    def write(self, data: bytes | bytearray) -> None:
        """Write packets as frames."""
        for start in range(0, len(data), LARGEST_FRAME):
            frame = bytes(data[start : start + LARGEST_FRAME])
            original, frame = (len(frame), zlib.compress(frame)) if len(frame) >= LEAST_COMPRESSED else (0, frame)
            lengths = len(frame).to_bytes(3, "little"), original.to_bytes(3, "little")
            self._writer.write(lengths[0] + bytes([self._sequence]) + lengths[1] + frame)
            self._sequence = (self._sequence + 1) % 256

    async def drain(self) -> None:
        await self._writer.drain()


def _decompressed(frame: bytes, size: int) -> bytes:
    try:
        data = zlib.decompressobj().decompress(frame, size)
    except zlib.error:
        raise ConnectionClosed from None
    if len(data) < size:
        raise ConnectionClosed
    return data


FAST_AUTHENTICATION = b"\x03"


class CachingSha2PasswordPlugin(AuthPlugin):
    """caching_sha2_password. The server knows the password, so the client's first answer always decides.

    https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
    """

    name = "caching_sha2_password"
    client_plugin_name = "caching_sha2_password"

    async def auth(self, auth_info: AuthInfo | None = None) -> AuthState:
        handshake = auth_info.handshake_auth_data if auth_info is not None else None
        if auth_info is not None and handshake and auth_info.handshake_plugin_name == self.name:
            challenge = handshake.rstrip(b"\0")
        else:
            challenge = nonce(20)
            auth_info = yield challenge + b"\0"
        password = (auth_info.user.auth_string or "").encode()
        answer = auth_info.data.rstrip(b"\0") if not password else auth_info.data
        if answer != (scramble(password, challenge) if password else b""):
            yield Forbidden()
            return
        if password:
            yield FAST_AUTHENTICATION
        yield Success(auth_info.user.name)


def scramble(password: bytes, challenge: bytes) -> bytes:
    """Return the answer to a challenge: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + challenge)."""
    once = sha256(password).digest()
    return xor(once, sha256(sha256(once).digest() + challenge).digest())


class Users(IdentityProvider):
    """The users of a server, by name; `root` without a password by default."""

    def __init__(self, passwords: Mapping[str, str], plugin: str = NativePasswordAuthPlugin.name) -> None:
        self._passwords = passwords
        plugins: list[AuthPlugin] = [NativePasswordAuthPlugin(), CachingSha2PasswordPlugin()]
        self._plugins = sorted(plugins, key=lambda each: each.name != plugin)

    def get_plugins(self) -> Sequence[AuthPlugin]:
        return self._plugins

    async def get_user(self, username: str) -> User | None:
        password = self._passwords.get(username)
        if password is None:
            return None
        plugin = self._plugins[0]
        native = isinstance(plugin, NativePasswordAuthPlugin) and password
        stored = NativePasswordAuthPlugin.create_auth_string(password) if native else password
        return User(username, stored or None, plugin.name)

"""The packets of a client, up to `max_allowed_packet`, and their compression."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Sequence
from contextlib import suppress
from ssl import SSLContext

from mysql_mimic.results import ResultColumn
from mysql_mimic.stream import ConnectionClosed, MysqlStream

from simulator.errors import SqlError
from simulator.serve.packets import error_packet, text_row

MAX_ALLOWED_PACKET = 64 << 20
"""TiDB's default of max_allowed_packet."""

LARGEST_PART = 0xFFFFFF
LARGE_ROW = 1 << 23
"""Bytes of a row that MysqlStream is not trusted with: it writes rows of one part."""
LONGEST_ANSWER = 1 << 16
TLS_SHUTDOWN_SECONDS = 1.0
"""How long a connection that ends waits for the client's close_notify; asyncio's default is 30 s."""

TOO_LARGE = SqlError(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes")


class GatheringWriter:
    """Sends what is written at once when it is drained: an answer is many packets."""

    def __init__(self, writer: asyncio.StreamWriter | CompressedStreams) -> None:
        self._writer = writer
        self._data = bytearray()

    def write(self, data: bytes | bytearray) -> None:
        self._data += data

    async def drain(self) -> None:
        data, self._data = self._data, bytearray()
        if data:
            self._writer.write(data)
        await self._writer.drain()


class ClientStream:
    """Reads whole packets, and writes by a `MysqlStream`, from which no class can inherit.

    The greeting and its answer go by the socket itself, so that nothing behind the answer is read: TLS may follow.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._writer: asyncio.StreamWriter | None = None
        self._sequence = 0

    async def greet(self, greeting: bytes) -> bytes:
        """Send the first packet and return the client's answer. Raises ConnectionClosed."""
        await self._send(greeting)
        header = await self._receive(4)
        length = int.from_bytes(header[:3], "little")
        if length > LONGEST_ANSWER:
            raise ConnectionClosed
        self._sequence = (header[3] + 1) % 256
        return await self._receive(length)

    async def open(self, ssl: SSLContext | None) -> None:
        """Go on with a stream, over TLS if there is a context."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        patience = None if ssl is None else TLS_SHUTDOWN_SECONDS
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, self._socket, ssl=ssl, ssl_shutdown_timeout=patience
        )
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        self._reader: asyncio.StreamReader | CompressedStreams = reader
        self._out = MysqlStream(reader, self._writer)
        self._out.writer = GatheringWriter(self._writer)  # type: ignore[assignment]
        self._out.seq.value = self._sequence

    def compress(self) -> None:
        """Read and write compressed frames from now on."""
        assert isinstance(self._reader, asyncio.StreamReader) and self._writer is not None
        self._reader = streams = CompressedStreams(self._reader, self._writer)
        self._out.writer = GatheringWriter(streams)  # type: ignore[assignment]

    async def close(self) -> None:
        if self._writer is None:
            self._socket.close()
            return
        self._writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    async def _send(self, data: bytes) -> None:
        header = len(data).to_bytes(3, "little") + bytes([self._sequence])
        await asyncio.get_running_loop().sock_sendall(self._socket, header + data)

    async def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = await asyncio.get_running_loop().sock_recv(self._socket, size - len(data))
            if not part:
                raise ConnectionClosed
            data += part
        return data

    async def read(self) -> bytes:
        """Return the next packet. Raises ConnectionClosed, after error 1153 for a packet that is too large."""
        parts: list[bytes] = []
        size = 0
        while True:
            try:
                header = await self._reader.readexactly(4)
                length = int.from_bytes(header[:3], "little")
                size += length
                self._out.seq.value = (header[3] + 1) % 256
                if size > MAX_ALLOWED_PACKET:
                    await self._out.write(error_packet(TOO_LARGE))
                    raise ConnectionClosed
                parts.append(await self._reader.readexactly(length))
            except (asyncio.IncompleteReadError, ConnectionError):
                raise ConnectionClosed from None
            if length < LARGEST_PART:
                return b"".join(parts)

    async def write(self, data: bytes, drain: bool = True) -> None:
        if self._writer is None:
            await self._send(data)
        else:
            await self._out.write(data, drain)

    def write_many(self, packets: Sequence[bytes]) -> None:
        """Write packets; those that are too long as several parts, the last of which is shorter than the others."""
        if any(len(packet) >= LARGEST_PART for packet in packets):
            packets = [
                packet[start : start + LARGEST_PART]
                for packet in packets
                for start in range(0, len(packet) + 1, LARGEST_PART)
            ]
        self._out.write_many(packets)

    def write_text_rows(self, rows: Sequence[Sequence[bytes | None]], columns: Sequence[ResultColumn]) -> None:
        if any(sum(map(len, filter(None, row))) >= LARGE_ROW for row in rows):
            self.write_many([text_row(row) for row in rows])
        else:
            self._out.write_text_rows(rows, columns)

    async def drain(self) -> None:
        await self._out.drain()

    @property
    def in_command(self) -> bool:
        """Whether a command of the client has come that is not answered yet."""
        return self._writer is not None and self._out.seq.value != 0

    def reset_seq(self) -> None:
        self._out.reset_seq()


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

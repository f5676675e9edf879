"""The packets of a client, up to `max_allowed_packet`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ssl import SSLContext
from typing import Any

from mysql_mimic.results import ResultColumn
from mysql_mimic.stream import ConnectionClosed, MysqlStream

from simulator.errors import SqlError
from simulator.serve.wire import error_packet

MAX_ALLOWED_PACKET = 64 << 20
"""TiDB's default of max_allowed_packet."""

LARGEST_PART = 0xFFFFFF
TOO_LARGE = SqlError(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes")


class ClientStream:
    """Reads whole packets, and writes by a `MysqlStream`, from which no class can inherit."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._out = MysqlStream(reader, writer)

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
        await self._out.write(data, drain)

    def write_many(self, packets: Sequence[bytes]) -> None:
        self._out.write_many(packets)

    def write_text_rows(self, rows: Sequence[Sequence[Any]], columns: Sequence[ResultColumn]) -> None:
        self._out.write_text_rows(rows, columns)

    async def drain(self) -> None:
        await self._out.drain()

    def reset_seq(self) -> None:
        self._out.reset_seq()

    async def start_tls(self, ssl: SSLContext) -> None:
        await self._out.start_tls(ssl)

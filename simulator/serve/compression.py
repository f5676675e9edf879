"""The compressed protocol: packets of MySQL inside frames that zlib compresses, in both directions.

A frame has the length of what follows it, a sequence number of its own, and the length before compression, which is 0
for a frame that is sent as it is.
"""

from __future__ import annotations

import asyncio
import zlib

from mysql_mimic.stream import ConnectionClosed

HEADER = 7
LARGEST_FRAME = 0xFFFFFF
LEAST_COMPRESSED = 50
"""Bytes; less is sent as it is (tidb pkg/server/internal/packetio.go, minCompressLength)."""


class CompressedStreams:
    """Takes the place of the reader and the writer of a connection."""

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

"""Bytes of data files: decompressed, and large plain files cut into pieces that tasks read side by side.

One law: a cut lies where a record (CSV) or statement (SQL) begins, whatever quotes, escapes and line ends surround it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from crc32c import crc32c

from simulator.errors import SnapshotError
from simulator.snapshots import scan

BLOCK = 4 << 20
"""Bytes read at a time."""

PIECE = 48 << 20
"""Bytes of a plain file that one task reads."""

LONGEST = 65536
"""Bytes that a chunk of snappy's framing format may hold (google/snappy framing_format.txt)."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".snappy": "snappy"}


@dataclass(frozen=True)
class Piece:
    """Part of a data file."""

    path: str
    file: int
    """Index in the table's list of files."""

    start: int = 0
    end: int = -1
    """-1: to the end of the file."""

    root: str = ""
    """Where a relative path starts: the driver's directory, for workers that have another."""

    @property
    def place(self) -> str:
        return os.path.join(self.root, self.path)


def blocks(piece: Piece) -> Iterator[bytes]:
    """The bytes of a piece, decompressed."""
    compression = COMPRESSIONS.get(os.path.splitext(piece.path)[1])
    try:
        with open(piece.place, "rb") as file:
            if compression is None:
                yield from _plain(file, piece)
            elif compression == "snappy":
                yield from _snappy(file, piece.path)
            else:
                with pa.CompressedInputStream(pa.PythonFile(file), compression) as stream:
                    while block := stream.read(BLOCK):
                        yield block
    except OSError as error:
        raise SnapshotError(f"{piece.path}: cannot be read: {error}") from error


def _plain(file: BinaryIO, piece: Piece) -> Iterator[bytes]:
    file.seek(piece.start)
    left = piece.end - piece.start if piece.end >= 0 else -1
    while left and (block := file.read(min(BLOCK, left) if left > 0 else BLOCK)):
        yield block
        left -= len(block) if left > 0 else 0


def _snappy(file: BinaryIO, path: str) -> Iterator[bytes]:
    """Snappy's framing format, in which Dumpling writes (google/snappy framing_format.txt), its checksums held."""
    codec = pa.Codec("snappy")
    while header := file.read(4):
        kind, size = header[0], int.from_bytes(header[1:4], "little")
        body = file.read(size)
        if len(header) < 4 or len(body) < size or (kind not in (0, 1) and kind < 0x80):
            raise SnapshotError(f"{path}: cannot be read: no snappy frames (as Dumpling writes them)")
        if kind in (0, 1):
            data = body[4:] if kind else bytes(codec.decompress(body[4:], _claimed(body[4:14], path)))
            if body[:4] != _masked(crc32c(data)):
                raise SnapshotError(f"{path}: cannot be read: a checksum is wrong, the file is damaged")
            yield data


def _claimed(varint: bytes, path: str) -> int:
    """How many bytes a chunk says it holds; raises SnapshotError where the format allows no chunk so large."""
    length = _length(varint)
    if length > LONGEST:
        raise SnapshotError(f"{path}: cannot be read: a snappy chunk claims {length} bytes, at most {LONGEST}")
    return length


def _masked(checksum: int) -> bytes:
    """A CRC-32C as the format stores it."""
    return ((((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _length(varint: bytes) -> int:
    value = 0
    for index, byte in enumerate(varint):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    return value


def cut(piece: Piece, quote: int, stop: int, escape: bool) -> tuple[Piece, ...]:
    """A plain file in pieces that begin after an unquoted `stop`; one piece for a small or compressed one."""
    size = os.path.getsize(piece.path)
    if os.path.splitext(piece.path)[1] in COMPRESSIONS or size <= PIECE + PIECE // 2:
        return (piece,)
    marks = [_not_escaped(piece.path, offset) for offset in range(0, size, PIECE)] + [size]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda span: _quotes(piece.path, span, quote, escape), zip(marks, marks[1:])))
    inside = np.cumsum(counts) % 2 == 1
    starts = [0]
    for index, mark in enumerate(marks[1:-1]):
        found = _first_stop(piece.path, mark, marks[index + 2], bool(inside[index]), (quote, stop, escape))
        starts += [found] if found is not None else []
    return tuple(replace(piece, start=start, end=end) for start, end in zip(starts, [*starts[1:], size]) if start < end)


def _not_escaped(path: str, offset: int) -> int:
    """The first offset from there on that no backslash precedes."""
    if offset:
        with open(path, "rb") as file:
            file.seek(offset - 1)
            while file.read(1) == b"\\":
                offset += 1
    return offset


def _spans(path: str, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Bytes from `start` to `end` in blocks of which none ends with a backslash."""
    with open(path, "rb") as file:
        file.seek(start)
        while start < end:
            data = file.read(min(BLOCK, end - start))
            while data.endswith(b"\\") and start + len(data) < end:
                data += file.read(1)
            yield start, data
            start += len(data)


def _quotes(path: str, span: tuple[int, int], quote: int, escape: bool) -> int:
    """How many quotes lie there that are not escaped."""
    total = 0
    for _, data in _spans(path, *span):
        array = np.frombuffer(data, dtype=np.uint8)
        total += int(np.count_nonzero(array == quote))
        if escape:
            escapes = scan.escaping(np.flatnonzero(array == scan.BACKSLASH))
            total -= int(np.count_nonzero(array[escapes[escapes + 1 < len(array)] + 1] == quote))
    return total


def _first_stop(path: str, start: int, end: int, inside: bool, rule: tuple[int, int, bool]) -> int | None:
    """The byte after the first unquoted stop."""
    quote, stop, escape = rule
    for offset, data in _spans(path, start, end):
        lead = bytes([quote]) if inside else b""
        found = scan.marks(np.frombuffer(lead + data, dtype=np.uint8), quote, bytes([stop]), escape)
        if len(found.outside):
            return offset + int(found.outside[0]) + 1 - len(lead)
        inside = len(found.quotes) % 2 == 1
    return None


def size(piece: Piece) -> int:
    """Bytes of a piece as they lie on disk."""
    return (piece.end if piece.end >= 0 else os.path.getsize(piece.path)) - piece.start

"""Bytes of data files: decompressed, and large plain files cut into parts that tasks read in parallel.

A cut is at the start of a record (CSV) or statement (SQL), whatever quotes, escapes and line ends surround it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from simulator import files, limits
from simulator.errors import SnapshotError, UserError
from simulator.limits import counted, noun
from simulator.sources.snapshots import quoting

BLOCK = 1 << 19
"""Bytes that are read at a time, so that the arrays of a scan stay in a processor's cache."""

PIECE = 48 << 20
"""Maximum bytes of a file that one task reads."""

MAX_CHUNK = 65536
"""Maximum bytes of a chunk of snappy's framing format (google/snappy framing_format.txt)."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".snappy": "snappy"}


@dataclass(frozen=True)
class FilePart:
    """A part of a data file."""

    path: str
    start: int = 0
    """The first byte; in a Parquet file the first row group."""

    end: int = -1
    """The end; -1 for the end of the file."""

    root: str = ""
    """The directory of a relative path: the driver's, for workers with another working directory."""

    size: int = -1
    """Size of the file when the run was planned; -1 if unknown."""

    stamp: str = ""
    """Stamp of the file when the run was planned; empty if unknown."""

    charset: str = quoting.UTF8
    """The character set of its text. `start` and `end` count bytes of the text as it is read: decompressed, in UTF-8."""

    @property
    def place(self) -> str:
        return files.absolute(self.path, self.root)


@contextmanager
def steady(part: FilePart) -> Iterator[None]:
    """Raise SnapshotError if the file is missing or changes while a part is read.

    Other errors of a file that is changing are consequences of that.
    """
    _check_same(part)
    try:
        yield
    except SnapshotError:
        _check_same(part)
        raise
    _check_same(part)


def _check_same(part: FilePart) -> None:
    try:
        now = files.file_info(part.place)
    except OSError as error:
        raise unreadable(part, error) from error
    if part.size >= 0 and now.size != part.size:
        how = f"it had {part.size} {noun(part.size, 'byte')} when the run was planned and has {now.size}"
    elif part.stamp and now.stamp != part.stamp:
        how = "it was written again after the run was planned"
    else:
        return
    raise SnapshotError(
        f"{part.path}: the file changes while it is read: {how}; accepted are files that stay as they are"
    )


def unreadable(part: FilePart, error: Exception) -> SnapshotError:
    """Return the error for a file that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return SnapshotError(
            f"{part.path}: no such file on the machine of this task ({socket.gethostname()}): every "
            "machine that reads must see the file under the same path"
        )
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return SnapshotError(f"{part.path}: cannot be read: {text.splitlines()[0]}")


def blocks(part: FilePart) -> Iterator[bytes]:
    """Yield the bytes of a part, decompressed and in UTF-8."""
    if _is_plain(part):
        yield from _stored(part, part.start, part.end)
        return
    converted = quoting.as_utf8(_stored(part, 0, -1), part.charset, part.path)
    place = 0
    for block in converted:
        if part.end >= 0 and place >= part.end:
            return
        wanted = block[max(0, part.start - place) : max(0, part.end - place) if part.end >= 0 else None]
        place += len(block)
        if wanted:
            yield wanted


def text(part: FilePart) -> tuple[int, Iterator[bytes]]:
    """Return where the text of a part begins, and its blocks, without a byte order mark."""
    parts = blocks(part)
    if part.start:
        return part.start, parts
    head = b""
    while len(head) < files.TELLING and (block := next(parts, None)) is not None:
        head += block
    try:
        rest = files.without_mark(head, part.path, quoting.ACCEPTED)
    except UserError as error:
        raise SnapshotError(str(error)) from None
    return len(head) - len(rest), chain((rest,), parts)


def _is_plain(part: FilePart) -> bool:
    """Return whether a part can be read without what is before it."""
    return os.path.splitext(part.path)[1] not in COMPRESSIONS and part.charset == quoting.UTF8


def _stored(part: FilePart, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file, decompressed."""
    compression = COMPRESSIONS.get(os.path.splitext(part.path)[1])
    try:
        with files.open_file(part.place) as file:
            if compression is None:
                yield from _plain(file, start, end)
            elif compression == "snappy":
                yield from _snappy(file, part.path)
            else:
                with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), compression) as stream:
                    while block := stream.read(BLOCK):
                        yield block
    except (OSError, pa.ArrowException) as error:
        raise unreadable(part, error) from error


def whole(path: str) -> bytes:
    """Return a whole file, decompressed; raise SnapshotError for one that is too large."""
    content: list[bytes] = []
    left = limits.FILE_BYTES
    for block in blocks(FilePart(path)):
        content.append(block)
        left -= len(block)
        if left < 0:
            most = limits.size(limits.FILE_BYTES)
            raise SnapshotError(f"{path}: it is too large: at most {most} of such a file are read")
    return b"".join(content)


def _plain(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    left = end - start if end >= 0 else -1
    while left and (block := file.read(min(BLOCK, left) if left > 0 else BLOCK)):
        yield block
        left -= len(block) if left > 0 else 0


def _snappy(file: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield the chunks of snappy's framing format, which Dumpling writes, with their checksums verified."""
    from crc32c import crc32c  # it takes long, and few files are compressed so

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
    """Return the length that a chunk claims; raise SnapshotError if the format does not allow it."""
    length = _length(varint)
    if length > MAX_CHUNK:
        raise SnapshotError(
            f"{path}: cannot be read: a snappy chunk claims {counted(length, 'byte')}, at most {MAX_CHUNK:,}"
        )
    return length


def _masked(checksum: int) -> bytes:
    """Return a CRC-32C as the format stores it."""
    return ((((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _length(varint: bytes) -> int:
    value = 0
    for index, byte in enumerate(varint):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    return value


def cut(part: FilePart, quotes: bytes, stop: int, escape: bool, room: int) -> tuple[FilePart, ...]:
    """Return a plain file, or a part of one, in parts of about `room` bytes that begin after an unquoted `stop`.

    A small, compressed or converted file is one part. Raise OSError.
    """
    first, last = part.start, part.end if part.end >= 0 else part.size
    last = last if last >= 0 else files.file_info(part.place).size
    if not _is_plain(part) or last - first <= room + room // 2:
        return (part,)
    marks = [_not_escaped(part.place, offset) for offset in range(first, last, room)] + [last]
    from concurrent.futures import ThreadPoolExecutor  # it takes long, and few files are cut

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passages = list(pool.map(lambda span: _passage(part.place, span, quotes, escape), zip(marks, marks[1:])))
    starts = [first]
    state = 0
    for index, mark in enumerate(marks[1:-1]):
        state = passages[index][state]
        first_stop = _first_stop(part.place, mark, marks[index + 2], state, (quotes, stop, escape))
        starts += [first_stop] if first_stop is not None else []
    return tuple(replace(part, start=start, end=end) for start, end in zip(starts, [*starts[1:], last]) if start < end)


def _not_escaped(path: str, offset: int) -> int:
    """Return the first offset at or after this one that follows no backslash."""
    if offset:
        with files.open_file(path) as file:
            file.seek(offset - 1)
            while file.read(1) == b"\\":
                offset += 1
    return offset


def _spans(path: str, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield bytes from `start` to `end` in blocks that do not end with a backslash."""
    with files.open_file(path) as file:
        file.seek(start)
        while start < end:
            data = file.read(min(BLOCK, end - start))
            while data.endswith(b"\\") and start + len(data) < end:
                data += file.read(1)
            yield start, data
            start += len(data)


def _passage(path: str, span: tuple[int, int], quotes: bytes, escape: bool) -> quoting.States:
    """Return the states after a part of a file."""
    blocks = (np.frombuffer(data, dtype=np.uint8) for _, data in _spans(path, *span))
    nothing = quoting.passage(np.zeros(0, np.uint8), quotes, escape)
    return quoting.following(nothing, *(quoting.passage(block, quotes, escape) for block in blocks))


def _first_stop(path: str, start: int, end: int, state: int, rule: tuple[bytes, int, bool]) -> int | None:
    """Return the byte after the first stop outside quotes."""
    quotes, stop, escape = rule
    for offset, data in _spans(path, start, end):
        lead = quotes[state - 1 : state] if state else b""
        block = np.frombuffer(lead + data, dtype=np.uint8)
        marks = quoting.marks(block, quotes, bytes([stop]), escape)
        if len(marks.outside):
            return offset + int(marks.outside[0]) + 1 - len(lead)
        state = quoting.passage(block, quotes, escape)[0]
    return None

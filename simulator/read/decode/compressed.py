"""Values that large-message-handle-compression made smaller, as they were. One law: the bytes say how they were made.

TiCDC's JSON begins with `{"` or is `{}`, an LZ4 frame with its magic number, and a Snappy block with its length and a
literal; none of them can be another.
"""

from __future__ import annotations

import lz4.frame
import pyarrow as pa

LZ4 = bytes.fromhex("04224d18")
SNAPPY = pa.Codec("snappy")


def plain(value: bytes) -> bytes:
    """The value itself, or what it decompresses to; what is neither JSON nor compressed stays as it is."""
    if value[:4] == LZ4:
        return _lz4(value)
    return value if value[:2] in (b'{"', b"{}", b"") else _snappy(value)


def _lz4(value: bytes) -> bytes:
    # A piece at a time, since lz4.frame.decompress makes room at once for the length that the frame claims.
    frame = lz4.frame.LZ4FrameDecompressor()
    try:
        text: bytes = frame.decompress(value)
    except RuntimeError as error:
        raise ValueError(f"a broken LZ4 frame: {error}") from error
    if not frame.eof:
        raise ValueError("a broken LZ4 frame: it ends too soon")
    return text


def _snappy(value: bytes) -> bytes:
    size = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(_length(value)))
    if size > 64 * len(value):  # Snappy's copies make at most 64 bytes out of two
        return value
    try:
        text: bytes = SNAPPY.decompress(value, size, asbytes=True)
    except OSError:
        return value
    return text


def _length(value: bytes) -> bytes:
    """The bytes of the length that opens a block: seven bits each, the highest bit says that more follow."""
    ends = (place for place, byte in enumerate(value[:5]) if byte < 0x80)
    return value[: next(ends, -1) + 1]

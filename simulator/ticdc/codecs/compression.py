"""large-message-handle-compression: LZ4 frames and Snappy blocks.

Empty values stay empty, and keys are not compressed (tiflow v8.5.3: pkg/compression/compress.go). TiCDC's libraries
find other matches: their output may differ in its bytes and slightly in its length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import lz4.frame
import numpy as np
import pyarrow as pa

from simulator.columns.cells import binary, stored_buffers
from simulator.errors import EncodeError
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.row_changes import EncodedRows

_LZ4 = (0, lz4.frame.BLOCKSIZE_MAX4MB, True, False, False, False)
"""Positional compression_level, block_size, content_checksum, block_checksum, block_linked and store_size: reading
them as keywords takes the library half a microsecond."""

_BLOCK_SIZE_AT, _BLOCK_SIZE = (5, 6), (0x70, 0xB9)
"""Largest block, 4 MiB, and the header's checksum with it. The library writes a smaller block size into the header
of a short frame, TiCDC's (pierrec/lz4) does not; the blocks are the same."""

_SNAPPY = pa.Codec("snappy")


def compress_entries(encoded: EncodedRows, options: CodecOptions) -> EncodedRows:
    """Return the entries with compressed values, or as they are without compression."""
    if options.large_message_handle_compression == "none":
        return encoded
    return replace(encoded, values=compress_column(encoded.values, options.large_message_handle_compression))


def compress_column(values: pa.Array, compression: str) -> pa.Array:
    """Compress each value of a binary column. No library compresses a column at once."""
    data, offsets = stored_buffers(values)
    whole, compress = data.data, _WRITERS[compression]
    parts = [compress(whole[start:end]) if start < end else b"" for start, end in pairwise(offsets.tolist())]
    ends = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    joined = np.frombuffer(bytearray().join(parts), np.uint8)
    if compression == "lz4":
        joined[ends[:-1][np.diff(ends) > 0, np.newaxis] + _BLOCK_SIZE_AT] = _BLOCK_SIZE
    return binary(joined, ends, values)


def compress(value: bytes, compression: str) -> bytes:
    """Compress one value; an empty value, or one with another `compression` than lz4 and snappy, stays as it is."""
    if compression not in _WRITERS:
        return value
    compressed: bytes = compress_column(pa.array([value], pa.binary()), compression)[0].as_py()
    return compressed


def decompress_column(values: pa.Array, compression: str) -> pa.Array:
    """Decompress each value of a binary column; raise EncodeError for an invalid one."""
    if compression == "none":
        return values
    return pa.array([decompress(value, compression) for value in values.to_pylist()], pa.binary())


def decompress(value: bytes, compression: str) -> bytes:
    """Decompress one value, which may be empty; raise EncodeError if it is invalid."""
    if not value or compression == "none":
        return value
    try:
        return _READERS[compression](value)
    except (RuntimeError, OSError, ValueError) as error:
        raise EncodeError(f"not a {compression} value: {error}") from error


def _lz4(value: memoryview) -> bytes:
    """Return one frame as pierrec/lz4's writer makes it, except for `_BLOCK_SIZE`."""
    frame: bytes = lz4.frame.compress(value, *_LZ4)
    return frame


def _snappy(value: memoryview) -> bytes:
    block: bytes = _SNAPPY.compress(value, asbytes=True)
    return block


def _read_snappy(value: bytes) -> bytes:
    block: bytes = _SNAPPY.decompress(value, _snappy_length(value), asbytes=True)
    return block


def _snappy_length(value: bytes) -> int:
    """Return the length at the start of a block, seven bits a byte (snappy: format_description.txt)."""
    length = shift = 0
    for byte in value[:5]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return length
    raise ValueError("the block has no length")


_WRITERS: dict[str, Callable[[memoryview], bytes]] = {"lz4": _lz4, "snappy": _snappy}
_READERS: dict[str, Callable[[bytes], bytes]] = {"lz4": lz4.frame.decompress, "snappy": _read_snappy}

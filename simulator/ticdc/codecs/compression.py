"""large-message-handle-compression: values as LZ4 frames or Snappy blocks, and back.

One law: what is empty stays empty, and keys are never compressed (tiflow v8.5.3: pkg/compression/compress.go; TiCDC's
libraries find other matches, so what decompresses to the same may differ in its bytes and a little in its length).
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
from simulator.ticdc.codecs.row_changes import Encoded

_LZ4 = (0, lz4.frame.BLOCKSIZE_MAX4MB, True, False, False, False)
"""compression_level, block_size, content_checksum, block_checksum, block_linked and store_size, by place: the library
takes half a microsecond to read their names."""

_BLOCK_SIZE_AT, _BLOCK_SIZE = (5, 6), (0x70, 0xB9)
"""Largest block, 4 MiB, and the header's checksum with it. The library names a smaller one in the header of a short
frame, TiCDC's (pierrec/lz4) does not; the blocks are the same."""

_SNAPPY = pa.Codec("snappy")


def compressed(encoded: Encoded, options: CodecOptions) -> Encoded:
    """The entries with compressed values; those without compression as they are."""
    if options.large_message_handle_compression == "none":
        return encoded
    return replace(encoded, values=compressed_values(encoded.values, options.large_message_handle_compression))


def compressed_values(values: pa.Array, compression: str) -> pa.Array:
    """binary → binary: a library call for each value, since no library takes a column."""
    data, offsets = stored_buffers(values)
    whole, compress = data.data, _WRITERS[compression]
    parts = [compress(whole[start:end]) if start < end else b"" for start, end in pairwise(offsets.tolist())]
    ends = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    joined = np.frombuffer(bytearray().join(parts), np.uint8)
    if compression == "lz4":
        joined[ends[:-1][np.diff(ends) > 0, np.newaxis] + _BLOCK_SIZE_AT] = _BLOCK_SIZE
    return binary(joined, ends, values)


def compressed_value(value: bytes, options: CodecOptions) -> bytes:
    """One value; what is empty stays so."""
    return compressed_bytes(value, options.large_message_handle_compression)


def compressed_bytes(value: bytes, compression: str) -> bytes:
    """A frame or a block; what is empty stays so, and what is to be compressed in no known way as it is."""
    if compression not in _WRITERS:
        return value
    made: bytes = compressed_values(pa.array([value], pa.binary()), compression)[0].as_py()
    return made


def decompressed_values(values: pa.Array, compression: str) -> pa.Array:
    """What `compressed_values` was given; raises EncodeError."""
    if compression == "none":
        return values
    return pa.array([decompressed(value, compression) for value in values.to_pylist()], pa.binary())


def decompressed(value: bytes, compression: str) -> bytes:
    """One value, which may be empty; raises EncodeError where it is no such frame or block."""
    if not value or compression == "none":
        return value
    try:
        return _READERS[compression](value)
    except (RuntimeError, OSError, ValueError) as error:
        raise EncodeError(f"not a {compression} value: {error}") from error


def _lz4(value: memoryview) -> bytes:
    """One frame as pierrec/lz4's writer makes it, but for `_BLOCK_SIZE`."""
    frame: bytes = lz4.frame.compress(value, *_LZ4)
    return frame


def _snappy(value: memoryview) -> bytes:
    block: bytes = _SNAPPY.compress(value, asbytes=True)
    return block


def _read_snappy(value: bytes) -> bytes:
    block: bytes = _SNAPPY.decompress(value, _snappy_length(value), asbytes=True)
    return block


def _snappy_length(value: bytes) -> int:
    """The length that opens a block, seven bits a byte (snappy: format_description.txt)."""
    length = shift = 0
    for byte in value[:5]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return length
    raise ValueError("the block has no length")


_WRITERS: dict[str, Callable[[memoryview], bytes]] = {"lz4": _lz4, "snappy": _snappy}
_READERS: dict[str, Callable[[bytes], bytes]] = {"lz4": lz4.frame.decompress, "snappy": _read_snappy}

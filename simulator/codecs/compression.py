"""large-message-handle-compression: values as LZ4 frames or Snappy blocks, and back.

One law: what is empty stays empty, and keys are never compressed (tiflow v8.5.3: pkg/compression/compress.go; TiCDC's
libraries find other matches, so what decompresses to the same may differ in its bytes and a little in its length).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import lz4.frame
import pyarrow as pa

from simulator.codecs.options import CodecOptions
from simulator.codecs.rows import Encoded
from simulator.errors import EncodeError

_HEADER = bytes.fromhex("04224d186470b9")
"""Frame header of pierrec/lz4's writer: independent blocks of up to 4 MiB, content checksum, no content size."""

_SNAPPY = pa.Codec("snappy")


def compressed(encoded: Encoded, options: CodecOptions) -> Encoded:
    """The entries with compressed values; those without compression as they are."""
    if options.large_message_handle_compression == "none":
        return encoded
    return replace(encoded, values=compressed_values(encoded.values, options.large_message_handle_compression))


def compressed_values(values: pa.Array, compression: str) -> pa.Array:
    """binary → binary: a library call for each value, since no library takes a column."""
    one = _WRITERS[compression]
    return pa.array([one(value) if value else value for value in values.to_pylist()], pa.binary())


def compressed_value(value: bytes, options: CodecOptions) -> bytes:
    """One value; what is empty stays so."""
    return compressed_bytes(value, options.large_message_handle_compression)


def compressed_bytes(value: bytes, compression: str) -> bytes:
    """A frame or a block; what is empty stays so, and what is to be compressed in no known way as it is."""
    one = _WRITERS.get(compression)
    return one(value) if one and value else value


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


def _lz4(value: bytes) -> bytes:
    """One frame; the library names a smaller block size in the header of a short one, the blocks are the same."""
    frame: bytes = lz4.frame.compress(
        value, block_size=lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False, content_checksum=True, store_size=False)
    return _HEADER + frame[len(_HEADER):]


def _snappy(value: bytes) -> bytes:
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


_WRITERS: dict[str, Callable[[bytes], bytes]] = {"lz4": _lz4, "snappy": _snappy}
_READERS: dict[str, Callable[[bytes], bytes]] = {"lz4": lz4.frame.decompress, "snappy": _read_snappy}

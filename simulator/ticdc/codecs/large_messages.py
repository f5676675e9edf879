"""Rows too large for Kafka: TiCDC's error, handle-key-only, claim-check, compression.

A row is measured by itself, not with its message, and after compression. LZ4 frames and Snappy blocks: empty values
stay empty, and keys are not compressed (tiflow v8.5.3: pkg/compression/compress.go). TiCDC's libraries find other
matches, so that their output may differ in its bytes and slightly in its length.

The name of a claim-check file is a hash of its content and the run's seed, so that equal runs give equal names in any
order. TiCDC uses random UUIDs; here they are UUIDs of version 4, too (tiflow v8.5.3:
pkg/sink/kafka/claimcheck/claim_check.go). 7.3.0 alone names files by day and row (tiflow v7.3.0:
pkg/sink/codec/common/message.go NewClaimCheckFileName). The day, TiCDC's wall clock, is that of the commit-ts in UTC.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import posixpath
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import lz4.frame
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.cells import binary, lengths, stored_buffers
from simulator.columns.row_image import split
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.row_changes import EncodedRows, Frame, Messages, RowChanges, StoredFile, rows_at
from simulator.ticdc.codecs.wire_numbers import value_text
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import visible_columns

MAX_NAME_BYTES = 1024
"""Maximum bytes of a name that describes a row."""


@dataclass(frozen=True)
class Content:
    """The parts of a message that a file is made from."""

    key: bytes | None
    value: bytes
    commit_ts: int


def make_files(
    messages: Messages, rows: RowChanges, options: CodecOptions, release: Release, renames_file: bool
) -> tuple[StoredFile, ...]:
    """Return a file for each message; each message holds one row.

    `renames_file`: if a file of 7.3.0 is named by a UUID, the message has another UUID.
    """
    contents = [Content(*parts) for parts in zip(*_columns(messages), rows.commit_ts.to_pylist(), strict=True)]
    if release.claim_check_by_row:
        names = zip(_row_names(rows, release), contents, strict=True)
        return tuple(_file_of_row(row, content, options, renames_file) for row, content in names)
    return tuple(_file_of_uuid(content, options) for content in contents)


def file_locations(files: tuple[StoredFile, ...]) -> pa.Array:
    """Return each file's location in messages (binary). Invalid UTF-8 becomes U+FFFD, as in all JSON written by Go."""
    return pa.array([re.sub("[\udc80-\udcff]", "\ufffd", file.location).encode() for file in files], pa.binary())


def file_uri(file: StoredFile, options: CodecOptions) -> str:
    """Return the URI of a file."""
    return f"{storage_uri(options.claim_check_storage_uri)}/{file.name}"


def storage_uri(uri: str) -> str:
    """Return a storage's URI as TiCDC spells it: without parameters, user and last `/` (tidb: br/pkg/storage)."""
    parts = urlsplit(uri)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    if scheme == "file":
        return f"file://{unquote(parts.path) if parts.scheme else os.path.abspath(uri)}".removesuffix("/")
    return f"{scheme}://{parts.netloc.rpartition('@')[2]}/{unquote(parts.path).strip('/')}".removesuffix("/")


_SCHEMES = {"": "file", "local": "file", "gs": "gcs", "azblob": "azure"}


def _columns(messages: Messages) -> Iterator[list[bytes | None]]:
    yield [None] * len(messages.values) if messages.keys is None else messages.keys.to_pylist()
    yield messages.values.to_pylist()


def _file_of_uuid(content: Content, options: CodecOptions) -> StoredFile:
    name = f"{_uuid(content, options)}.json"
    return StoredFile(name, _file_content(content, options), f"{storage_uri(options.claim_check_storage_uri)}/{name}")


def _file_of_row(row: bytes, content: Content, options: CodecOptions, renames_file: bool) -> StoredFile:
    """Return a file of 7.3.0; messages refer to it without the storage's URI."""
    day = tso.sql_time(content.commit_ts)[:10]
    name = location = posixpath.normpath(posixpath.join(day.encode(), row)).decode("utf-8", "surrogateescape")
    if len(name.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES:
        name = location = f"{day}/{_uuid(content, options)}.json"
        if renames_file:
            location = f"{day}/{_uuid(content, options, b'message')}.json"
    return StoredFile(name, compress(_file_content(content, options), options.claim_check_compression), location)


def _row_names(rows: RowChanges, release: Release) -> Iterator[bytes]:
    """Yield `{schema}-{table}-{commitTs}-{startTs}-{handle key}.json` of each row; a DELETE has its old values."""
    table, visible = rows.table, table_info.visible_columns(rows.table)
    handle = table_info.handle_columns(table, release)
    image = split(pc.coalesce(rows.after, rows.before), len(visible))
    cells = [
        value_text(image.cells(place), column.type).to_pylist()
        for place, column in enumerate(visible)
        if column.name in handle
    ]
    names = [name.encode("utf-8", "surrogatepass") for name in (table.schema, table.name)]
    for row, ts in enumerate(rows.commit_ts.to_pylist()):
        times = (b"%d" % ts, b"%d" % (ts - tso.BEFORE_COMMIT))
        yield b"-".join((*names, *times, *(values[row] for values in cells))) + b".json"


def _uuid(content: Content, options: CodecOptions, salt: bytes = b"") -> uuid.UUID:
    key = content.key or b""
    head = b"%d %d %d " % (options.claim_check_seed, content.commit_ts, len(key))
    digest = hashlib.blake2b(head + key, digest_size=16, salt=salt)
    digest.update(content.value)
    return uuid.UUID(bytes=digest.digest(), version=4)


def _file_content(content: Content, options: CodecOptions) -> bytes:
    if options.claim_check_raw_value:
        return content.value
    message = {"key": None if content.key is None else _base64(content.key), "value": _base64(content.value)}
    return json.dumps(message, separators=(",", ":")).encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


RECORD_OVERHEAD = 36
"""Bytes that TiCDC adds for a Kafka record (tiflow: pkg/sink/codec/common/message.go MaxRecordOverhead)."""


@dataclass(frozen=True, kw_only=True)
class SizeLimit:
    """How a protocol measures a row, and how it sends one above max-message-bytes."""

    overhead: int
    """Bytes added to those of key and value."""

    shorten: Callable[[RowChanges, pa.Array | None], EncodedRows]
    """Encode rows with their handle key alone, not compressed, and the claim-check location (binary) or a mark."""

    frame: Frame
    code: str = "CDC:ErrMessageTooLarge"
    """Code of TiCDC's error; an empty code means that such rows are sent as they are."""

    renames_file: bool = False
    """As in `make_files`."""


def apply_size_limit(
    encoded: EncodedRows, rows: RowChanges, options: CodecOptions, release: Release, limit: SizeLimit
) -> EncodedRows:
    """Return the encoded rows, compressed as the options say, with those above the limit shortened.

    Raise EncodeError for a row that cannot be sent.
    """
    encoded = compress_entries(encoded, options)
    is_large = _sizes(encoded, limit) > options.max_message_bytes
    if rows.large is not None:
        is_large |= np.asarray(rows.large)
    if not limit.code or not is_large.any():
        return encoded
    mask = pa.array(is_large)
    large, large_entries = rows_at(rows, pa.array(np.flatnonzero(is_large))), _filtered(encoded, mask)
    if options.large_message_handle_option == "none":
        raise _too_large(large, 0, int(_sizes(large_entries, limit)[0]), options, limit.code)
    files = _claim_check_files(large_entries, large, options, release, limit)
    locations = file_locations(files) if files else None
    shortened = compress_entries(limit.shorten(large, locations), options)
    too_large = np.flatnonzero(_sizes(shortened, limit) > options.max_message_bytes)
    if len(too_large):
        row = int(too_large[0])
        raise _too_large(large, row, int(_sizes(shortened, limit)[row]), options, limit.code)
    keys = None if encoded.keys is None else pc.replace_with_mask(encoded.keys, mask, shortened.keys)
    return EncodedRows(keys, pc.replace_with_mask(encoded.values, mask, shortened.values), files)


def _filtered(encoded: EncodedRows, mask: pa.Array) -> EncodedRows:
    return EncodedRows(None if encoded.keys is None else encoded.keys.filter(mask), encoded.values.filter(mask))


def _claim_check_files(
    large: EncodedRows, rows: RowChanges, options: CodecOptions, release: Release, limit: SizeLimit
) -> tuple[StoredFile, ...]:
    """Return claim-check's files, one for each row; none with another option."""
    if options.large_message_handle_option != "claim-check":
        return ()
    whole = limit.frame(large, np.arange(len(large.values)), options, release)
    return make_files(whole, rows, options, release, limit.renames_file)


def _sizes(encoded: EncodedRows, limit: SizeLimit) -> npt.NDArray[np.int64]:
    keys = 0 if encoded.keys is None else lengths(encoded.keys)
    return lengths(encoded.values) + keys + limit.overhead


_TEXTS = {
    "CDC:ErrJSONCodecRowTooLarge": "json codec single row too large",
    "CDC:ErrOpenProtocolCodecRowTooLarge": "open-protocol codec single row too large",
    "CDC:ErrMessageTooLarge": "message is too large",
}
"""TiCDC's texts for the codes of a row that is too large (tiflow: pkg/errors/cdc_errors.go)."""


def _too_large(rows: RowChanges, row: int, size: int, options: CodecOptions, code: str) -> EncodeError:
    """Return TiCDC's error with the row. The figures, which 8.5.5 added, are in the text of all releases."""
    return EncodeError(
        f"{_TEXTS[code]}. table:{rows.table.name}, length:{size}, maxMessageBytes:{options.max_message_bytes} "
        f"(row {key_text(rows, row)} of {rows.table.schema}.{rows.table.name})",
        code,
    )


def key_text(rows: RowChanges, row: int) -> str:
    """Return `id=7` of one row, for messages to users; all columns if the table has no handle key."""
    columns = visible_columns(rows.table)
    images = rows.before if rows.after[row].as_py() is None else rows.after
    image = split(images.slice(row, 1), len(columns))
    names = handle_key(rows.table) or tuple(column.name for column in columns)
    cells = {column.name: image.cells(place)[0].as_py() for place, column in enumerate(columns)}
    texts = {name: "NULL" if cells[name] is None else _short(cells[name].decode("utf-8", "replace")) for name in names}
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}… of {len(text)} characters"


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

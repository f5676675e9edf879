"""Claim-check: the files that hold messages too large for Kafka.

A file's name is a hash of its content and the run's seed, so that equal runs give equal names in any order. TiCDC uses
random UUIDs; here they are UUIDs of version 4, too (tiflow v8.5.3: pkg/sink/kafka/claimcheck/claim_check.go). 7.3.0
alone names files by day and row (tiflow v7.3.0: pkg/sink/codec/common/message.go NewClaimCheckFileName). The day,
TiCDC's wall clock, is that of the commit-ts in UTC.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import posixpath
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns.row_image import split
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.compression import compress
from simulator.ticdc.codecs.row_changes import Messages, RowChanges, StoredFile
from simulator.ticdc.codecs.wire_numbers import value_text

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

"""Claim-check: files with the messages that are too large for Kafka, and where a consumer finds them.

One law: a file's name is made from what is in it and the run's seed, so equal runs give equal names in any order.
Names in TiCDC are random UUIDs; here they are UUIDs of version 4, too (tiflow v8.5.3:
pkg/sink/kafka/claimcheck/claim_check.go). 7.3.0 alone names them by day and row (tiflow v7.3.0:
pkg/sink/codec/common/message.go NewClaimCheckFileName); its day, TiCDC's wall clock, is that of the commit-ts in UTC.
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
from simulator.columns.cells import latin1, surrogate_unescaped
from simulator.columns.row_image import split
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.compression import compressed_bytes
from simulator.ticdc.codecs.json_members import Form
from simulator.ticdc.codecs.row_changes import Messages, Rows, StoredFile
from simulator.ticdc.codecs.wire_numbers import enum_number, plain_float, set_number
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType

LONGEST = 1024
"""Bytes of the longest name that tells of a row."""


@dataclass(frozen=True)
class Content:
    """What a file is made from."""

    key: bytes | None
    value: bytes
    commit_ts: int


def stored(
    messages: Messages, rows: Rows, options: CodecOptions, release: Release, named_anew: bool
) -> tuple[StoredFile, ...]:
    """A file for each message, which holds the row at its place alone; `named_anew`: where a name is a UUID in 7.3.0,
    messages say another one."""
    contents = [Content(*parts) for parts in zip(*_columns(messages), rows.commit_ts.to_pylist(), strict=True)]
    if release.claim_check_by_row:
        named = zip(_rows(rows, release), contents, strict=True)
        return tuple(_of_row(row, content, options, named_anew) for row, content in named)
    return tuple(_of_uuid(content, options) for content in contents)


def locations(files: tuple[StoredFile, ...]) -> pa.Array:
    """binary: where each file is as messages say it; what is no UTF-8 there is U+FFFD, as in all JSON of Go's."""
    return pa.array([re.sub("[\udc80-\udcff]", "\ufffd", file.location).encode() for file in files], pa.binary())


def address(file: StoredFile, options: CodecOptions) -> str:
    """Where a file is."""
    return f"{root(options.claim_check_storage_uri)}/{file.name}"


def root(uri: str) -> str:
    """A storage's URI as TiCDC spells it: without parameters, user and last `/` (tidb: br/pkg/storage)."""
    parts = urlsplit(uri)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    if scheme == "file":
        return f"file://{unquote(parts.path) if parts.scheme else os.path.abspath(uri)}".removesuffix("/")
    return f"{scheme}://{parts.netloc.rpartition('@')[2]}/{unquote(parts.path).strip('/')}".removesuffix("/")


_SCHEMES = {"": "file", "local": "file", "gs": "gcs", "azblob": "azure"}


def _columns(messages: Messages) -> Iterator[list[bytes | None]]:
    yield [None] * len(messages.values) if messages.keys is None else messages.keys.to_pylist()
    yield messages.values.to_pylist()


def _of_uuid(content: Content, options: CodecOptions) -> StoredFile:
    name = f"{_uuid(content, options)}.json"
    return StoredFile(name, _text(content, options), f"{root(options.claim_check_storage_uri)}/{name}")


def _of_row(row: bytes, content: Content, options: CodecOptions, named_anew: bool) -> StoredFile:
    """The file of 7.3.0, which messages name without its storage."""
    day = tso.sql_time(content.commit_ts)[:10]
    name = location = posixpath.normpath(posixpath.join(day.encode(), row)).decode("utf-8", "surrogateescape")
    if len(name.encode("utf-8", "surrogateescape")) > LONGEST:
        name = location = f"{day}/{_uuid(content, options)}.json"
        if named_anew:
            location = f"{day}/{_uuid(content, options, b'message')}.json"
    return StoredFile(name, compressed_bytes(_text(content, options), options.claim_check_compression), location)


def _rows(rows: Rows, release: Release) -> Iterator[bytes]:
    """`{schema}-{table}-{commitTs}-{startTs}-{handle key}.json` of each row, by its new values, of a DELETE the old."""
    table, visible = rows.table, table_info.visible_columns(rows.table)
    handle = table_info.handle_columns(table, release)
    image = split(pc.coalesce(rows.after, rows.before), len(visible))
    cells = [
        _value(image.cells(place), column.type).to_pylist()
        for place, column in enumerate(visible)
        if column.name in handle
    ]
    names = [name.encode("utf-8", "surrogatepass") for name in (table.schema, table.name)]
    for row, ts in enumerate(rows.commit_ts.to_pylist()):
        times = (b"%d" % ts, b"%d" % (ts - tso.BEFORE_COMMIT))
        yield b"-".join((*names, *times, *(values[row] for values in cells))) + b".json"


def _value(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Values as dispatchers hash them, too (`ColumnValueString`, tiflow v7.3.0 cdc/model/sink.go)."""
    if types.is_binary(type):
        return latin1(cells)
    of_numbers = _NUMBERS.get(types.family(type))
    return of_numbers(cells, type) if of_numbers else surrogate_unescaped(cells)


_NUMBERS: dict[str, Form] = {"float": plain_float, "enum": enum_number, "set": set_number}


def _uuid(content: Content, options: CodecOptions, salt: bytes = b"") -> uuid.UUID:
    key = content.key or b""
    head = b"%d %d %d " % (options.claim_check_seed, content.commit_ts, len(key))
    digest = hashlib.blake2b(head + key, digest_size=16, salt=salt)
    digest.update(content.value)
    return uuid.UUID(bytes=digest.digest(), version=4)


def _text(content: Content, options: CodecOptions) -> bytes:
    if options.claim_check_raw_value:
        return content.value
    message = {"key": None if content.key is None else _base64(content.key), "value": _base64(content.value)}
    return json.dumps(message, separators=(",", ":")).encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()

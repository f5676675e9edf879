"""Claim-check: files with the messages that are too large for Kafka, and where a consumer finds them.

One law: a file's name is made from what is in it and the run's seed, so equal runs give equal names in any order.
Names in TiCDC are random UUIDs; here they are UUIDs of version 4, too (tiflow v8.5.3:
pkg/sink/kafka/claimcheck/claim_check.go).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from simulator.codecs.options import CodecOptions
from simulator.codecs.rows import Messages, StoredFile


def stored(messages: Messages, commit_ts: pa.Array, options: CodecOptions) -> tuple[StoredFile, ...]:
    """A file for each message, which holds the row of that commit-ts alone."""
    return tuple(
        StoredFile(_name(key, value, ts, options), _content(key, value, options))
        for key, value, ts in zip(*_columns(messages), commit_ts.to_pylist(), strict=True))


def locations(files: tuple[StoredFile, ...], options: CodecOptions) -> pa.Array:
    """binary: the address of each file as it stands in messages."""
    directory = root(options.claim_check_storage_uri)
    return pa.array([f"{directory}/{file.name}".encode() for file in files], pa.binary())


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


def _name(key: bytes | None, value: bytes, commit_ts: int, options: CodecOptions) -> str:
    digest = hashlib.blake2b(b"%d %d %d " % (options.claim_check_seed, commit_ts, len(key or b"")), digest_size=16)
    digest.update(key or b"")
    digest.update(value)
    return f"{uuid.UUID(bytes=digest.digest(), version=4)}.json"


def _content(key: bytes | None, value: bytes, options: CodecOptions) -> bytes:
    if options.claim_check_raw_value:
        return value
    message = {"key": None if key is None else _text(key), "value": _text(value)}
    return json.dumps(message, separators=(",", ":")).encode()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()

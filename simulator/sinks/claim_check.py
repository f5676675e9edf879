"""Storage of claim-check files: a directory, S3, or any URI that fsspec opens.

A file appears whole or not at all: it is written under another name first if the storage does not write atomically.
"""

from __future__ import annotations

import os
import posixpath
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from simulator.errors import DeliveryError, UserError, uri_without_secrets
from simulator.files import file_system, has_driver
from simulator.ticdc.codecs.row_changes import StoredFile

ACCEPTED = "file:///directory, s3://bucket/prefix, gs://bucket/prefix, azure://container/prefix, or what fsspec opens"

ATOMIC = frozenset(("s3", "gcs", "gs", "abfs", "az", "memory"))
"""fsspec's protocols that write files atomically."""

FSSPEC_SCHEMES = {"": "file", "local": "file", "gcs": "gs", "azure": "az", "azblob": "az"}
"""TiCDC's schemes that have another name in fsspec (tidb: br/pkg/storage/parse.go)."""

OPTIONS = {
    "s3": {"access-key": "key", "secret-access-key": "secret", "session-token": "token", "endpoint": "endpoint_url"},
    "gs": {"credentials-file": "token", "endpoint": "endpoint_url"},
    "az": {"account-name": "account_name", "account-key": "account_key", "sas-token": "sas_token"},
}
"""Parameters of TiCDC's storage URIs and the corresponding options of fsspec's drivers."""


@dataclass(frozen=True)
class Directory:
    """An opened storage."""

    files: Any
    """fsspec's file system."""

    path: str

    def of(self, name: str) -> str:
        """Return the path of a file; raise ValueError for a name outside the storage."""
        if posixpath.normpath(name).startswith(("/", "../")):
            raise ValueError("its name leads out of the storage")
        return posixpath.join(self.path, name)


def absolute(uri: str) -> str:
    """Return a URI or path that is valid in another working directory, such as a worker's; empty stays empty."""
    return os.path.abspath(uri) if uri and not urlsplit(uri).scheme else uri


def require_writable(uri: str) -> None:
    """Write and remove a small file; raise UserError, one line, if that fails."""
    probe = f".ticdc-sim-{uuid.uuid4()}"
    directory = _open(uri)
    try:
        _write(directory, StoredFile(probe, b"probe"))
        directory.files.rm_file(directory.of(probe))
    except Exception as error:  # each driver has errors of its own
        raise UserError(
            f"claim-check-storage-uri {uri_without_secrets(uri)} cannot be written to: {_reason(error)}"
        ) from error


def write(uri: str, files: Iterable[StoredFile]) -> None:
    """Store the files, replacing existing ones; raise DeliveryError, one line."""
    directory: Directory | None = None
    for file in files:
        try:
            directory = directory or _open(uri)
            _write(directory, file)
        except Exception as error:  # each driver has errors of its own
            where = f"claim-check-storage-uri {uri_without_secrets(uri)}"
            raise DeliveryError(f"{where}: {file.name} cannot be written: {_reason(error)}") from error


def read(location: str, uri: str = "") -> bytes:
    """Return the content of the file at a location; raise UserError, one line.

    It is opened with user and parameters of the storage's `uri`. A location that is only a name is a file in that
    storage.
    """
    if "://" not in location and not uri:
        raise UserError(f"{location} cannot be read: it is the name of a file in a storage, which is not given")
    user, at, _ = urlsplit(uri).netloc.rpartition("@")
    if "://" in location:
        root, _, name = location.rpartition("/")
        root = root.replace("://", f"://{user}{at}", 1)
    else:
        root, name = uri.partition("?")[0], location
    directory = _open(f"{root}?{urlsplit(uri).query}")
    try:
        data: bytes = directory.files.cat_file(directory.of(name))
    except Exception as error:  # each driver has errors of its own
        raise UserError(f"{location} cannot be read: {_reason(error)}") from error
    return data


def _open(uri: str) -> Directory:
    parts = urlsplit(uri)
    scheme = FSSPEC_SCHEMES.get(parts.scheme, parts.scheme)
    parameters = dict(parse_qsl(parts.query.replace("+", "%2B")))
    options = {ours: parameters[theirs] for theirs, ours in OPTIONS.get(scheme, {}).items() if theirs in parameters}
    path = unquote(parts.path) if parts.scheme else os.path.abspath(uri)
    try:
        return Directory(*file_system(f"{scheme}://{parts.netloc}{path}", **options))
    except Exception as error:  # each driver has errors of its own
        accepted = f"; accepted: {ACCEPTED}" if not has_driver(scheme) else ""
        raise UserError(
            f"claim-check-storage-uri {uri_without_secrets(uri)} cannot be opened: {_reason(error)}{accepted}"
        ) from error


def _write(directory: Directory, file: StoredFile) -> None:
    files, path = directory.files, directory.of(file.name)
    inside = posixpath.dirname(path)
    if not ATOMIC.isdisjoint((files.protocol,) if isinstance(files.protocol, str) else files.protocol):
        files.pipe_file(path, file.content)
        return
    files.makedirs(inside, exist_ok=True)
    temporary = posixpath.join(inside, f".{uuid.uuid4()}")
    try:
        files.pipe_file(temporary, file.content)
        _move(files, temporary, path)
    except BaseException:
        with suppress(Exception):
            files.rm_file(temporary)
        raise


def _move(files: Any, old: str, new: str) -> None:
    if "file" in files.protocol:
        os.replace(old, new)
        return
    if files.exists(new):
        files.rm_file(new)
    files.mv(old, new)


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return text.splitlines()[0]

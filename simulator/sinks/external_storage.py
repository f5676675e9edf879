"""Directories in which files are stored: of this machine, on S3, or at any URI that fsspec opens; claim-check's files in one.

A file appears whole or not at all: it is written under another name first if the storage does not write atomically.
Parameters of a URI are those of TiCDC (tidb: br/pkg/storage/parse.go).
"""

from __future__ import annotations

import errno
import os
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from simulator import limits
from simulator.errors import DeliveryError, UserError, uri_without_secrets
from simulator.files import file_system, has_driver, open_file

if TYPE_CHECKING:
    from simulator.ticdc.codecs import StoredFile

ACCEPTED = "file:///directory, s3://bucket/prefix, gs://bucket/prefix, azure://container/prefix, or what fsspec opens"

ATOMIC = frozenset(("s3", "gcs", "gs", "abfs", "az", "memory"))
"""fsspec's protocols that write files atomically."""

FSSPEC_SCHEMES = {"": "file", "local": "file", "gcs": "gs", "azure": "az", "azblob": "az"}
"""TiCDC's schemes that have another name in fsspec."""

OPTIONS = {
    "s3": {"access-key": "key", "secret-access-key": "secret", "session-token": "token", "endpoint": "endpoint_url"},
    "gs": {"credentials-file": "token", "endpoint": "endpoint_url"},
    "az": {"account-name": "account_name", "account-key": "account_key", "sas-token": "sas_token"},
}
"""Parameters of TiCDC's storage URIs and the corresponding options of fsspec's drivers."""

Part: TypeAlias = "bytes | memoryview | pa.Buffer"


class NotWritable(UserError):
    """The storage takes no files."""


class ExternalStorage:
    """An opened storage."""

    def __init__(self, uri: str, setting: str) -> None:
        """Open a URI or path; `setting` is its name in errors. Raises UserError, one line."""
        self.shown, self._setting = uri_without_secrets(uri), setting
        parts = urlsplit(uri)
        scheme = FSSPEC_SCHEMES.get(parts.scheme, parts.scheme)
        parameters = dict(parse_qsl(parts.query.replace("+", "%2B")))
        options = {ours: parameters[theirs] for theirs, ours in OPTIONS.get(scheme, {}).items() if theirs in parameters}
        path = unquote(parts.path) if parts.scheme else os.path.abspath(uri)
        try:
            self._driver, self._root = file_system(f"{scheme}://{parts.netloc}{path}", **options)
        except Exception as error:  # each driver has errors of its own
            accepted = f"; accepted: {ACCEPTED}" if not has_driver(scheme) else ""
            raise UserError(f"{setting} {self.shown} cannot be opened: {reason(error)}{accepted}") from error
        protocols = (self._driver.protocol,) if isinstance(self._driver.protocol, str) else self._driver.protocol
        self._is_local, self._is_atomic = "file" in protocols, not ATOMIC.isdisjoint(protocols)

    def write(self, name: str, parts: Sequence[Part]) -> None:
        """Store a file, replacing an existing one; raises the driver's errors, ValueError for a name outside."""
        path = self._path(name)
        if self._is_atomic:
            self._driver.pipe_file(path, b"".join(parts))
            return
        directory = posixpath.dirname(path)
        self._driver.makedirs(directory, exist_ok=True)
        temporary = posixpath.join(directory, f".{uuid.uuid4()}")
        try:
            with self._driver.open(temporary, "wb") if not self._is_local else open(temporary, "wb") as file:
                for part in parts:
                    file.write(part)
            self._move(temporary, path)
        except BaseException:
            with suppress(Exception):
                self._driver.rm_file(temporary)
            raise

    def read(self, name: str, length: int | None = None) -> bytes | None:
        """Return the content of a file or its first bytes; None if there is no such file. Raises the driver's errors,
        OSError for a local one that is not regular, ValueError for one that is too large to be read as a whole."""
        path, most = self._path(name), limits.STORED_FILE_BYTES
        try:
            if length is not None and not self._is_local:
                return cast(bytes, self._driver.cat_file(path, end=length))
            with open_file(path) if self._is_local else self._driver.open(path, "rb") as file:
                if length is not None:
                    return cast(bytes, file.read(length))
                size = os.fstat(file.fileno()).st_size if self._is_local else getattr(file, "size", None) or 0
                data: bytes = b"" if size > most else file.read(most + 1)
        except FileNotFoundError:
            return None
        if max(size, len(data)) > most:
            raise ValueError(f"it has {max(size, len(data)):,} bytes: at most {limits.size(most)} are accepted")
        return data

    def names(self, directory: str) -> frozenset[str]:
        """Return the names of the files in a directory; none if it does not exist."""
        try:
            self._driver.invalidate_cache()
            paths = self._driver.ls(self._path(directory), detail=False)
        except FileNotFoundError:
            return frozenset()
        return frozenset(posixpath.basename(path) for path in paths)

    def files(self) -> Iterator[tuple[str, int]]:
        """Yield the paths of all files below the storage's URI and their bytes; none if it does not exist. A local
        directory is listed as it goes."""
        self._driver.invalidate_cache()
        root = self._root.rstrip("/") + "/"
        if self._is_local:
            walked = self._driver.walk(self._root, detail=True)
            listed = (entry for _, _, entries in walked for entry in entries.values())
        else:
            listed = (entry for entry in self._driver.find(self._root, detail=True).values() if entry)
        yield from ((entry["name"].removeprefix(root), int(entry["size"] or 0)) for entry in listed)

    def require_writable(self) -> None:
        """Write and remove a small file; raise NotWritable, one line, if that fails."""
        probe = f".ticdc-sim-{uuid.uuid4()}"
        try:
            self.write(probe, [b"probe"])
            self._driver.rm_file(self._path(probe))
        except Exception as error:  # each driver has errors of its own
            raise NotWritable(f"{self._setting} {self.shown} cannot be written to: {reason(error)}") from error

    def _path(self, name: str) -> str:
        if posixpath.normpath(name).startswith(("/", "../")):
            raise ValueError("its name leads out of the storage")
        return posixpath.join(self._root, name)

    def _move(self, old: str, new: str) -> None:
        if self._is_local:
            os.replace(old, new)
            return
        if self._driver.exists(new):
            self._driver.rm_file(new)
        self._driver.mv(old, new)


def reason(error: Exception) -> str:
    """Return an error of a driver on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return text.splitlines()[0]


CLAIM_CHECKS = "claim-check-storage-uri"


def absolute_uri(uri: str) -> str:
    """Return a URI or path that is valid in another working directory, such as a worker's; empty stays empty."""
    return os.path.abspath(uri) if uri and not urlsplit(uri).scheme else uri


def require_claim_checks_writable(uri: str) -> None:
    """Write and remove a small file; raise UserError, one line, if that fails."""
    ExternalStorage(uri, CLAIM_CHECKS).require_writable()


def write_claim_checks(uri: str, files: Iterable[StoredFile]) -> None:
    """Store the files, replacing existing ones; raise DeliveryError, one line."""
    storage: ExternalStorage | None = None
    for file in files:
        try:
            storage = storage or ExternalStorage(uri, CLAIM_CHECKS)
            storage.write(file.name, [file.content])
        except Exception as error:  # each driver has errors of its own
            where = f"{CLAIM_CHECKS} {uri_without_secrets(uri)}"
            raise DeliveryError(f"{where}: {file.name} cannot be written: {reason(error)}") from error


def read_claim_check(location: str, uri: str = "") -> bytes:
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
    storage = ExternalStorage(f"{root}?{urlsplit(uri).query}", CLAIM_CHECKS)
    try:
        data = storage.read(name)
    except Exception as error:  # each driver has errors of its own
        raise UserError(f"{location} cannot be read: {reason(error)}") from error
    if data is None:
        raise UserError(f"{location} cannot be read: {os.strerror(errno.ENOENT)}")
    return data

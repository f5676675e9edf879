"""Storage of claim-check files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from simulator.errors import DeliveryError, UserError, uri_without_secrets
from simulator.sinks.external_storage import ExternalStorage, reason
from simulator.ticdc.codecs.row_changes import StoredFile

SETTING = "claim-check-storage-uri"


def absolute(uri: str) -> str:
    """Return a URI or path that is valid in another working directory, such as a worker's; empty stays empty."""
    return os.path.abspath(uri) if uri and not urlsplit(uri).scheme else uri


def require_writable(uri: str) -> None:
    """Write and remove a small file; raise UserError, one line, if that fails."""
    ExternalStorage(uri, SETTING).require_writable(SETTING)


def write(uri: str, files: Iterable[StoredFile]) -> None:
    """Store the files, replacing existing ones; raise DeliveryError, one line."""
    storage: ExternalStorage | None = None
    for file in files:
        try:
            storage = storage or ExternalStorage(uri, SETTING)
            storage.write(file.name, [file.content])
        except Exception as error:  # each driver has errors of its own
            where = f"{SETTING} {uri_without_secrets(uri)}"
            raise DeliveryError(f"{where}: {file.name} cannot be written: {reason(error)}") from error


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
    storage = ExternalStorage(f"{root}?{urlsplit(uri).query}", SETTING)
    try:
        data = storage.read(name)
    except Exception as error:  # each driver has errors of its own
        raise UserError(f"{location} cannot be read: {reason(error)}") from error
    if data is None:
        raise UserError(f"{location} cannot be read: {os.strerror(errno.ENOENT)}")
    return data

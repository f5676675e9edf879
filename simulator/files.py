"""Files that a user names, by where they lie (a path of this machine, or a URI of a storage that fsspec has a driver
for), and the documents in them.

One law: a path without a scheme needs no fsspec; what cannot be opened is an OSError, what cannot be read is said with
the file and the reason.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from simulator.errors import UserError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/+")
_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
"""What drivers call that by which a file is seen to have changed."""

T = TypeVar("T")

DEPTH = 100
"""Levels that a document may have: whoever reads one by functions that call themselves ends at some depth."""


@dataclass(frozen=True)
class Entry:
    """A file or directory."""

    path: str
    size: int
    stamp: str
    """Another one once the file is another; empty where the driver knows none."""

    directory: bool

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)


def spelled(path: Path | str) -> str:
    """A location as text: a URI with both slashes, of which a Path keeps one; a file:// URI as the path it is."""
    text = str(path)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return str(Path(text))
    if scheme[1].lower() in ("file", "local"):
        return "/" + text[scheme.end() :]
    return f"{scheme[1]}://{text[scheme.end() :]}"


def beside(file: Path, text: str) -> Path:
    """A location that a file names: relative to the file where it is a relative path."""
    return Path(text) if _SCHEME.match(text) else file.parent / text


def is_remote(path: str) -> bool:
    return "://" in path


def absolute(path: str, root: str) -> str:
    """The same place for a process with another working directory."""
    return path if is_remote(path) else os.path.join(root, path)


def status(path: str) -> Entry:
    """The file or directory there; raises FileNotFoundError."""
    if not is_remote(path):
        found = os.stat(path)
        return Entry(path, found.st_size, str(found.st_mtime_ns), os.path.isdir(path))
    with _driver(path) as (files, inner):
        files.invalidate_cache()
        return _entry(path, files.info(inner))


def entries(directory: str) -> list[Entry]:
    """What a directory has, sorted by name."""
    if not is_remote(directory):
        with os.scandir(directory) as found:
            made = [Entry(os.path.join(directory, entry.name), *_stat(entry), entry.is_dir()) for entry in found]
        return sorted(made, key=lambda entry: entry.name)
    with _driver(directory) as (files, inner):
        listed = [_entry(files.unstrip_protocol(info["name"]), info) for info in files.ls(inner, detail=True)]
    return sorted((entry for entry in listed if entry.name), key=lambda entry: entry.name)


def open_file(path: str) -> BinaryIO:
    """The file, to be read."""
    if not is_remote(path):
        return open(path, "rb")
    with _driver(path) as (files, inner):
        return cast(BinaryIO, files.open(inner, "rb"))


def _stat(entry: os.DirEntry[str]) -> tuple[int, str]:
    """Size and stamp; nothing is known of a link that leads nowhere."""
    try:
        found = entry.stat()
    except FileNotFoundError:
        return -1, ""
    return found.st_size, str(found.st_mtime_ns)


def _entry(path: str, info: dict[str, Any]) -> Entry:
    stamp = next((info[name] for name in _STAMPS if info.get(name) is not None), "")
    if isinstance(stamp, datetime):  # of the one driver that says a number when it lists
        stamp = stamp.timestamp()
    directory = info["type"] == "directory"
    return Entry(path.rstrip("/"), int(info.get("size") or 0), "" if directory else str(stamp), directory)


@contextmanager
def _driver(uri: str) -> Iterator[tuple[Any, str]]:
    import fsspec  # takes long to import, and most files are of this machine

    try:
        yield fsspec.url_to_fs(uri)
    except OSError:
        raise
    except Exception as error:  # each driver has errors of its own
        raise OSError((str(error) or type(error).__name__).splitlines()[0]) from error


def read_text(path: Path) -> str:
    """The whole file, as UTF-8, its line ends as they are, without a byte order mark; raises UserError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError:
        raise UserError(f"cannot read {path}: no file can have that name") from None


def toml(text: str) -> dict[str, Any]:
    """A TOML document; raises ValueError with the reason."""
    try:
        return _checked(tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None


def json_document(text: str) -> Any:
    """A JSON document; raises ValueError with the reason."""
    try:
        return _checked(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None


def reason(error: Exception) -> str:
    """Why Python could not read a text, for those who wrote it."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # Python refuses longer integers (sys.get_int_max_str_digits), and says how a programmer changes that.
    return "a number has more than 4300 digits" if str(error).startswith("Exceeds the limit") else str(error)


def _checked(document: T) -> T:
    """The document; raises what `reason` knows where it is too deep, or has a number that cannot be shown."""
    level: list[object] = [document]
    for _ in range(DEPTH):
        for value in level:
            if isinstance(value, int):
                str(value)
        nested = [value for value in level if isinstance(value, dict | list)]
        level = [member for value in nested for member in (value.values() if isinstance(value, dict) else value)]
    if level:
        raise RecursionError
    return document

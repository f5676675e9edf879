"""Files at paths of this machine or at URIs that fsspec opens, and TOML and JSON documents.

A path without a scheme does not import fsspec. A file that cannot be opened raises OSError.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import posixpath
import re
import stat
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from simulator import limits
from simulator.errors import DeliveryError, UserError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/+")
_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
"""Names of drivers' fields that change when a file changes."""

T = TypeVar("T")

DEPTH = 100
"""Maximum nesting of a document, because recursive readers have a limit."""


@dataclass(frozen=True)
class FileInfo:
    """A file or directory."""

    path: str
    size: int
    stamp: str
    """A value that changes when the file changes; empty if the driver has none."""

    directory: bool

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)


def location_text(path: Path | str) -> str:
    """Return a location as text: a URI with both slashes, of which a Path keeps one; a file:// URI as a path."""
    text = str(path)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return str(Path(text))
    if scheme[1].lower() in ("file", "local"):
        return "/" + text[scheme.end() :]
    return f"{scheme[1]}://{text[scheme.end() :]}"


def location_beside(file: Path, text: str) -> Path:
    """Return a location that is named in a file; a relative path is relative to that file."""
    return Path(text) if _SCHEME.match(text) else file.parent / text


def is_remote(path: str) -> bool:
    return "://" in path


def absolute(path: str, root: str) -> str:
    """Return the location for a process with another working directory."""
    return path if is_remote(path) else os.path.join(root, path)


def file_info(path: str) -> FileInfo:
    """Return the file or directory at a location; raise FileNotFoundError."""
    if not is_remote(path):
        info = os.stat(path)
        return FileInfo(path, info.st_size, str(info.st_mtime_ns), os.path.isdir(path))
    with _driver(path) as (files, inner):
        files.invalidate_cache()
        return _entry(path, files.info(inner))


def is_regular(path: str) -> bool:
    """Return whether a location is a file with an end, and no pipe or device."""
    return is_remote(path) or os.path.isfile(path)


def is_stream(path: Path) -> bool:
    """Return whether a path is a device or a pipe, also one that this process has open, as /dev/stdout."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def list_directory(directory: str) -> list[FileInfo]:
    """Return the entries of a directory, sorted by name."""
    if not is_remote(directory):
        with os.scandir(directory) as scan:
            local = [FileInfo(os.path.join(directory, entry.name), *_stat(entry), entry.is_dir()) for entry in scan]
        return sorted(local, key=lambda entry: entry.name)
    with _driver(directory) as (files, inner):
        listed = [_entry(files.unstrip_protocol(info["name"]), info) for info in files.ls(inner, detail=True)]
    return sorted((entry for entry in listed if entry.name), key=lambda entry: entry.name)


def open_file(path: str) -> BinaryIO:
    """Open a file for reading. A local one must be regular: others may never end, or never begin."""
    if not is_remote(path):
        _check_regular(path)
        return open(path, "rb")
    with _driver(path) as (files, inner):
        return cast(BinaryIO, files.open(inner, "rb"))


_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def _check_regular(path: str) -> None:
    """Raise OSError for a device, a socket or a FIFO."""
    mode = os.stat(path).st_mode
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "")
    if kind:
        raise OSError(errno.EINVAL, f"it is no regular file but {kind}", path)


def _is_open_pipe(path: Path) -> bool:
    """Return whether a path is a pipe that this process already has open, as `<(command)` of a shell and /dev/stdin."""
    try:
        resolved = path.readlink() if path.is_symlink() and path.parent == Path("/dev") else path
        return resolved.parent in _DESCRIPTORS and stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


_DESCRIPTORS = (Path("/dev/fd"), Path("/proc/self/fd"))


def _stat(entry: os.DirEntry[str]) -> tuple[int, str]:
    """Return size and stamp; (-1, "") for a dangling link."""
    try:
        info = entry.stat()
    except FileNotFoundError:
        return -1, ""
    return info.st_size, str(info.st_mtime_ns)


def _entry(path: str, info: dict[str, Any]) -> FileInfo:
    stamp = next((info[name] for name in _STAMPS if info.get(name) is not None), "")
    if isinstance(stamp, datetime):  # of the one driver that says a number when it lists
        stamp = stamp.timestamp()
    directory = info["type"] == "directory"
    return FileInfo(path.rstrip("/"), int(info.get("size") or 0), "" if directory else str(stamp), directory)


def file_system(uri: str, **options: str) -> tuple[Any, str]:
    """Return fsspec's file system of a URI and the path in it; raises the driver's errors."""
    import fsspec  # takes long to import, and most files are of this machine

    return cast(tuple[Any, str], fsspec.url_to_fs(uri, **options))


def has_driver(scheme: str) -> bool:
    """Return whether fsspec has a driver for URIs with that scheme."""
    import fsspec

    return scheme in fsspec.available_protocols()


@contextmanager
def _driver(uri: str) -> Iterator[tuple[Any, str]]:
    try:
        yield file_system(uri)
    except OSError:
        raise
    except Exception as error:  # each driver has errors of its own
        raise OSError((str(error) or type(error).__name__).splitlines()[0]) from error


def read_bytes(path: Path) -> bytes:
    """Return the whole of a local file, or of a pipe that is already open; raise OSError, UserError for one that is too
    large."""
    with path.open("rb") if _is_open_pipe(path) else open_file(str(path)) as file:
        content = file.read(limits.FILE_BYTES + 1)
    if len(content) > limits.FILE_BYTES:
        raise UserError(f"{path} is too large: at most {limits.size(limits.FILE_BYTES)} of such a file are read")
    return content


def read_text(path: Path) -> str:
    """Return the whole file as UTF-8, with its line ends, without a byte order mark; raise UserError."""
    return decode_text(read_content(path), path)


def read_content(path: Path) -> bytes:
    """Return the whole file; raise UserError."""
    try:
        return read_bytes(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise UserError(f"cannot read {path}: no file can have that name") from None


def decode_text(data: bytes, path: Path | str, accepted: str = "UTF-8") -> str:
    """Return the content of a text file as UTF-8, without a byte order mark; raise UserError."""
    try:
        return without_mark(data, path, accepted).decode()
    except UnicodeDecodeError as error:
        why = f"byte 0x{error.object[error.start]:02X} at {error.start} {ELSE}"
        raise not_utf8(path, why, accepted) from None


def without_mark(start: bytes, path: Path | str, accepted: str = "UTF-8") -> bytes:
    """Return the first bytes of a text file without UTF-8's byte order mark; raise UserError for UTF-16 and UTF-32."""
    charset = next((charset for mark, charset in MARKS.items() if start.startswith(mark)), None)
    if charset is None and len(start) >= 4:  # without a mark every other byte of Latin text is zero
        low, high = any(start[0:TELLING:2]), any(start[1:TELLING:2])
        charset = {(True, False): LITTLE, (False, True): BIG}.get((low, high))
    if charset is not None:
        raise not_utf8(path, f"it is {charset}", accepted)
    return start.removeprefix(codecs.BOM_UTF8)


def not_utf8(path: Path | str, why: str, accepted: str) -> UserError:
    """Return the error of a text file in another charset; `accepted` names the charsets that can be read."""
    return UserError(f"{path} is not UTF-8: {why}; accepted: {accepted}")


TELLING = 32
"""First bytes of a text file that tell its charset."""

LITTLE, BIG = "UTF-16, little-endian", "UTF-16, big-endian"
MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32, little-endian",
    codecs.BOM_UTF32_BE: "UTF-32, big-endian",
    codecs.BOM_UTF16_LE: LITTLE,
    codecs.BOM_UTF16_BE: BIG,
}
"""The byte order marks of other charsets; UTF-32's begins with that of UTF-16."""

ELSE = "is of another charset, such as latin1"


def directory_entries(directory: Path) -> list[Path]:
    """Return the entries of a directory, sorted; raise UserError."""
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        raise UserError(f"no such directory: {directory}") from None
    except OSError as error:
        raise UserError(f"cannot read {directory}: {error.strerror}") from None
    except ValueError:
        raise UserError(f"cannot read {directory}: no directory can have that name") from None


STANDARD_STREAM = Path("-")
"""The name of standard input, or output, where a file is accepted, too; a file of that name is an absolute path."""


def read_standard_input() -> bytes:
    """Return standard input; raise UserError."""
    try:
        content = sys.stdin.buffer.read(limits.FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read standard input: {error.strerror}") from None
    if len(content) > limits.FILE_BYTES:
        raise UserError(f"standard input is too large: at most {limits.size(limits.FILE_BYTES)} of it are read")
    return content


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document; raise ValueError with the reason."""
    try:
        return checked(tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(parse_error_reason(error)) from None


def parse_json(text: str) -> Any:
    """Parse a JSON document; raise ValueError with the reason."""
    try:
        return checked(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(parse_error_reason(error)) from None


PARSE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What is raised by a reader of a document that is not as the reader takes it to be."""


def parse_error_reason(error: Exception) -> str:
    """Return why Python could not parse a text, for its author."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # Python refuses longer integers (sys.get_int_max_str_digits), and says how a programmer changes that.
    return "a number has more than 4300 digits" if str(error).startswith("Exceeds the limit") else str(error)


def checked(document: T) -> T:
    """Return the document; raise RecursionError if it is nested too deeply, ValueError if it has an unprintable number."""
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


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system into a DeliveryError that names the path."""
    try:
        yield
    except OSError as error:
        raise DeliveryError(disk_refusal(path, error)) from error


def disk_refusal(path: Path, error: OSError) -> str:
    """Return an error of the file system on one line."""
    return f"cannot write {path}: {error.strerror or error}"

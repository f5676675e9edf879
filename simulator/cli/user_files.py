"""Which files and directories a command may write: none that it reads, none twice, and no file of somebody else.

A file that ticdc-sim wrote is known by its first bytes: JSON by its member `written_by`, a page by its `generator`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from simulator import __version__
from simulator.errors import UserError
from simulator.files import STANDARD_STREAM, is_remote, is_stream, location_text
from simulator.ticdc.changefeed import STORAGE_SCHEMES, Changefeed, Storage

NAME = f"ticdc-sim {__version__}"
JSON_MARK = {"written_by": NAME}
"""The first member of a JSON document that is written to a file."""

HTML_MARK = f'<meta name="generator" content="{escape(NAME)}">'
"""In the head of a page."""

MARK = re.compile(rb"""\A\{\s*"written_by": "ticdc-sim |<meta name="generator" content="ticdc-sim """)
HEAD = 512
"""Bytes in which a mark is found."""

SQLITE = "sqlite:///"
"""The beginning of the URL of a file that is a database."""

FILES = ("summary", "report")
"""Options with a file."""

REPLACED = ("fixtures", "truth")
"""Options with a directory that is replaced as a whole."""


def is_output_taken(options: Mapping[str, Any]) -> bool:
    """Return whether messages or a document are printed on standard output, which then has nothing else."""
    return bool(options["console"]) or options["summary"] == STANDARD_STREAM


Input = tuple[str, "Path | str | None"]
"""What a file or directory is to the command, and its location."""


def changefeed_inputs(config: Path | None, changefeed: Changefeed) -> Iterator[Input]:
    """Yield the files that a changefeed names, after its own."""
    yield "--config", config
    tls = changefeed.kafka.tls
    yield from (("a file of the changefeed's TLS", name) for name in (tls.ca, tls.cert, tls.key) if name)
    yield from (("a filter file", rule.strip()[1:]) for rule in changefeed.rules if rule.strip().startswith("@"))


def check_places(
    options: Mapping[str, Any], written: Iterable[str], inputs: Iterable[Input], storage: Storage | None = None
) -> None:
    """Check the files and directories of the options `written`, before anything is done; raises UserError.

    `force` of the options allows to replace a file of somebody else, but no input. Records also go to `storage`.
    """
    named = [(name, Path(options[name])) for name in written if options.get(name) is not None]
    if options.get("console") and "fixtures" in dict(named):
        raise UserError("--console and --fixtures exclude each other: choose one")
    if ("summary", STANDARD_STREAM) in named and options.get("console"):
        raise UserError("--console and --summary - both write to standard output: give --summary the name of a file")
    outputs = [(f"--{name}", name, path) for name, path in named if path != STANDARD_STREAM]
    outputs += [
        ("sink-uri", "storage", Path(text))
        for _, text in _local([("", storage_place(storage.uri) if storage else None)])
    ]
    read = [(what, Path(text)) for what, text in _local(inputs)]
    for place, (option, name, path) in enumerate(outputs):
        _refuse_input(option, path, name in REPLACED, read)
        for other, kind, another in outputs[:place]:
            if _same(path, another):
                raise UserError(f"{other} and {option} are both {path}: give each its own")
            inner, outer, replaced = (option, other, kind) if _inside(path, another) else (other, option, name)
            if replaced in REPLACED and (_inside(path, another) or _inside(another, path)):
                raise UserError(f"{inner} lies in the directory of {outer}, which is replaced as a whole: give another")
        if name in FILES:
            _check_file(option, path, bool(options.get("force")))


def storage_place(uri: str) -> str:
    """Return the URI of a storage without its parameters; a path as it is."""
    return unquote(PARAMETERS.split(uri, maxsplit=1)[0]) if uri.partition("://")[0] in STORAGE_SCHEMES else uri


PARAMETERS = re.compile("[?#]")


def _local(inputs: Iterable[Input]) -> Iterator[tuple[str, str]]:
    """Yield the inputs that are files or directories of this machine."""
    for what, location in inputs:
        text = "" if location is None else location_text(str(location).removeprefix(SQLITE))
        if text and not is_remote(text) and "\0" not in text:
            yield what, text


def _refuse_input(option: str, path: Path, replaced: bool, inputs: Iterable[tuple[str, Path]]) -> None:
    """Raise UserError if an output is one of the inputs, lies in one, or is a replaced directory around one."""
    for what, read in inputs:
        if _same(path, read):
            raise UserError(f"{option} {path} is {what} of this command: give another name")
        if _inside(path, read):
            raise UserError(
                f"{option} {path} lies in {what}, {read}, and would become a part of it: give another place"
            )
        if os.path.exists(path) and _is_linked_in(path, read):
            raise UserError(f"{option} {path} is a file of {what}, {read}: give another name")
        if replaced and _inside(read, path):
            raise UserError(f"{option} {path} is replaced as a whole, and holds {what}, {read}: give another directory")


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _inside(inner: Path, outer: Path) -> bool:
    return Path(os.path.realpath(outer)) in Path(os.path.realpath(inner)).parents


def _is_linked_in(path: Path, directory: Path) -> bool:
    """Return whether a file has a hard link in a directory."""
    about = path.stat()
    if about.st_nlink < 2 or not stat.S_ISREG(about.st_mode):
        return False
    return any(
        os.path.samestat(about, os.lstat(os.path.join(folder, name)))
        for folder, _, names in os.walk(directory)
        for name in names
    )


def _check_file(option: str, path: Path, force: bool) -> None:
    """Check that a file will be writable, and is not somebody else's; raises UserError."""
    place = path if is_stream(path) else Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise UserError(f"{option} {path}: there is no directory {place.parent if path.is_symlink() else path.parent}")
    if place.is_dir():
        raise UserError(f"{option} {path} is a directory: give the name of a file")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise UserError(f"{option} {path}: it cannot be written, Permission denied")
    if place.is_file() and not force and not _is_ours(place):
        raise UserError(
            f"{option} {path} is a file that ticdc-sim did not write: give another name, or --force to replace it"
        )


def _is_ours(path: Path) -> bool:
    """Return whether ticdc-sim wrote a file, or it is empty."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return not head or MARK.search(head) is not None

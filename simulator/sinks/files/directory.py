"""Fixtures: a directory with one file for each Kafka partition, `DIR/<topic>/<partition>.jsonl` or `.parquet`.

`DIR/schemas.json` has the schemas that messages name, if they name any: `{"1": {"subject": …, "schema": …}, …}`.

Files are written in a hidden directory beside DIR and moved at the end, so that DIR never has incomplete files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from simulator.errors import UserError
from simulator.files import directory_entries, disk_errors
from simulator.sinks.files import FileSettings, staging
from simulator.sinks.files.formats import write_empty
from simulator.ticdc.codecs import Schema

SCHEMAS = "schemas.json"

FORMATS = ("jsonl", "parquet")


def begin(directory: str | Path, format: str, shared: bool = False) -> FileSettings:
    """Create the hidden directory; raise UserError if DIR contains anything but fixtures, which will be replaced."""
    if format not in FORMATS:
        raise UserError(f"unknown fixtures format {format!r}: {' or '.join(FORMATS)}")
    final = Path(directory).absolute()
    _refuse_foreign(final)
    with disk_errors(final):
        staging_directory = staging.make(final)
    return FileSettings(str(final), str(staging_directory), format, shared)


def commit(settings: FileSettings, topics: Mapping[str, int]) -> None:
    """Add an empty file for each partition without records, and move everything to DIR; raise DeliveryError."""
    final = Path(settings.directory)
    with disk_errors(final):
        for topic, count in topics.items():
            for partition in range(count):
                path = settings.path(topic, partition)
                path.parent.mkdir(exist_ok=True)
                if not path.exists():
                    write_empty(path)
        _refuse_foreign(final)
        staging.put_in_place(final, Path(settings.staging))


def write_schemas(settings: FileSettings, schemas: Mapping[int, Schema]) -> None:
    """Write the schemas beside the messages, if there are any; raise DeliveryError."""
    if schemas:
        members = {str(id): {"subject": schemas[id].subject, "schema": schemas[id].text} for id in sorted(schemas)}
        with disk_errors(Path(settings.directory) / SCHEMAS):
            text = json.dumps(members, ensure_ascii=False, indent=1)
            (Path(settings.staging) / SCHEMAS).write_text(text, encoding="utf-8")


def discard(settings: FileSettings) -> None:
    """Remove what has been written; DIR stays as it was. Tasks that still write find their directory missing."""
    staging.discard(Path(settings.staging))


def empty(settings: FileSettings) -> None:
    """Remove the files that were written; no task may be writing. Raise DeliveryError."""
    for path in sizes(settings):
        with disk_errors(path):
            path.unlink()


def sizes(settings: FileSettings) -> dict[Path, int]:
    """Return the bytes of every file so far; raise DeliveryError."""
    with disk_errors(Path(settings.directory)):
        return {path: path.stat().st_size for path in Path(settings.staging).glob(f"*/*.{settings.format}")}


def truncate_to(settings: FileSettings, to: Mapping[Path, int]) -> None:
    """Truncate the files to these sizes; no task may be writing. Raise DeliveryError."""
    with disk_errors(Path(settings.directory)):
        for path, size in sizes(settings).items():
            if size > to.get(path, 0):
                os.truncate(path, to.get(path, 0))


def _refuse_foreign(final: Path) -> None:
    if not final.exists():
        return
    if not final.is_dir():
        raise UserError(f"the fixtures directory {final} is a file: give a new or empty directory")
    foreign = next((path for path in _content(final) if not _is_ours(path.relative_to(final), path)), None)
    if foreign is not None:
        raise UserError(
            f"the fixtures directory {final} holds something else ({foreign.relative_to(final)}): "
            "give a new or empty directory, or one with fixtures, which are replaced"
        )


def _content(final: Path) -> Iterator[Path]:
    """Yield what the directory and its topics hold, and nothing below."""
    for path in directory_entries(final):
        yield path
        if path.is_dir():
            yield from directory_entries(path)


OURS = re.compile(r"[A-Za-z0-9._-]+/\d+\.(jsonl|parquet)")


def _is_ours(relative: Path, path: Path) -> bool:
    """Return whether a file or directory looks like a fixture, by its path and its first bytes."""
    if path.is_dir():
        return len(relative.parts) == 1 and any(path.iterdir())
    if relative.as_posix() == SCHEMAS:
        return True
    if not OURS.fullmatch(relative.as_posix()):
        return False
    with path.open("rb") as file:
        start = file.read(len(JSONL_START))
    return start in (b"", JSONL_START) if path.suffix == ".jsonl" else start.startswith(b"PAR1")


JSONL_START = b'{"offset": 0, "timestamp": '

"""Fixtures: a directory with one file for each Kafka partition, `DIR/<topic>/<partition>.jsonl` or `.parquet`.

One law: nothing half-written is seen under DIR: files grow in a hidden directory beside it and are moved at the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from simulator.errors import UserError
from simulator.sinks.files import staging
from simulator.sinks.files.formats import write_empty
from simulator.sinks.files.settings import FileSettings, disk_errors

FORMATS = ("jsonl", "parquet")


def begin(directory: str | Path, format: str, shared: bool = False) -> FileSettings:
    """Makes the hidden directory; raises UserError where DIR holds anything but fixtures, which are replaced."""
    if format not in FORMATS:
        raise UserError(f"unknown fixtures format {format!r}: {' or '.join(FORMATS)}")
    final = Path(directory).absolute()
    _refuse_foreign(final)
    with disk_errors(final):
        made = staging.make(final)
    return FileSettings(str(final), str(made), format, shared)


def commit(settings: FileSettings, topics: Mapping[str, int]) -> None:
    """Adds an empty file for each partition that got no record, and moves everything to DIR. Raises DeliveryError."""
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


def discard(settings: FileSettings) -> None:
    """Removes what has grown so far; DIR stays as it was. Tasks that still write find their directory gone."""
    staging.discard(Path(settings.staging))


def sizes(settings: FileSettings) -> dict[Path, int]:
    """Bytes of every file so far. Raises DeliveryError."""
    with disk_errors(Path(settings.directory)):
        return {path: path.stat().st_size for path in Path(settings.staging).glob(f"*/*.{settings.format}")}


def cut_back(settings: FileSettings, to: Mapping[Path, int]) -> None:
    """Takes away what was written since the files had those sizes; nobody may be writing. Raises DeliveryError."""
    with disk_errors(Path(settings.directory)):
        for path, size in sizes(settings).items():
            if size > to.get(path, 0):
                os.truncate(path, to.get(path, 0))


def _refuse_foreign(final: Path) -> None:
    if not final.exists():
        return
    if not final.is_dir():
        raise UserError(f"the fixtures directory {final} is a file: give a new or empty directory")
    foreign = next((path for path in sorted(final.rglob("*")) if not _is_ours(path.relative_to(final), path)), None)
    if foreign is not None:
        raise UserError(
            f"the fixtures directory {final} holds something else ({foreign.relative_to(final)}): "
            "give a new or empty directory, or one with fixtures, which are replaced"
        )


OURS = re.compile(r"[A-Za-z0-9._-]+/\d+\.(jsonl|parquet)")


def _is_ours(relative: Path, path: Path) -> bool:
    """Whether a file or directory looks like a fixture: its place, and its first bytes."""
    if path.is_dir():
        return len(relative.parts) == 1 and any(path.iterdir())
    if not OURS.fullmatch(relative.as_posix()):
        return False
    with path.open("rb") as file:
        start = file.read(len(JSONL_START))
    return start in (b"", JSONL_START) if path.suffix == ".jsonl" else start.startswith(b"PAR1")


JSONL_START = b'{"offset": 0, "timestamp": '

"""`checkpoint.json` in the directory of `--checkpoint`: where a run stands, so that another one can go on there.

One law: the file is whole at any moment, one run at a time has it, and only the same run goes on with it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from simulator import tso
from simulator.errors import DeliveryError, UserError
from simulator.releases import Release
from simulator.releases.compare import full_name
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.changefeed.model import Kafka

NAME = "checkpoint.json"

HASH = re.compile("[0-9a-f]{16}")

FORMAT = 1


class Position(Protocol):
    """Where a run stands: a dataclass of what JSON has."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def run(self) -> Mapping[str, str]:
        """What a run must be to go on there, by the words in which a difference is told."""

    @property
    def watermark(self) -> int:
        """The TSO up to which all is acknowledged."""


def changefeed_identity(release: Release, changefeed: Changefeed, partitions: Mapping[str, int]) -> dict[str, str]:
    """What of a changefeed decides what is sent, by the words in which a difference is told; which Kafka it is does
    not."""
    kafka = Kafka((), changefeed.kafka.partition_num)
    return {
        "--release": full_name(release),
        "topic": changefeed.topic,
        "protocol": changefeed.codec.protocol,
        "partitions": ", ".join(f"{topic}: {count}" for topic, count in sorted(partitions.items())),
        "changefeed": short_hash(repr(replace(changefeed, scheme="", kafka=kafka, warnings=()))),
    }


Stands = TypeVar("Stands", bound=Position)
Read = Callable[[Mapping[str, Any]], Stands]
"""Makes it of the JSON of its fields; raises ValueError, KeyError, TypeError or AttributeError."""


class CheckpointFile:
    """The file, locked."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self._closed = False
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._directory = os.open(directory, os.O_RDONLY)
        except OSError as error:
            text = f"--checkpoint {directory}: {error.strerror}: give a directory that can be written"
            raise UserError(text) from error
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._directory)
            raise UserError(f"--checkpoint {directory} is in use by another run: give each its own") from error

    def write(self, checkpoint: Position) -> None:
        """Puts it in the place of the last one; it is on the disk then. Raises DeliveryError."""
        document = {"format": FORMAT, **asdict(checkpoint), "watermark": tso.describe(checkpoint.watermark)}
        growing = self.path.with_name(f".{NAME}.new")
        try:
            with growing.open("w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(growing, self.path)
            os.fsync(self._directory)
        except OSError as error:
            raise DeliveryError(f"cannot write {self.path}: {error.strerror}") from error

    def end(self) -> None:
        """The run came to its end: there is nothing to go on with."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        with suppress(OSError):  # somebody may have put something there
            self.path.parent.rmdir()

    def close(self) -> None:
        """Leaves it to other runs."""
        if not self._closed:
            os.close(self._directory)
        self._closed = True


def begin(directory: Path, first: Stands, read: Read[Stands]) -> CheckpointFile:
    """Of a new run; raises UserError where another one may go on."""
    store = CheckpointFile(directory)
    try:
        if store.path.exists():
            raise UserError(
                f"{store.path} is of a run that did not come to its end (acknowledged up to "
                f"{tso.describe(_read(store.path, read).watermark)}): --resume goes on with it, without that file a "
                "new run begins"
            )
        store.write(first)
    except BaseException:
        store.close()
        raise
    return store


def resume(directory: Path, run: Mapping[str, str], read: Read[Stands]) -> tuple[CheckpointFile, Stands]:
    """Where the run ended; raises UserError where there is none, or it was another one."""
    if not (directory / NAME).exists():
        raise UserError(f"nothing to --resume: there is no {directory / NAME}; without --resume a new run begins")
    store = CheckpointFile(directory)
    try:
        found = _read(store.path, read)
        differ = [name for name in (*run, *found.run) if run.get(name) != found.run.get(name)]
        if differ:
            told = ", ".join(_difference(name, found.run.get(name), run.get(name)) for name in dict.fromkeys(differ))
            raise UserError(f"{store.path} is of another run: {told}; --resume takes what that run was given")
    except BaseException:
        store.close()
        raise
    return store, found


def short_hash(*texts: str | bytes) -> str:
    """What stands for texts that nobody would want to read."""
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode() if isinstance(text, str) else text)
    return found.hexdigest()[:16]


def resume_hint(watermark: int) -> str:
    """What is told of a run that ended before its end."""
    return f"everything up to {tso.describe(watermark)} is acknowledged; --resume goes on there"


def _difference(name: str, then: str | None, now: str | None) -> str:
    """In words; hashes say nothing to anybody."""
    if then is None or now is None or HASH.fullmatch(then) or HASH.fullmatch(now):
        return f"{name} is another one"
    return f"{name} was {then}, now it is {now}"


def _read(path: Path, read: Read[Stands]) -> Stands:
    """Raises UserError for what is no checkpoint."""
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["format"] != FORMAT:
            raise UserError(f"{path} has format {found['format']!r}: this version reads {FORMAT}")
        return read(found)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no checkpoint of such a run; without that file a new run begins") from error

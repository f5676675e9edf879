"""`checkpoint.json` in the directory of `--checkpoint`, from which `--resume` continues a run.

The file is replaced atomically, one run at a time locks its directory, and only the same run may resume it.
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


class StoredCheckpoint(Protocol):
    """A checkpoint of a run: a dataclass whose fields JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def run(self) -> Mapping[str, str]:
        """The identity of the run: its values by the names that error messages use."""

    @property
    def watermark(self) -> int:
        """The TSO up to which everything is acknowledged."""


def changefeed_identity(release: Release, changefeed: Changefeed, partitions: Mapping[str, int]) -> dict[str, str]:
    """Return the part of a run's identity that its changefeed decides; the address of Kafka does not count."""
    kafka = Kafka((), changefeed.kafka.partition_num)
    return {
        "--release": full_name(release),
        "topic": changefeed.topic,
        "protocol": changefeed.codec.protocol,
        "partitions": ", ".join(f"{topic}: {count}" for topic, count in sorted(partitions.items())),
        "changefeed": short_hash(repr(replace(changefeed, scheme="", kafka=kafka, warnings=()))),
    }


CheckpointT = TypeVar("CheckpointT", bound=StoredCheckpoint)
FromJson = Callable[[Mapping[str, Any]], CheckpointT]
"""Creates a checkpoint from the JSON of its fields; raises ValueError, KeyError, TypeError or AttributeError."""


class CheckpointFile:
    """The file, in a directory that this run has locked."""

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

    def write(self, checkpoint: StoredCheckpoint) -> None:
        """Replace the file and sync it to disk; raises DeliveryError."""
        document = {"format": FORMAT, **asdict(checkpoint), "watermark": tso.describe(checkpoint.watermark)}
        temporary = self.path.with_name(f".{NAME}.new")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
            os.fsync(self._directory)
        except OSError as error:
            raise DeliveryError(f"cannot write {self.path}: {error.strerror}") from error

    def end(self) -> None:
        """Delete the file, and its directory if that is empty, as the run is complete."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        with suppress(OSError):  # other files may be there
            self.path.parent.rmdir()

    def close(self) -> None:
        """Release the lock."""
        if not self._closed:
            os.close(self._directory)
        self._closed = True


def begin(directory: Path, first: CheckpointT, from_json: FromJson[CheckpointT]) -> CheckpointFile:
    """Create the file of a new run; raises UserError if there is a checkpoint of an unfinished run."""
    store = CheckpointFile(directory)
    try:
        if store.path.exists():
            raise UserError(
                f"{store.path} is of a run that did not come to its end (acknowledged up to "
                f"{tso.describe(_read(store.path, from_json).watermark)}): --resume goes on with it, without that file a "
                "new run begins"
            )
        store.write(first)
    except BaseException:
        store.close()
        raise
    return store


def resume(
    directory: Path, run: Mapping[str, str], from_json: FromJson[CheckpointT]
) -> tuple[CheckpointFile, CheckpointT]:
    """Open the file of a run that ended early; raises UserError if there is none, or it is of another run."""
    if not (directory / NAME).exists():
        raise UserError(f"nothing to --resume: there is no {directory / NAME}; without --resume a new run begins")
    store = CheckpointFile(directory)
    try:
        checkpoint = _read(store.path, from_json)
        before = checkpoint.run
        names = dict.fromkeys(name for name in (*run, *before) if run.get(name) != before.get(name))
        if names:
            differences = ", ".join(_difference(name, before.get(name), run.get(name)) for name in names)
            raise UserError(f"{store.path} is of another run: {differences}; --resume takes what that run was given")
    except BaseException:
        store.close()
        raise
    return store, checkpoint


def short_hash(*texts: str | bytes) -> str:
    """Return 16 hex digits of a SHA-256."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() if isinstance(text, str) else text)
    return digest.hexdigest()[:16]


def resume_hint(watermark: int) -> str:
    """Return the message of a run that ended early."""
    return f"everything up to {tso.describe(watermark)} is acknowledged; --resume goes on there"


def _difference(name: str, before: str | None, now: str | None) -> str:
    """Describe a difference of two identities, without hashes."""
    if before is None or now is None or HASH.fullmatch(before) or HASH.fullmatch(now):
        return f"{name} is another one"
    return f"{name} was {before}, now it is {now}"


def _read(path: Path, from_json: FromJson[CheckpointT]) -> CheckpointT:
    """Read a checkpoint; raises UserError for another file."""
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["format"] != FORMAT:
            raise UserError(f"{path} has format {document['format']!r}: this version reads {FORMAT}")
        return from_json(document)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no checkpoint of such a run; without that file a new run begins") from error

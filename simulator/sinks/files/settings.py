"""Where fixtures are written, and what to say when the disk refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import DeliveryError


@dataclass(frozen=True)
class FileSettings:
    """Where fixtures are to be, and where they grow until they are complete."""

    directory: str
    staging: str
    format: str
    """jsonl or parquet"""

    shared: bool = False
    """Whether the files grow elsewhere, too, between two writes of a sink: offsets then go on from what is there."""

    def path(self, topic: str, partition: int) -> Path:
        """Where that partition's file grows."""
        return Path(self.staging) / topic / f"{partition}.{self.format}"

    def refusal(self, topic: str, partition: int, error: OSError) -> str:
        """What the file system refuses of that partition's file, by the name under which a user looks for it."""
        return disk_refusal(Path(self.directory) / topic / f"{partition}.{self.format}", error)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns what the file system refuses into a DeliveryError that names the path."""
    try:
        yield
    except OSError as error:
        raise DeliveryError(disk_refusal(path, error)) from error


def disk_refusal(path: Path, error: OSError) -> str:
    """What the file system refuses, on one line."""
    return f"cannot write {path}: {error.strerror or error}"

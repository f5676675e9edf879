"""Directories of fixtures, and errors of the file system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import DeliveryError


@dataclass(frozen=True)
class FileSettings:
    """The final directory of fixtures, and the staging directory in which they are written."""

    directory: str
    staging: str
    format: str
    """jsonl or parquet"""

    shared: bool = False
    """Whether other writers append to the files between two writes of a sink; offsets then continue from the file."""

    def path(self, topic: str, partition: int) -> Path:
        """Return the path of a partition's file in the staging directory."""
        return Path(self.staging) / topic / f"{partition}.{self.format}"

    def refusal(self, topic: str, partition: int, error: OSError) -> str:
        """Return the error of the file system for a partition's file, with its final path."""
        return disk_refusal(Path(self.directory) / topic / f"{partition}.{self.format}", error)


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

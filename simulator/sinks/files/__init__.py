"""Fixtures, the records in files; and here where they are written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simulator.files import disk_refusal


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

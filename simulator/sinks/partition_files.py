"""Fixture files that grow record by record, one for each Kafka partition.

Law: after the disk refused a file's records, nothing more goes to that file; the others go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from simulator.sinks.file_settings import FileSettings
from simulator.sinks.records import Delivered, Records, Run, by_partition, sizes
from simulator.sinks.tally import Tallies


class PartitionFiles(ABC):
    """What the file formats have in common."""

    def __init__(self, settings: FileSettings, topics: Sequence[str]) -> None:
        self._settings = settings
        self._topics = list(topics)
        self._tallies = Tallies()

    @property
    def failed(self) -> bool:
        """Whether the disk refused a file."""
        return self._tallies.failed

    def write(self, records: Records) -> None:
        """Appends the records, each to the file of its partition."""
        for run in by_partition(records):
            tally, rows, topic = self._tallies[run.topic, run.partition], run.records, self._topics[run.topic]
            if tally.error is not None:
                continue
            offset, path = tally.next_offset or 0, self._settings.path(topic, run.partition)
            try:
                path.parent.mkdir(exist_ok=True)
                self._append(path, run, offset)
            except OSError as error:
                tally.error = self._settings.refusal(topic, run.partition, error)
                continue
            size = int(sizes(rows.key).sum() + sizes(rows.value).sum())
            tally.delivered(len(rows.value), size, offset, rows.commit_ts[-1].as_py())

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far."""
        return self._tallies.accounts()

    def close(self) -> list[Delivered]:
        """What was written."""
        return self._tallies.accounts()

    @abstractmethod
    def _append(self, path: Path, run: Run, offset: int) -> None:
        """Adds records of one partition, the first of which has that offset; raises OSError."""

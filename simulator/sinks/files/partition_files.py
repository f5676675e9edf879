"""Fixture files that grow record by record, one for each Kafka partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simulator.sinks.files.settings import FileSettings
from simulator.sinks.immediate import Immediate
from simulator.sinks.records import Run


class PartitionFiles(Immediate):
    """What the file formats have in common."""

    def __init__(self, settings: FileSettings, topics: Sequence[str]) -> None:
        super().__init__()
        self._settings = settings
        self._topics = list(topics)

    def _path(self, run: Run) -> Path:
        """Where the file of that partition grows, its directory made; raises OSError."""
        path = self._settings.path(self._topics[run.topic], run.partition)
        path.parent.mkdir(exist_ok=True)
        return path

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        return self._settings.refusal(self._topics[topic], partition, error)

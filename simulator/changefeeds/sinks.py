"""Where the messages of a server's changefeeds go: to what their sink-uri names, to fixtures, or nowhere but memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from simulator.errors import UserError
from simulator.releases import Release
from simulator.run.outputs import FilesOutput, KafkaOutput, MemoryOutput, Output, StorageOutput
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed


@dataclass(frozen=True)
class Sinks:
    """How the sink of a changefeed is chosen."""

    sends: bool = False
    """Whether messages go to Kafka; if not, and without `fixtures`, they stay in memory."""

    fixtures: Path | None = None
    """The directory of a changefeed's messages in place of Kafka."""

    fixtures_format: str = "jsonl"
    kafka_timeout: float = KafkaSettings.silence
    """Seconds without an acknowledgement after which Kafka counts as gone."""

    def output(self, changefeed: Changefeed, release: Release, messages: list[Message]) -> Output:
        """Return a changefeed's output, which appends to `messages`, too, unless it writes files to a storage.

        Raises UserError for fixtures of a storage and for a directory of something else, DeliveryError if Kafka or the
        storage does not answer.
        """
        if changefeed.storage is not None:
            if self.fixtures is not None:
                raise UserError("fixtures hold the messages of Kafka: a storage sink writes the files of its sink-uri")
            return StorageOutput(changefeed, release)
        if changefeed.scheme == BLACKHOLE:
            return Output(changefeed, messages=messages)
        if self.fixtures is not None:
            return FilesOutput(changefeed, self.fixtures, self.fixtures_format, messages)
        if self.sends:
            return KafkaOutput(changefeed, messages=messages, silence=self.kafka_timeout)
        return MemoryOutput(changefeed, messages)

    def of(self, name: str) -> Sinks:
        """Return those of one changefeed among several: each has a directory of fixtures of its own."""
        return self if self.fixtures is None else replace(self, fixtures=self.fixtures / name)


BLACKHOLE = "blackhole"
"""The scheme of a sink that drops everything."""

"""Records in a list of this process, for examples and tests.

A partition's records are in the order of sending; offsets start at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator import tso
from simulator.sinks.records import PartitionRecords
from simulator.sinks.wrappers import SynchronousSink


@dataclass(frozen=True)
class Message:
    """A Kafka message with its position."""

    topic: str
    partition: int
    offset: int
    commit_ts: int
    """The last TSO in it."""

    key: bytes | None
    value: bytes | None

    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970: simulated time; in Kafka it is the time of sending."""
        return tso.physical(self.commit_ts)


class MemorySink(SynchronousSink):
    """Appends records to the caller's list."""

    def __init__(self, messages: list[Message], topics: Sequence[str]) -> None:
        super().__init__()
        self._messages = messages
        self._topics = topics

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        rows = run.records
        columns = (column.to_pylist() for column in (rows.commit_ts, rows.key, rows.value))
        self._messages += (
            Message(self._topics[run.topic], run.partition, offset + number, *fields)
            for number, fields in enumerate(zip(*columns, strict=True))
        )

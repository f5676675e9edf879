"""Records kept in this process, for whoever asked for them: examples, tests.

One law: a partition's records are in the order in which they were sent, and their offsets count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator import tso
from simulator.sinks.immediate import Immediate
from simulator.sinks.records import PartitionRecords


@dataclass(frozen=True)
class Message:
    """A Kafka message where it lies."""

    topic: str
    partition: int
    offset: int
    commit_ts: int
    """The last TSO in it."""

    key: bytes | None
    value: bytes | None

    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970: simulated time, where Kafka has the time of sending."""
        return tso.physical(self.commit_ts)


class MemorySink(Immediate):
    """Appends what it gets to a list that the caller has."""

    def __init__(self, messages: list[Message], topics: Sequence[str]) -> None:
        super().__init__()
        self._messages = messages
        self._topics = topics

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        rows = run.records
        columns = (column.to_pylist() for column in (rows.commit_ts, rows.key, rows.value))
        self._messages += (
            Message(self._topics[run.topic], run.partition, offset + number, *told)
            for number, told in enumerate(zip(*columns, strict=True))
        )

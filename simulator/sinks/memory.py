"""Sinks without a destination of their own: those that deliver at once, into a list of this process or nowhere, and several
sinks as one.

After an error in a partition, nothing more of that partition is sent; the other partitions continue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulator import tso
from simulator.sinks.records import (
    CountedSink,
    DeliveryReport,
    Latencies,
    PartitionCounter,
    PartitionRecords,
    Records,
    Sink,
    WaitListener,
    by_partition,
    ignore_waiting,
    sizes,
)


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


class SynchronousSink(CountedSink, ABC):
    """A sink that delivers in `write`."""

    in_flight = 0

    def __init__(
        self, settings: Any = None, topics: Sequence[str] = (), waiting: WaitListener = ignore_waiting
    ) -> None:
        super().__init__()
        self._settings, self._topics = settings, topics

    def write(self, records: Records) -> None:
        """Deliver the records, one partition after the other."""
        for run in by_partition(records):
            tally, rows = self._counters[run.topic, run.partition], run.records
            if tally.error is not None:
                continue
            try:
                offset = self._offset(run, tally)
                self._deliver(run, offset)
            except OSError as error:
                tally.error = self._refusal(run.topic, run.partition, error)
                continue
            size = int(sizes(rows.key).sum() + sizes(rows.value).sum())
            tally.delivered(len(rows.value), size, offset, rows.commit_ts[-1].as_py())

    @abstractmethod
    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        """Deliver records of one partition, the first of which has that offset; raise OSError."""

    def _offset(self, run: PartitionRecords, tally: PartitionCounter) -> int:
        """Return the offset of the first of these records; raise OSError."""
        return tally.next_offset or 0

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        """Return the error as one line for users."""
        return str(error)


class CountingSink(SynchronousSink):
    """Counts records and bytes of each partition and drops them, to measure the pipeline without Kafka or a disk."""

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        pass


class MemorySink(SynchronousSink):
    """Appends records to the caller's list, its settings, for examples and tests; the offsets of a partition start at 0."""

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        rows = run.records
        columns = (column.to_pylist() for column in (rows.commit_ts, rows.key, rows.value))
        self._settings += (
            Message(self._topics[run.topic], run.partition, offset + number, *fields)
            for number, fields in enumerate(zip(*columns, strict=True))
        )


class MultiSink:
    """Writes all records to all of its sinks; reports and latencies are those of the first."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    @property
    def failed(self) -> bool:
        """Whether any of the sinks has failed."""
        return any(sink.failed for sink in self._sinks)

    @property
    def in_flight(self) -> int:
        return sum(sink.in_flight for sink in self._sinks)

    @property
    def resent(self) -> int:
        return self._sinks[0].resent

    def latencies(self) -> Latencies:
        return self._sinks[0].latencies()

    def write(self, records: Records) -> None:
        for sink in self._sinks:
            sink.write(records)

    def drain(self) -> None:
        for sink in self._sinks:
            sink.drain()

    def accounts(self) -> list[DeliveryReport]:
        return self._sinks[0].accounts()

    def close(self) -> list[DeliveryReport]:
        return [sink.close() for sink in self._sinks][0]

"""Sinks that know at once what became of records: files, the console, the sink that counts.

One law: after a partition's records were refused, nothing more of that partition is tried; the others go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from simulator.sinks.latencies import Latencies
from simulator.sinks.records import Delivered, PartitionRecords, Records, Tallies, Tally, by_partition, sizes


class Immediate(ABC):
    """What they have in common."""

    in_flight = 0
    resent = 0

    def __init__(self) -> None:
        self._tallies = Tallies()

    @property
    def failed(self) -> bool:
        """Whether a partition's records were refused."""
        return self._tallies.failed

    def write(self, records: Records) -> None:
        """Delivers the records, one partition's after the other's."""
        for run in by_partition(records):
            tally, rows = self._tallies[run.topic, run.partition], run.records
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

    def latencies(self) -> Latencies:
        """None: nobody waits."""
        return Latencies()

    def drain(self) -> None:
        """Nothing is ever on its way."""

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far."""
        return self._tallies.accounts()

    def close(self) -> list[Delivered]:
        """What was delivered."""
        return self._tallies.accounts()

    @abstractmethod
    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        """Takes records of one partition, the first of which has that offset; raises OSError."""

    def _offset(self, run: PartitionRecords, tally: Tally) -> int:
        """Of the first of these records; raises OSError."""
        return tally.next_offset or 0

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        """One line for people."""
        return str(error)


class CountingSink(Immediate):
    """Counts records and bytes of each partition and forgets them: what the pipeline costs before Kafka or a disk."""

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        pass

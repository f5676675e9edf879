"""A sink that only counts: what the pipeline costs before Kafka or a disk."""

from __future__ import annotations

from simulator.sinks.records import Delivered, Records, by_partition, sizes
from simulator.sinks.tally import Tallies


class Counting:
    """Counts records and bytes of each partition and forgets them."""

    failed = False

    def __init__(self) -> None:
        self._tallies = Tallies()

    def write(self, records: Records) -> None:
        """Counts."""
        for run in by_partition(records):
            tally, rows = self._tallies[run.topic, run.partition], run.records
            size = int(sizes(rows.key).sum() + sizes(rows.value).sum())
            tally.delivered(len(rows.value), size, tally.next_offset or 0, rows.commit_ts[-1].as_py())

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far."""
        return self._tallies.accounts()

    def close(self) -> list[Delivered]:
        """What was counted."""
        return self._tallies.accounts()

"""Decoded messages for people: one line a record on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.sinks.records import Delivered, Records, by_partition
from simulator.sinks.tally import Tallies


class Console:
    """Prints `topic/partition commit_ts events`."""

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = pa.array(topics, pa.string())
        self._tallies = Tallies()

    @property
    def failed(self) -> bool:
        """Whether standard output was closed under us."""
        return self._tallies.failed

    def write(self, records: Records) -> None:
        """Prints the records in the order given."""
        error = None
        try:
            if len(records.value):
                sys.stdout.write("\n".join(_lines(records, self._topics).to_pylist()) + "\n")
                sys.stdout.flush()
        except OSError as broken:
            error = f"cannot write to standard output: {broken.strerror}"
        for run in by_partition(records):
            tally, rows = self._tallies[run.topic, run.partition], run.records
            if error is not None:
                tally.error = error
            else:
                tally.delivered(len(rows.value), rows.value.nbytes, tally.next_offset or 0, rows.commit_ts[-1].as_py())

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far."""
        return self._tallies.accounts()

    def close(self) -> list[Delivered]:
        """What was printed."""
        return self._tallies.accounts()


def _lines(records: Records, topics: pa.Array) -> pa.Array:
    events = records.events
    if events is None:
        size = np.asarray(pc.binary_length(records.value).fill_null(0))
        events = pc.binary_join_element_wise(pa.array(size).cast(pa.string()), "bytes", " ")
    place = pc.binary_join_element_wise(pc.take(topics, records.topic), records.partition.cast(pa.string()), "/")
    return pc.binary_join_element_wise(place, records.commit_ts.cast(pa.string()), events, " ")

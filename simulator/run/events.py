"""What a task sends: row changes with their destinations, statements and watermarks, as Arrow batches.

One law: a destination is one Kafka partition, numbered through all topics; one task owns it from start to end.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.tso import FOREVER

ROW, DDL, WATERMARK = 0, 1, 2
"""Also the order of events of one commit-ts."""

EVENTS = pa.schema([
    ("commit_ts", pa.int64()), ("kind", pa.int8()), ("table", pa.int32()), ("op", pa.int8()), ("row_id", pa.int64()),
    ("hash", pa.int64()), ("destination", pa.int32()), ("before", pa.binary()), ("after", pa.binary()),
])
"""`table` is the place of a row's physical table in the run's list, of a statement that in the list of statements."""

STRETCH = 32
"""Neighbours from which on a stretch of them is worth copying by itself."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Destinations:
    """The Kafka partitions of a run."""

    topics: tuple[str, ...]
    counts: tuple[int, ...]
    """Partitions of each topic."""

    active: tuple[tuple[int, int], ...] = ()
    """From which to which TSO each topic has watermarks; always, where nothing is said."""

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The destination that partition 0 of each topic is."""
        return tuple(accumulate((0, *self.counts)))[:-1]

    @property
    def total(self) -> int:
        return sum(self.counts)

    def of_topic(self, name: str) -> range:
        """All destinations of a topic."""
        topic = self._places[name]
        return range(self.first[topic], self.first[topic] + self.counts[topic])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.topics)}

    @property
    def watermarked(self) -> list[tuple[int, int]]:
        """From which to which TSO each destination has watermarks."""
        spans = self.active or ((0, FOREVER),) * len(self.counts)
        return [span for span, count in zip(spans, self.counts, strict=True) for _ in range(count)]

    def where(self, destination: int) -> tuple[int, int]:
        """Index of the topic, and partition."""
        topic = bisect_right(self.first, destination) - 1
        return topic, destination - self.first[topic]


def ints(events: pa.RecordBatch, name: str) -> Ints:
    """A column without nulls as int64; a null counts as 0."""
    return np.asarray(events.column(name).fill_null(0), dtype=np.int64)


def picked(events: pa.RecordBatch, places: Ints) -> pa.RecordBatch:
    """The events at these places."""
    columns = [picked_values(column, places) for column in events.columns]
    return pa.RecordBatch.from_arrays(columns, schema=events.schema)


def picked_values(values: pa.Array, places: Ints) -> pa.Array:
    """The values at these places; long stretches of neighbours are copied whole, which costs a third."""
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    if len(starts) * STRETCH > len(places):
        return values.take(pa.array(places))
    bounds = zip(places[starts].tolist(), np.diff(starts, append=len(places)).tolist())
    parts = [values.slice(first, length) for first, length in bounds]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

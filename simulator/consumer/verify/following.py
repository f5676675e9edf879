"""`--follow`: waits until every partition has the final watermark.

One law: what was seen of a partition is its tail alone; that it is whole is shown by the reading that comes after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import WATERMARK
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.frame import RECORD_SCHEMA
from simulator.consumer.records import TopicPartition

if TYPE_CHECKING:
    from simulator.sinks.kafka.settings import KafkaSettings
    from simulator.sinks.kafka.tail import Polled

BACK = 500
"""Offsets of each partition that are looked at, before those that come."""


@dataclass
class FollowProgress:
    """How far each partition is, as its tail says."""

    until: int
    watermarks: dict[TopicPartition, int] = field(default_factory=dict)
    """0 where none was seen."""

    @property
    def behind(self) -> list[TopicPartition]:
        """Those that are waited for."""
        return [place for place, watermark in self.watermarks.items() if watermark < self.until]

    def __str__(self) -> str:
        behind = self.behind
        if not behind:
            return f"all {len(self.watermarks)} partitions have the watermark {tso.describe(self.until)}"
        slowest = min(behind, key=lambda place: self.watermarks[place])
        at = self.watermarks[slowest]
        return (
            f"{len(self.watermarks) - len(behind)} of {len(self.watermarks)} partitions have the watermark "
            f"{tso.describe(self.until)}; {slowest[0]}/{slowest[1]} "
            f"{f'is at {tso.describe(at)}' if at else 'has shown none yet'}"
        )


def wait_for_watermark(
    settings: KafkaSettings,
    places: Iterable[TopicPartition],
    protocol: str | None,
    until: int,
    told: Callable[[FollowProgress], object] = lambda followed: None,
) -> FollowProgress:
    """Returns when each of the partitions has shown a watermark of `until` or above; `told` hears how far it is."""
    from simulator.sinks.kafka.tail import tail

    followed = FollowProgress(until, {place: 0 for place in places})
    told(followed)
    with closing(tail(settings, followed.watermarks, BACK)) as polls:
        while followed.behind:
            for place, watermark in watermarks(next(polls), protocol).items():
                followed.watermarks[place] = max(followed.watermarks[place], watermark)
            told(followed)
    return followed


def watermarks(polled: Polled, protocol: str | None) -> Mapping[TopicPartition, int]:
    """The greatest watermark of each partition's records, where there is any."""
    found: dict[TopicPartition, int] = {}
    for place, records in polled.items():
        columns = list(zip(*(record[1:] for record in records), strict=True)) or [()] * len(RECORD_SCHEMA)
        batch = pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, RECORD_SCHEMA, strict=True)],
            schema=RECORD_SCHEMA,
        )
        events = StreamDecoder(protocol).decoded(batch)
        marks = events.column("commit_ts").to_numpy()[np.asarray(events.column("kind")) == WATERMARK]
        if len(marks):
            found[place] = int(marks.max())
    return found

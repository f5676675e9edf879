"""`--follow`: waits until every partition has the final watermark.

It reads only the tail of each partition; the verification afterwards reads everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from simulator import tso
from simulator.columns.change_frame import WATERMARK
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.frame import RECORD_SCHEMA, record_batch
from simulator.consumer.records import TopicPartition
from simulator.quantities import counted

if TYPE_CHECKING:
    from simulator.sinks.kafka.read import Polled
    from simulator.sinks.kafka.settings import KafkaSettings

BACK = 500
"""Offsets before the end of each partition where following starts."""


@dataclass
class FollowProgress:
    """The greatest watermark in the tail of each partition."""

    until: int
    watermarks: dict[TopicPartition, int] = field(default_factory=dict)
    """0 for none yet."""

    @property
    def behind(self) -> list[TopicPartition]:
        """Return the partitions that have not reached the watermark."""
        return [partition for partition, watermark in self.watermarks.items() if watermark < self.until]

    def __str__(self) -> str:
        behind = self.behind
        if not behind:
            return f"all {counted(len(self.watermarks), 'partition')} have the watermark {tso.describe(self.until)}"
        slowest = min(behind, key=lambda partition: self.watermarks[partition])
        at = self.watermarks[slowest]
        return (
            f"{len(self.watermarks) - len(behind)} of {counted(len(self.watermarks), 'partition')} have the watermark "
            f"{tso.describe(self.until)}; {slowest[0]}/{slowest[1]} "
            f"{f'is at {tso.describe(at)}' if at else 'has shown none yet'}"
        )


def wait_for_watermark(
    settings: KafkaSettings,
    places: Iterable[TopicPartition],
    protocol: str | None,
    until: int,
    listener: Callable[[FollowProgress], object] = lambda followed: None,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> FollowProgress:
    """Wait until each partition has a watermark of at least `until`. `listener` is called with the progress; `schemas` are
    those that messages name, by id."""
    from simulator.sinks.kafka.read import tail

    followed = FollowProgress(until, dict.fromkeys(places, 0))
    listener(followed)
    with closing(tail(settings, followed.watermarks, BACK)) as polls:
        while followed.behind:
            for partition, watermark in watermarks(next(polls), protocol, schemas).items():
                followed.watermarks[partition] = max(followed.watermarks[partition], watermark)
            listener(followed)
    return followed


def watermarks(
    polled: Polled, protocol: str | None, schemas: Mapping[int, str] = MappingProxyType({})
) -> Mapping[TopicPartition, int]:
    """Return the greatest watermark of each partition among these records; partitions without one are left out."""
    greatest: dict[TopicPartition, int] = {}
    for partition, records in polled.items():
        columns = list(zip(*(record[1:] for record in records), strict=True)) or [()] * len(RECORD_SCHEMA)
        events = StreamDecoder(protocol, schemas=schemas).decoded(record_batch(columns))
        marks = events.column("commit_ts").to_numpy()[np.asarray(events.column("kind")) == WATERMARK]
        if len(marks):
            greatest[partition] = int(marks.max())
    return greatest

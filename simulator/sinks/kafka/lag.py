"""The lag of a consumer group: its committed offsets and the ends of the partitions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from simulator.errors import SimulatorError
from simulator.sinks.kafka.admin import admin_client
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.kafka.library import KafkaAdminClient, KafkaError, OffsetSpec, TopicPartition
from simulator.sinks.kafka.settings import KafkaSettings


class Offsets(NamedTuple):
    """Sums over partitions."""

    end: int
    committed: int | None
    """None if the group has committed nothing; a partition without a commit counts from its first record."""


class GroupOffsets:
    """Requests a group's offsets repeatedly, over one connection while that lasts."""

    def __init__(self, settings: KafkaSettings, group: str, topics: Mapping[str, int]) -> None:
        """`topics` with how many partitions of each count: the first ones."""
        self._settings, self._group = settings, group
        self._places = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
        self._admin: KafkaAdminClient | None = None

    def ask(self) -> Offsets | None:
        """Return the offsets, or None if Kafka does not answer."""
        try:
            if self._admin is None:
                self._admin = admin_client(with_reachable_broker(self._settings))
            committed = self._admin.list_group_offsets({self._group: None})[self._group]
            ends = self._admin.list_partition_offsets(dict.fromkeys(self._places, OffsetSpec.LATEST))
            group_offsets = {place: committed[place].offset for place in self._places if place in committed}
            end = sum(ends[place].offset for place in self._places)
            if not group_offsets:
                return Offsets(end, None)
            fresh = {place: OffsetSpec.EARLIEST for place in self._places if place not in group_offsets}
            first = self._admin.list_partition_offsets(fresh) if fresh else {}
            return Offsets(end, sum(group_offsets.values()) + sum(offset.offset for offset in first.values()))
        except (KafkaError, OSError, TimeoutError, SimulatorError):
            self.close()
            return None

    def close(self) -> None:
        """Close the connection."""
        if self._admin is not None:
            with suppress(KafkaError, OSError):
                self._admin.close()
        self._admin = None

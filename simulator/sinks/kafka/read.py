"""Reading of topics: every record of every partition, each partition in order, or the newest ones and what follows; and
how far a consumer group has read."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeAlias

from simulator.errors import DeliveryError, SimulatorError
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import admin_client, partition_count_of
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.kafka.library import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaError,
    OffsetSpec,
    TopicPartition,
    client_options,
    reason,
    require_packages,
)
from simulator.sinks.records import Record

Polled = dict[tuple[str, int], list[Record]]
"""Records by topic and partition."""


def read_topic(settings: KafkaSettings, topic: str, follow: bool = False) -> Iterator[Record]:
    """Yield the topic's records up to its current end, or forever with `follow`.

    Raise UserError for a missing topic, DeliveryError.
    """
    places = _places(settings, topic)
    with _consumer(settings, places) as consumer:
        starts, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
        for place in places:
            consumer.seek(place, starts[place])
        yield from _records(consumer, starts, None if follow else ends)


def tail(settings: KafkaSettings, places: Iterable[tuple[str, int]], back: int) -> Generator[Polled, None, None]:
    """Yield new records forever, poll by poll, starting `back` offsets before the end; a poll may be empty.

    Raise DeliveryError if Kafka cannot be read.
    """
    require_packages()
    partitions = [TopicPartition(*place) for place in places]
    with _consumer(settings, partitions) as consumer:
        starts, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        for place in partitions:
            consumer.seek(place, max(starts[place], ends[place] - back))
        while True:
            yield {
                (place.topic, place.partition): [_record(place, record) for record in records]
                for place, records in consumer.poll(timeout_ms=POLL_MS).items()
            }


def offset_ranges(settings: KafkaSettings, topics: Sequence[str]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the current first offset and end offset of each (topic, partition).

    Raise UserError for a missing topic, DeliveryError.
    """
    places = [place for topic in topics for place in _places(settings, topic)]
    with _consumer(settings, places) as consumer:
        starts, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
    return {(place.topic, place.partition): (starts[place], ends[place]) for place in places}


def read_partition(settings: KafkaSettings, topic: str, partition: int, first: int, end: int) -> Iterator[Fetched]:
    """Yield the records of a partition from one offset to another, as they are fetched.

    Raise DeliveryError, also if Kafka sends no record for SILENCE seconds or has deleted the first ones.
    """
    place = TopicPartition(topic, partition)
    with _consumer(settings, [place]) as consumer:
        consumer.seek(place, first)
        position_reached, since = first, time.monotonic()
        while position_reached < end:
            for batch in consumer.poll(timeout_ms=POLL_MS).values():
                records = batch if batch[-1].offset < end else [record for record in batch if record.offset < end]
                yield (
                    [record.offset for record in records],
                    [record.timestamp for record in records],
                    [record.key for record in records],
                    [record.value for record in records],
                )
            position = consumer.position(place)
            if position > position_reached:
                position_reached, since = position, time.monotonic()
            elif time.monotonic() - since > SILENCE:
                raise DeliveryError(
                    f"Kafka at {settings.address} gave no more of {topic}/{partition} for {SILENCE:.0f} seconds: "
                    f"read up to offset {position_reached}, it ends at {end}"
                )


Fetched: TypeAlias = "tuple[Sequence[int], Sequence[int], Sequence[bytes | None], Sequence[bytes | None]]"
"""Offsets, timestamps, keys and values."""

SILENCE = 60.0
POLL_MS = 200
READER_OPTIONS = {
    "enable_auto_commit": False,
    "allow_auto_create_topics": False,
    "auto_offset_reset": "none",
    "max_poll_records": 20000,
    "max_partition_fetch_bytes": 4 << 20,
}


def _places(settings: KafkaSettings, topic: str) -> list[TopicPartition]:
    require_packages()
    return [TopicPartition(topic, partition) for partition in range(partition_count_of(settings, topic))]


@contextmanager
def _consumer(settings: KafkaSettings, places: list[TopicPartition]) -> Iterator[KafkaConsumer]:
    """Open a consumer of these partitions; Kafka's errors become DeliveryError."""
    reachable_settings = with_reachable_broker(settings)
    try:
        consumer = KafkaConsumer(**client_options(reachable_settings), **READER_OPTIONS)
        try:
            consumer.assign(places)
            yield consumer
        finally:
            consumer.close()
    except KafkaError as error:
        raise DeliveryError(f"Kafka at {settings.address} cannot be read: {reason(error)}") from error


def _records(
    consumer: KafkaConsumer, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int] | None
) -> Iterator[Record]:
    """Poll until every partition's position has reached its end; a position also passes what is not a record."""
    open_places = {place for place in starts if ends is None or starts[place] < ends[place]}
    while open_places:
        for place, records in consumer.poll(timeout_ms=POLL_MS).items():
            for record in records:
                if ends is None or record.offset < ends[place]:
                    yield _record(place, record)
        if ends is not None:
            open_places = {place for place in open_places if consumer.position(place) < ends[place]}


def _record(place: TopicPartition, record: Any) -> Record:
    return Record(place.topic, place.partition, record.offset, record.timestamp, record.key, record.value)


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
        if self._admin is not None:
            with suppress(KafkaError, OSError):
                self._admin.close()
        self._admin = None

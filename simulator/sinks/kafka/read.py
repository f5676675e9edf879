"""Reading a topic back: every record of every partition, each partition in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka import KafkaConsumer
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

from simulator.errors import DeliveryError
from simulator.sinks.kafka.admin import partitions
from simulator.sinks.kafka.connect import client_options, reason, require_packages
from simulator.sinks.kafka.handshake import reachable
from simulator.sinks.kafka.settings import KafkaSettings


class ReadRecord(NamedTuple):
    """A record as Kafka has it; `timestamp` is milliseconds since 1970."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_topic(
    settings: KafkaSettings, topic: str, follow: bool = False, from_beginning: bool = True
) -> Iterator[ReadRecord]:
    """The topic's records up to where it ends when reading starts, or for ever with `follow`.

    Without `from_beginning` only what comes after the start. Raises UserError for a missing topic, DeliveryError.
    """
    require_packages()
    count = partitions(settings, topic)
    places = [TopicPartition(topic, partition) for partition in range(count)]
    reached = reachable(settings)
    try:
        consumer = KafkaConsumer(**client_options(reached), **READER_OPTIONS)
        try:
            consumer.assign(places)
            ends = consumer.end_offsets(places)
            starts = consumer.beginning_offsets(places) if from_beginning else ends
            for place in places:
                consumer.seek(place, starts[place])
            yield from _records(consumer, starts, None if follow else ends)
        finally:
            consumer.close()
    except KafkaError as error:
        raise DeliveryError(f"Kafka at {settings.address} cannot be read: {reason(error)}") from error


READER_OPTIONS = {
    "enable_auto_commit": False,
    "allow_auto_create_topics": False,
    "max_poll_records": 20000,
    "max_partition_fetch_bytes": 4 << 20,
}


def _records(
    consumer: KafkaConsumer, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int] | None
) -> Iterator[ReadRecord]:
    """Polls until every partition's position has reached its end; a position also passes what is not a record."""
    open_places = {place for place in starts if ends is None or starts[place] < ends[place]}
    while open_places:
        for place, records in consumer.poll(timeout_ms=200).items():
            for record in records:
                if ends is None or record.offset < ends[place]:
                    yield ReadRecord(place.partition, record.offset, record.timestamp, record.key, record.value)
        if ends is not None:
            open_places = {place for place in open_places if consumer.position(place) < ends[place]}

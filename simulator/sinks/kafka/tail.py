"""The newest records of topics and those that follow."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from simulator.errors import DeliveryError
from simulator.sinks.kafka.connect import client_options, reason, require_packages
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.kafka.library import KafkaConsumer, KafkaError, TopicPartition
from simulator.sinks.kafka.read import READER_OPTIONS, KafkaRecord
from simulator.sinks.kafka.settings import KafkaSettings

Polled = dict[tuple[str, int], list[KafkaRecord]]
"""Records by topic and partition."""


def tail(
    settings: KafkaSettings, places: Iterable[tuple[str, int]], back: int, poll_ms: int = 200
) -> Generator[Polled, None, None]:
    """Yield new records forever, poll by poll, starting `back` offsets before the end; a poll may be empty.

    Raise DeliveryError if Kafka cannot be read.
    """
    require_packages()
    partitions = [TopicPartition(*place) for place in places]
    reachable_settings = with_reachable_broker(settings)
    try:
        consumer = KafkaConsumer(**client_options(reachable_settings), **READER_OPTIONS)
        try:
            consumer.assign(partitions)
            starts, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
            for place in partitions:
                consumer.seek(place, max(starts[place], ends[place] - back))
            while True:
                yield {
                    (place.topic, place.partition): [
                        KafkaRecord(place.partition, record.offset, record.timestamp, record.key, record.value)
                        for record in records
                    ]
                    for place, records in consumer.poll(timeout_ms=poll_ms).items()
                }
        finally:
            consumer.close()
    except KafkaError as error:
        raise DeliveryError(f"Kafka at {settings.address} cannot be read: {reason(error)}") from error

"""The newest records of topics, and what comes behind them, for who waits for something."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from simulator.errors import DeliveryError
from simulator.sinks.kafka.connect import client_options, reason, require_packages
from simulator.sinks.kafka.handshake import reachable
from simulator.sinks.kafka.library import KafkaConsumer, KafkaError, TopicPartition
from simulator.sinks.kafka.read import READER_OPTIONS, ReadRecord
from simulator.sinks.kafka.settings import KafkaSettings

Polled = dict[tuple[str, int], list[ReadRecord]]
"""By topic and partition."""


def tail(
    settings: KafkaSettings, places: Iterable[tuple[str, int]], back: int, poll_ms: int = 200
) -> Generator[Polled, None, None]:
    """For ever what comes, poll by poll, which may be nothing; of what is there the last `back` offsets.

    Raises DeliveryError where Kafka cannot be read.
    """
    require_packages()
    wanted = [TopicPartition(*place) for place in places]
    reached = reachable(settings)
    try:
        consumer = KafkaConsumer(**client_options(reached), **READER_OPTIONS)
        try:
            consumer.assign(wanted)
            starts, ends = consumer.beginning_offsets(wanted), consumer.end_offsets(wanted)
            for place in wanted:
                consumer.seek(place, max(starts[place], ends[place] - back))
            while True:
                yield {
                    (place.topic, place.partition): [
                        ReadRecord(place.partition, record.offset, record.timestamp, record.key, record.value)
                        for record in records
                    ]
                    for place, records in consumer.poll(timeout_ms=poll_ms).items()
                }
        finally:
            consumer.close()
    except KafkaError as error:
        raise DeliveryError(f"Kafka at {settings.address} cannot be read: {reason(error)}") from error

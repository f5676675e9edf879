"""Producers of kafka-python, which get prepared record batches.

That uses kafka-python's private API, at the only version that was read and tested. kafka-python keeps everything that
concerns the broker (sequence numbers, compression, checksum, retries) and is spared only the work per record. After a failed batch a producer sends nothing more.
"""

from __future__ import annotations

import time
from contextlib import suppress
from importlib.metadata import version
from typing import ClassVar, Protocol

import pyarrow as pa

from simulator.sinks.kafka import KafkaSettings, library
from simulator.sinks.kafka.connect import Option, client_options
from simulator.sinks.kafka.sent_batches import AbortedBatch, body

LINGER_MS = 20

KILLED_WITHIN = 10.0


def producer(settings: KafkaSettings) -> library.KafkaProducer:
    """Return a producer that keeps the order of each partition; raise kafka.errors.KafkaError if no broker answers."""
    options: dict[str, Option] = {
        **client_options(settings),
        "acks": settings.required_acks,
        "enable_idempotence": settings.required_acks == -1,
        # Without idempotence a retry overtakes what was sent after it, unless one request is awaited before the next.
        "max_in_flight_requests_per_connection": 5 if settings.required_acks == -1 else 1,
        "compression_type": None if settings.compression == "none" else settings.compression,
        "batch_size": settings.batch_bytes,
        "linger_ms": LINGER_MS,
        "max_request_size": max(settings.in_flight_bytes, settings.max_message_bytes) + (1 << 20),
        "request_timeout_ms": int(max(settings.write_timeout, settings.read_timeout) * 1000),
        "delivery_timeout_ms": int(2 * (settings.silence + settings.write_timeout + settings.read_timeout) * 1000),
        # Never reached: a batch that expires lets the next one overtake it, and its producer hangs (3.0.12).
        "max_block_ms": int(settings.dial_timeout * 1000),
        "allow_auto_create_topics": False,
    }
    clients: list[library.KafkaNetClient] = []

    def client(**arguments: Option) -> library.KafkaNetClient:
        clients.append(library.KafkaNetClient(**arguments))
        return clients[-1]

    try:
        return library.KafkaProducer(**options, kafka_client=client)
    except BaseException:  # KafkaProducer leaves the sockets of one that no broker answered in time (3.0.12)
        for each in clients:
            each.close()
        raise


class Producer(Protocol):
    """Sends batches; those of a partition in order."""

    whole: ClassVar[bool]
    """Whether a batch is sent as one record batch, so that Kafka's error concerns the whole batch."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Raises kafka.errors.KafkaError if no broker answers."""

    def send(self, topic: str, partition: int, keys: pa.Array, values: pa.Array) -> library.Future:
        """Queue the records of a batch; return their future. Raises kafka.errors.KafkaError."""

    def finish(self, timeout: float) -> None:
        """Close, when all is acknowledged or acknowledgements are not awaited, within so many seconds."""

    def kill(self) -> None:
        """Stop now, with everything it still has: nothing may be written once its successor sends."""


class PreparedProducer:
    """A producer of kafka-python, which gets prepared record batches."""

    whole: ClassVar[bool] = True

    def __init__(self, settings: KafkaSettings) -> None:
        self._producer = producer(settings)

    def send(self, topic: str, partition: int, keys: pa.Array, values: pa.Array) -> library.Future:
        """Queue the records as one batch with the current time; raise KafkaError if a batch has failed."""
        producer = self._producer
        producer._sender.add_topic(topic)
        accumulator, place = producer._accumulator, library.TopicPartition(topic, partition)
        batch = PreparedBatch(place, _builder(producer, keys, values))
        batch.sender = producer._sender
        accumulator._appends_in_progress.increment()
        try:
            with accumulator._tp_lock(place):
                if accumulator._closed:
                    raise library.IllegalStateError("the producer has been stopped")
                accumulator._batches[place].append(batch)
                accumulator._incomplete.add(batch)
        finally:
            accumulator._appends_in_progress.decrement()
        producer._sender.wakeup()
        return batch.produce_future

    def finish(self, timeout: float) -> None:
        try:
            self._producer.close(timeout=timeout)
        except library.KafkaError:
            self.kill()

    def kill(self) -> None:
        # `close(timeout=0)` alone raises at the first unacknowledged record and leaves the producer running (3.0.12).
        self._producer._sender.force_close()
        self._producer._sender.join(KILLED_WITHIN)
        with suppress(library.KafkaError):
            self._producer.close(timeout=0)


class PreparedBatch(library.ProducerBatch):  # type: ignore[misc]
    """A batch that kafka-python sends whole, or fails together with everything that the producer still has."""

    record_count = 1
    """A batch of one record is never split; splitting would lose our future."""

    def complete_exceptionally(self, error: Exception, of_record: object) -> bool:
        """Stop the producer before its thread sends what is queued behind this batch.

        Other batches of the same answer still count; then the rest is aborted.
        """
        self.sender.force_close()
        return bool(super().complete_exceptionally(error, of_record))

    def abort(self, exception: Exception) -> None:
        """Mark a batch that fails because of another one."""
        super().abort(AbortedBatch(exception))


def _builder(producer: library.KafkaProducer, keys: pa.Array, values: pa.Array) -> library.MemoryRecordsBuilder:
    """Return a builder as if every record had been appended; batch size 1 makes it full, so that it does not linger."""
    records = library.MemoryRecordsBuilder(2, producer.config["compression_attrs"], 1)
    inner, now = records._builder, int(time.time() * 1000)
    inner._buffer += memoryview(body(keys, values))
    inner._first_timestamp = inner._max_timestamp = now
    inner._num_records = records._next_offset = len(values)
    inner._last_offset = len(values) - 1
    return records


def describe_client(settings: KafkaSettings) -> str:
    """Return library and version, for users."""
    name = "confluent-kafka" if settings.driver == "confluent" else "kafka-python"
    return f"{name} {version(name)}"

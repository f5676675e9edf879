"""Ready record batches for kafka-python: its private API, at the one version that was read and tested.

Law: kafka-python keeps everything that concerns the broker (sequence numbers, compression, checksum, retries);
it is only spared the work per record. A producer that a batch has failed sends nothing more.
"""

from __future__ import annotations

import time
from importlib.metadata import version

import pyarrow as pa
from kafka import KafkaProducer
from kafka.errors import IllegalStateError
from kafka.future import Future
from kafka.producer.producer_batch import ProducerBatch
from kafka.record.memory_records import MemoryRecordsBuilder
from kafka.structs import TopicPartition

from simulator.sinks.kafka.flight import Interrupted, Outcome
from simulator.sinks.record_batch import body

TESTED = "3.0.12"


def available() -> bool:
    """Whether the kafka-python that is installed is the one whose internals this relies on."""
    return version("kafka-python") == TESTED


def send(producer: KafkaProducer, topic: str, partition: int, keys: pa.Array, values: pa.Array) -> list[Future]:
    """Queues the records as one batch, stamped with now; one future for all of them.

    Raises kafka.errors.KafkaError where a batch has failed.
    """
    producer._sender.add_topic(topic)
    accumulator, place = producer._accumulator, TopicPartition(topic, partition)
    batch = PreparedBatch(place, _builder(producer, keys, values))
    batch.sender = producer._sender
    accumulator._appends_in_progress.increment()
    try:
        with accumulator._tp_lock(place):
            if accumulator._closed:
                raise IllegalStateError("the producer has been stopped")
            accumulator._batches[place].append(batch)
            accumulator._incomplete.add(batch)
    finally:
        accumulator._appends_in_progress.decrement()
    producer._sender.wakeup()
    return [batch.produce_future]


def outcome(futures: list[Future], count: int, timeout: float) -> Outcome | None:
    """What became of the batch of `count` records, waiting up to `timeout` seconds; None while on its way."""
    (future,) = futures
    if not future.is_done and not future.wait(timeout):
        return None
    if future.failed():
        return Outcome(0, None, future.exception)
    offset, _, failure = future.value
    return Outcome(count, offset if offset >= 0 else None) if failure is None else Outcome(0, None, failure(0))


class PreparedBatch(ProducerBatch):  # type: ignore[misc]
    """A batch that kafka-python sends whole, or fails together with all that the producer still has."""

    record_count = 1
    """Whatever is inside: a batch of one is never split (splitting would lose our future)."""

    def complete_exceptionally(self, error: Exception, of_record: object) -> bool:
        """Stops the producer before its thread can turn to what is queued behind this batch, or is queued later.

        What else has been answered together with this batch still counts; then all that is left is aborted.
        """
        self.sender.force_close()
        return bool(super().complete_exceptionally(error, of_record))

    def abort(self, exception: Exception) -> None:
        """Tells a batch that is failed for another one's sake from one that failed itself."""
        super().abort(Interrupted(exception))


def _builder(producer: KafkaProducer, keys: pa.Array, values: pa.Array) -> MemoryRecordsBuilder:
    """A builder as if every record had been appended; batch size 1 makes it full, so that nothing lingers."""
    records = MemoryRecordsBuilder(2, producer.config["compression_attrs"], 1)
    inner, now = records._builder, int(time.time() * 1000)
    inner._buffer += memoryview(body(keys, values))
    inner._first_timestamp = inner._max_timestamp = now
    inner._num_records = records._next_offset = len(values)
    inner._last_offset = len(values) - 1
    return records

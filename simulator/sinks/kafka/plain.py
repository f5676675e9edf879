"""Records handed to kafka-python one by one, by its public API: what prepared batches are measured against."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
from kafka import KafkaProducer
from kafka.errors import KafkaError
from kafka.future import Future

from simulator.sinks.kafka.connect import Option, client_options
from simulator.sinks.kafka.flight import Outcome
from simulator.sinks.kafka.settings import KafkaSettings

LINGER_MS = 20

KILLED_WITHIN = 10.0


def producer(settings: KafkaSettings) -> KafkaProducer:
    """A producer that keeps the order of each partition; raises kafka.errors.KafkaError where no broker answers."""
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
    return KafkaProducer(**options)


def finish(producer: KafkaProducer, timeout: float) -> None:
    """Closes a producer of which everything is acknowledged, or nothing is awaited but the last bytes' way out."""
    try:
        producer.close(timeout=timeout)
    except KafkaError:
        kill(producer)


def kill(producer: KafkaProducer) -> None:
    """Stops a producer now, whatever it still has: nothing of it may be written once its successor sends again.

    `close(timeout=0)` alone raises at the first unacknowledged record and leaves the producer running (3.0.12).
    """
    producer._sender.force_close()
    producer._sender.join(KILLED_WITHIN)
    with suppress(KafkaError):
        producer.close(timeout=0)


def send(producer: KafkaProducer, topic: str, partition: int, keys: pa.Array, values: pa.Array) -> list[Future]:
    """Sends each record, stamped with now; one future a record.

    The first that fails stops the producer, in the producer's own thread, before that turns to the next batch.
    Raises kafka.errors.KafkaError where one has failed.
    """
    give: Callable[..., Future] = producer.send
    pairs = zip(keys.to_pylist(), values.to_pylist(), strict=True)

    def stop(error: BaseException) -> None:
        producer._sender.force_close()

    return [give(topic, value, key, partition=partition).add_errback(stop) for key, value in pairs]


def outcome(futures: list[Future], count: int, timeout: float) -> Outcome | None:
    """What became of the records, waiting up to `timeout` seconds for the last; None while some are on their way."""
    if timeout and not futures[-1].is_done:
        with suppress(KafkaError):
            futures[-1].get(timeout)
    done = 0
    while done < len(futures) and futures[done].succeeded():
        done += 1
    offset = futures[0].value.offset if done else None
    offset = offset if offset is not None and offset >= 0 else None
    broken = next((future.exception for future in futures[done:] if future.is_done and future.failed()), None)
    if done < len(futures) and broken is None:
        return None
    return Outcome(done, offset, broken)

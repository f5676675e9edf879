"""Producers of confluent-kafka (librdkafka), which compress and send outside of Python: the extra `fast`.

After a failure nothing more is sent to a partition. If all replicas acknowledge, librdkafka guarantees that
(idempotence without gaps). Otherwise a batch waits for the acknowledgement of the previous one of its partition, and is one
request: of a batch in two, librdkafka sends the second when the first has failed, before anybody here hears of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import confluent_kafka
import pyarrow as pa

from simulator.errors import UserError
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.library import (
    ClientCredentials,
    Future,
    IllegalStateError,
    KafkaError,
    UnknownError,
    for_code,
)
from simulator.sinks.kafka.producers import KILLED_WITHIN, LINGER_MS, AbortedBatch
from simulator.ticdc.changefeed import Sasl, Tls

POLL = 0.1

AT_ONCE = 0.01
"""Seconds for which librdkafka sends what it has, and may be given nothing more."""

ANSWER = 1.0
"""Seconds for which an answer about a topic is waited for at once."""

LONGEST_LINGER_MS = 900_000
"""The longest that librdkafka knows."""

LOG = logging.getLogger("kafka.librdkafka")
"""Disabled: errors are reported with the records."""

LOG.disabled = True

STOPPED = {
    confluent_kafka.KafkaError._PURGE_QUEUE,
    confluent_kafka.KafkaError._PURGE_INFLIGHT,
    confluent_kafka.KafkaError._FATAL,
}
"""Error codes of records that failed because of others."""


class Acknowledgement(Future):  # type: ignore[misc]
    """The future of a batch, with `wait`."""

    def __init__(self) -> None:
        super().__init__()
        self._there = threading.Event()

    def success(self, value: object) -> Acknowledgement:
        super().success(value)
        self._there.set()
        return self

    def failure(self, error: BaseException) -> Acknowledgement:
        super().failure(error)
        self._there.set()
        return self

    def wait(self, timeout: float) -> bool:
        return self._there.wait(timeout)


BROKERS = confluent_kafka.KafkaError.UNKNOWN
"""Error codes from this one on are the broker's; lower ones are librdkafka's."""


@dataclass
class PendingBatch:
    """A batch of records that is being sent."""

    topic: str
    partition: int
    keys: pa.Array
    values: pa.Array
    future: Acknowledgement = field(default_factory=Acknowledgement)
    left: int = 0
    """Number of callbacks still expected; 0 before the batch is sent."""

    offset: int | None = None


class ConfluentProducer:
    """A producer, and the thread that receives its acknowledgements."""

    whole: ClassVar[bool] = False

    def __init__(self, settings: KafkaSettings) -> None:
        self._idempotent = settings.required_acks == -1
        self._producer: Any = confluent_kafka.Producer(options(settings), logger=LOG)
        self._waiting: dict[tuple[str, int], deque[PendingBatch]] = {}
        self._known: set[str] = set()
        self._lock = threading.RLock()
        self._given = threading.Event()
        self._cause: BaseException | None = None
        self._open = True
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def send(self, topic: str, partition: int, keys: pa.Array, values: pa.Array) -> Future:
        """Send the records of a batch; return their future."""
        batch = PendingBatch(topic, partition, keys, values)
        with self._lock:
            if self._cause is not None:
                raise IllegalStateError("the producer has been stopped")
            queue = self._waiting.setdefault((topic, partition), deque())
            queue.append(batch)
            if self._idempotent:
                self._produce(batch)
        self._given.set()
        return batch.future

    def _halt(self, cause: BaseException) -> None:
        """Stop sending; the batches in progress get a result each."""
        with self._lock:
            if self._cause is None:
                self._cause = cause
                self._producer.purge(blocking=False)
                self._give_up(lambda batch: not batch.left)

    def _give_up(self, chosen: Callable[[PendingBatch], bool]) -> None:
        assert self._cause is not None
        for queue in self._waiting.values():
            for batch in queue:
                if chosen(batch) and not batch.future.is_done:
                    batch.future.failure(AbortedBatch(self._cause))

    def finish(self, timeout: float) -> None:
        """Close when everything is acknowledged, or after the timeout."""
        self._producer.flush(timeout)
        self.kill()

    def kill(self) -> None:
        """Close now. Nothing may be written after its successor sends, so its connections are closed, too."""
        self._halt(IllegalStateError("the producer has been closed"))
        self._open = False
        self._thread.join(KILLED_WITHIN)
        with self._lock:
            self._give_up(lambda batch: True)
        self._producer = None

    def _poll(self) -> None:
        while self._open:
            try:
                if self._idempotent:
                    self._producer.poll(POLL)
                else:
                    self._send_first_batches()
            except confluent_kafka.KafkaException as error:  # it can send nothing more, and says so once
                self._halt(_error(error.args[0]))

    def _send_first_batches(self) -> None:
        """Hand over the first batch of each partition, whole before any of it is sent."""
        self._given.clear()
        with self._lock:
            first = [queue[0] for queue in self._waiting.values() if queue and not queue[0].left]
        # the records of a topic that librdkafka does not know come to their partition one by one
        for topic in {batch.topic for batch in first} - self._known:
            with suppress(confluent_kafka.KafkaException):
                self._producer.list_topics(topic, ANSWER)
                self._known.add(topic)
        with self._lock:
            for batch in first:
                if self._cause is None and batch.topic in self._known:
                    try:
                        self._produce(batch)
                    except KafkaError as error:
                        batch.future.failure(error)
                        self._halt(error)
        if not self._producer.flush(AT_ONCE):
            self._given.wait(POLL)

    def _produce(self, batch: PendingBatch) -> None:
        pairs = zip(batch.keys.to_pylist(), batch.values.to_pylist(), strict=True)
        messages: list[dict[str, Any]] = [{"key": key, "value": value} for key, value in pairs]
        if self._idempotent:  # without gaps, the last one tells of all
            for message in (messages[0], messages[-1]):
                message["callback"] = self._arrival(batch)
            batch.left = 1 if len(messages) == 1 else 2
            self._hand(batch, messages, None)
        else:
            batch.left = len(messages)
            self._hand(batch, messages, self._arrival(batch))

    def _hand(self, batch: PendingBatch, messages: list[dict[str, Any]], arrival: Callable[..., None] | None) -> None:
        try:
            accepted = self._producer.produce_batch(
                batch.topic, messages, partition=batch.partition, on_delivery=arrival
            )
        except (confluent_kafka.KafkaException, BufferError) as error:
            raise _error(error.args[0]) from error
        if accepted < len(messages):
            refused = next(message["_error"] for message in messages if "_error" in message)
            self._fail(batch, refused)

    def _arrival(self, batch: PendingBatch) -> Callable[..., None]:
        def arrived(error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
            with self._lock:
                if batch.future.is_done:
                    return
                if error is not None:
                    self._fail(batch, error)
                    return
                if batch.offset is None:
                    batch.offset = message.offset()
                batch.left -= 1
                if not batch.left:
                    self._succeed(batch)

        return arrived

    def _succeed(self, batch: PendingBatch) -> None:
        queue = self._waiting[batch.topic, batch.partition]
        queue.popleft()
        batch.future.success((-1 if batch.offset is None else batch.offset, None, None))
        if queue:
            self._given.set()

    def _fail(self, batch: PendingBatch, error: confluent_kafka.KafkaError) -> None:
        failure = _error(error)
        batch.future.failure(AbortedBatch(failure) if error.code() in STOPPED else failure)
        self._halt(failure)


def _error(error: Any) -> KafkaError:
    """Return the error as a class of kafka-python; librdkafka's own errors keep their text."""
    if not isinstance(error, confluent_kafka.KafkaError):
        return UnknownError(str(error))
    return for_code(error.code())(None) if error.code() >= BROKERS else UnknownError(error.str())


def options(settings: KafkaSettings) -> dict[str, Any]:
    """Return librdkafka's options with the effect of kafka-python's."""
    idempotent = settings.required_acks == -1
    return {
        "bootstrap.servers": settings.address,
        "client.id": settings.client_id,
        "acks": settings.required_acks,
        "enable.idempotence": idempotent,
        "enable.gapless.guarantee": idempotent,
        "max.in.flight.requests.per.connection": 5 if idempotent else 1,
        "compression.type": settings.compression,
        # what librdkafka takes a record for is more than it is
        "batch.size": settings.batch_bytes if idempotent else (1 << 31) - 1,
        "batch.num.messages": 1_000_000,
        "linger.ms": LINGER_MS if idempotent else LONGEST_LINGER_MS,
        "message.max.bytes": max(settings.in_flight_bytes, settings.max_message_bytes) + (1 << 20),
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": (1 << 31) - 1,
        "message.timeout.ms": 0,
        "request.timeout.ms": int(max(settings.write_timeout, settings.read_timeout) * 1000),
        "socket.connection.setup.timeout.ms": max(1000, int(settings.dial_timeout * 1000)),
        "reconnect.backoff.max.ms": 1000,
        "allow.auto.create.topics": False,
        "security.protocol": settings.security_protocol,
        **_tls(settings.tls),
        **_sasl(settings.sasl, settings.read_timeout),
    }


def _tls(tls: Tls) -> dict[str, Any]:
    if not tls.enabled:
        return {}
    files = {"ssl.ca.location": tls.ca, "ssl.certificate.location": tls.cert, "ssl.key.location": tls.key or tls.cert}
    options: dict[str, Any] = {name: file for name, file in files.items() if file}
    if tls.insecure_skip_verify:
        options |= {"enable.ssl.certificate.verification": False, "ssl.endpoint.identification.algorithm": "none"}
    return options


def _sasl(sasl: Sasl, timeout: float) -> dict[str, Any]:
    mechanism = sasl.mechanism.upper()
    if not mechanism:
        return {}
    if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        return {"sasl.mechanism": mechanism, "sasl.username": sasl.user, "sasl.password": sasl.password}
    if mechanism == "OAUTHBEARER":
        tokens = ClientCredentials(sasl, timeout)

        def token(_: str) -> tuple[str, float]:
            return tokens.token(), time.time() + tokens.valid_for()

        return {"sasl.mechanism": mechanism, "oauth_cb": token}
    raise UserError(f"sasl-mechanism {mechanism} cannot be used with --driver confluent: kafka-python can")

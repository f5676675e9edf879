"""Producers of kafka-python, which get prepared record batches: their bytes, their results, and the retry of a failed one.

A batch is made of Arrow columns (magic 2); its bytes equal those of kafka-python's DefaultRecordBatchBuilder.append,
called for each record. A failed one is sent again whole, in halves, or not at all.

That uses kafka-python's private API, at the only version that was read and tested. kafka-python keeps everything that
concerns the broker (sequence numbers, compression, checksum, retries) and is spared only the work per record. After a
failed batch a producer sends nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.limits import counted
from simulator.sinks.kafka import KafkaSettings, library
from simulator.sinks.kafka.library import Option, client_options, reason
from simulator.sinks.records import PartitionRecords, sizes

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


class PreparedProducer:
    """A producer of kafka-python, which gets prepared record batches; those of a partition are sent in order.

    Raises kafka.errors.KafkaError if no broker answers.
    """

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
        """Close, when all is acknowledged or acknowledgements are not awaited, within so many seconds."""
        try:
            self._producer.close(timeout=timeout)
        except library.KafkaError:
            self.kill()

    def kill(self) -> None:
        """Stop now, with everything it still has: nothing may be written once its successor sends."""
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


Numbers = npt.NDArray[np.int64]


def body(keys: pa.Array, values: pa.Array) -> pa.Buffer:
    """Return the bytes after the batch header: per record length, attributes, time delta 0, offset delta, key, value,
    no headers.

    `keys` and `values` are binary, null for absent; the result is uncompressed.
    """
    count = len(values)
    key_length, value_length = _lengths(keys), _lengths(values)
    offset, key_field, value_field = _varint(np.arange(count)), _varint(key_length), _varint(value_length)
    size = 2 + offset[1] + key_field[1] + value_field[1] + np.maximum(key_length, 0) + np.maximum(value_length, 0) + 1
    plain_zeros = (np.zeros((count, 2), np.uint8), np.full(count, 2))
    before_key = _ragged([_varint(size), plain_zeros, offset, key_field])
    before_value = _ragged([value_field])
    end = pa.scalar(b"\0", pa.binary())
    joined = pc.binary_join_element_wise(before_key, _filled(keys), before_value, _filled(values), end, b"")
    return _data(joined)


def _lengths(column: pa.Array) -> Numbers:
    """Return the bytes of each entry, -1 for a null, as on the wire."""
    return np.asarray(pc.binary_length(column).fill_null(-1), dtype=np.int64)


def _varint(numbers: Numbers) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """Return zigzag varints: a row of bytes for each number, and how many of them count."""
    zigzag = (numbers << 1) ^ (numbers >> 63)
    width = 1
    while int(zigzag.max(initial=0)) >> (7 * width):
        width += 1
    shifts = np.arange(width) * 7
    size = np.ones(len(numbers), np.int64)
    for shift in shifts[1:]:
        size += zigzag >= (1 << int(shift))
    more = np.where(np.arange(1, width + 1) < size[:, None], 0x80, 0)
    return ((zigzag[:, None] >> shifts & 0x7F) | more).astype(np.uint8), size


def _ragged(fields: list[tuple[npt.NDArray[np.uint8], Numbers]]) -> pa.Array:
    """Return the bytes of several fields side by side as one binary array."""
    rows = np.concatenate([field for field, _ in fields], axis=1)
    counts = np.concatenate([np.arange(field.shape[1]) < size[:, None] for field, size in fields], axis=1)
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(counts.sum(axis=1), out=offsets[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows[counts]))]
    )


def _filled(column: pa.Array) -> pa.Array:
    return column.fill_null(b"") if column.null_count else column


def _data(column: pa.Array) -> pa.Buffer:
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return column.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


BATCH_HEADER = 61
"""Bytes of a record batch before its first record (magic 2)."""

RECORD_OVERHEAD = 31
"""Upper bound of a record's own length, attributes, deltas and lengths."""


class AbortedBatch(library.KafkaError):  # type: ignore[misc]
    """A batch that was given up because of another one's failure, `cause`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class RecordBatch:
    """Records of one partition that are sent together, at most a batch's bytes unless it is a single record."""

    topic: int
    partition: int
    keys: pa.Array
    values: pa.Array
    commit_ts: pa.Array
    size: int
    """Bytes of keys and values."""

    @property
    def place(self) -> tuple[int, int]:
        """Topic and partition in the run."""
        return self.topic, self.partition

    def part(self, start: int, end: int) -> RecordBatch:
        """Return records `start` to `end`."""
        keys, values = self.keys[start:end], self.values[start:end]
        size = int(sizes(keys).sum() + sizes(values).sum())
        return RecordBatch(self.topic, self.partition, keys, values, self.commit_ts[start:end], size)


@dataclass(frozen=True)
class SendOutcome:
    """The result of a batch: it is acknowledged whole, or not at all."""

    offset: int | None = None
    """Offset of the first record, if Kafka gave one."""

    error: BaseException | None = None


@dataclass
class SentBatch:
    """A batch that was passed to a producer."""

    batch: RecordBatch
    future: library.Future | None
    """None if Kafka lacks the topic."""

    since: float
    """When it was first passed to any producer."""

    answered: float = 0.0
    """When Kafka answered, set in the producer's thread; 0 without an answer."""

    def __post_init__(self) -> None:
        if self.future is not None:
            self.future.add_callback(self._note_answer)

    def _note_answer(self, _: object) -> None:
        self.answered = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the answer took, or has taken so far."""
        return (self.answered or time.monotonic()) - self.since

    def outcome(self, timeout: float) -> SendOutcome | None:
        """Return the result, waiting up to `timeout` seconds; None while it is in flight."""
        if self.future is None:
            time.sleep(timeout)
            return None
        if not self.future.is_done and not self.future.wait(timeout):
            return None
        if self.future.failed():
            return SendOutcome(error=self.future.exception)
        offset, _, failure = self.future.value
        return SendOutcome(error=failure(0)) if failure is not None else SendOutcome(offset if offset >= 0 else None)


def split_into_batches(run: PartitionRecords, batch_bytes: int) -> Iterator[RecordBatch]:
    """Cut records into batches whose record batch, uncompressed, stays within `batch_bytes`."""
    rows = run.records
    keys, values = sizes(rows.key), sizes(rows.value)
    total = np.concatenate([[0], np.cumsum(keys + values + RECORD_OVERHEAD)])
    plain = np.concatenate([[0], np.cumsum(keys + values)])
    start = 0
    while start < len(keys):
        end = int(np.searchsorted(total, total[start] + batch_bytes - BATCH_HEADER, "right")) - 1
        end = max(end, start + 1)
        size = int(plain[end] - plain[start])
        columns = rows.key[start:end], rows.value[start:end], rows.commit_ts[start:end]
        yield RecordBatch(run.topic, run.partition, *columns, size)
        start = end


def failed_future(error: BaseException) -> library.Future:
    return library.Future().failure(error)


TOO_LARGE = (library.MessageSizeTooLargeError, library.RecordListTooLargeError)

REFUSED = (library.AuthorizationError, library.SaslAuthenticationFailedError)

PERMANENT_ERRORS = (
    *REFUSED,
    library.InvalidRecordError,
    library.InvalidTimestampError,
    library.InvalidTopicError,
    library.UnsupportedCompressionTypeError,
)
"""Errors for which sending again does not help."""


def retry_batches(batch: RecordBatch, error: BaseException | None, limit: int | None) -> list[RecordBatch] | str:
    """Return the batches to send instead, or the reason why there are none.

    `limit` is the topics' max.message.bytes if known.
    """
    if isinstance(error, TOO_LARGE):
        half = len(batch.values) // 2
        return [batch.part(0, half), batch.part(half, len(batch.values))] if half else _too_large(batch, limit)
    if isinstance(error, PERMANENT_ERRORS) or isinstance(error, AbortedBatch) and isinstance(error.cause, REFUSED):
        return reason(error)
    return [batch]


def _too_large(batch: RecordBatch, limit: int | None) -> str:
    takes = "Kafka takes" if limit is None else f"the {counted(limit, 'byte')} that Kafka takes"
    size = f"{counted(batch.size, 'byte')}, and {BATCH_HEADER} or more around it,"
    return f"a message of {size} is larger than {takes} (max.message.bytes of the topic)"

"""What is on its way to Kafka: pieces of one partition's records, what became of them, and what to do about a piece
that Kafka did not take: send it again, in halves, or never."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simulator.sinks.kafka.connect import reason
from simulator.sinks.kafka.library import (
    AuthorizationError,
    Future,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    SaslAuthenticationFailedError,
    UnsupportedCompressionTypeError,
)
from simulator.sinks.records import PartitionRecords, sizes

BATCH_HEADER = 61
"""Bytes of a record batch before its first record (magic 2)."""

RECORD_OVERHEAD = 31
"""More than a record's own length, attributes, deltas and lengths can take."""


class Interrupted(KafkaError):  # type: ignore[misc]
    """A batch that was given up because of another one's failure, `cause`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class Piece:
    """Records of one partition that are sent together, at most a batch's bytes unless it is a single record."""

    topic: int
    partition: int
    keys: pa.Array
    values: pa.Array
    commit_ts: pa.Array
    size: int
    """bytes of keys and values"""

    @property
    def place(self) -> tuple[int, int]:
        """Its partition among the run's."""
        return self.topic, self.partition

    def part(self, start: int, end: int) -> Piece:
        """Records `start` up to `end`."""
        keys, values = self.keys[start:end], self.values[start:end]
        size = int(sizes(keys).sum() + sizes(values).sum())
        return Piece(self.topic, self.partition, keys, values, self.commit_ts[start:end], size)


@dataclass(frozen=True)
class Outcome:
    """What became of a piece: how many of its first records are acknowledged, and why not the rest."""

    records: int
    offset: int | None
    """of the first"""

    error: BaseException | None = None


@dataclass
class Answer:
    """When Kafka answered, written down in the producer's own thread; 0 where it has not."""

    at: float = 0.0

    def come(self, _: object) -> None:
        self.at = time.monotonic()


@dataclass(frozen=True)
class Flight:
    """A piece that was handed to a producer."""

    piece: Piece
    futures: list[Future]
    since: float = field(default_factory=time.monotonic)
    """when it was first handed over, to whichever producer"""

    answer: Answer = field(default_factory=Answer)
    """to the last of the futures"""

    @property
    def seconds(self) -> float:
        """How long the answer took, or has taken so far."""
        return (self.answer.at or time.monotonic()) - self.since


def pieces(run: PartitionRecords, batch_bytes: int) -> Iterator[Piece]:
    """Cuts a run into pieces whose record batch, uncompressed, stays within `batch_bytes`."""
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
        yield Piece(run.topic, run.partition, *columns, size)
        start = end


def failed(error: BaseException) -> Future:
    """A future that has failed already."""
    return Future().failure(error)


TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)

REFUSED = (AuthorizationError, SaslAuthenticationFailedError)

HOPELESS = (*REFUSED, InvalidRecordError, InvalidTimestampError, InvalidTopicError, UnsupportedCompressionTypeError)
"""Sending again does not help."""


def remedy(piece: Piece, error: BaseException | None, limit: int | None, own: bool) -> list[Piece] | str:
    """The pieces to send in its place, or why there is no use.

    `limit` is the topics' max.message.bytes where known. `own` says that the error is the piece's own for sure: a plain
    kafka-python producer fails what waits beside a message too large with the same error.
    """
    if isinstance(error, TOO_LARGE):
        half = len(piece.values) // 2
        if half:
            return [piece.part(0, half), piece.part(half, len(piece.values))]
        if own or limit is None or piece.size + BATCH_HEADER + RECORD_OVERHEAD > limit:
            return _too_large(piece, limit)
    if isinstance(error, HOPELESS) or isinstance(error, Interrupted) and isinstance(error.cause, REFUSED):
        return reason(error)
    return [piece]


def _too_large(piece: Piece, limit: int | None) -> str:
    takes = "Kafka takes" if limit is None else f"the {limit} bytes that Kafka takes"
    size = f"{piece.size} bytes, and {BATCH_HEADER} or more around it,"
    return f"a message of {size} is larger than {takes} (max.message.bytes of the topic)"

"""What is on its way to Kafka: pieces of one partition's records, and what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from kafka.errors import KafkaError
from kafka.future import Future

from simulator.sinks.records import Run, sizes

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


@dataclass(frozen=True)
class Flight:
    """A piece that was handed to a producer."""

    piece: Piece
    futures: list[Future]
    since: float = field(default_factory=time.monotonic)
    """when it was first handed over, to whichever producer"""


def pieces(run: Run, batch_bytes: int) -> Iterator[Piece]:
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

"""Input and output of sinks: records as Arrow columns, a delivery report for each partition, and latencies.

A sink keeps the order of records in each partition and reports what it did not deliver.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import DeliveryError

INDEX_ONLY, CUT_SHORT = 1, 2
"""What may happen to a file of rows: its index is there and it is not, or it ends in the middle of its last row."""

GROWTH = 1.0833
MICROSECOND = 1e-6
"""Latencies are counted in buckets: one ends a twelfth later than the one before it, and the first begins at a microsecond."""


@dataclass(frozen=True)
class Record:
    """A Kafka record with its location."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970."""

    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Records:
    """Kafka records of any number of partitions, each partition's in order; all arrays have the same length."""

    topic: pa.Array
    """int32: index into the run's topics"""

    partition: pa.Array
    """int32"""

    key: pa.Array
    """binary, null for a record without key"""

    value: pa.Array
    """binary, null for a record without value"""

    commit_ts: pa.Array
    """int64: the last TSO in the record"""

    events: pa.Array | None = None
    """string: JSON text of the list of decoded events, for sinks that people read."""

    table: pa.Array | None = None
    """int32, in a storage alone: index into the run's physical tables; -1 for a file that is no row, whose path is the
    key."""

    file_fault: pa.Array | None = None
    """int8, in a storage alone: what happens to the file of each row, 0 for nothing."""


@dataclass(frozen=True)
class DeliveryReport:
    """The delivery of one partition's records by one sink."""

    topic: int
    partition: int
    records: int
    """Records that Kafka acknowledged or that are in the file."""

    bytes: int
    """Bytes of their keys and values."""

    first_offset: int | None
    """Offset of the first one; None if nothing was delivered, or if Kafka gave no acknowledgement (required-acks=0)."""

    commit_ts: int | None
    """The commit-ts of the last one delivered."""

    error: str | None = None
    """Why the rest was not delivered, one line; None if everything was."""


WaitListener = Callable[[float, float], None]
"""Called from time to time while a sink waits for acknowledgements, with the start of the silence and the time of
giving up, in seconds since 1970."""


def ignore_waiting(since: float, until: float) -> None:
    """A WaitListener that does nothing."""


class Sink(Protocol):
    """A destination of records. One sink serves one task, which owns its partitions from start to end."""

    @property
    def failed(self) -> bool:
        """Whether a partition has failed: the caller may stop and call `close`, which returns the reason."""

    @property
    def in_flight(self) -> int:
        """Bytes that were written and not acknowledged."""

    @property
    def resent(self) -> int:
        """Records that were sent to Kafka again."""

    def latencies(self) -> Latencies:
        """Return the latencies of acknowledgements since the last call; none for a sink without acknowledgements."""

    def write(self, records: Records) -> None:
        """Accept the records, and wait while too much is in flight; raises no errors of Kafka or the disk."""

    def drain(self) -> None:
        """Wait until everything written is delivered, or a partition has failed."""

    def accounts(self) -> list[DeliveryReport]:
        """Return what has been delivered so far, for progress."""

    def close(self) -> list[DeliveryReport]:
        """Deliver the rest and return a report for every partition that was written to."""


@dataclass(frozen=True)
class Latencies:
    """Numbers of records by the time until their acknowledgement.

    The sum of partial counts equals the count of the whole, in any order and on any machine. Quantiles are at most one
    bucket too large.
    """

    counts: tuple[tuple[int, int], ...] = ()
    """(bucket, records), ascending: a bucket begins at 1.0833 ** bucket microseconds."""

    longest: float = 0.0
    """The longest latency in seconds."""

    @staticmethod
    def of(seconds: Sequence[float], records: Sequence[int]) -> Latencies:
        """Return the counts of these latencies, each of that many records."""
        recorder = LatencyRecorder()
        for latency, count in zip(seconds, records, strict=True):
            recorder.add(latency, count)
        return recorder.take()

    @staticmethod
    def total(parts: Iterable[Latencies]) -> Latencies:
        counts: Counter[int] = Counter()
        longest = 0.0
        for part in parts:
            counts.update(dict(part.counts))
            longest = max(longest, part.longest)
        return Latencies(tuple(sorted(counts.items())), longest)

    def __add__(self, other: Latencies) -> Latencies:
        return Latencies.total((self, other))

    @property
    def records(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def seconds(self) -> float:
        """The sum of all latencies, by the ends of their buckets."""
        return sum(min(_seconds(bucket + 1), self.longest) * count for bucket, count in self.counts)

    def quantile(self, share: float) -> float:
        """Return within how many seconds that share of the records was acknowledged; 0 without records."""
        return self.quantiles([share])[0]

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return `quantile` of several shares."""
        if not self.counts:
            return [0.0 for _ in shares]
        cumulative = np.cumsum([count for _, count in self.counts])
        positions = np.searchsorted(cumulative, [max(1, math.ceil(share * cumulative[-1])) for share in shares])
        return [min(_seconds(self.counts[position][0] + 1), self.longest) for position in positions.tolist()]

    def within(self, seconds: float) -> int:
        """Return how many records took no longer, by the bucket of that time."""
        last = _bucket(seconds)
        return sum(count for bucket, count in self.counts if bucket < last) if self.longest > seconds else self.records


class LatencyRecorder:
    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._longest = 0.0

    def add(self, seconds: float, records: int) -> None:
        """Record that this many records were acknowledged after that time."""
        self._counts[_bucket(seconds)] += records
        self._longest = max(self._longest, seconds)

    def take(self) -> Latencies:
        """Return the latencies recorded since the last call."""
        latencies = Latencies(tuple(sorted(self._counts.items())), self._longest)
        self._counts, self._longest = Counter(), 0.0
        return latencies


def _bucket(seconds: float) -> int:
    return int(math.log(max(seconds / MICROSECOND, 1.0)) / math.log(GROWTH))


def _seconds(bucket: int) -> float:
    return float(GROWTH**bucket * MICROSECOND)


@dataclass(frozen=True)
class PartitionRecords:
    """The records of one partition in a `write`, in order."""

    topic: int
    partition: int
    records: Records


def by_partition(records: Records) -> Iterator[PartitionRecords]:
    """Yield the records of each (topic, partition), in order."""
    positions_of_partitions = list(positions_by_partition(records))
    ordered = (
        take(records, pa.array(np.concatenate([places for *_, places in positions_of_partitions])))
        if len(positions_of_partitions) > 1
        else records
    )
    start = 0
    for topic, partition, places in positions_of_partitions:
        yield PartitionRecords(topic, partition, part(ordered, start, len(places)))
        start += len(places)


def positions_by_partition(records: Records) -> Iterator[tuple[int, int, npt.NDArray[np.int64]]]:
    """Yield topic, partition, and the positions of that partition's records, in order."""
    topic, partition = _ints(records.topic), _ints(records.partition)
    code = topic.astype(np.int64) << 32 | partition
    if len(code) and (code == code[0]).all():
        yield int(topic[0]), int(partition[0]), np.arange(len(code))
        return
    order = np.argsort(code, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        if len(places):
            yield int(topic[places[0]]), int(partition[places[0]]), places


def take(records: Records, indices: pa.Array) -> Records:
    """Return the records at these positions."""
    return _each(records, lambda column: pc.take(column, indices))


def part(records: Records, offset: int, length: int) -> Records:
    """Return records `offset` to `offset + length`, without copying them."""
    return _each(records, lambda column: column.slice(offset, length))


def sizes(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return the bytes of each entry, 0 for a null."""
    lengths = pc.binary_length(column)
    return np.asarray(lengths.fill_null(0) if lengths.null_count else lengths, dtype=np.int64)


def report_cut_off(delivered: Iterable[DeliveryReport], topics: Sequence[str]) -> list[DeliveryReport]:
    """Return the reports of a sink that was stopped because a partition of its task, or another task, failed.

    Its other partitions are reported as incomplete.
    """

    def text(account: DeliveryReport) -> str:
        where = f"topic {topics[account.topic]} partition {account.partition}"
        why = "nothing more was sent, since another partition failed"
        return f"{where}: not delivered after commit_ts {account.commit_ts}: {why}"

    return [replace(account, error=account.error or text(account)) for account in delivered]


def require_delivered(delivered: Iterable[DeliveryReport]) -> None:
    """Raise DeliveryError, one line for each partition that did not get everything."""
    lost = [account for account in delivered if account.error]
    if lost:
        lost.sort(key=lambda account: (account.topic, account.partition))
        raise DeliveryError(*(str(account.error) for account in lost))


def _each(records: Records, change: Callable[[pa.Array], pa.Array]) -> Records:
    return Records(*(None if column is None else change(column) for column in vars(records).values()))


def _ints(column: pa.Array) -> npt.NDArray[np.int32]:
    return np.asarray(column, dtype=np.int32)


@dataclass
class PartitionCounter:
    """The delivery counts of one partition."""

    topic: int
    partition: int
    records: int = 0
    bytes: int = 0
    first_offset: int | None = None
    commit_ts: int | None = None
    error: str | None = None
    next_offset: int | None = None

    def delivered(self, records: int, size: int, offset: int | None, commit_ts: int) -> None:
        """Count records that were delivered; `offset` is the first one's, None if unknown."""
        if offset is not None:
            self.first_offset = offset if self.first_offset is None else self.first_offset
            self.next_offset = offset + records
        self.records += records
        self.bytes += size
        self.commit_ts = commit_ts

    def account(self) -> DeliveryReport:
        """Return the report so far."""
        return DeliveryReport(**{field.name: getattr(self, field.name) for field in fields(DeliveryReport)})


class PartitionCounters:
    """The counters of all partitions of a sink, created on first use."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], PartitionCounter] = {}

    def __getitem__(self, place: tuple[int, int]) -> PartitionCounter:
        return self._of.setdefault(place, PartitionCounter(*place))

    @property
    def failed(self) -> bool:
        """Whether any partition has an error."""
        return any(tally.error is not None for tally in self._of.values())

    def accounts(self) -> list[DeliveryReport]:
        """Return the reports in order of topic and partition."""
        return [self._of[place].account() for place in sorted(self._of)]


class CountedSink:
    """A sink that counts what it delivers; nothing is sent again, and there are no acknowledgements."""

    resent = 0

    def __init__(self) -> None:
        self._counters = PartitionCounters()

    @property
    def failed(self) -> bool:
        return self._counters.failed

    def latencies(self) -> Latencies:
        return Latencies()

    def drain(self) -> None:
        pass

    def accounts(self) -> list[DeliveryReport]:
        return self._counters.accounts()

    def close(self) -> list[DeliveryReport]:
        self.drain()
        return self._counters.accounts()

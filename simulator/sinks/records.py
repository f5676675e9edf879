"""What a sink is given and what it gives back: Arrow columns in, one account per partition out.

One law: a sink keeps the order of the records of each partition, and what it did not deliver it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import DeliveryError
from simulator.sinks.latencies import Latencies


@dataclass(frozen=True)
class Records:
    """Kafka records of any number of partitions, each partition's in order; all arrays are equally long."""

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
    """string: JSON text of the list of decoded events, for sinks that people read"""


@dataclass(frozen=True)
class Delivered:
    """What became of the records of one partition in one sink."""

    topic: int
    partition: int
    records: int
    """delivered, that is acknowledged by Kafka or written to the file"""

    bytes: int
    """of their keys and values"""

    first_offset: int | None
    """of the first one; None where nothing was delivered, or where Kafka gave no acknowledgement (required-acks=0)"""

    commit_ts: int | None
    """of the last one delivered"""

    error: str | None = None
    """why the rest was not delivered, one line; None where everything was"""


Waiting = Callable[[float, float], None]
"""Told by a sink now and then while it waits for acknowledgements: since when there are none, and until when it waits,
in seconds since 1970."""


def unwatched(since: float, until: float) -> None:
    """For sinks that nobody watches."""


class Sink(Protocol):
    """Where records go. One sink serves one task, which owns its partitions from start to end."""

    @property
    def failed(self) -> bool:
        """Whether a partition lost its way: the caller may stop and call `close`, which says why."""

    @property
    def in_flight(self) -> int:
        """Bytes that were written and not acknowledged."""

    @property
    def resent(self) -> int:
        """Records that had to be given to Kafka again."""

    def latencies(self) -> Latencies:
        """How long acknowledgements took that came since this was last asked; of none where nobody waits for them."""

    def write(self, records: Records) -> None:
        """Takes the records, waiting while too much is in flight; raises nothing of Kafka's or the disk's."""

    def drain(self) -> None:
        """Waits until all that was written is delivered, or some partition has lost its way."""

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far, for progress."""

    def close(self) -> list[Delivered]:
        """Delivers what is left and accounts for every partition that was written to."""


@dataclass(frozen=True)
class PartitionRecords:
    """The records of one partition among those of a `write`, in order."""

    topic: int
    partition: int
    records: Records


def by_partition(records: Records) -> Iterator[PartitionRecords]:
    """Splits records into one run per (topic, partition), keeping the order inside each."""
    found = list(places_by_partition(records))
    ordered = take(records, pa.array(np.concatenate([places for *_, places in found]))) if len(found) > 1 else records
    start = 0
    for topic, partition, places in found:
        yield PartitionRecords(topic, partition, part(ordered, start, len(places)))
        start += len(places)


def places_by_partition(records: Records) -> Iterator[tuple[int, int, npt.NDArray[np.int64]]]:
    """Topic, partition, and the places of that partition's records, in order."""
    topic, partition = _ints(records.topic), _ints(records.partition)
    code = topic.astype(np.int64) << 32 | partition
    order = np.argsort(code, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        if len(places):
            yield int(topic[places[0]]), int(partition[places[0]]), places


def take(records: Records, indices: pa.Array) -> Records:
    """The records at those places."""
    return Records(*(column if column is None else pc.take(column, indices) for column in _columns(records)))


def part(records: Records, offset: int, length: int) -> Records:
    """Records `offset` up to `offset + length`, without copying them."""
    return Records(*(column if column is None else column.slice(offset, length) for column in _columns(records)))


def sizes(column: pa.Array) -> npt.NDArray[np.int64]:
    """Bytes of each entry, 0 for a null."""
    return np.asarray(pc.binary_length(column).fill_null(0), dtype=np.int64)


def cut_off(delivered: Iterable[Delivered], topics: Sequence[str]) -> list[Delivered]:
    """The accounts of a sink that was given no more, since a partition of its task, or another task, had failed: the
    others end early, too."""
    why = "nothing more was sent, since another partition failed"
    return [
        account
        if account.error is not None
        else replace(
            account,
            error=(
                f"topic {topics[account.topic]} partition {account.partition}: "
                f"not delivered after commit_ts {account.commit_ts}: {why}"
            ),
        )
        for account in delivered
    ]


def require_delivered(delivered: Iterable[Delivered]) -> None:
    """Raises DeliveryError, one line for each partition that did not get everything."""
    lost = [account for account in delivered if account.error]
    if lost:
        lost.sort(key=lambda account: (account.topic, account.partition))
        raise DeliveryError(*(str(account.error) for account in lost))


def _columns(records: Records) -> tuple[pa.Array | None, ...]:
    return records.topic, records.partition, records.key, records.value, records.commit_ts, records.events


def _ints(column: pa.Array) -> npt.NDArray[np.int32]:
    return np.asarray(column, dtype=np.int32)


class Tally:
    """Counts what one partition was given and what of it was delivered, in order."""

    def __init__(self, topic: int, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.records = 0
        self.bytes = 0
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self.commit_ts: int | None = None
        self.error: str | None = None

    def delivered(self, records: int, size: int, offset: int | None, commit_ts: int) -> None:
        """Adds records that arrived; `offset` is the first one's, None where unknown."""
        if offset is not None:
            self.first_offset = offset if self.first_offset is None else self.first_offset
            self.next_offset = offset + records
        self.records += records
        self.bytes += size
        self.commit_ts = commit_ts

    def account(self) -> Delivered:
        """The account as it stands."""
        return Delivered(
            self.topic, self.partition, self.records, self.bytes, self.first_offset, self.commit_ts, self.error
        )


class Tallies:
    """The accounts of all partitions of a sink, made when first asked for."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], Tally] = {}

    def __getitem__(self, place: tuple[int, int]) -> Tally:
        return self._of.setdefault(place, Tally(*place))

    @property
    def failed(self) -> bool:
        """Whether any partition has an error."""
        return any(tally.error is not None for tally in self._of.values())

    def accounts(self) -> list[Delivered]:
        """In order of topic and partition."""
        return [self._of[place].account() for place in sorted(self._of)]

"""The dispatch hash and the partition of rows, for whole columns, and the numbering of partitions in a run.

`Route` has everything that depends on the table alone.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator import limits
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import Crcs, crc32
from simulator.errors import UserError
from simulator.limits import counted
from simulator.ticdc import table_info
from simulator.ticdc.dispatch import Route
from simulator.ticdc.dispatch.dispatchers import KEY, NULL, ROW_ID, SINGLE_COLUMN, TS, Hashing, json_texts, value_bytes
from simulator.ticdc.mounter import has_zone, to_local
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Column, Table
from simulator.tso import FOREVER


def dispatch_hashes(route: Route, table: Table, texts: table_info.Texts, rows: int | None = None) -> Crcs:
    """Return the dispatch hash of rows, given as TiDB texts by column, in UTC: the new row, for a DELETE the old one.

    `rows` is the number of rows; by default it is taken from the first column.
    """
    columns = {column.name: column for column in table.columns}

    def in_zone(name: str) -> pa.Array:
        return to_local(texts[name], route.time_zone) if has_zone(columns[name].type) else texts[name]

    if route.dispatcher == SINGLE_COLUMN:
        ((_, only),) = route.hashed
        return crc32(json_texts(columns[only], value_bytes(columns[only], in_zone(only), route.hashing)))
    hashed = np.full(len(next(iter(texts.values()))) if rows is None else rows, table_hash(table), np.uint32)
    for name, source in route.hashed:
        hashed ^= (
            _column_hash(name, columns[source], in_zone(source), route.hashing)
            if source
            else _null_hash(name, route.hashing)
        )
    return hashed


def table_hash(table: Table) -> int:
    """Return the dispatch hash of a row without columns."""
    return zlib.crc32(table.schema.encode() + table.name.encode())


def _null_hash(name: str, hashing: Hashing) -> np.uint32:
    return np.uint32(zlib.crc32(name.encode() + NULL) if hashing.nulls else 0)


def _column_hash(name: str, column: Column, texts: pa.Array, hashing: Hashing) -> Crcs:
    values = value_bytes(column, texts, hashing)
    added = crc32(values, name.encode())
    if values.null_count:
        added = np.where(values.is_null().to_numpy(zero_copy_only=False), _null_hash(name, hashing), added)
    return added


def choose_partitions(route: Route, hashes: Crcs, commit_ts: Ints, row_ids: pa.Array, n: int | Ints) -> Ints:
    """Return the partitions of rows among `n`, which may differ from row to row."""
    if route.dispatcher == KEY:
        return np.zeros(len(hashes), np.int64)
    if route.dispatcher == ROW_ID:
        bits: npt.NDArray[np.uint64] = pc.fill_null(row_ids, 0).to_numpy().view(np.uint64)
        return (bits % np.asarray(n, np.uint64)).astype(np.int64)
    numbers: Ints = (commit_ts if route.dispatcher == TS else hashes.astype(np.int64)) % n
    return numbers


def follows_from_handle(route: Route, table: Table, is_row_id: bool = False) -> bool:
    """Return whether handle and commit-ts determine a row's partition: a change does not move it. `is_row_id` is whether
    the handle is a `_tidb_rowid`, of which no column follows."""
    if route.dispatcher == ROW_ID:
        return is_row_id or bool(handle_key(table))
    known = frozenset[str]() if is_row_id else table_info.columns_known_by_handle(table)
    return {source for _, source in route.hashed if source} <= known


def follows_from_time(route: Route) -> bool:
    """Return whether the commit-ts decides on a row's partition."""
    return route.dispatcher == TS


@dataclass(frozen=True)
class TopicGrowth:
    """An increase of a topic's partitions.

    TiCDC asks Kafka every ten minutes for the number of partitions of every topic except the default one, of which it
    uses partition-num, read when a changefeed starts or resumes (tiflow v8.5.3:
    cdc/sink/dmlsink/mq/manager/kafka_manager.go fetchAllTopicsPartitionsNum).
    """

    topic: str
    commit_ts: int
    """Rows with a larger commit-ts are hashed over all partitions."""

    partitions: int


@dataclass(frozen=True)
class Destinations:
    """The Kafka partitions of a run. A destination numbers a partition through all topics; one task owns it."""

    topics: tuple[str, ...]
    counts: tuple[int, ...]
    """Final number of partitions of each topic."""

    active: tuple[tuple[int, int], ...] = ()
    """First and last TSO of each topic's watermarks; if empty, all topics always have watermarks."""

    grown: tuple[TopicGrowth, ...] = ()
    """The increases, in the order of time."""

    begins: tuple[int, ...] = ()
    """Number of partitions of each topic before it grows; empty if none does."""

    def __post_init__(self) -> None:
        """Raise UserError for too many partitions."""
        for topic, count in zip(self.topics, self.counts, strict=True):
            limits.check_partitions(topic, count)
        if self.total > limits.ALL_PARTITIONS:
            raise UserError(
                f"{len(self.topics):,} topics with {self.total:,} partitions in all: at most "
                f"{limits.ALL_PARTITIONS:,} are accepted"
            )

    @staticmethod
    def growing(
        topics: tuple[str, ...],
        begins: tuple[int, ...],
        active: tuple[tuple[int, int], ...],
        grown: tuple[TopicGrowth, ...],
    ) -> Destinations:
        """Return topics with that many partitions before any grows; raise UserError for one that does not grow."""
        counts = dict(zip(topics, begins, strict=True))
        for growth in grown:
            if growth.topic not in counts:
                raise UserError(f"add-partitions: no topic {growth.topic!r}: the run has {', '.join(counts)}")
            if growth.partitions <= counts[growth.topic]:
                raise UserError(
                    f"add-partitions: topic {growth.topic} has {counted(counts[growth.topic], 'partition')}, which do not become "
                    f"{growth.partitions}: a larger number is accepted"
                )
            counts[growth.topic] = growth.partitions
        return Destinations(topics, tuple(counts.values()), active, grown, begins if grown else ())

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The destination of partition 0 of each topic."""
        return tuple(accumulate((0, *self.counts)))[:-1]

    @property
    def total(self) -> int:
        return sum(self.counts)

    def of_topic(self, name: str, commit_ts: int | None = None) -> range:
        """Return all destinations of a topic, or those that it has at that time."""
        topic = self._places[name]
        count = self.counts[topic]
        if commit_ts is not None:
            count = int(np.max(self.counted(name, np.array([commit_ts], np.int64))))
        return range(self.first[topic], self.first[topic] + count)

    def counted(self, name: str, commit_ts: Ints) -> int | Ints:
        """Return the number of partitions of a topic at each time."""
        topic = self._places[name]
        growths = [growth for growth in self.grown if growth.topic == name]
        if not growths:
            return self.counts[topic]
        counts = np.array([self.begins[topic], *(growth.partitions for growth in growths)], np.int64)
        counts_then: Ints = counts[np.searchsorted([growth.commit_ts for growth in growths], commit_ts)]
        return counts_then

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.topics)}

    @property
    def watermarked(self) -> list[tuple[int, int]]:
        """First and last TSO of each destination's watermarks."""
        spans = self.active or ((0, FOREVER),) * len(self.counts)
        watermark_spans = [span for span, count in zip(spans, self.counts, strict=True) for _ in range(count)]
        for growth in reversed(self.grown):
            old = self.of_topic(growth.topic, growth.commit_ts)
            for destination in range(old.stop, old.start + growth.partitions):
                since, until = watermark_spans[destination]
                watermark_spans[destination] = max(since, growth.commit_ts), until
        return watermark_spans

    def where(self, destination: int) -> tuple[int, int]:
        """Return the topic's index and the partition."""
        topic = bisect_right(self.first, destination) - 1
        return topic, destination - self.first[topic]

"""The dispatch hash and the partition of rows, for whole columns, and the numbers that partitions have in a run.

One law: everything that a table decides is in its `Route`; what is left is one hash a row.
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

from simulator.columns.change_frame import Ints
from simulator.columns.hashing import Crcs, crc32
from simulator.errors import UserError
from simulator.ticdc import key_bytes
from simulator.ticdc.dispatch.dispatchers import KEY, ROW_ID, SINGLE_COLUMN, TS
from simulator.ticdc.dispatch.hashing import NULL, Hashing, json_texts, value_bytes
from simulator.ticdc.dispatch.routing import Route
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Column, Table
from simulator.tso import FOREVER


def hashes(route: Route, table: Table, texts: key_bytes.Texts, rows: int | None = None) -> Crcs:
    """The dispatch hash of rows, their TiDB texts by column: the new row, or of a DELETE the old one.

    Without the number of rows, the first column is asked for it.
    """
    columns = {column.name: column for column in table.columns}
    if route.dispatcher == SINGLE_COLUMN:
        ((_, only),) = route.hashed
        return crc32(json_texts(columns[only], value_bytes(columns[only], texts[only], route.hashing)))
    named = zlib.crc32(table.schema.encode() + table.name.encode())
    found = np.full(len(next(iter(texts.values()))) if rows is None else rows, named, np.uint32)
    for name, source in route.hashed:
        found ^= _written(name, columns[source], texts[source], route.hashing) if source else _null(name, route.hashing)
    return found


def _null(name: str, hashing: Hashing) -> np.uint32:
    """What a NULL adds to the hash."""
    return np.uint32(zlib.crc32(name.encode() + NULL) if hashing.nulls else 0)


def _written(name: str, column: Column, texts: pa.Array, hashing: Hashing) -> Crcs:
    """What a column's name and values add to the hash."""
    values = value_bytes(column, texts, hashing)
    added = crc32(values, name.encode())
    if values.null_count:
        added = np.where(values.is_null().to_numpy(zero_copy_only=False), _null(name, hashing), added)
    return added


def partitions(route: Route, hashes: Crcs, commit_ts: Ints, row_ids: pa.Array, n: int | Ints) -> Ints:
    """The partitions of rows among `n`, which may be another number for each."""
    if route.dispatcher == KEY:
        return np.zeros(len(hashes), np.int64)
    if route.dispatcher == ROW_ID:
        bits: npt.NDArray[np.uint64] = pc.fill_null(row_ids, 0).to_numpy().view(np.uint64)
        return (bits % np.asarray(n, np.uint64)).astype(np.int64)
    found: Ints = (commit_ts if route.dispatcher == TS else hashes.astype(np.int64)) % n
    return found


def known_when_read(route: Route, table: Table) -> bool:
    """Whether the handle and the commit-ts say where a row goes, so that it goes there before and after a change."""
    if route.dispatcher == ROW_ID:
        return bool(handle_key(table))
    return {source for _, source in route.hashed if source} <= key_bytes.columns_known_by_handle(table)


@dataclass(frozen=True)
class Growth:
    """A topic that gets more partitions. TiCDC asks Kafka every ten minutes how many other topics than the default one
    have; of that it takes as many as partition-num says, which a changefeed reads when it starts or goes on (tiflow
    v8.5.3: cdc/sink/dmlsink/mq/manager/kafka_manager.go fetchAllTopicsPartitionsNum)."""

    topic: str
    commit_ts: int
    """Rows above it are hashed over all partitions."""

    partitions: int


@dataclass(frozen=True)
class Destinations:
    """The Kafka partitions of a run: a destination is one of them, numbered through all topics, and one task owns it
    from start to end."""

    topics: tuple[str, ...]
    counts: tuple[int, ...]
    """Partitions of each topic, in the end."""

    active: tuple[tuple[int, int], ...] = ()
    """From which to which TSO each topic has watermarks; always, where nothing is said."""

    grown: tuple[Growth, ...] = ()
    """In the order of time."""

    begins: tuple[int, ...] = ()
    """Partitions of each topic before it grows; empty where none does."""

    @staticmethod
    def growing(
        topics: tuple[str, ...], begins: tuple[int, ...], active: tuple[tuple[int, int], ...], grown: tuple[Growth, ...]
    ) -> Destinations:
        """Topics that have so many partitions before any grows; raises UserError for one that does not become more."""
        counts = dict(zip(topics, begins, strict=True))
        for growth in grown:
            if growth.topic not in counts:
                raise UserError(f"add-partitions: no topic {growth.topic!r}: the run has {', '.join(counts)}")
            if growth.partitions <= counts[growth.topic]:
                raise UserError(
                    f"add-partitions: topic {growth.topic} has {counts[growth.topic]} partitions, which do not become "
                    f"{growth.partitions}: a larger number is accepted"
                )
            counts[growth.topic] = growth.partitions
        return Destinations(topics, tuple(counts.values()), active, grown, begins if grown else ())

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The destination that partition 0 of each topic is."""
        return tuple(accumulate((0, *self.counts)))[:-1]

    @property
    def total(self) -> int:
        return sum(self.counts)

    def of_topic(self, name: str, commit_ts: int | None = None) -> range:
        """All destinations of a topic, or those that it has at that time."""
        topic = self._places[name]
        count = self.counts[topic]
        if commit_ts is not None:
            count = int(np.max(self.counted(name, np.array([commit_ts], np.int64))))
        return range(self.first[topic], self.first[topic] + count)

    def counted(self, name: str, commit_ts: Ints) -> int | Ints:
        """How many partitions a topic has at each time."""
        topic = self._places[name]
        mine = [growth for growth in self.grown if growth.topic == name]
        if not mine:
            return self.counts[topic]
        counts = np.array([self.begins[topic], *(growth.partitions for growth in mine)], np.int64)
        found: Ints = counts[np.searchsorted([growth.commit_ts for growth in mine], commit_ts)]
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.topics)}

    @property
    def watermarked(self) -> list[tuple[int, int]]:
        """From which to which TSO each destination has watermarks."""
        spans = self.active or ((0, FOREVER),) * len(self.counts)
        found = [span for span, count in zip(spans, self.counts, strict=True) for _ in range(count)]
        for growth in reversed(self.grown):
            old = self.of_topic(growth.topic, growth.commit_ts)
            for destination in range(old.stop, old.start + growth.partitions):
                since, until = found[destination]
                found[destination] = max(since, growth.commit_ts), until
        return found

    def where(self, destination: int) -> tuple[int, int]:
        """Index of the topic, and partition."""
        topic = bisect_right(self.first, destination) - 1
        return topic, destination - self.first[topic]

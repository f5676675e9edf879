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
from simulator.ticdc import key_bytes
from simulator.ticdc.dispatch.dispatchers import KEY, ROW_ID, SINGLE_COLUMN, TS
from simulator.ticdc.dispatch.hashing import Hashing, NULL, json_texts, value_bytes
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
        (_, only), = route.hashed
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


def partitions(route: Route, hashes: Crcs, commit_ts: Ints, row_ids: pa.Array, n: int) -> Ints:
    """The partitions of rows among `n`."""
    if route.dispatcher == KEY:
        return np.zeros(len(hashes), np.int64)
    if route.dispatcher == ROW_ID:
        bits: npt.NDArray[np.uint64] = pc.fill_null(row_ids, 0).to_numpy().view(np.uint64)
        return (bits % np.uint64(n)).astype(np.int64)
    found: Ints = (commit_ts if route.dispatcher == TS else hashes.astype(np.int64)) % n
    return found


def known_when_read(route: Route, table: Table) -> bool:
    """Whether the handle and the commit-ts say where a row goes, so that it goes there before and after a change."""
    if route.dispatcher == ROW_ID:
        return bool(handle_key(table))
    return {source for _, source in route.hashed if source} <= key_bytes.known_by_handle(table)


@dataclass(frozen=True)
class Destinations:
    """The Kafka partitions of a run: a destination is one of them, numbered through all topics, and one task owns it
    from start to end."""

    topics: tuple[str, ...]
    counts: tuple[int, ...]
    """Partitions of each topic."""

    active: tuple[tuple[int, int], ...] = ()
    """From which to which TSO each topic has watermarks; always, where nothing is said."""

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The destination that partition 0 of each topic is."""
        return tuple(accumulate((0, *self.counts)))[:-1]

    @property
    def total(self) -> int:
        return sum(self.counts)

    def of_topic(self, name: str) -> range:
        """All destinations of a topic."""
        topic = self._places[name]
        return range(self.first[topic], self.first[topic] + self.counts[topic])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.topics)}

    @property
    def watermarked(self) -> list[tuple[int, int]]:
        """From which to which TSO each destination has watermarks."""
        spans = self.active or ((0, FOREVER),) * len(self.counts)
        return [span for span, count in zip(spans, self.counts, strict=True) for _ in range(count)]

    def where(self, destination: int) -> tuple[int, int]:
        """Index of the topic, and partition."""
        topic = bisect_right(self.first, destination) - 1
        return topic, destination - self.first[topic]

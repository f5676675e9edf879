"""Where rows go: the topic of a table by its expression, the partition of rows by their dispatch hash, for whole columns;
and the numbering of topics and partitions in a run.

A topic expression such as `prefix_{schema}_{table}` gives a valid name of a Kafka topic. `Route` has everything that depends
on the table alone.

Source: tiflow v8.5.3 cdc/sink/dmlsink/mq/dispatcher/topic/expression.go.
"""

from __future__ import annotations

import re
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
from simulator.errors import ChangefeedError, UserError
from simulator.limits import counted
from simulator.releases import V8_5, Release
from simulator.ticdc import table_info
from simulator.ticdc.changefeed.kafka import require_topic
from simulator.ticdc.changefeed.protocols import FALLBACK, PROTOCOLS
from simulator.ticdc.dispatch.dispatchers import (
    KEY,
    NULL,
    ROW_ID,
    SINGLE_COLUMN,
    TS,
    Hashing,
    Route,
    json_texts,
    value_bytes,
)
from simulator.ticdc.mounter import has_zone, to_local
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Column, Table
from simulator.tso import FOREVER

MAX_LENGTH = 249
"""Kafka's limit for a topic name."""

NAME = re.compile(r"[A-Za-z0-9._-]+")
EXPRESSIONS = {
    "idle": (
        re.compile(r"[A-Za-z0-9._-]*\{schema\}[A-Za-z0-9._-]*|\{schema\}_\{table\}"),
        "one {schema} among letters, digits, '.', '_', '-', or {schema}_{table}",
    ),
    "schema": (
        re.compile(r"[A-Za-z0-9._-]*\{schema\}([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*"),
        "one {schema} and then at most one {table} among letters, digits, '.', '_', '-'",
    ),
    "any": (
        re.compile(r"[A-Za-z0-9._-]*(\{schema\})?([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*"),
        "letters, digits, '.', '_', '-', one {schema} and then one {table}",
    ),
}
"""The accepted expressions and their description, by `release.topic_rules`."""

AVRO = re.compile(r"[A-Za-z0-9._-]*\{schema\}[A-Za-z0-9._-]*\{table\}[A-Za-z0-9._-]*")
FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]")
RESERVED = {".": "_", "..": "__"}
PULSAR = re.compile(
    r"(persistent|non-persistent)://[A-Za-z0-9{}._-]*/[A-Za-z0-9{}._-]*/[A-Za-z0-9{}._-]*"
    r"|[A-Za-z0-9._-]*\{schema}[A-Za-z0-9._-]*\{table}[A-Za-z0-9._-]*"
)
PULSAR_FULL = re.compile(r"(persistent|non-persistent)://")


def is_static(expression: str) -> bool:
    """Return whether the expression has no placeholders (an empty one is the default topic)."""
    return not expression or NAME.fullmatch(expression) is not None


def validate_expression(
    expression: str, protocol: str = FALLBACK.name, scheme: str = "kafka", release: Release = V8_5
) -> None:
    """Raise ChangefeedError for an expression that TiCDC rejects; an empty one is the default topic."""
    if not expression or release.topic_rules == "none":
        return
    if is_static(expression) and release.topic_rules == "any":
        if not scheme.startswith("pulsar"):
            # sent as it is written, and not substituted (dispatcher/event_router.go, getTopicDispatcher)
            require_topic(expression)
        return
    if scheme.startswith("pulsar"):
        _validate_pulsar(expression)
    elif PROTOCOLS[protocol].topics_name_tables and not AVRO.fullmatch(expression):
        raise _invalid(expression, "topic rule for Avro must contain {schema} and {table}", release)
    elif not EXPRESSIONS[release.topic_rules][0].fullmatch(expression):
        raise _invalid(expression, f"TiCDC {release.name} accepts {EXPRESSIONS[release.topic_rules][1]}", release)


def topic_name(expression: str, schema: str, table: str) -> str:
    """Return the topic of a table: characters that Kafka refuses become `_`; case is kept; at most 249 characters."""
    name = expression.replace("{schema}", FORBIDDEN.sub("_", schema)).replace("{table}", FORBIDDEN.sub("_", table))
    return RESERVED.get(name, name[:MAX_LENGTH])


def _invalid(expression: str, why: str, release: Release) -> ChangefeedError:
    code = "CDC:ErrKafkaInvalidConfig" if release.one_kafka_code else "CDC:ErrKafkaTopicExprInvalid"
    return ChangefeedError(f"invalid topic expression: {expression} : {why}", code)


def _validate_pulsar(expression: str) -> None:
    full = PULSAR_FULL.search(expression)
    if (full and not PULSAR.fullmatch(expression)) or (not full and "/" in expression):
        raise ChangefeedError(f"invalid topic expression: {expression}", "CDC:ErrPulsarTopicExprInvalid")


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

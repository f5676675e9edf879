"""Checks of a stream in memory, its partitions one after another and then across them, and a small correct stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.reader.contract import (
    CheckedPiece,
    PartitionSummary,
    Violation,
    Violations,
    joined_pieces,
    merge_violations,
)
from simulator.reader.contract.across_partitions import check_across_partitions, choose_reading, partition_count_spans
from simulator.reader.contract.checks import PartitionChecks
from simulator.reader.contract.destinations import DispatchRows, RowDestinations
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode.batches import StreamDecoder
from simulator.reader.events import RECORD_SCHEMA, Layout, record_batch
from simulator.reader.records import Record, TopicPartition
from simulator.reader.replay.stream_statements import stream_statements
from simulator.reader.replay.table_timeline import table_timeline
from simulator.reader.verify.comparison import table_definitions
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table

BATCH = 1 << 14
ALL = 1 << 20
"""More violations than anyone reads."""


def find_violations(records: Iterable[Record], spec: StreamSpec) -> Iterator[Violation]:
    """Yield every violation of points 1 to 6, by partition; those across partitions come last."""
    yield from check_records(records, spec, ALL)[0].shown


def with_definitions(spec: StreamSpec, records: Iterable[Record]) -> StreamSpec:
    """The spec with the tables before the stream's statements, which begin with its own, and behind each of them."""
    decoding = StreamDecoder(spec.protocol)
    statements = stream_statements(decoding.decoded(batch) for batch in record_batches(list(records)))
    first, later = table_definitions(table_timeline(statements, [*spec.tables.values()] or None))
    return replace(spec, tables=first, later=later)


def check_records(
    records: Iterable[Record], spec: StreamSpec, show: int = ALL, size: int = BATCH
) -> tuple[Violations, list[PartitionSummary]]:
    """Return the violations and the partition summaries; `size` records are decoded at a time."""
    parts: dict[TopicPartition, list[Record]] = {}
    for record in records:
        parts.setdefault((record.topic, record.partition), []).append(record)
    summaries = _check_partitions(parts, spec, show, size)
    if spans := partition_count_spans(summaries, spec):
        summaries = choose_reading(summaries, _check_partitions(parts, replace(spec, grown=spans), show, size))
    return merge_violations(
        [*(summary.found for summary in summaries), check_across_partitions(summaries, spec, show)], show
    ), summaries


def _check_partitions(
    parts: dict[TopicPartition, list[Record]], spec: StreamSpec, show: int, size: int
) -> list[PartitionSummary]:
    decoding = StreamDecoder(spec.protocol, spec.stored)
    summaries = []
    for place, records in parts.items():
        checks, batches = PartitionChecks(place, spec, show), list(record_batches(records, size))
        events = [decoding.decoded(batch) for batch in batches]
        for decoded, batch in zip(events, batches, strict=True):
            checks.take(decoded, decoding.layouts, batch)
        summaries.append(checks.end())
        for number in {2, 1 + len(records) // 7} - {1}:
            every = pa.concat_batches(events), pa.concat_batches(batches)
            joined = check_in_pieces(place, *every, decoding.layouts, spec, show, number)
            assert joined is None or comparable(joined) == comparable(summaries[-1])
    return summaries


def check_in_pieces(
    place: TopicPartition,
    events: pa.RecordBatch,
    records: pa.RecordBatch,
    layouts: Sequence[Layout],
    spec: StreamSpec,
    show: int,
    number: int,
) -> PartitionSummary | None:
    """The summary of a partition in so many pieces, before each of which the two before it are read; None where they do
    not fit."""
    offsets, bounds = ints(events, "offset"), np.linspace(0, len(records), number + 1).astype(int)
    at = np.searchsorted(offsets, np.append(ints(records, "offset"), offsets[-1] + 1)[bounds]).tolist()
    pieces = []
    for piece in range(number):
        checks, begin = PartitionChecks(place, spec, show), None
        if piece:
            checks.take(events.slice(at[max(piece - 2, 0)], at[piece] - at[max(piece - 2, 0)]), layouts, records)
            begin = checks.state()
            checks.begin_piece()
        checks.take(events.slice(at[piece], at[piece + 1] - at[piece]), layouts, records)
        end = checks.state()
        pieces.append(CheckedPiece(checks.end(), begin, end))
    return joined_pieces(pieces, show)


def comparable(summary: PartitionSummary) -> PartitionSummary:
    """A summary without what depends on batches: the samples, and the order of examples and counts."""
    found = summary.found
    shown = tuple(sorted(found.shown, key=lambda each: (each.offset or -1, each.check, each.what)))
    return replace(
        summary,
        found=replace(found, shown=shown),
        watermarks=summary.watermarks.tolist(),
        samples=None,  # type: ignore[arg-type]
    )


def record_batches(records: Sequence[Record], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Convert the records of a partition to batches of RECORD_SCHEMA."""
    for first in range(0, len(records), size):
        part = records[first : first + size]
        yield record_batch([getattr(record, name) for record in part] for name in RECORD_SCHEMA.names)


# A correct stream, written by hand in two protocols, for tests to break

TABLE = create_table("CREATE TABLE `orders` (`id` INT PRIMARY KEY, `name` VARCHAR(20))", "shop")
KEYLESS = create_table("CREATE TABLE `log` (`line` VARCHAR(20))", "shop")
TABLES = {("shop", "orders"): TABLE, ("shop", "log"): KEYLESS}
PARTITIONS = 3
START = 1_735_689_600_000 << 18


@dataclass(frozen=True)
class Row:
    """A change of `orders`: names before and after, None for no row."""

    ts: int
    id: int
    before: str | None
    after: str | None

    @property
    def op(self) -> str:
        return "INSERT" if self.before is None else "DELETE" if self.after is None else "UPDATE"


@dataclass(frozen=True)
class Ddl:
    ts: int
    query: str = "CREATE TABLE `orders` (`id` INT PRIMARY KEY, `name` VARCHAR(20))"
    code: int = 3
    canal: str = "CREATE"


@dataclass(frozen=True)
class Mark:
    ts: int


Event = Row | Ddl | Mark
Stream = dict[int, list[list[Event]]]
"""Partition -> messages -> events."""


def ts(second: float, logical: int = 1) -> int:
    return START + (int(second * 1000) << 18 | logical)


def good() -> Stream:
    """CREATE TABLE, then twelve inserts, watermarks each second, updates, deletes, a last watermark."""
    stream: Stream = {partition: [[Ddl(ts(0))], [Mark(ts(0))]] for partition in range(PARTITIONS)}
    changes = [Row(ts(1 + number / 100), number, None, f"name {number}") for number in range(12)]
    changes += [Row(ts(2 + number / 100), number, f"name {number}", f"new {number}") for number in range(0, 12, 2)]
    changes += [Row(ts(3 + number / 100), number, f"name {number}", None) for number in range(1, 12, 2)]
    for second in (1, 2, 3):
        for partition in range(PARTITIONS):
            part = [
                row
                for row in changes
                if row.id % PARTITIONS == partition
                and row.ts // ts(second, 0) == 1
                and ts(second, 0) < row.ts < ts(second + 1, 0)
            ]
            stream[partition].append(list(part[:2]))
            stream[partition] += [list[Event]([row]) for row in part[2:]]
            stream[partition].append([Mark(ts(second + 1, 0))])
    return stream


def records(stream: Stream, protocol: str, extension: bool = True, topic: str = "shop") -> list[Record]:
    """The stream as Kafka would hold it, partition by partition; canal-json has one event a message."""
    found = []
    for partition, messages in stream.items():
        canal = canal_messages(partition, messages, extension)
        for offset, (key, value) in enumerate(open_messages(messages) if protocol == "open-protocol" else canal):
            found.append(Record(topic, partition, offset, 0, key, value))
    return found


def stream_spec(protocol: str, extension: bool = True) -> StreamSpec:
    return StreamSpec(
        protocol=protocol,
        partitions={"shop": PARTITIONS},
        tables=TABLES,
        destination=destination,
        max_batch_size=16,
        watermarks=protocol == "open-protocol" or extension,
        ddl_in_every_partition=protocol == "open-protocol",
    )


def destination(table: Table, told: DispatchRows) -> RowDestinations:
    """The number of the row, by partitions."""
    texts = told.cells["id" if table is TABLE else "line"]
    numbers = np.array([int(text) for text in texts.to_pylist()])
    return RowDestinations("shop", lambda count: numbers % count)


def open_messages(messages: Iterable[list[Event]]) -> Iterable[tuple[bytes, bytes]]:
    for events in messages:
        keys, values = zip(*map(open_event, events), strict=True)
        yield (1).to_bytes(8, "big") + b"".join(map(framed, keys)), b"".join(map(framed, values))


def open_event(event: Event) -> tuple[str, str]:
    if isinstance(event, Mark):
        return json.dumps({"ts": event.ts, "t": 3}), ""
    head = {"ts": event.ts, "scm": "shop", "tbl": "orders"}
    if isinstance(event, Ddl):
        return json.dumps({**head, "t": 2}), json.dumps({"q": event.query, "t": event.code})
    new, old = ("d", "") if event.after is None else ("u", "p")
    value = {new: open_image(event.id, event.before if event.after is None else event.after)}
    if event.op == "UPDATE":
        value[old] = open_image(event.id, event.before)
    return json.dumps({**head, "rid": event.id, "t": 1}), json.dumps(value)


def open_image(number: int, name: str | None) -> dict[str, dict[str, object]]:
    return {"id": {"t": 3, "h": True, "f": 11, "v": number}, "name": {"t": 15, "f": 64, "v": name}}


def canal_messages(partition: int, messages: Iterable[list[Event]], extension: bool) -> Iterable[tuple[None, bytes]]:
    for event in (event for events in messages for event in events):
        if isinstance(event, Ddl) and partition or isinstance(event, Mark) and not extension:
            continue
        yield None, json.dumps(canal_event(event, extension)).encode()


def canal_event(event: Event, extension: bool) -> dict[str, object]:
    head: dict[str, object] = {"id": 0, "database": "shop", "table": "orders", "isDdl": False, "es": event.ts >> 18}
    if isinstance(event, Mark):
        return {**head, "database": "", "table": "", "type": "TIDB_WATERMARK", "_tidb": {"watermarkTs": event.ts}}
    if extension:
        head["_tidb"] = {"commitTs": event.ts}
    if isinstance(event, Ddl):
        return {**head, "isDdl": True, "type": event.canal, "sql": event.query}
    images = [None if name is None else [{"id": str(event.id), "name": name}] for name in (event.before, event.after)]
    data, old = (images[0], None) if event.after is None else (images[1], images[0])
    types = {"sqlType": {"id": 4, "name": 12}, "mysqlType": {"id": "int", "name": "varchar"}, "pkNames": ["id"]}
    return {**head, "type": event.op, **types, "data": data, "old": old}


def framed(text: str) -> bytes:
    return len(text.encode()).to_bytes(8, "big") + text.encode()


def rows_of(stream: Stream) -> list[RowPlace]:
    """Where each row is: partition, message, event, and the row."""
    return [
        (partition, number, place, event)
        for partition, messages in stream.items()
        for number, events in enumerate(messages)
        for place, event in enumerate(events)
        if isinstance(event, Row)
    ]


RowPlace = tuple[int, int, int, Row]
"""Partition, message, event, and the row."""


def without_row(where: RowPlace) -> Stream:
    """The correct stream without a row, and without a message that it leaves empty."""
    stream = good()
    partition, message, _, row = where
    stream[partition][message].remove(row)
    stream[partition] = [events for events in stream[partition] if events]
    return stream


def with_other_value(where: RowPlace, image: str) -> Stream | None:
    """The correct stream with another value in the image, `before` or `after`, of a row; None if it has no such one."""
    stream = good()
    partition, message, place, row = where
    if getattr(row, image) is None:
        return None
    changed = replace(row, before="other") if image == "before" else replace(row, after="other")
    stream[partition][message][place] = changed
    return stream

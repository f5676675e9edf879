"""Compares two recorded streams partition by partition, and what two changefeeds have written to storages.

Of storages, rows are compared as they are in files, and schema files. Which rows share a file, the number of a file and its
date follow from when files were flushed, and are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pyarrow as pa

from simulator.errors import UserError, did_you_mean
from simulator.files import PARSE_ERRORS, parse_error_reason
from simulator.limits import counted
from simulator.reader.compared_events import (
    EVERYTHING,
    IGNORABLE,
    ComparedEvent,
    Difference,
    Identities,
    differences,
    events_of,
)
from simulator.reader.decode import DECODERS, protocol_of
from simulator.reader.partitions import StreamPartition, StreamSources, partitions
from simulator.reader.records import source_schemas
from simulator.reader.storage import DataFile, FileFinding, IndexFile
from simulator.reader.storage.directory import StorageDirectory, open_directory
from simulator.reader.storage.events import CsvFormat
from simulator.reader.storage.schema_files import TableSchema
from simulator.sinks.memory import Message
from simulator.ticdc.cloud_storage import METADATA, SCHEMA_JSON


@dataclass
class StreamComparison:
    """What the comparison of two streams found."""

    messages: list[int] = field(default_factory=lambda: [0, 0])
    """Number of messages of A and of B."""

    same_bytes: int = 0
    """Messages at the beginning of partitions that are equal byte for byte."""

    differences: list[Difference] = field(default_factory=list)
    more: int = 0
    """Number of differences that are not in the list."""

    partitions: list[str] = field(default_factory=list)
    """Partitions that only one of the streams has, and commit-ts that are in another order."""

    def note(self, differences: Iterable[Difference], limit: int | None) -> None:
        """Keep differences, and count those beyond the limit."""
        for difference in differences:
            if limit is None or len(self.differences) < limit:
                self.differences.append(difference)
            else:
                self.more += 1

    @property
    def equal(self) -> bool:
        return not self.differences and not self.partitions


def compare_streams(
    a: StreamSources,
    b: StreamSources,
    protocol: str | None = None,
    ignored: Iterable[str] = EVERYTHING,
    limit: int | None = None,
    warn: Callable[[Iterable[str]], object] = tuple,
) -> StreamComparison:
    """Compare two streams of fixtures directories or Kafka topics.

    Without `protocol` it is detected from the first message. At most `limit` differences are kept. One topic of
    A and one of B are compared whatever their names. The events of a partition are held in memory from the first
    message on that is not equal in every byte. Raises UserError for a
    source or a message that cannot be read, DeliveryError if Kafka does not answer.
    """
    ignored = check_ignored(ignored)
    comparison, identities = StreamComparison(), Identities()
    schemas = _schemas(a), _schemas(b)
    for one, other in _partition_pairs(partitions(a, warn), partitions(b, warn), comparison):
        rests = _after_equal_messages(one, other, comparison, schemas[0] == schemas[1])
        messages = [list(rest) for rest in rests]
        for number, part in enumerate(messages):
            comparison.messages[number] += len(part)
        first = next(chain(*messages), None)
        if first is None:
            continue
        protocol = protocol or protocol_of(first.key, first.value)
        if protocol not in DECODERS:
            raise UserError(f"unknown protocol {protocol!r}.{did_you_mean(protocol, DECODERS)}")
        left, right = (
            [event for message in part for event in events_of(message, protocol, ignored, known)]
            for part, known in zip(messages, schemas, strict=True)
        )
        comparison.note(differences(left, right, identities, "order" in ignored), limit)
    if disorder := identities.disorder():
        comparison.partitions.append(disorder)
    return comparison


def check_ignored(names: Iterable[str]) -> frozenset[str]:
    """Return the names as a set; raises UserError for one that cannot be ignored."""
    for name in (chosen := frozenset(names)):
        if name not in IGNORABLE:
            raise UserError(f"{name!r} cannot be ignored.{did_you_mean(name, IGNORABLE)} Known: {', '.join(IGNORABLE)}")
    return chosen


def _partition_pairs(
    a: Sequence[StreamPartition], b: Sequence[StreamPartition], comparison: StreamComparison
) -> Iterator[tuple[StreamPartition, StreamPartition]]:
    """Yield the partitions that both streams have, and note the others that have messages."""
    topics = [list(dict.fromkeys(partition.topic for partition in side)) for side in (a, b)]
    renamed = dict(zip(topics[1], topics[0])) if len(topics[0]) == len(topics[1]) == 1 else {}
    there = {(renamed.get(partition.topic, partition.topic), partition.partition): partition for partition in b}
    for one in a:
        other = there.pop(one.place, None)
        if other is None:
            _note_single(one, "A", comparison)
        else:
            yield one, other
    for other in there.values():
        _note_single(other, "B", comparison)


def _note_single(partition: StreamPartition, side: str, comparison: StreamComparison) -> None:
    if count := sum(batch.num_rows for batch in partition.batches()):
        comparison.messages[side == "B"] += count
        comparison.partitions.append(
            f"{partition.topic}/{partition.partition}: only in {side}, {counted(count, 'message')}"
        )


def _after_equal_messages(
    a: StreamPartition, b: StreamPartition, comparison: StreamComparison, same_schemas: bool
) -> tuple[Iterator[Message], Iterator[Message]]:
    """Read both partitions by columns as long as keys and values are equal; return the messages after that.

    Equal bytes say the same only with the same schemas.
    """
    streams = a.batches(), b.batches()
    batches: list[pa.RecordBatch | None] = [None, None]
    while same_schemas:
        batches = [
            batch if batch is not None and batch.num_rows else next(stream, None)
            for batch, stream in zip(batches, streams, strict=True)
        ]
        one, other = batches
        if one is None or other is None:
            break
        rows = min(one.num_rows, other.num_rows)
        if not all(one.column(name)[:rows].equals(other.column(name)[:rows]) for name in ("key", "value")):
            break
        comparison.same_bytes += rows
        comparison.messages = [count + rows for count in comparison.messages]
        batches = [batch.slice(rows) for batch in (one, other)]
    rests = [
        chain([batch] if batch is not None else [], stream) for batch, stream in zip(batches, streams, strict=True)
    ]
    return _messages(a, rests[0]), _messages(b, rests[1])


def _schemas(source: StreamSources) -> Mapping[int, str]:
    """Return the schemas beside the messages, by id."""
    sources = [source] if isinstance(source, str | Path) else source
    return {id: schema for one in sources for id, schema in source_schemas(one).items()}


def _messages(partition: StreamPartition, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("offset", "key", "value"))
        for offset, key, value in zip(*columns, strict=True):
            yield Message(*partition.place, offset, 0, key, value)


TABLE_VERSION = re.compile(r'(?<="TableVersion": )\d+')


def compare_storages(
    a: str, b: str, config: str | Path | None = None, ignored: Iterable[str] = EVERYTHING, limit: int | None = None
) -> StreamComparison:
    """Compare two storages by paths or URIs. `config` is the changefeed.toml with which both were written.

    Rows are compared as texts. All of them are held in memory. At most `limit` differences are kept. Raises UserError
    for files that cannot be read, ChangefeedError for a config that TiCDC rejects.
    """
    ignored = check_ignored(ignored)
    comparison, identities = StreamComparison(), Identities()
    sides = [_by_table(open_directory(source, config), ignored) for source in (a, b)]
    for table in dict.fromkeys(name for side in sides for name in side):
        left, right = (side.get(table, []) for side in sides)
        comparison.messages = [count + len(side) for count, side in zip(comparison.messages, (left, right))]
        comparison.same_bytes += _leading_equal(left, right)
        events, others = ([event for _, event in side] for side in (left, right))
        sorts = "order" in ignored and all(event.commit_ts for event in (*events, *others))
        comparison.note(differences(events, others, identities, sorts), limit)
    if disorder := identities.disorder():
        comparison.partitions.append(disorder)
    return comparison


TextAndEvent = tuple[str, ComparedEvent]
"""The text of a row or schema file as it is, and its event without what is ignored."""


def _by_table(directory: StorageDirectory, ignored: frozenset[str]) -> dict[str, list[TextAndEvent]]:
    """Return the events of each table in order; those of a database and `metadata` have places of their own."""
    tables: dict[str, list[TextAndEvent]] = {}
    for file in directory.files:
        if isinstance(file, IndexFile):
            continue
        if isinstance(file, FileFinding):
            raise UserError(f"{file.path}: {file.why}")
        events = tables.setdefault(".".join(name for name in (file.schema, file.table) if name), [])
        if isinstance(file, TableSchema):
            events.append(_schema_event(file, directory, ignored, len(events)))
        else:
            read = _csv_events if file.is_csv else _json_events
            events += read(file, directory, ignored, len(events))
    if "watermarks" not in ignored and directory.listing.checkpoint_ts is not None:
        text = directory.listing.content(METADATA).decode()
        tables[METADATA] = [(text, ComparedEvent(METADATA, 0, 0, directory.listing.checkpoint_ts or 0, "", "", text))]
    return tables


def _leading_equal(left: list[TextAndEvent], right: list[TextAndEvent]) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(left, right)) if one[0] != other[0]), min(len(left), len(right))
    )


def _schema_event(file: TableSchema, directory: StorageDirectory, ignored: frozenset[str], number: int) -> TextAndEvent:
    text = directory.listing.content(file.path).decode("utf-8", "surrogateescape")
    table = f"{file.schema}.{file.table}"
    shown = TABLE_VERSION.sub("0", text) if "commit-ts" in ignored else text
    checksum = "" if file.path.endswith(f"/{SCHEMA_JSON}") else file.path[-len("0123456789.json") :]
    return text, ComparedEvent(table, 0, number, file.version, table, checksum, shown)


def _csv_events(
    file: DataFile, directory: StorageDirectory, ignored: frozenset[str], first: int
) -> Iterator[TextAndEvent]:
    options, table = directory.changefeed.codec, f"{file.schema}.{file.table}"
    rows = CsvFormat(options).rows(directory.listing.content(file.path))
    for number, (_, text, cells) in enumerate(rows, first):
        commit_ts, shown = 0, text
        if options.csv.include_commit_ts:
            written = cells[3] if len(cells) > 3 else None
            if written is None or not written.isdecimal():
                raise UserError(f"{file.path} has a row without a commit-ts: {text[:60]}")
            commit_ts = int(written)
            shown = text.replace(written, "0", 1) if "commit-ts" in ignored else text
        yield text, ComparedEvent(table, 0, number, commit_ts, table, "", shown, _version(file, ignored))


def _json_events(
    file: DataFile, directory: StorageDirectory, ignored: frozenset[str], first: int
) -> Iterator[TextAndEvent]:
    table, terminator = f"{file.schema}.{file.table}", directory.changefeed.codec.terminator.encode()
    content = directory.listing.content(file.path)
    for number, text in enumerate(content.removesuffix(terminator).split(terminator) if content else (), first):
        try:
            event = DECODERS[protocol_of(None, text)].comparable(None, text, ignored, {})
        except PARSE_ERRORS as error:
            raise UserError(f"{file.path} has a row that cannot be read: {parse_error_reason(error)}") from error
        shown = text.decode("utf-8", "surrogateescape")
        yield shown, ComparedEvent(table, 0, number, event.commit_ts, table, "", event.value, _version(file, ignored))


def _version(file: DataFile, ignored: frozenset[str]) -> tuple[tuple[str, int], ...]:
    """Return the version in the path of a row, of which only the correspondence is compared."""
    return (("version", file.version),) if "commit-ts" in ignored else ()

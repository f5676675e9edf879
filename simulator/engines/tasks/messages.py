"""Encodes a flush of events into messages, each with its topic and partition, and registers the schemas that they name.

Schemas are registered before the rows of a run are sent, so that ids do not depend on tasks. They have the order of
TiCDC: by the commit-ts of the first row that names them, that of a key before that of a value. An error is kept until
the row is encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import (
    BOOTSTRAP,
    DDL,
    DELETE,
    EMPTY,
    EVENTS,
    OPERATIONS,
    ROW,
    Ints,
    by_table,
    ints,
    picked,
    picked_values,
)
from simulator.columns.hashing import BOOTSTRAPS, KINDS, ChangeSums, fingerprints, merged_sums, sums_by_group
from simulator.engines.tasks import TaskSpec
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.sinks import SINKS
from simulator.sinks.records import Records, part, take
from simulator.sources.snapshots.pieces import PhysicalTable
from simulator.ticdc.changefeed import Storage
from simulator.ticdc.cloud_storage import METADATA, schema_event_file
from simulator.ticdc.codecs import (
    CODECS,
    CodecOptions,
    DdlEvent,
    EncodedRows,
    Messages,
    RowChanges,
    Schema,
    StoredFile,
    TableInfo,
)
from simulator.ticdc.codecs.codec import KeyValue
from simulator.ticdc.codecs.large_messages import decompress_column
from simulator.ticdc.codecs.schema_registry import with_schema_ids
from simulator.ticdc.codecs.wire_text import valid_utf8
from simulator.ticdc.dispatch import sent_table
from simulator.ticdc.flush import Flush
from simulator.ticdc.mounter import images_in_zone, without_marks, zone_of_rows
from simulator.tso import LOGICAL_BITS


@dataclass(frozen=True)
class FlushMessages:
    events: pa.RecordBatch
    """EVENTS without the columns that the messages hold, and `row_hash` if rows are summed."""

    records: Records
    files: tuple[StoredFile, ...]
    """Claim-check files to store before the records are sent."""

    first_row: Ints
    """Record i holds the events `first_row[i]:first_row[i + 1]`."""

    def single(self, places: Ints) -> FlushMessages:
        """Return some of the messages, where each has one event."""
        indices, first_row = pa.array(places), np.arange(len(places) + 1)
        return replace(self, events=self.events.take(indices), records=take(self.records, indices), first_row=first_row)

    def part(self, first: int, end: int) -> FlushMessages:
        """Return a range of the messages, without copying them. The files are stored with the first ones."""
        first_row = self.first_row[first : end + 1]
        events = self.events.slice(first_row[0], first_row[-1] - first_row[0])
        records = part(self.records, first, end - first)
        return FlushMessages(events, records, () if first else self.files, first_row - first_row[0])


def encode_flush(flush: Flush, spec: TaskSpec) -> FlushMessages:
    flush = _in_server_zone(flush, spec)
    encoded = _encoded(flush, spec)
    events = flush.events.select(["commit_ts", "kind", "table", "op", "destination"])
    if spec.sums:
        images = without_marks(pc.coalesce(flush.events.column("after"), flush.events.column("before")), spec.release)
        events = events.append_column("row_hash", pa.array(fingerprints(images).view(np.int64)))
    messages = CODECS[spec.options.protocol].frame(encoded, flush.group, spec.options, spec.release)
    return FlushMessages(
        events, _records(flush, encoded, messages, spec), encoded.files, np.asarray(messages.first_row, np.int64)
    )


def _in_server_zone(flush: Flush, spec: TaskSpec) -> Flush:
    """Return a flush with the TIMESTAMPs of rows as the servers have them."""
    zone, events = zone_of_rows(spec.options.time_zone, spec.release), flush.events
    if not zone:
        return flush
    numbers = np.where(ints(events, "kind") == ROW, ints(events, "table"), -1)
    for side in ("before", "after"):
        images, place = events.column(side), events.schema.get_field_index(side)
        for number, at in by_table(numbers):
            if number >= 0:
                shown = images_in_zone(images.take(pa.array(at)), spec.tables[number].table, zone)
                chosen = np.isin(np.arange(len(images)), at)
                images = pc.replace_with_mask(images, pa.array(chosen), shown.cast(images.type))
        events = events.set_column(place, events.schema.field(place), images)
    return replace(flush, events=events)


def _records(flush: Flush, encoded: EncodedRows, messages: Messages, spec: TaskSpec) -> Records:
    first_row = np.asarray(messages.first_row)
    destination = ints(flush.events, "destination")[first_row[:-1]]
    topic = np.searchsorted(spec.destinations.first, destination, side="right") - 1
    partition = destination - np.array(spec.destinations.first)[topic]
    return Records(
        pa.array(topic, pa.int32()),
        pa.array(partition, pa.int32()),
        messages.keys if messages.keys is not None else pa.nulls(len(messages.values), pa.binary()),
        messages.values,
        flush.events.column("commit_ts").take(pa.array(first_row[1:] - 1)),
        _readable(encoded, messages.first_row, spec.options) if SINKS[spec.sink].decoded else None,
        _stored_tables(flush.events) if spec.storage else None,
    )


def _stored_tables(events: pa.RecordBatch) -> pa.Array:
    """Return the physical table of each row, -1 for what is no row."""
    return pa.array(np.where(ints(events, "kind") == ROW, ints(events, "table"), -1), pa.int32())


def _encoded(flush: Flush, spec: TaskSpec) -> EncodedRows:
    """Return key and value of each event, in the order of the events."""
    events = flush.events
    kind, table = ints(events, "kind"), ints(events, "table")
    parts: list[EncodedRows] = []
    positions: list[npt.NDArray[np.int64]] = []
    is_row = kind == ROW
    rows = events.select(["commit_ts", "row_id", "before", "after"])
    for number in _by_first_row(table[is_row]):
        of_table = np.flatnonzero(is_row & (table == number))
        for chosen, told in _told(of_table, ints(events, "commit_ts")[of_table], int(number), spec):
            large = None if flush.large is None else pa.array(flush.large[chosen])
            parts.append(_encoded_rows(picked(rows, chosen), large, int(number), spec, told))
            positions.append(chosen)
    others = np.flatnonzero(~is_row)
    if len(others):
        parts.append(_encoded_control_events(kind[others], table[others], ints(events, "commit_ts")[others], spec))
        positions.append(others)
    if len(parts) == 1:
        return parts[0]
    back = np.argsort(np.concatenate(positions))
    keys = _keys(parts)
    files = tuple(file for part in parts for file in part.files)
    values = picked_values(pa.concat_arrays([part.values for part in parts]), back)
    return EncodedRows(None if keys is None else picked_values(keys, back), values, files)


def _told(rows: Ints, commit_ts: Ints, number: int, spec: TaskSpec) -> Iterator[tuple[Ints, int]]:
    """Yield the rows of a table before, with and behind the first BOOTSTRAP of its schema version, with `RowChanges.told`."""
    table = spec.tables[number]
    at = spec.told.get((table.table_id, table.version))
    if at is None:
        yield rows, 0
        return
    for told, mask in enumerate((commit_ts < at, commit_ts == at, commit_ts > at)):
        if mask.any():
            yield rows[mask], told


def _by_first_row(numbers: Ints) -> Ints:
    """Return the distinct numbers in the order of their first appearance."""
    if len(numbers) and (numbers == numbers[0]).all():
        return numbers[:1]
    distinct, first = np.unique(numbers, return_index=True)
    return distinct[np.argsort(first)]


def _keys(parts: Sequence[EncodedRows]) -> pa.Array | None:
    """Return the keys of all parts, null for those of a part without keys; None if no part has any."""
    if all(part.keys is None for part in parts):
        return None
    nulls = (pa.nulls(len(part.values), pa.binary()) for part in parts)
    return pa.concat_arrays([none if part.keys is None else part.keys for part, none in zip(parts, nulls, strict=True)])


def _encoded_rows(rows: pa.RecordBatch, large: pa.Array | None, number: int, spec: TaskSpec, told: int) -> EncodedRows:
    changed = replace(row_changes(rows, large, number, spec), told=told)
    encoded = CODECS[spec.options.protocol].encode(changed, spec.options, spec.release)
    return with_schema_ids(encoded, spec.schemas)


def row_changes(rows: pa.RecordBatch, large: pa.Array | None, number: int, spec: TaskSpec) -> RowChanges:
    """Return rows of a physical table, with columns `commit_ts`, `row_id`, `before` and `after`, for the codec."""
    physical_table, to = spec.tables[number], spec.routes[number]
    return replace(
        RowChanges(sent_table(to, physical_table.table), physical_table.partition_id, *rows.columns),
        selected=to.selected,
        table_id=physical_table.table_id,
        version=physical_table.version,
        snapshot_version=physical_table.snapshot_version,
        topic=to.topic,
        large=large,
    )


def _encoded_control_events(
    kinds: npt.NDArray[np.int64], index: npt.NDArray[np.int64], commit_ts: npt.NDArray[np.int64], spec: TaskSpec
) -> EncodedRows:
    """Encode DDL and watermarks; each is encoded once and repeated for its destinations."""
    events = list(zip(kinds.tolist(), index.tolist(), commit_ts.tolist(), strict=True))
    places = {event: place for place, event in enumerate(dict.fromkeys(events))}
    pairs = [_encoded_control_event(*event, spec) for event in places]
    repeated = pa.array([places[event] for event in events], pa.int64())
    keys, values = [pair[0] for pair in pairs if pair], [pair[1] for pair in pairs if pair]
    values = pa.array(values, pa.binary()).take(repeated)
    return EncodedRows(None if None in keys else pa.array(keys, pa.binary()).take(repeated), values)


def _encoded_control_event(kind: int, number: int, commit_ts: int, spec: TaskSpec) -> KeyValue | None:
    """Return key and value of a DDL statement, a watermark, or a table's BOOTSTRAP; None if the protocol has none."""
    codec, options, release = CODECS[spec.options.protocol], spec.options, spec.release
    if spec.storage is not None:
        return _storage_file(spec.storage, spec.statements[number] if kind == DDL else None, commit_ts, release)
    if kind == DDL:
        return codec.statement_entry(_with_told(spec.statements[number], spec), spec.schemas, options, release)
    if kind == BOOTSTRAP and codec.bootstrap is not None:
        physical_table = spec.tables[number]
        table = sent_table(spec.routes[number], physical_table.table)
        info = TableInfo(table, _described_id(physical_table, release), physical_table.version)
        return codec.bootstrap(info, commit_ts, options, release)
    return codec.watermark_entry(commit_ts, spec.schemas, options, release)


def _with_told(statement: DdlEvent, spec: TaskSpec) -> DdlEvent:
    """Return a statement with whether a BOOTSTRAP was sent of the table as it was before."""
    before = statement.before
    if before is None or spec.told.get((before.table_id, before.version), statement.commit_ts) >= statement.commit_ts:
        return statement
    return replace(statement, before=replace(before, told=True))


def _described_id(table: PhysicalTable, release: Release) -> int:
    """Return the id in the BOOTSTRAP of a table."""
    own = release.simple_bootstrap_ids and table.repartitioned
    return own and table.partition_id or table.table_id


def _storage_file(storage: Storage, statement: DdlEvent | None, ts: int, release: Release) -> KeyValue:
    """Return path and content of a statement's schema file, or of the checkpoint."""
    if statement is None:
        return METADATA.encode(), b'{"checkpoint-ts":%d}' % ts
    path, text = schema_event_file(statement, storage, release)
    return path.encode("utf-8", "surrogateescape"), text


def _readable(encoded: EncodedRows, first_row: pa.Array, options: CodecOptions) -> pa.Array:
    """Return the events of each message as a JSON list, for people who read fixtures.

    An event is `{"key": …, "value": …}`, or the value alone if the protocol has no keys. Terminators are left out, and
    `?` stands for each byte that is not UTF-8. For binary messages there is a null.
    """
    if CODECS[options.protocol].is_binary(options):
        return pa.repeat(pa.scalar("null"), len(first_row) - 1)
    texts = decompress_column(encoded.values, options.large_message_handle_compression)
    if options.terminator:
        texts = pc.replace_substring_regex(texts, rf"{re.escape(options.terminator)}\z", "")
    values = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(b"null", pa.binary()), texts)
    events = values
    if encoded.keys is not None:
        events = pc.binary_join_element_wise(b'{"key":', encoded.keys, b',"value":', values, b"}", b"")
    lists = pa.ListArray.from_arrays(first_row, valid_utf8(events))
    return pc.binary_join_element_wise(b"[", pc.binary_join(lists, b","), b"]", b"").cast(pa.string())


def count_rows(events: pa.RecordBatch, spec: TaskSpec) -> dict[tuple[int, int, int], int]:
    """Count the rows by (table, op, destination)."""
    shape = len(spec.tables), OPERATIONS, spec.destinations.total
    is_row = (ints(events, "kind") == ROW) & (ints(events, "op") != EMPTY)
    if not is_row.any():
        return {}
    cells = np.ravel_multi_index([ints(events, name)[is_row] for name in ("table", "op", "destination")], shape)
    distinct, counts = np.unique(cells, return_counts=True)
    keys = zip(*(axis.tolist() for axis in np.unravel_index(distinct, shape)), strict=True)
    return dict(zip(keys, counts.tolist(), strict=True))


def sum_rows(events: pa.RecordBatch, spec: TaskSpec) -> ChangeSums:
    """Sum the rows, and BOOTSTRAPs with versions as commit-ts and ids as row images, if the run is to sum them."""
    if not spec.sums:
        return {}
    rows = np.flatnonzero(np.isin(ints(events, "kind"), (ROW, BOOTSTRAP)) & (ints(events, "op") != EMPTY))
    kind, table, op, ts, hashes = (
        ints(events, name)[rows] for name in ("kind", "table", "op", "commit_ts", "row_hash")
    )
    kinds = np.where(kind == BOOTSTRAP, KINDS.index(BOOTSTRAPS), op == DELETE)
    if CODECS[spec.options.protocol].fidelity(spec.options, spec.release).milliseconds:
        ts = ts >> LOGICAL_BITS << LOGICAL_BITS
    if len(told := np.flatnonzero(kind == BOOTSTRAP)):
        described = [spec.tables[number] for number in table[told].tolist()]
        ts, hashes = ts.copy(), hashes.copy()
        ts[told] = [each.version for each in described]
        hashes[told] = [_described_id(each, spec.release) for each in described]
    known = np.ones(len(rows), np.bool_)
    sums = sums_by_group(len(KINDS) * table + kinds, ts, hashes.view(np.uint64), known, known)
    return merged_sums(
        {(_sent_name(group // len(KINDS), spec), KINDS[group % len(KINDS)]): each} for group, each in sums.items()
    )


def _sent_name(number: int, spec: TaskSpec) -> str:
    """Return the name of a physical table in messages, `db.table`."""
    table = sent_table(spec.routes[number], spec.tables[number].table)
    return f"{table.schema}.{table.name}"


FIRST_ROWS = pa.schema([("table", pa.int32()), ("has_value", pa.bool_()), ("commit_ts", pa.int64())])
"""The commit-ts of the first row of each physical table, apart for DELETEs, which may name no schema of values."""


def first_rows(changes: pa.RecordBatch) -> pa.RecordBatch:
    """Return FIRST_ROWS of ROW_CHANGES, or of FIRST_ROWS."""
    has_value = changes["has_value"] if "has_value" in changes.schema.names else changes["after"].is_valid()
    rows = pa.table({"table": changes["table"], "has_value": has_value, "commit_ts": changes["commit_ts"]})
    first = rows.group_by(["table", "has_value"]).aggregate([("commit_ts", "min")])
    columns = [first[name].combine_chunks() for name in ("table", "has_value", "commit_ts_min")]
    return pa.RecordBatch.from_arrays(columns, schema=FIRST_ROWS)


def with_schemas(spec: TaskSpec, first: Iterable[pa.RecordBatch]) -> TaskSpec:
    """Return the spec with the ids of the schemas that rows name, given FIRST_ROWS, and those of control events; registers
    those that are new."""
    parts = list(first)
    merged = pa.Table.from_batches(parts, FIRST_ROWS).combine_chunks().to_batches()
    rows = first_rows(merged[0]).to_pylist() if merged else []
    always = CODECS[spec.options.protocol].deletes_have_values
    named = sorted(
        {(row["commit_ts"], row["table"], kind) for row in rows for kind in (False, always or row["has_value"])}
    )
    of_rows = ((ts, schema) for ts, table, of_values in named for schema in _schema(spec, table, of_values))
    placed = sorted((*of_rows, *_of_control_events(spec)), key=lambda pair: pair[0])
    return replace(spec, schemas=spec.schemas.assign(schema for _, schema in placed))


def with_schemas_of(spec: TaskSpec, named: Iterable[tuple[int, bool]]) -> TaskSpec:
    """Return the spec with the ids of schemas in this order: those of control events, and those of the number of a
    physical table, and whether it is that of its values."""
    of_rows = (schema for table, of_values in dict.fromkeys(named) for schema in _schema(spec, table, of_values))
    of_control_events = (schema for _, schema in _of_control_events(spec))
    return replace(spec, schemas=spec.schemas.assign((*of_control_events, *of_rows)))


def _schema(spec: TaskSpec, table: int, of_values: bool) -> Iterator[Schema]:
    """Yield the schema of a physical table's keys or values, if there is one."""
    schema = CODECS[spec.options.protocol].schema
    assert schema is not None, "the protocol has schemas"
    try:
        found = schema(row_changes(_no_rows(), None, table, spec), of_values, spec.options, spec.release)
    except EncodeError:
        return  # raised again where the first row is encoded
    if found is not None:
        yield found


def _of_control_events(spec: TaskSpec) -> Iterator[tuple[int, Schema]]:
    """Yield the schemas of the statements that are sent and of watermarks, each with the commit-ts of its first message."""
    codec = CODECS[spec.options.protocol]
    if codec.control_schemas is None:
        return
    for event in spec.statements:
        if codec.sends_ddl(spec.options, spec.release) and not codec.skips_ddl(event.type_code):
            for schema in codec.control_schemas(event.schema, spec.options, spec.release):
                yield event.commit_ts, schema
    if codec.has_watermarks(spec.options, spec.release):
        first = min(spec.control_events.checkpoints().tolist(), default=0)
        for schema in codec.control_schemas(None, spec.options, spec.release):
            yield first, schema


def _no_rows() -> pa.RecordBatch:
    names = ("commit_ts", "row_id", "before", "after")
    return pa.RecordBatch.from_pylist([], pa.schema([EVENTS.field(name) for name in names]))

"""The records of a data directory's log, which tell what a commit changed, and rows of tables as Arrow.

A record is its length and CRC32, 4 bytes each, then a line of JSON, then an Arrow stream with a batch for each table.
Rows are those of a data directory's snapshot, and of the changes in its log.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.engine import CompletedDdl, Event, TableChanges
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.storage import Database
from simulator.tidb.storage.ids import Allocator, Counters
from simulator.tidb.storage.row_keys import entries_of, handle_bytes, handle_of_bytes
from simulator.tidb.storage.rows import Version
from simulator.tidb.storage.tables import RowReader, StoredTable, cells_of

HEAD = struct.Struct("<II")

CHANGES = pa.schema(
    [
        ("partition", pa.int32()),
        ("handle", pa.binary()),
        ("row_id", pa.int64()),
        ("before", pa.binary()),
        ("after", pa.binary()),
        ("lacking", pa.binary()),
    ]
)

SESSION_FIELDS = ("database", "time_zone", "timestamp", "foreign_key_checks", "check_constraints", "settings")
"""The session's variables on which a DDL statement may depend, besides sql_mode."""


@dataclass(frozen=True)
class LoggedStatement:
    text: str
    session: Mapping[str, Any]


@dataclass(frozen=True)
class LoggedTable:
    schema: str
    table: str
    changes: pa.RecordBatch


@dataclass(frozen=True)
class LogRecord:
    now_ms: int = 0
    """The millisecond of the first event."""

    events: tuple[LoggedStatement | tuple[LoggedTable, ...], ...] = ()
    """DDL statements, and the changes of transactions."""

    counters: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    """Schema, table and id counters of the tables that were written to."""

    undoes: bool = False
    """Whether the commit before it was refused after all."""

    global_settings: Mapping[str, str] | None = None
    """All global variables, in a record of SET GLOBAL."""


def commit_record(events: Sequence[Event], now_ms: int, session: SqlSession, database: Database) -> LogRecord:
    """Return the record of a statement's events, with the ids that the tables have given so far."""
    logged: list[LoggedStatement | tuple[LoggedTable, ...]] = []
    counters: dict[Key, tuple[str, str, Mapping[str, Any]]] = {}
    for event in events:
        if isinstance(event, CompletedDdl):
            logged.append(LoggedStatement(event.text, session_fields(session)))
            continue
        tables = []
        for changes in event.changes:
            lacking = pa.nulls(len(changes.handle), pa.binary()) if changes.lacking is None else changes.lacking
            arrays = [changes.partition, changes.handle, changes.row_id, changes.before, changes.after, lacking]
            table = changes.table
            tables.append(LoggedTable(table.schema, table.name, pa.RecordBatch.from_arrays(arrays, schema=CHANGES)))
            given = database.stored(table).ids.counters
            counters[object_key(table.schema, table.name)] = (table.schema, table.name, counters_as_json(given))
        logged.append(tuple(tables))
    return LogRecord(now_ms, tuple(logged), tuple(counters.values()))


def session_fields(session: SqlSession) -> dict[str, Any]:
    values = {name: getattr(session, name) for name in SESSION_FIELDS}
    return {**values, "settings": dict(session.settings), "sql_mode": sorted(session.sql_mode)}


def session_of(fields: Mapping[str, Any], session: SqlSession) -> SqlSession:
    return replace(session, **{**fields, "sql_mode": frozenset(fields["sql_mode"])})


def counters_as_json(counters: Counters) -> dict[str, Any]:
    return {name: asdict(value) for name, value in counters._asdict().items()}


def counters_after_restart(fields: Mapping[str, Any]) -> Counters:
    """Return id counters as after a restart of the server: the ids that it had reserved are lost."""
    allocators = {name: Allocator(**values) for name, values in fields.items()}
    return Counters(
        **{
            name: each if each.step == 1 else replace(each, base=each.stored, end=each.stored)
            for name, each in allocators.items()
        }
    )


def changes_of(logged: Sequence[LoggedTable], catalog: Catalog) -> tuple[TableChanges, ...]:
    """Return the changes of a transaction on the tables of a catalog."""
    return tuple(
        TableChanges(catalog.tables[each.schema.lower(), each.table.lower()], *each.changes.columns) for each in logged
    )


def encode(record: LogRecord) -> bytes:
    events: list[object] = []
    batches = []
    for event in record.events:
        if isinstance(event, LoggedStatement):
            events.append({"text": event.text, "session": event.session})
        else:
            events.append([[each.schema, each.table] for each in event])
            batches += [each.changes for each in event]
    head = {
        "now_ms": record.now_ms,
        "events": events,
        "counters": record.counters,
        "undoes": record.undoes,
        "global_settings": record.global_settings,
    }
    out = io.BytesIO()
    out.write(json.dumps(head).encode() + b"\n")
    if batches:
        with pa.ipc.new_stream(out, CHANGES) as stream:
            for batch in batches:
                stream.write_batch(batch)
    body = out.getvalue()
    return HEAD.pack(len(body), zlib.crc32(body)) + body


def decode_all(data: bytes) -> Iterator[tuple[LogRecord, int]]:
    """Yield records, and the offset after each; a record that was not written whole ends them."""
    place = 0
    while place + HEAD.size <= len(data):
        length, checksum = HEAD.unpack_from(data, place)
        body = data[place + HEAD.size : place + HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            return
        place += HEAD.size + length
        yield _decode(body), place


def _decode(body: bytes) -> LogRecord:
    line, _, stream = body.partition(b"\n")
    head = json.loads(line)
    batches = iter(pa.ipc.open_stream(stream) if stream else ())
    events = tuple(
        LoggedStatement(event["text"], event["session"])
        if isinstance(event, dict)
        else tuple(LoggedTable(schema, table, next(batches)) for schema, table in event)
        for event in head["events"]
    )
    counters = tuple((schema, table, fields) for schema, table, fields in head["counters"])
    return LogRecord(head["now_ms"], events, counters, head["undoes"], head.get("global_settings"))


ROWS = pa.schema(
    [("ordinal", pa.int32()), ("handle", pa.binary()), ("image", pa.binary()), ("layout", pa.list_(pa.int32()))]
)
"""Partition ordinal, handle as in TiKV's key, row image, and the ids of the columns that the image has."""


def table_batch(stored: StoredTable) -> pa.RecordBatch:
    """Return the committed rows of a table (ROWS)."""
    table = stored.table
    rows = [
        (ordinal, handle_bytes(table, handle), version.image, version.layout)
        for ordinal, part in enumerate(stored.partitions)
        for handle, version in part.scan()
    ]
    columns = zip(*rows, strict=True) if rows else ([] for _ in ROWS)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def read_table(stored: StoredTable, rows: pa.Table) -> None:
    """Take rows (ROWS) as those of a table that has none."""
    table, reader = stored.table, RowReader(stored.table)
    for ordinal, key, image, layout in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        version = Version(0, image, tuple(layout))
        stored.load(ordinal, handle_of_bytes(table, key), version, entries_of(table)(reader.cells(version), 1))


def write_changes(changes: Sequence[TableChanges], database: Database, now_ms: int) -> None:
    """Commit the changes of a transaction again."""
    transaction = database.begin(now_ms)
    for each in changes:
        table, stored = each.table, database.stored(each.table)
        columns = (each.partition, each.handle, each.before, each.after)
        for ordinal, key, before, after in zip(*(column.to_pylist() for column in columns), strict=True):
            old, new = (None if image is None else cells_of(image) for image in (before, after))
            removed = [(one, value, None) for one, value in entries_of(table)(old, 1)] if old is not None else []
            added = [(one, None, value) for one, value in entries_of(table)(new, 1)] if new is not None else []
            transaction.put(stored, ordinal, handle_of_bytes(table, key), new, [*removed, *added])
    database.commit(transaction, database.next_ts(now_ms))

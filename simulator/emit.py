"""One Spark task: its events in order → messages → its sink, and an account of both.

One law: nothing here handles rows one at a time; a batch of events is a handful of Arrow arrays from end to end.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator import storage
from simulator.changes import OPERATIONS
from simulator.codecs import CODECS, CodecOptions, DdlEvent, Encoded, Rows
from simulator.codecs.binary import valid_utf8
from simulator.codecs.compression import decompressed_values
from simulator.dispatch import Route, sent_table
from simulator.errors import SnapshotError
from simulator.events import DDL, ROW, Destinations
from simulator.failures import carrying
from simulator.flush import Flush, GroupKeys, grouped, ints, ungrouped
from simulator.progress import Reporter
from simulator.releases import Release
from simulator.sinks import SINKS
from simulator.sinks.records import Records
from simulator.snapshots.physical import PhysicalTable
from simulator.tso import LOGICAL_BITS

REPORT = "report string"
"""What a task gives back: one line of JSON, a `TaskReport`."""


@dataclass(frozen=True)
class Job:
    """All a task must know; it travels to Spark's workers."""

    tables: tuple[PhysicalTable, ...]
    routes: tuple[Route, ...]
    statements: tuple[DdlEvent, ...]
    destinations: Destinations
    options: CodecOptions
    release: Release
    sink: str
    settings: object
    speed: float
    """Simulated seconds for each real one; 0 is as fast as the sink takes it."""

    start_ms: int
    progress: tuple[str, int] | None


@dataclass(frozen=True)
class TaskReport:
    """What one task sent."""

    delivered: list[dict[str, object]]
    """`sinks.records.Delivered` of each partition."""

    changes: list[tuple[int, int, int, int]]
    """(table, op, destination, rows)"""


def emit(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Sends the events of one task; what goes wrong is raised so that the driver finds its words again."""
    with carrying():
        report = _send(batches, job)
    yield pa.RecordBatch.from_pydict({"report": [json.dumps(asdict(report))]})


def _send(batches: Iterator[pa.RecordBatch], job: Job) -> TaskReport:
    batching = job.options.protocol == "open-protocol"
    watched = _paced(_without_duplicates(batches, job), job) if job.speed else _without_duplicates(batches, job)
    names = [(one.table.schema, one.table.name) for one in job.tables]
    keys = GroupKeys.of(job.routes, names, job.release)
    flushes = grouped(watched, keys, eager=bool(job.speed)) if batching else ungrouped(watched)
    sink = SINKS[job.sink](job.settings, job.destinations.topics)
    reporter = Reporter(job.progress)
    changes: Counter[tuple[int, int, int]] = Counter()
    for flush in flushes:
        encoded = _encoded(flush.events, job)
        storage.write(job.options.claim_check_storage_uri, encoded.files)
        records = _records(flush, encoded, job)
        sink.write(records)
        changes.update(_changes(flush.events, job))
        reporter.sent(flush.events.num_rows, records, sink)
        if sink.failed:
            break
    delivered = sink.close()
    reporter.done(delivered)
    return TaskReport(
        [asdict(account) for account in delivered], [(*key, rows) for key, rows in sorted(changes.items())]
    )


def _records(flush: Flush, encoded: Encoded, job: Job) -> Records:
    """The flush's messages with their places."""
    messages = CODECS[job.options.protocol].frame(encoded, flush.group, job.options, job.release)
    first_row = np.asarray(messages.first_row)
    destination = ints(flush.events, "destination")[first_row[:-1]]
    topic = np.searchsorted(job.destinations.first, destination, side="right") - 1
    partition = destination - np.array(job.destinations.first)[topic]
    return Records(
        pa.array(topic, pa.int32()),
        pa.array(partition, pa.int32()),
        messages.keys if messages.keys is not None else pa.nulls(len(messages.values), pa.binary()),
        messages.values,
        flush.events.column("commit_ts").take(pa.array(first_row[1:] - 1)),
        _readable(encoded, messages.first_row, job.options) if job.sink == "jsonl" else None,
    )


def _encoded(events: pa.RecordBatch, job: Job) -> Encoded:
    """Key and value of each event, in the order of the events."""
    kind, table = ints(events, "kind"), ints(events, "table")
    parts: list[Encoded] = []
    places: list[npt.NDArray[np.int64]] = []
    is_row = kind == ROW
    rows = events.select(["commit_ts", "row_id", "before", "after"])
    for number in np.unique(table[is_row]):
        chosen = np.flatnonzero(is_row & (table == number))
        parts.append(_encoded_rows(rows if len(chosen) == len(kind) else rows.take(pa.array(chosen)), int(number), job))
        places.append(chosen)
    others = np.flatnonzero(~is_row)
    if len(others):
        parts.append(_encoded_others(kind[others], table[others], ints(events, "commit_ts")[others], job))
        places.append(others)
    if len(parts) == 1:
        return parts[0]
    back = pa.array(np.argsort(np.concatenate(places)))
    keys = None if parts[0].keys is None else pa.concat_arrays([part.keys for part in parts]).take(back)
    files = tuple(file for part in parts for file in part.files)
    return Encoded(keys, pa.concat_arrays([part.values for part in parts]).take(back), files)


def _encoded_rows(rows: pa.RecordBatch, number: int, job: Job) -> Encoded:
    physical_table, to = job.tables[number], job.routes[number]
    changed = replace(
        Rows(sent_table(to, physical_table.table), physical_table.partition_id, *rows.columns), selected=to.selected,
        table_id=physical_table.table_id)
    return CODECS[job.options.protocol].encode(changed, job.options, job.release)


def _encoded_others(
    kinds: npt.NDArray[np.int64], index: npt.NDArray[np.int64], commit_ts: npt.NDArray[np.int64], job: Job
) -> Encoded:
    """Statements and watermarks: few, so each is made once and repeated for its destinations."""
    codec = CODECS[job.options.protocol]
    wanted, place = np.unique(np.stack([kinds, index, commit_ts]), axis=1, return_inverse=True)
    made = [
        (
            codec.ddl(job.statements[number], job.options, job.release)
            if kind == DDL
            else codec.watermark(ts, job.options, job.release)
        )
        for kind, number, ts in wanted.T.tolist()
    ]
    where = pa.array(place.reshape(-1))
    keys, values = [pair[0] for pair in made if pair], [pair[1] for pair in made if pair]
    values = pa.array(values, pa.binary()).take(where)
    return Encoded(None if None in keys else pa.array(keys, pa.binary()).take(where), values)


def _readable(encoded: Encoded, first_row: pa.Array, options: CodecOptions) -> pa.Array:
    """The messages' events as JSON lists: `{"key": …, "value": …}` each, or the value alone without keys; what ends a
    row is left out, and `?` stands for each byte that is no UTF-8."""
    texts = decompressed_values(encoded.values, options.large_message_handle_compression)
    if options.terminator:
        texts = pc.replace_substring_regex(texts, rf"{re.escape(options.terminator)}\z", "")
    values = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(b"null", pa.binary()), texts)
    events = values
    if encoded.keys is not None:
        events = pc.binary_join_element_wise(b'{"key":', encoded.keys, b',"value":', values, b"}", b"")
    lists = pa.ListArray.from_arrays(first_row, valid_utf8(events))
    return pc.binary_join_element_wise(b"[", pc.binary_join(lists, b","), b"]", b"").cast(pa.string())


def _changes(events: pa.RecordBatch, job: Job) -> dict[tuple[int, int, int], int]:
    """Rows by (table, op, destination)."""
    shape = len(job.tables), OPERATIONS, job.destinations.total
    is_row = ints(events, "kind") == ROW
    cells = np.ravel_multi_index([ints(events, name)[is_row] for name in ("table", "op", "destination")], shape)
    found, counts = np.unique(cells, return_counts=True)
    places = zip(*(axis.tolist() for axis in np.unravel_index(found, shape)), strict=True)
    return dict(zip(places, counts.tolist(), strict=True))


def _without_duplicates(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """The batches; raises SnapshotError at a handle key that changes twice.

    Both changes have one commit-ts, so they stand together.
    """
    last: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows:
            seam = batch if last is None else pa.concat_batches([last, batch])
            _refuse_duplicate(seam, job)
            last = batch.slice(batch.num_rows - 1)
            yield batch


def _refuse_duplicate(events: pa.RecordBatch, job: Job) -> None:
    same = ints(events, "kind")[1:] == ROW
    for name in ("commit_ts", "table", "op"):
        column = ints(events, name)
        same &= column[1:] == column[:-1]
    places = np.flatnonzero(same)
    handle = events.column("handle")
    twice = pc.equal(handle.take(pa.array(places)), handle.take(pa.array(places + 1)))
    if pc.any(twice).as_py():
        row = events.slice(int(places[pc.index(twice, True).as_py()]), 1).to_pylist()[0]
        raise SnapshotError(duplicate_text(job.tables[row["table"]], row["after"] or row["before"]))


def duplicate_text(physical_table: PhysicalTable, image: bytes) -> str:
    """What is said of a handle key that a snapshot holds more than once."""
    from simulator.schema.keys import handle_key, visible_columns

    table = physical_table.table
    cells = dict(zip((column.name for column in visible_columns(table)), image.split(b"\xff"), strict=True))
    key = ", ".join(f"{name}={cells[name].decode('utf-8', 'backslashreplace')}" for name in handle_key(table))
    return (
        f"duplicate key in a snapshot: table {table.schema}.{table.name} has several rows with {key}; "
        "a handle key must be unique"
    )


def _paced(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Holds events back until their simulated time has come, in slices of about a tenth of a real second."""
    slice_ms = max(1, int(100 * job.speed))
    begun = time.monotonic()
    for batch in batches:
        slot = (ints(batch, "commit_ts") >> LOGICAL_BITS) - job.start_ms
        bounds = np.flatnonzero(np.diff(slot // slice_ms, prepend=-1, append=1 << 62))
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            due = begun + slot[first] / 1000 / job.speed
            time.sleep(max(0.0, due - time.monotonic()))
            yield batch.slice(first, end - first)

"""Decodes batches of a partition: RECORD_SCHEMA to EVENT_SCHEMA, by columns as far as possible.

Other messages are decoded one by one with `decode`. The result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask, Places, lengths
from simulator.columns.change_frame import DDL, ROW, WATERMARK, ints, with_column
from simulator.errors import UserError
from simulator.files import PARSE_ERRORS
from simulator.reader.decode import (
    DECODERS,
    decode,
    fetch_claim_check,
    is_sequential,
    json_columns,
    protocol_of,
    schema_memory,
)
from simulator.reader.decode.decoder import JsonColumns, Objects, ReadRows, RowPlan, RowShape
from simulator.reader.decode.json_cuts import FramedEvents
from simulator.reader.decode.message_bytes import parse
from simulator.reader.events import (
    EVENT_SCHEMA,
    OPERATIONS,
    UNKNOWN_CELL,
    UNREADABLE,
    DdlEvent,
    Event,
    Image,
    Layout,
    RowEvent,
    TableSchemas,
    Value,
    before_image,
    event_layout,
    is_exact,
    time_of,
)
from simulator.tidb.model.table import Table

LEAST = 16
"""Fewer rows of one shape are decoded one by one, which is faster."""

REMEMBERED = 1 << 15
"""Maximum number of remembered plans."""


class StreamDecoder:
    """Decodes the batches of a stream, and collects the layouts of their rows.

    Without a protocol it is that of the first recognised record. With `stored`, claim-check rows are read from their
    files; if that fails, `text` of the row has the reason, and the row stays limited to its handle key.
    """

    def __init__(
        self,
        protocol: str | None = None,
        stored: ReadClaimCheck | None = None,
        told: TableSchemas | None = None,
        schemas: Mapping[int, str] = MappingProxyType({}),
        tables: Iterable[Table] = (),
    ) -> None:
        """`told` are table schemas that are known before the first record, `schemas` those of a registry. Layouts have
        TiDB's names of those `tables` whose names differ in messages."""
        self.protocol = protocol
        self._schemas, self._tables = schemas, tuple(tables)
        self._names: UpstreamNames | None = None
        self._bound = 0
        self._told = dict(told or {})
        self.layouts: list[Layout] = []
        self._stored = stored
        self._layout_indexes: dict[Layout, int] = {}
        self._plans: dict[tuple[bytes, ...], RowPlan] = {}

    def decoded(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """Decode records to EVENT_SCHEMA, and add the layouts of the rows to `layouts`."""
        self.protocol = self.protocol or detect_protocol(records)
        parts = [self._decoded(part) for part in self._parts(records)]
        events = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
        return self._with_bounds(events) if is_sequential(self.protocol) else events

    def _with_bounds(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """Return events with their bounds, which are the commit-ts of rows without one."""
        kind, ts = ints(events, "kind"), ints(events, "commit_ts")
        exact = events.column("exact").to_numpy(zero_copy_only=False)
        # rows are above a statement on their table, and above every watermark
        times = np.where(kind == ROW, np.where(exact, ts, 0), np.where(kind == UNREADABLE, 0, ts + 1))
        bounds = np.maximum.accumulate(np.concatenate(([self._bound], times)))[1:]
        self._bound = int(bounds[-1]) if len(bounds) else self._bound
        columns = {"commit_ts": np.where((kind == ROW) & ~exact, bounds, ts), "bound": bounds}
        for name, values in columns.items():
            events = with_column(events, name, values)
        return events

    def _parts(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the records up to each one that tells a new table schema, which is known from there on."""
        memory, begin = schema_memory(self.protocol), 0
        values = records.column("value").fill_null(b"")
        for place in [] if memory is None else np.flatnonzero(memory.may_tell(values)).tolist():
            assert memory is not None
            try:
                new = memory.told(None, values[place].as_py())
            except PARSE_ERRORS:
                continue  # the record is unreadable, as decoding it says
            if new.keys() - self._told.keys():
                yield records.slice(begin, place - begin)
                begin = place
                self._told |= new
        yield records.slice(begin)

    def _decoded(self, records: pa.RecordBatch) -> pa.RecordBatch:
        columns = json_columns(self.protocol)
        if columns is None or not len(records):
            return self._one_by_one(records)
        events = columns.events(records.column("key"), records.column("value"))
        parts = self._read(records, events, columns) if len(events.record) else []
        read = np.concatenate([np.zeros(0, np.int64), *(part.places for part in parts)])
        kept = _whole(events, read, len(records))
        if not kept.any():
            return self._one_by_one(records)
        fast = self._fast(records, events, parts, read)
        if not kept.all():
            fast, read = fast.filter(pa.array(kept)), read[kept]
        left = np.flatnonzero(~np.isin(np.arange(len(records)), events.record[read]))
        if not len(left):
            order = np.argsort(read, kind="stable")
            return fast if (order[1:] > order[:-1]).all() else fast.take(pa.array(order))
        slow = self._one_by_one(records.take(pa.array(left)))
        both = pa.Table.from_batches([fast, slow]).combine_chunks().to_batches()[0]
        return both.take(pa.array(np.lexsort((ints(both, "number"), ints(both, "offset")))))

    def _one_by_one(self, records: pa.RecordBatch) -> pa.RecordBatch:
        rows = EventRows(self.protocol, self._layout_index, self._stored, self._told, self._schemas)
        return rows.of_records(records)

    def _read(self, records: pa.RecordBatch, events: FramedEvents, columns: JsonColumns) -> list[ReadRows]:
        """Return the rows of each shape, as far as they can be read by columns."""
        cut = columns.cut(events)
        objects, codes = Objects(cut), np.zeros(len(cut.fine), np.int64)
        for part in cut.constants:
            if len(part.texts) > 1:
                _, codes = np.unique(codes * len(part.texts) + part.codes, return_inverse=True)
        codes = np.where(objects.fine, codes, -1)
        there, first = np.unique(codes, return_index=True)
        shapes: dict[RowShape, list[int]] = {}
        plans: list[RowPlan] = []
        plan_of = np.full(len(codes) + 1, -1)
        for code, row in zip(there.tolist(), first.tolist()):
            if code < 0:
                continue
            constant = tuple(part.texts[part.codes[row]] for part in cut.constants)
            plan = self._plans.get(constant)
            if plan is None:
                plan = self._learned(records, events, columns, row, cut.objects[row].as_py())
                if plan is not None:
                    if len(self._plans) >= REMEMBERED:
                        self._plans.clear()
                    self._plans[constant] = plan
            if plan is not None:
                plan_of[code] = len(plans)
                shapes.setdefault(plan.shape, []).append(len(plans))
                plans.append(plan)
        which = plan_of[codes]
        parts = []
        for shape, members in shapes.items():
            rows = np.flatnonzero(which >= 0 if len(shapes) == 1 else np.isin(which, members))
            if len(rows) >= LEAST:
                parts.append(objects.read(rows, shape, plans, which[rows]))
        return [part for part in parts if len(part.places)]

    def _learned(
        self, records: pa.RecordBatch, events: FramedEvents, columns: JsonColumns, place: int, text: bytes
    ) -> RowPlan | None:
        """Return what rows with the constant of an event are, given its object; None if they are not read by columns."""
        record = int(events.record[place])
        key, value = (records.column(name)[record].as_py() for name in ("key", "value"))
        try:
            found = decode(key, value, self.protocol, told=self._told)
            event = found[int(events.number[place])]
        except (UserError, IndexError):
            return None
        if not isinstance(event, RowEvent) or event.unnamed or event.stored_at or event.untold:
            return None
        if len(found) != np.count_nonzero(events.record == record):
            return None
        try:
            members = parse(text)
            outline = columns.outline(event, members)
            if outline is None:
                return None
            return RowPlan.of(event, outline, members, self._layout_index(event_layout(event)))
        except (ValueError, KeyError, TypeError):
            return None

    def _fast(
        self, records: pa.RecordBatch, events: FramedEvents, parts: Sequence[ReadRows], read: Places
    ) -> pa.RecordBatch:
        record = events.record[read]
        sizes = lengths(records.column("key").fill_null(b"")) + lengths(records.column("value").fill_null(b""))
        counts = np.bincount(record, minlength=len(records))
        columns = {
            "offset": records.column("offset").take(pa.array(record)),
            "number": pa.array(events.number[read]),
            "events": pa.array(counts[record]),
            "size": pa.array(sizes[record]),
        }
        for name, type in zip(EVENT_SCHEMA.names, EVENT_SCHEMA.types, strict=True):
            if name not in columns and any(name in part.columns for part in parts):
                empty = (pa.nulls(len(part.places), type) for part in parts)
                pieces = [part.columns.get(name, none) for part, none in zip(parts, empty, strict=True)]
                columns[name] = pa.concat_arrays(pieces)
        arrays = [
            columns[name].cast(type) if name in columns else pa.nulls(len(read), type)
            for name, type in zip(EVENT_SCHEMA.names, EVENT_SCHEMA.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)

    def _layout_index(self, layout: Layout) -> int:
        if self._tables:
            self._names = self._names or upstream_names(self._tables, self.protocol)
            layout = self._names(layout)
        place = self._layout_indexes.setdefault(layout, len(self.layouts))
        if place == len(self.layouts):
            self.layouts.append(layout)
        return place


def _whole(events: FramedEvents, read: Places, records: int) -> Mask:
    """Return which of the read events belong to records whose events could all be read."""
    all_of, read_of = (np.bincount(record, minlength=records) for record in (events.record, events.record[read]))
    whole: Mask = (all_of == read_of)[events.record[read]]
    return whole


def detect_protocol(records: pa.RecordBatch) -> str | None:
    """Return the protocol of the first recognised record; None if there is none."""
    for key, value in zip(records.column("key"), records.column("value"), strict=True):
        try:
            return protocol_of(key.as_py(), value.as_py())
        except UserError:
            continue
    return None


UpstreamNames = Callable[[Layout], Layout]
"""Returns a layout with TiDB's names."""


def upstream_names(tables: Iterable[Table], protocol: str | None) -> UpstreamNames:
    """Return the function for these definitions of tables. A name that several tables have in messages stays."""
    decoder = DECODERS.get(protocol or "")
    sent = None if decoder is None else decoder.sent_name
    if sent is None:
        return lambda layout: layout
    known: dict[tuple[str, str], set[tuple[str, str]]] = {}
    columns: dict[tuple[str, str], dict[str, str]] = {}
    for table in tables:
        name = table.schema, table.name
        known.setdefault((sent(table.schema), sent(table.name)), set()).add(name)
        columns.setdefault(name, {}).update({sent(column.name): column.name for column in table.columns})

    def named(layout: Layout) -> Layout:
        names = known.get((layout.schema, layout.table), set())
        if len(names) != 1:
            return layout
        ((schema, table),) = names
        of = {name: columns[schema, table].get(name, name) for name in layout.names}
        renamed = tuple(of[name] for name in layout.names)
        return replace(layout, schema=schema, table=table, names=renamed, keys=tuple(of[name] for name in layout.keys))

    return named


def possible_statements(records: pa.RecordBatch, protocol: str) -> pa.RecordBatch:
    """Drop records that cannot be statements, by a simple text search."""
    columns, memory = json_columns(protocol), schema_memory(protocol)
    if memory is not None:
        return records.filter(pa.array(memory.may_tell(records.column("value").fill_null(b""))))
    if columns is None or not len(records):
        return records
    name, marks = columns.rows
    for mark in marks:
        left = pc.invert(pc.fill_null(pc.match_substring(records.column(name), mark), False))
        records = records.filter(left)
    return records


LONGEST = (1 << 63) - 1
UNTOLD = "schema-unknown"
"""The `type` of a row that cannot be read because no message told its table schema."""

LayoutIndex = Callable[[Layout], int]
"""Returns the index of a layout in the decoder's list."""

ReadClaimCheck = Callable[[str], bytes]
"""Reads a claim-check file."""


@dataclass(frozen=True)
class EventRows:
    """Makes rows of EVENT_SCHEMA of single events."""

    protocol: str | None
    """If there is none, that of each message is detected."""

    layout_index: LayoutIndex
    read_claim_check: ReadClaimCheck | None = None
    told: TableSchemas = field(default_factory=dict)
    """Table schemas that messages told, to which decoding adds."""

    schemas: Mapping[int, str] = field(default_factory=dict)
    """Those of a registry, by id."""

    def of_records(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """Decode records (RECORD_SCHEMA) one by one."""
        rows: list[dict[str, Any]] = []
        columns = (records.column(name).to_pylist() for name in ("offset", "key", "value"))
        for offset, key, value in zip(*columns, strict=True):
            head = {"offset": offset, "size": len(key or b"") + len(value or b"")}
            try:
                events = decode(key, value, self.protocol, self.schemas, self.told)
                parts = [self.of_event(event) for event in events]
            except UserError as error:
                parts = [{"kind": UNREADABLE, "commit_ts": 0, "exact": False, "text": arrow_text(str(error))}]
            rows += ({**head, "number": number, "events": len(parts), **part} for number, part in enumerate(parts))
        return pa.RecordBatch.from_pylist(rows, EVENT_SCHEMA)

    def of_event(self, event: Event) -> dict[str, Any]:
        """Return an event as a row, without its offset; raises UserError for numbers out of range."""
        ts = check_int64(time_of(event), "commit-ts")
        match event:
            case RowEvent(untold=untold) if untold:
                why = f"{untold} was not told before in this partition"
                return {"kind": UNREADABLE, "commit_ts": 0, "exact": False, "text": arrow_text(why), "type": UNTOLD}
            case RowEvent():
                return {"kind": ROW, "commit_ts": ts, "exact": is_exact(event), **self._row_change(event)}
            case DdlEvent():
                texts = {"schema": event.schema, "table": event.table, "text": event.query, "type": str(event.type)}
                texts = {name: arrow_text(text) for name, text in texts.items()}
                return {"kind": DDL, "commit_ts": ts, "exact": is_exact(event), **texts}
            case _:
                return {"kind": WATERMARK, "commit_ts": ts, "exact": True}

    def _row_change(self, event: RowEvent) -> dict[str, Any]:
        """Return the fields of a row change except its time; from the claim-check file if that can be read."""
        stored_at, why = arrow_text(event.stored_at) if event.stored_at else None, None
        if stored_at is not None and self.read_claim_check is not None:
            try:
                event = fetch_claim_check(event, self.read_claim_check, self.protocol or "", self.told)
            except UserError as error:
                why = arrow_text(f"{error}; the row stays cut down to its handle key")
        layout = event_layout(event)
        return {
            "layout": self.layout_index(layout),
            "op": OPERATIONS[event.op],
            "ptn": check_int64(event.ptn, "ptn"),
            "rid": check_int64(event.rid, "rid"),
            "only_handle": event.only_handle,
            "stored_at": stored_at,
            "text": why,
            "before": encode_image(before_image(event), layout),
            "after": encode_image(event.after, layout),
        }


def encode_image(image: Image | None, layout: Layout) -> bytes | None:
    if image is None:
        return None
    return row_image.image_of(
        encode_cell(image[name], binary) if name in image else UNKNOWN_CELL
        for name, binary in zip(layout.names, layout.binary, strict=True)
    )


def encode_cell(value: Value, as_bytes: bool) -> bytes | None:
    """Encode a value: bytes as Latin-1 text for a binary column, else as text with lone surrogates for invalid
    UTF-8."""
    if isinstance(value, bytes):
        value = value.decode("latin-1") if as_bytes else value.decode("utf-8", "surrogateescape")
    return None if value is None else value.encode("utf-8", "surrogatepass")


def arrow_text(text: str) -> str:
    """Replace lone surrogates, which Arrow does not accept."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def check_int64(number: int | None, name: str) -> int | None:
    if number is None or -LONGEST - 1 <= number <= LONGEST:
        return number
    raise UserError(f"{name} {number} has more than 63 bits")

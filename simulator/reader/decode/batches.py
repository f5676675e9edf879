"""Decodes batches of a partition: RECORD_SCHEMA to EVENT_SCHEMA. The result equals that of `decode` for every
record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places, lengths
from simulator.columns.change_frame import ROW, ints
from simulator.errors import UserError
from simulator.files import PARSE_ERRORS
from simulator.reader.decode import DECODERS, decode, protocol_of
from simulator.reader.decode.by_columns import read_columns
from simulator.reader.decode.decoder import ColumnarDecoder, EventTexts, SchemaMemory
from simulator.reader.decode.row_wise import ReadClaimCheck, decode_records, iterate_records
from simulator.reader.decode.shapes import TextShape, TokenizedSample, learn_shape
from simulator.reader.decode.stream_events import TableSchemas
from simulator.reader.decode.templates import Templates
from simulator.reader.frame import EVENT_SCHEMA, UNREADABLE, Layout
from simulator.tidb.model.table import Table

REMEMBERED = 1 << 15
"""Maximum number of remembered skeletons."""


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
        self._schemas = schemas
        self._layout_indexes: dict[Layout, int] = {}
        self._shapes: dict[bytes, TextShape | None] = {}
        self._templates = Templates()

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
            events = events.set_column(events.schema.get_field_index(name), EVENT_SCHEMA.field(name), pa.array(values))
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
                self._shapes = {skeleton: shape for skeleton, shape in self._shapes.items() if shape is not None}
        yield records.slice(begin)

    def _decoded(self, records: pa.RecordBatch) -> pa.RecordBatch:
        columns = columnar_decoder(self.protocol)
        if columns is None or not len(records):
            return self._one_by_one(records)
        events = columns.events(records.column("key"), records.column("value"))
        decoded = read_columns(events.texts, columns, self._shape_of, self._templates)
        kept = _whole(events, decoded.places, len(records))
        if not len(kept):
            return self._one_by_one(records)
        places = decoded.places[kept]
        fast = self._fast(records, events, decoded.columns, kept, places)
        record = events.record[places]
        left = np.flatnonzero(~np.isin(np.arange(len(records)), record))
        if not len(left):
            return fast
        slow = self._one_by_one(records.take(pa.array(left)))
        record_of_slow = np.searchsorted(np.asarray(records.column("offset")), np.asarray(slow.column("offset")))
        return _merged(fast, record, slow, record_of_slow)

    def _one_by_one(self, records: pa.RecordBatch) -> pa.RecordBatch:
        return decode_records(
            iterate_records(records), self.protocol, self._layout_index, self._stored, self._told, self._schemas
        )

    def _fast(
        self, records: pa.RecordBatch, events: EventTexts, decoded: Mapping[str, pa.Array], kept: Places, places: Places
    ) -> pa.RecordBatch:
        record = events.record[places]
        sizes = lengths(records.column("key").fill_null(b"")) + lengths(records.column("value").fill_null(b""))
        counts = np.bincount(record, minlength=len(records))
        columns = {
            name: column if len(kept) == len(column) else column.take(pa.array(kept))
            for name, column in decoded.items()
        }
        columns |= {
            "offset": records.column("offset").take(pa.array(record)),
            "number": pa.array(events.number[places]),
            "events": pa.array(counts[record]),
            "size": pa.array(sizes[record]),
        }
        arrays = [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(len(places), field.type)
            for field in EVENT_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)

    def _shape_of(self, skeleton: bytes, sample: TokenizedSample) -> TextShape | None:
        columns = columnar_decoder(self.protocol)
        assert self.protocol is not None and columns is not None
        if skeleton not in self._shapes:
            if len(self._shapes) >= REMEMBERED:
                self._shapes.clear()
            self._shapes[skeleton] = learn_shape(
                sample, partial(decode, protocol=self.protocol, told=self._told), columns, self._layout_index
            )
        return self._shapes[skeleton]

    def _layout_index(self, layout: Layout) -> int:
        if self._tables:
            self._names = self._names or upstream_names(self._tables, self.protocol)
            layout = self._names(layout)
        place = self._layout_indexes.setdefault(layout, len(self.layouts))
        if place == len(self.layouts):
            self.layouts.append(layout)
        return place


def _whole(events: EventTexts, places: Places, records: int) -> Places:
    """Return which events belong to records whose events could all be read."""
    if len(places) == len(events.record):
        return np.arange(len(places))
    all_of, read_of = (np.bincount(record, minlength=records) for record in (events.record, events.record[places]))
    return np.flatnonzero((all_of == read_of)[events.record[places]])


def _merged(fast: pa.RecordBatch, record: Places, slow: pa.RecordBatch, other: Places) -> pa.RecordBatch:
    order = np.argsort(np.concatenate((record, other)), kind="stable")
    both = pa.Table.from_batches([fast, slow]).combine_chunks().to_batches()[0]
    return both.take(pa.array(order))


def detect_protocol(records: pa.RecordBatch) -> str | None:
    """Return the protocol of the first recognised record; None if there is none."""
    for key, value in zip(records.column("key"), records.column("value"), strict=True):
        try:
            return protocol_of(key.as_py(), value.as_py())
        except UserError:
            continue
    return None


def is_sequential(protocol: str | None) -> bool:
    """Return whether only the place of rows in their partition tells their order."""
    decoder = DECODERS.get(protocol or "")
    return decoder is not None and decoder.sequential


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


def columnar_decoder(protocol: str | None) -> ColumnarDecoder | None:
    """Return how the protocol is read by columns; None if it is unknown, or read one by one only."""
    decoder = DECODERS.get(protocol or "")
    return None if decoder is None else decoder.columns


def schema_memory(protocol: str | None) -> SchemaMemory | None:
    """Return how the protocol's table schemas are remembered; None if it is unknown, or rows say their types."""
    decoder = DECODERS.get(protocol or "")
    return None if decoder is None else decoder.memory


def possible_statements(records: pa.RecordBatch, protocol: str) -> pa.RecordBatch:
    """Drop records that cannot be statements, by a simple text search."""
    columns, memory = columnar_decoder(protocol), schema_memory(protocol)
    if memory is not None:
        return records.filter(pa.array(memory.may_tell(records.column("value").fill_null(b""))))
    if columns is None or not len(records):
        return records
    name, marks = columns.rows
    for mark in marks:
        left = pc.invert(pc.fill_null(pc.match_substring(records.column(name), mark), False))
        records = records.filter(left)
    return records

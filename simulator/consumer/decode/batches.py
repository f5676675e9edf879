"""Decodes batches of a partition: RECORD_SCHEMA to EVENT_SCHEMA. The result equals that of `decode` for every
record."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places, lengths
from simulator.consumer.decode import protocol_of
from simulator.consumer.decode.by_columns import read_columns
from simulator.consumer.decode.event_texts import COLUMNS, EventTexts
from simulator.consumer.decode.row_wise import ReadClaimCheck, decode_records, iterate_records
from simulator.consumer.decode.shapes import TextShape, TokenizedSample, learn_shape
from simulator.consumer.frame import EVENT_SCHEMA, Layout
from simulator.errors import UserError

REMEMBERED = 1 << 15
"""Maximum number of remembered skeletons."""


class StreamDecoder:
    """Decodes the batches of a stream, and collects the layouts of their rows.

    Without a protocol it is that of the first recognised record. With `stored`, claim-check rows are read from their
    files; if that fails, `text` of the row has the reason, and the row stays limited to its handle key.
    """

    def __init__(self, protocol: str | None = None, stored: ReadClaimCheck | None = None) -> None:
        self.protocol = protocol
        self.layouts: list[Layout] = []
        self._stored = stored
        self._layout_indexes: dict[Layout, int] = {}
        self._shapes: dict[bytes, TextShape | None] = {}

    def decoded(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """Decode records to EVENT_SCHEMA, and add the layouts of the rows to `layouts`."""
        self.protocol = self.protocol or detect_protocol(records)
        columns = COLUMNS.get(self.protocol or "")
        if columns is None or not len(records):
            return decode_records(iterate_records(records), self.protocol, self._layout_index, self._stored)
        events = columns.events(records.column("key"), records.column("value"))
        found = read_columns(events.texts, columns, self._shape_of)
        kept = _whole(events, found.places, len(records))
        record = events.record[found.places[kept]]
        left = np.flatnonzero(~np.isin(np.arange(len(records)), record))
        fast = (
            self._fast(
                records,
                events,
                {
                    name: column if len(kept) == len(column) else column.take(pa.array(kept))
                    for name, column in found.columns.items()
                },
                found.places[kept],
            )
            if len(kept)
            else None
        )
        if not len(left):
            assert fast is not None
            return fast
        rest = records.take(pa.array(left))
        slow = decode_records(iterate_records(rest), self.protocol, self._layout_index, self._stored)
        return slow if fast is None else _merged(fast, record, slow, left[_record_of(slow)])

    def _fast(
        self, records: pa.RecordBatch, events: EventTexts, columns: dict[str, pa.Array], places: Places
    ) -> pa.RecordBatch:
        record = events.record[places]
        sizes = lengths(records.column("key").fill_null(b"")) + lengths(records.column("value").fill_null(b""))
        counts = np.bincount(record, minlength=len(records))
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
        assert self.protocol is not None
        if skeleton not in self._shapes:
            if len(self._shapes) >= REMEMBERED:
                self._shapes.clear()
            message = COLUMNS[self.protocol].message(sample.text)
            self._shapes[skeleton] = learn_shape(sample, self.protocol, message, self._layout_index)
        return self._shapes[skeleton]

    def _layout_index(self, layout: Layout) -> int:
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


def _record_of(decoded: pa.RecordBatch) -> Places:
    """Return the record's index of each event."""
    return np.cumsum(np.asarray(decoded.column("number")) == 0) - 1


def _merged(fast: pa.RecordBatch, record: Places, slow: pa.RecordBatch, other: Places) -> pa.RecordBatch:
    """Merge both batches in the order of their records."""
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

"""Batches of a partition decoded: RECORDS to DECODED.

One law: for every record a batch says what `decode` says of it, whichever way it was read.
"""

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
"""Skeletons that are remembered at most."""


class StreamDecoder:
    """Decodes the batches of a stream, one after another, and keeps the layouts that their rows refer to.

    Without a protocol it is that of the first record that looks like one's. With `stored` the rows of claim-check are
    taken from the files that they name; where that fails, `text` of the row says why and it stays cut down.
    """

    def __init__(self, protocol: str | None = None, stored: ReadClaimCheck | None = None) -> None:
        self.protocol = protocol
        self.layouts: list[Layout] = []
        self._stored = stored
        self._places: dict[Layout, int] = {}
        self._shapes: dict[bytes, TextShape | None] = {}

    def decoded(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The events of RECORDS, as DECODED; `layouts` has the layouts of its rows afterwards."""
        self.protocol = self.protocol or detect_protocol(records)
        columns = COLUMNS.get(self.protocol or "")
        if columns is None or not len(records):
            return decode_records(iterate_records(records), self.protocol, self._place, self._stored)
        events = columns.events(records.column("key"), records.column("value"))
        found = read_columns(events.texts, columns, self._learn)
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
        slow = decode_records(iterate_records(rest), self.protocol, self._place, self._stored)
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

    def _learn(self, skeleton: bytes, sample: TokenizedSample) -> TextShape | None:
        assert self.protocol is not None
        if skeleton not in self._shapes:
            if len(self._shapes) >= REMEMBERED:
                self._shapes.clear()
            message = COLUMNS[self.protocol].message(sample.text)
            self._shapes[skeleton] = learn_shape(sample, self.protocol, message, self._place)
        return self._shapes[skeleton]

    def _place(self, layout: Layout) -> int:
        place = self._places.setdefault(layout, len(self.layouts))
        if place == len(self.layouts):
            self.layouts.append(layout)
        return place


def _whole(events: EventTexts, places: Places, records: int) -> Places:
    """Which of the places are of records of which every event could be read."""
    if len(places) == len(events.record):
        return np.arange(len(places))
    all_of, read_of = (np.bincount(record, minlength=records) for record in (events.record, events.record[places]))
    return np.flatnonzero((all_of == read_of)[events.record[places]])


def _record_of(decoded: pa.RecordBatch) -> Places:
    """For each event the place of its record among those that were decoded."""
    return np.cumsum(np.asarray(decoded.column("number")) == 0) - 1


def _merged(fast: pa.RecordBatch, record: Places, slow: pa.RecordBatch, other: Places) -> pa.RecordBatch:
    """Both in the order of their records."""
    order = np.argsort(np.concatenate((record, other)), kind="stable")
    both = pa.Table.from_batches([fast, slow]).combine_chunks().to_batches()[0]
    return both.take(pa.array(order))


def detect_protocol(records: pa.RecordBatch) -> str | None:
    """The protocol of the first record that looks like one of a protocol; None where none does."""
    for key, value in zip(records.column("key"), records.column("value"), strict=True):
        try:
            return protocol_of(key.as_py(), value.as_py())
        except UserError:
            continue
    return None

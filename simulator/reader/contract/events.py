"""A decoded batch as NumPy arrays for the checks, and its rows by layout and table definition.

Table numbers are stable within a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import ROW, WATERMARK, Ints, by_table, picked_values
from simulator.columns.row_image import LazyCells
from simulator.reader.contract import (
    MOST_SAMPLES,
    NEVER,
    PartitionSummary,
    ProgressSamples,
    Violation,
    ViolationCounter,
)
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode.row_images import table_from_layout
from simulator.reader.events import Layout
from simulator.reader.records import TopicPartition
from simulator.reader.truth_metadata import BroadcastDdl
from simulator.tidb.model.table import Table

KeyAndValue = tuple[bytes | None, bytes | None]


def key_and_value(records: pa.RecordBatch, place: int) -> KeyAndValue:
    """Return the message at a place in a batch (RECORD_SCHEMA)."""
    return records.column("key")[place].as_py(), records.column("value")[place].as_py()


@dataclass(frozen=True)
class EventArrays:
    """The events of a batch (EVENT_SCHEMA) as arrays, the partition they are in, and its violations so far."""

    summary: PartitionSummary
    """Of the partition, up to this batch."""

    spec: StreamSpec
    counter: ViolationCounter
    batch: pa.RecordBatch
    records: pa.RecordBatch | None
    """The records that they were decoded from (RECORD_SCHEMA); None if nobody has them."""

    layouts: Sequence[Layout]
    offset: Ints
    ts: Ints
    kind: Ints
    op: Ints
    """0 for other events than row changes."""

    exact: Mask
    layout: Ints
    """-1 for other events."""

    table: Ints
    """Number of `db.table`; -1 for other events."""

    names: Sequence[str]
    """`db.table` by number."""

    low: Ints
    """The highest watermark before each event, -1 for none; one element more, for the event after the batch."""

    @property
    def place(self) -> TopicPartition:
        return self.summary.place

    @property
    def rows(self) -> Ints:
        """Return the indexes of row changes."""
        return np.flatnonzero(self.kind == ROW)

    @property
    def known_records(self) -> pa.RecordBatch:
        """Return the records, where they are there."""
        assert self.records is not None
        return self.records

    def record_of(self, at: Ints) -> Ints:
        """Return the places of the records of events."""
        return np.searchsorted(np.asarray(self.known_records.column("offset"), np.int64), self.offset[at])

    def message(self, at: int) -> KeyAndValue:
        """Return the message of an event."""
        return key_and_value(self.known_records, int(self.record_of(np.array([at]))[0]))

    def at(self, kind: int) -> Ints:
        return np.flatnonzero(self.kind == kind)

    def statement(self, at: int) -> BroadcastDdl:
        values = (self.batch.column(name)[at].as_py() or "" for name in ("schema", "table", "text", "type"))
        return BroadcastDdl(int(self.ts[at]), *values)

    def name(self, at: int) -> str:
        """Return `db.table` of a row."""
        return self.names[int(self.table[at])]

    def report(self, check: str, at: Ints, describe: Callable[[int], str], by_table: bool = True) -> None:
        """Count these events as violations; descriptions are made only for those that are kept."""
        if not len(at):
            return
        tables = self.table[at] if by_table else np.full(len(at), -1)
        for number in np.unique(tables).tolist():
            of_table, name = at[tables == number], "" if number < 0 else self.names[number]
            kept = of_table[: self.counter.room(check, name)].tolist()
            for each in kept:
                self.counter.add(Violation(check, *self.place, int(self.offset[each]), describe(each), name))
            self.counter.more(check, name, len(of_table) - len(kept))


class TableNumbers:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.schemas: list[tuple[str, str]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._by_layout: list[int] = []

    def of(self, schema: str, table: str) -> int:
        number = self._numbers.setdefault((schema, table), len(self.names))
        if number == len(self.names):
            self.names.append(f"{schema}.{table}")
            self.schemas.append((schema, table))
        return number

    def of_layouts(self, layouts: Sequence[Layout]) -> Ints:
        """Return the table number by layout index, followed by -1 for events without a layout."""
        self._by_layout += [self.of(each.schema, each.table) for each in layouts[len(self._by_layout) :]]
        return np.array([*self._by_layout, -1], np.int64)


@dataclass(frozen=True)
class RowGroup:
    """Rows of a batch with one layout and one table definition."""

    at: Ints
    """Their indexes among the rows of the batch."""

    layout: Layout
    table: Table
    defined: bool
    """Whether the definition is known; otherwise the table is derived from the layout."""

    cells: Mapping[str, pa.Array]
    """The columns of the new row, or of the old row of a DELETE."""

    @property
    def name(self) -> str:
        return f"{self.layout.schema}.{self.layout.table}"


class TableDefinitions:
    def __init__(self, spec: StreamSpec) -> None:
        self._spec = spec
        self._known: dict[tuple[str, str], tuple[Ints, list[Table | None]]] = {}
        self._layout_tables: dict[Layout, Table] = {}

    def alike(self, events: EventArrays, rows: Ints) -> Iterator[RowGroup]:
        images = pc.coalesce(events.batch.column("after"), events.batch.column("before"))
        for number, of_layout in by_table(events.layout[rows]):
            layout = events.layouts[number]
            name = layout.schema, layout.table
            if name not in self._known:
                self._known[name] = self._spec.definitions(*name)
            since, tables = self._known[name]
            versions = np.searchsorted(since, events.ts[rows[of_layout]])
            for version, places in by_table(versions) if len(since) else ((0, np.arange(len(of_layout))),):
                at, table = of_layout[places], tables[version]
                defined = table is not None
                if table is None:
                    if layout not in self._layout_tables:
                        self._layout_tables[layout] = table_from_layout(layout)
                    table = self._layout_tables[layout]
                cells = LazyCells(picked_values(images, rows[at]), layout.names)
                yield RowGroup(at, layout, table, defined, cells)


class Sampler:
    """Collects the progress samples of a partition for the report's charts. When there are too many, every other one is
    dropped, so that they stay evenly spread."""

    def __init__(self) -> None:
        self._samples: npt.NDArray[np.int64] = np.zeros((0, 4), np.int64)
        self._row, self._seen, self._stride = NEVER, 0, 1

    def take(self, events: EventArrays, timestamps: Ints | None) -> None:
        """Add a sample for each watermark of the batch, and for its last record."""
        newest = np.maximum(np.maximum.accumulate(np.where(events.kind == ROW, events.ts, NEVER)), self._row)
        self._row = int(newest[-1])
        places = np.union1d(events.at(WATERMARK), [len(events.ts) - 1])
        places = places[(self._seen + np.arange(len(places))) % self._stride == 0]
        self._seen += len(places)
        when = np.full(len(events.ts), -1) if timestamps is None else timestamps
        samples = np.stack([each[places] for each in (events.offset, when, events.low[1:], newest)], axis=1)
        self._samples = np.concatenate((self._samples, samples))
        while len(self._samples) > MOST_SAMPLES:
            self._samples = self._samples[::2]
            self._stride *= 2

    def forget(self) -> None:
        """Drop the samples so far."""
        self._samples = self._samples[:0]

    def samples(self) -> ProgressSamples:
        return ProgressSamples(*self._samples.T)

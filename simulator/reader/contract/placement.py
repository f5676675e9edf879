"""Points 1 and 6: the partition of rows, and the size of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import ROW, Ints, by_table, ints, picked_values
from simulator.columns.row_image import LazyCells
from simulator.errors import UserError
from simulator.quantities import counted
from simulator.reader.contract.destinations import DispatchRows, PartitionCountSpan, RowDestinations
from simulator.reader.contract.events import EventArrays
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode.batches import is_sequential
from simulator.reader.decode.row_texts import table_from_layout
from simulator.reader.frame import Layout
from simulator.reader.records import TopicPartition
from simulator.tidb.model.table import Table
from simulator.tso import FOREVER


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


def check_partitions(events: EventArrays, rows: Ints, alike: RowGroup) -> tuple[Ints | None, Mask | None]:
    """Point 1: recomputing the dispatcher gives the partition that a row is in.

    Returns the hashes by which TiCDC groups the rows besides the table, and which of them are unknown; None if there
    are none.
    """
    where, name, spec = rows[alike.at], alike.name, events.spec
    if not alike.defined and spec.complete:
        events.report("table-unknown", where, lambda at: f"a row of {name}, a table the run does not have")
        return None, None
    destination, unchecked = spec.destination if alike.defined else spec.by_layout, events.summary.unchecked
    if spec.files:
        return None, None
    if isinstance(destination, str):
        unchecked[name, destination] += len(where)
        return None, None
    dispatch_rows = DispatchRows(alike.layout, alike.cells, events.ts[where], events.exact[where])
    try:
        destinations = destination(alike.table, dispatch_rows)
    except (UserError, ValueError) as error:  # ValueError: a text that is no value of its column's type
        why = str(error)
        events.report("cannot-dispatch", where, lambda at: f"a row of {name} cannot be dispatched: {why}")
        return None, None
    if isinstance(destinations, str):
        unchecked[name, destinations] += len(where)
        return None, None
    unknown, topic = destinations.unknown_rows, destinations.topic
    known = np.ones(len(where), np.bool_) if unknown is None else ~unknown
    if topic in spec.grown and is_sequential(spec.protocol):
        known &= dispatch_rows.exact  # the number of partitions depends on the time
    right, partitions = _right(destinations, events.place, dispatch_rows.commit_ts, spec)
    wrong = np.flatnonzero(known & ~right)
    belongs = {
        at: topic if partition < 0 else f"{topic}/{partition}"
        for at, partition in zip(where[wrong].tolist(), partitions[wrong].tolist(), strict=True)
    }
    events.report("wrong-partition", where[wrong], lambda at: f"a row of {name} that belongs in {belongs[at]}")
    if not known.all():
        unchecked[name, destinations.why] += int((~known).sum())
    return destinations.keys, ~known


def _right(destinations: RowDestinations, place: TopicPartition, ts: Ints, spec: StreamSpec) -> tuple[Mask, Ints]:
    """Return which rows are in the right partition, and the right partitions."""
    topic = destinations.topic
    spans = spec.grown.get(topic) or (PartitionCountSpan(-1, FOREVER, spec.partitions.get(topic, 0)),)
    right, partitions = np.zeros(len(ts), np.bool_), np.full(len(ts), -1)
    for span in spans:
        if span.count:
            at = destinations.among(span.count)
            inside = (ts > span.after) & (ts <= span.until)
            partitions = np.where(inside, at, partitions)
            right |= inside & (at == place[1])
    return right & (topic == place[0]), partitions


def check_sizes(events: EventArrays) -> None:
    """Point 6: messages of rows are within TiCDC's limits, and DDL and watermarks have messages of their own."""
    spec, (count, number, size) = events.spec, (ints(events.batch, name) for name in ("events", "number", "size"))
    first, several = number == 0, count > 1
    other = np.unique(events.offset[several & (events.kind != ROW)])
    mixed = np.isin(events.offset, other) if len(other) else np.zeros(len(count), np.bool_)
    events.report(
        "message-mixed",
        np.flatnonzero(mixed & first),
        lambda at: "a DDL or watermark that shares its message",
        by_table=False,
    )
    rows = first & (events.kind == ROW) & ~mixed
    size = size + spec.record_overhead
    large = rows & (size > spec.max_message_bytes)
    if spec.large_rows:
        large &= several
    events.report(
        "message-too-large",
        np.flatnonzero(large),
        lambda at: f"{counted(size[at], 'byte')}, more than max-message-bytes = {spec.max_message_bytes}",
    )
    events.report(
        "too-many-events",
        np.flatnonzero(rows & (count > spec.max_batch_size)),
        lambda at: f"{counted(count[at], 'event')}, more than max-batch-size = {spec.max_batch_size}",
    )

"""The rows of a snapshot before or after a stream, as image pairs, and the comparison of two snapshots without a stream
between them: the rows that a consumer wrote, and the expected rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import by_table, ints
from simulator.errors import UserError
from simulator.limits import counted
from simulator.reader.replay import BEGIN, END, ImagePairSource, Report, as_mask, image_pair_batch, is_unknown
from simulator.reader.replay.normalize import (
    LikeNull,
    arrange_columns,
    convert_to_last,
    dropped_at,
    normalize_images,
    nothing_like_null,
    nulls_as_one,
    row_handles,
)
from simulator.reader.replay.outcome import table_knowledge
from simulator.reader.replay.row_rules import TableKnowledge
from simulator.reader.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline, table_timeline
from simulator.reader.replay.unique_keys import UniqueKey, by_number_of_table, key_values, pairs_at_begin, unique_keys
from simulator.sources import snapshots
from simulator.sources.snapshots import FilePiece, PhysicalTable, PlacedTable, Snapshot, TableScan
from simulator.ticdc.mounter import images_in_zone
from simulator.ticdc.table_info import handle_key
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import UNSIGNED_BIGINT, ColumnType, is_binary

LEAST = 2
"""Minimum number of tasks for reading a large snapshot."""


@dataclass(frozen=True)
class RowsInMessages:
    """How messages have the rows with which those of a snapshot are compared."""

    like_null: LikeNull = nothing_like_null
    time_zone: str = ""
    """The zone of TIMESTAMPs; those of the snapshot are in UTC. Empty for UTC."""


@dataclass(frozen=True)
class StateRows:
    number: int
    history: TableHistory
    is_after: bool
    compared: RowsInMessages = RowsInMessages()
    of_consumer: bool = False
    """Whether a consumer wrote them, so that they may have keys that no row of TiDB has."""

    keys: tuple[UniqueKey, ...] = ()
    """The unique keys whose values are replayed."""

    def image_pairs(self, images: pa.Array, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield image pairs of images whose columns have these names."""
        definition = len(self.history.definitions) - 1 if self.is_after else 0
        table = self.history.definitions[definition].table
        images = images_in_zone(arrange_columns(images, names, table), table, self.compared.time_zone)
        images = normalize_images(images, visible_columns(table))
        if self.is_after:
            last = nulls_as_one(images, self.history, self.compared.like_null)
            yield self._image_pair_batch(last, END, None)
            return
        begin = pa.repeat(BEGIN, len(images)).to_numpy()
        gone_at = dropped_at(self.history, 0, images, begin) if self.history.cuts else None
        last = nulls_as_one(convert_to_last(self.history, 0, images), self.history, self.compared.like_null)
        yield self._image_pair_batch(last, BEGIN, gone_at)
        for key in self.keys:
            then = nulls_as_one(
                convert_to_last(self.history, 0, images, key.last), self.history, self.compared.like_null, key.last
            )
            try:
                rows = key_values(key, then, last)
            except (UserError, ValueError) as error:
                raise UserError(
                    f"{self.history}: a value of {key} that is none of its column's type: {error}"
                ) from None
            yield pairs_at_begin(key, rows, gone_at)

    def _image_pair_batch(self, images: pa.Array, ts: int, gone_at: pa.Array | None) -> pa.RecordBatch:
        handle = self._handles(images)
        values = images if self.history.keyed else pa.repeat(pa.scalar(b""), len(images))
        nulls = pa.nulls(len(images), pa.binary())
        sides = {"old": nulls, "new": values} if ts == BEGIN else {"old": values, "new": nulls}
        columns = {"commit_ts": pa.repeat(pa.scalar(ts, pa.int64()), len(images)), **sides}
        if gone_at is not None:
            columns["dropped_at"] = gone_at
        keep = as_mask(handle.is_valid())
        if not keep.all():
            mask = pa.array(keep)
            handle, columns = handle.filter(mask), {name: values.filter(mask) for name, values in columns.items()}
        return image_pair_batch(self.number, handle, **columns)

    def _handles(self, images: pa.Array) -> pa.Array:
        """Return the handles of images, null where a cell of the key is unknown; raises UserError for other keys that
        no row of TiDB has. Those of a consumer's rows get handles of their own, so that nobody expects these rows."""
        table, none = self.history.table, pa.scalar(None, pa.binary())
        try:
            handles = row_handles(table, images)
        except (UserError, ValueError) as error:
            if not self.of_consumer:
                raise UserError(f"{self.history}: a key that is no value of its column's type: {error}") from None
            handles = row_handles(table, pc.if_else(pa.array(_has_odd_key(table, images)), none, images))
        odd = ~as_mask(handles.is_valid())
        if not self.history.keyed or not odd.any():
            return handles
        odd &= ~_has_unknown_key(table, images)
        if odd.any() and not self.of_consumer:
            rows = counted(int(odd.sum()), "row")
            raise UserError(f"{self.history}: {rows} with NULL in the key, which identifies no row")
        return pc.if_else(pa.array(odd), pc.binary_join_element_wise(ODD, images, b""), handles)


ODD = b"\xff" * 9
"""In a handle of a row that has no key: no key begins so."""


def _has_odd_key(table: Table, images: pa.Array) -> Mask:
    """Return which images have a cell in their key that is no value of its column's type."""
    odd = np.zeros(len(images), np.bool_)
    for type, cell in _key_cells(table, images):
        if not is_binary(type):
            number = UNSIGNED_BIGINT if type.name == "bit" else type
            text = cell.view(pa.string())
            odd |= ~as_mask(pc.equal(tidb_text(number, text), text)) & ~is_unknown(cell)
    return odd


def _has_unknown_key(table: Table, images: pa.Array) -> Mask:
    """Return which images have a cell in their key that is unknown."""
    unknown: Mask = np.logical_or.reduce([is_unknown(cell) for _, cell in _key_cells(table, images)])
    return unknown


def _key_cells(table: Table, images: pa.Array) -> Iterator[tuple[ColumnType, pa.Array]]:
    types = {column.name: column.type for column in table.columns}
    cells = row_image.LazyCells(images, [column.name for column in visible_columns(table)])
    yield from ((types[name], cells[name]) for name in handle_key(table))


def state_table_numbers(timeline: TableTimeline, is_after: bool) -> dict[Key, int]:
    """Return the number of each table that exists before or after the stream, by name in lower case."""
    if is_after:
        return timeline.last()
    first = {name: spans[0] for name, spans in timeline.names.items()}
    return {name: number for name, (since, number) in first.items() if since < 0 and number != NO_TABLE}


def snapshot_sources(
    snapshot: Snapshot,
    timeline: TableTimeline,
    is_after: bool,
    compared: RowsInMessages = RowsInMessages(),
    of_consumer: bool = False,
) -> list[ImagePairSource]:
    """Return sources that read a snapshot as image pairs. Tables that the timeline does not have are left out."""
    numbers = state_table_numbers(timeline, is_after)
    entries = [entry for entry in snapshot.tables if _key(entry.table) in numbers]
    scans, table_of_index = [], dict[int, tuple[StateRows, tuple[str, ...]]]()
    physical = snapshots.physical_tables(entry.table for entry in entries)
    indexes = _indexes(physical)
    keys = {} if is_after or of_consumer else keys_at_begin(timeline)
    for entry in entries:
        number = numbers[_key(entry.table)]
        history = timeline.tables[number]
        rows = StateRows(number, history, is_after, compared, of_consumer, keys.get(number, ()))
        names = tuple(column.name for column in visible_columns(entry.table))
        at = indexes[_key(entry.table)]
        table_of_index |= dict.fromkeys(at, (rows, names))
        scans.append(TableScan(entry, PlacedTable(entry.table, at)))
    return [
        partial(_read, pieces, {place: table_of_index[place] for piece in pieces for place in piece.scan.place.indexes})
        for pieces in snapshots.divide_into_tasks(scans, LEAST)
    ]


def keys_at_begin(timeline: TableTimeline) -> dict[int, tuple[UniqueKey, ...]]:
    """Return the unique keys that tables have before the stream, by table number."""
    return by_number_of_table(key for key in unique_keys(timeline) if not key.first)


def _key(table: Table) -> Key:
    return object_key(table.schema, table.name)


def _indexes(physical: Sequence[PhysicalTable]) -> dict[Key, tuple[int, ...]]:
    indexes: dict[Key, tuple[int, ...]] = {}
    for index, part in enumerate(physical):
        indexes[_key(part.table)] = (*indexes.get(_key(part.table), ()), index)
    return indexes


def _read(
    pieces: Sequence[FilePiece], table_of_index: Mapping[int, tuple[StateRows, tuple[str, ...]]], report: Report
) -> Iterator[pa.RecordBatch]:
    for batch in snapshots.state_batches(pieces):
        for place, at in by_table(ints(batch, "table")):
            rows, names = table_of_index[place]
            images = batch.column("image")
            yield from rows.image_pairs(images if len(at) == len(batch) else images.take(pa.array(at)), names)


NotCompared = tuple[str, str]
"""What is not compared, and why."""


@dataclass(frozen=True)
class Gaps:
    """What a consumer's tables leave open of the expected ones."""

    not_compared: tuple[NotCompared, ...] = ()
    set_aside: frozenset[str] = frozenset()
    """Tables of which no row is compared, because the other side does not have what identifies one."""

    notes: tuple[str, ...] = ()

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(self.not_compared + other.not_compared, self.set_aside | other.set_aside, self.notes + other.notes)


@dataclass(frozen=True)
class SnapshotComparison:
    timeline: TableTimeline
    expected: TableKnowledge
    sources: tuple[ImagePairSource, ...]
    gaps: Gaps = Gaps()


def compare_snapshots(truth: Snapshot, actual: Snapshot) -> SnapshotComparison:
    """Compare the rows of a snapshot with the truth, by the columns that both have. A table that the snapshot lacks
    counts as empty."""
    expected, there = (_tables(snapshot) for snapshot in (truth, actual))
    both = table_timeline((), [*expected.values(), *(table for name, table in there.items() if name not in expected)])
    sources = [*snapshot_sources(actual, both, False, of_consumer=True), *snapshot_sources(truth, both, True)]
    gaps = (
        column_gaps(table, [column.name for column in visible_columns(there[name])])
        for name, table in expected.items()
        if name in there
    )
    return SnapshotComparison(both, all_rows_known(both), tuple(sources), sum(gaps, Gaps()))


def expected_rows(truth: Snapshot) -> SnapshotComparison:
    """Prepare the rows of the truth alone; the caller adds the other side."""
    timeline = table_timeline((), [entry.table for entry in truth.tables])
    return SnapshotComparison(timeline, all_rows_known(timeline), tuple(snapshot_sources(truth, timeline, True)))


def all_rows_known(timeline: TableTimeline) -> TableKnowledge:
    """Return the knowledge that all rows of all tables are known on both sides."""
    return table_knowledge(timeline, range(len(timeline.tables)))


ABSENT = "the other side does not have it"


def column_gaps(table: Table, names: Iterable[str], unusable: Mapping[str, str] = MappingProxyType({})) -> Gaps:
    """Return what remains open if the other side has columns with these names.

    `unusable` has columns whose values there cannot be compared, with the reason. Rows are identified by the handle
    key, and without one by all columns.
    """
    title, there = f"{table.schema}.{table.name}", list(names)
    expected = [column.name for column in visible_columns(table)]
    reasons = {**{name: ABSENT for name in expected if name not in there}, **unusable}
    other = [name for name in there if name not in expected]
    notes = (f"{title}: {_listed(other)} not compared, as the truth does not have it",) if other else ()
    identifying = [name for name in reasons if name in handle_key(table) or not handle_key(table)]
    if identifying:
        by = "the key" if handle_key(table) else "all columns, as it has no key"
        why = f"its rows are identified by {by}, and of column {identifying[0]!r}: {reasons[identifying[0]]}"
        return Gaps(((f"rows of {title}", why),), frozenset((title,)), notes)
    return Gaps(tuple((f"column {name!r} of {title}", why) for name, why in reasons.items()), frozenset(), notes)


def _listed(names: Iterable[str]) -> str:
    every = [f"column {name!r}" for name in names]
    return f"{', '.join(every)} {'is' if len(every) == 1 else 'are'}"


def _tables(snapshot: Snapshot) -> dict[Key, Table]:
    return {object_key(entry.table.schema, entry.table.name): entry.table for entry in snapshot.tables}

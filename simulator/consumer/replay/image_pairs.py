"""Decoded row changes as halves: what each says its row was, and what it is then.

One law: a half depends on its row change and the timeline alone, so that halves may be made anywhere, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import INSERT, ROW, Ints, by_table, ints
from simulator.consumer.decode.layout_table import table_from_layout
from simulator.consumer.frame import Layout
from simulator.consumer.replay import undefined_tables
from simulator.consumer.replay.frame import ANY, IMAGE_PAIR_SCHEMA, NEVER, SAME, STRICT, image_pairs
from simulator.consumer.replay.normalize import (
    as_mask,
    convert_images,
    has_unknown_cell,
    is_unknown,
    normalize_images,
    restore_nulls,
)
from simulator.consumer.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline
from simulator.consumer.replay.undefined_tables import UndefinedTable
from simulator.errors import SchemaError, UserError
from simulator.ticdc import key_bytes
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.partitions import locate_partition

UNDEFINED = "nobody says how it is defined then, and messages do not tell its handle key"
ONLY_CONSISTENCY = "nobody says how it is defined then, so that they are held against each other alone"
ABOVE = "above the TSO at which rows are compared"
UNKNOWN_KEY = "messages do not tell its handle key"
UNKNOWN_ROW = "it has no handle key, and messages do not tell its rows wholly"
HIDES_UPDATES = "it has no handle key, and messages do not tell UPDATEs from INSERTs"

Images = Callable[[pa.RecordBatch, Layout, Table, Fidelity], tuple[pa.Array, pa.Array]]
"""Rows (DECODED) of one layout → their images before and after, as TiDB text in the table's order of columns."""


@dataclass
class SkippedChanges:
    """Row changes that are in no half, counted by table (its number, NOWHERE where it has none), name and why."""

    rows: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    layouts: dict[int, dict[bytes, Layout]] = field(default_factory=dict)
    """What messages tell of tables that nobody defines, by their numbers and the marks of images (`undefined`)."""

    def add(self, number: int, table: str, why: str, count: int) -> None:
        if count:
            self.rows[number, table, why] += count

    def include(self, other: SkippedChanges) -> None:
        """All that was left out elsewhere."""
        self.rows.update(other.rows)
        for number, layouts in other.layouts.items():
            self.layouts.setdefault(number, {}).update(layouts)


@dataclass(frozen=True)
class ImagePairBuilder:
    """What makes halves of the row changes of a stream."""

    timeline: TableTimeline
    fidelity: Fidelity
    images: Images
    until: int | None = None
    """The TSO at which rows are compared; row changes above it are left out."""

    def halves(
        self, batch: pa.RecordBatch, layouts: Sequence[Layout], place: int, left: SkippedChanges
    ) -> Iterator[pa.RecordBatch]:
        """The halves (HALVES) of a batch (DECODED) of the partition with that number."""
        rows = batch.filter(pc.equal(batch.column("kind"), ROW))
        if self.until is not None:
            within = pc.less_equal(rows.column("commit_ts"), self.until)
            left.add(NO_TABLE, "", ABOVE, int(pc.sum(pc.invert(within)).as_py() or 0))
            rows = rows.filter(within)
        for number, places in by_table(ints(rows, "layout")):
            of_layout = rows if len(places) == len(rows) else rows.take(pa.array(places))
            yield from self._of_layout(of_layout, layouts[number], place, left)

    def _of_layout(
        self, rows: pa.RecordBatch, layout: Layout, place: int, left: SkippedChanges
    ) -> Iterator[pa.RecordBatch]:
        ts, name = ints(rows, "commit_ts"), f"{layout.schema}.{layout.table}"
        exact = rows.column("exact").to_numpy(zero_copy_only=False)
        for number, places in by_table(self.timeline.numbers((layout.schema, layout.table), ts, exact)):
            if number == NO_TABLE:
                yield from self._of_undefined(rows.take(pa.array(places)), layout, place, left)
                continue
            history = self.timeline.tables[number]
            if history.odd:
                left.add(number, name, history.odd, len(places))
                continue
            if not history.keyed and (self.fidelity.hides_unchanged_updates or not self.fidelity.old_values):
                left.add(number, name, HIDES_UPDATES, len(places))
                continue
            for definition, at in by_table(history.definition_at(ts[places])):
                part = rows.take(pa.array(places[at]))
                try:
                    before, after = self._images(part, layout, history, definition)
                    yield from self._of_table(part, number, definition, before, after, place, left)
                except UserError as error:
                    left.add(number, name, str(error), len(part))

    def _of_undefined(
        self, rows: pa.RecordBatch, layout: Layout, place: int, left: SkippedChanges
    ) -> Iterator[pa.RecordBatch]:
        """Of a table that nobody defines."""
        name = f"{layout.schema}.{layout.table}"
        if not undefined_tables.has_key(layout):
            left.add(NO_TABLE, name, UNDEFINED, len(rows))
            return
        if self.fidelity.nulls or self.fidelity.old_nulls:
            rows, layout = _cut_down(rows, layout, undefined_tables.without_members(layout) | set(layout.keys))
        ts, touched = ints(rows, "commit_ts"), self.timeline.touched(object_key(layout.schema, layout.table))
        table = table_from_layout(layout)
        for begin, at in by_table(undefined_tables.last_statement_before(touched, ts)):
            part, found = rows.take(pa.array(at)), UndefinedTable(layout, begin)
            try:
                before, after = (
                    normalize_images(side, table.columns) for side in self.images(part, layout, table, self.fidelity)
                )
            except UserError as error:
                left.add(found.number, name, str(error), len(part))
                continue
            left.add(NO_TABLE, name, ONLY_CONSISTENCY, len(part))
            left.layouts.setdefault(found.number, {})[undefined_tables.layout_marker(layout)] = layout
            was, now = found.handles(before), found.handles(after)
            lost = _lost(before, was) | _lost(after, now)
            left.add(found.number, name, UNKNOWN_KEY, int(lost.sum()))
            # Inside a millisecond nobody can say what comes before a statement.
            columns = self._columns(part, place, np.isin(ts[at], touched))
            yield from _keyed(
                found.number,
                (was, now),
                columns,
                (undefined_tables.add_marker(before, layout), undefined_tables.add_marker(after, layout)),
                lost,
            )

    def _images(
        self, rows: pa.RecordBatch, layout: Layout, history: TableHistory, definition: int
    ) -> tuple[pa.Array, pa.Array]:
        """In the table's definition of their time, in one form."""
        table = history.definitions[definition].table
        columns = visible_columns(table)
        if history.lenient:
            rows, layout = _cut_down(rows, layout, {column.name for column in columns})
        before, after = (normalize_images(side, columns) for side in self.images(rows, layout, table, self.fidelity))
        return before, after

    def _of_table(
        self,
        rows: pa.RecordBatch,
        number: int,
        definition: int,
        before: pa.Array,
        after: pa.Array,
        place: int,
        left: SkippedChanges,
    ) -> Iterator[pa.RecordBatch]:
        history = self.timeline.tables[number]
        gone_at = dropped_at(history, definition, after, ints(rows, "commit_ts"))
        before, after = (convert_to_last(history, definition, side) for side in (before, after))
        was, now = (row_handles(history.table, side) for side in (before, after))
        lost = _lost(before, was) | _lost(after, now)
        left.add(number, str(history), UNKNOWN_KEY if history.keyed else UNKNOWN_ROW, int(lost.sum()))
        columns = {**self._columns(rows, place, np.zeros(len(rows), np.bool_)), "gone_at": gone_at}
        if history.keyed:
            yield from _keyed(number, (was, now), columns, (before, after), lost)
            return
        nothing, empty = pa.nulls(len(rows), pa.binary()), pa.repeat(pa.scalar(b""), len(rows))
        columns["turn"] = pc.coalesce(rows.column("rid"), pc.subtract(-1, rows.column("offset")))
        yield _picked(number, was, columns, empty, nothing, 0, as_mask(pc.is_valid(was)) & ~lost)
        yield _picked(number, now, columns, nothing, empty, 2, as_mask(pc.is_valid(now)) & ~lost)

    def _columns(self, rows: pa.RecordBatch, place: int, doubtful: Mask) -> dict[str, pa.Array]:
        """What all halves of a row change have; of the `doubtful` ones nobody knows what the row was."""
        exact = rows.column("exact")
        doubtful = doubtful & ~exact.to_numpy(zero_copy_only=False)
        return {
            "commit_ts": rows.column("commit_ts"),
            "offset": rows.column("offset"),
            "exact": exact,
            "place": pa.repeat(pa.scalar(place, pa.int32()), len(rows)),
            "told": self._told(rows, doubtful),
            "turn": rows.column("offset"),
            "gone_at": pa.repeat(pa.scalar(NEVER, pa.int64()), len(rows)),
        }

    def _told(self, rows: pa.RecordBatch, doubtful: Mask) -> pa.Array:
        """Of INSERTs that may be UPDATEs, what the row may have been."""
        inserts = ints(rows, "op") == INSERT
        told = np.where(inserts & self.fidelity.hides_unchanged_updates, SAME, STRICT)
        anything = rows.column("only_handle").to_numpy(zero_copy_only=False) | (not self.fidelity.old_values)
        told = np.where(inserts & anything | doubtful, ANY, told)
        return pa.array(told.astype(np.int8))


def _lost(images: pa.Array, found: pa.Array) -> Mask:
    """Images whose handle is not told."""
    return as_mask(pc.and_(pc.is_valid(images), pc.is_null(found)))


def _keyed(
    number: int,
    rows: tuple[pa.Array, pa.Array],
    columns: Mapping[str, pa.Array],
    sides: tuple[pa.Array, pa.Array],
    lost: Mask,
) -> Iterator[pa.RecordBatch]:
    """Halves of row changes with the handles and images before and after them."""
    (was, now), (before, after) = rows, sides
    nothing = pa.nulls(len(was), pa.binary())
    same = as_mask(pc.equal(was, now))
    went, came = as_mask(pc.is_valid(was)) & ~same & ~lost, as_mask(pc.is_valid(now)) & ~same & ~lost
    yield _picked(number, now, columns, before, after, 1, same & ~lost)
    yield _picked(number, was, columns, before, nothing, 0, went)
    yield _picked(number, now, columns, nothing, after, 2, came)


def _cut_down(rows: pa.RecordBatch, layout: Layout, known: Collection[str]) -> tuple[pa.RecordBatch, Layout]:
    """Rows of a table that is defined by how it ends, without columns that it had earlier."""
    at = [place for place, name in enumerate(layout.names) if name in known]
    if len(at) == len(layout.names):
        return rows, layout
    for side in ("before", "after"):
        images = rows.column(side)
        if images.null_count < len(images):
            cut = row_image.split(images.drop_null(), len(layout.names))
            images = restore_nulls(row_image.pack([cut.cells(place) for place in at]), images)
            rows = rows.set_column(rows.schema.get_field_index(side), side, images)
    return rows, replace(
        layout,
        names=tuple(layout.names[place] for place in at),
        types=tuple(layout.types[place] for place in at),
        flags=tuple(layout.flags[place] for place in at),
        keys=tuple(name for name in layout.keys if name in known),
    )


def _picked(
    number: int, handle: pa.Array, columns: Mapping[str, pa.Array], old: pa.Array, new: pa.Array, rank: int, mask: Mask
) -> pa.RecordBatch:
    """The halves of the rows of a mask."""
    if not mask.any():
        return pa.RecordBatch.from_pylist([], IMAGE_PAIR_SCHEMA)
    # Inside a millisecond only the offset tells what comes first.
    ranks = pc.if_else(columns["exact"], pa.scalar(rank, pa.int8()), pa.scalar(1, pa.int8()))
    whole = {**columns, "rank": ranks, "old": old, "new": new}
    if mask.all():
        return image_pairs(number, handle, **whole)
    places = pa.array(np.flatnonzero(mask))
    return image_pairs(number, handle.take(places), **{name: values.take(places) for name, values in whole.items()})


def convert_to_last(history: TableHistory, definition: int, images: pa.Array, last: int | None = None) -> pa.Array:
    """Images of one definition of a table in its last one, or in that of a place."""
    tables = [each.table for each in history.definitions[definition : None if last is None else last + 1]]
    for before, after in zip(tables, tables[1:]):
        images = convert_images(images, before, after)
    return images


def row_handles(table: Table, images: pa.Array) -> pa.Array:
    """Handles of images; null where there is none, or a cell of the handle key that nobody told."""
    if images.null_count == len(images):
        return pa.nulls(len(images), pa.binary())
    there = images.drop_null()
    if not handle_key(table):
        return restore_nulls(pc.if_else(pa.array(has_unknown_cell(there)), pa.scalar(None, pa.binary()), there), images)
    names = [column.name for column in visible_columns(table)]
    cells = row_image.LazyCells(there, names)
    texts = {name: cells[name] for name in handle_key(table)}
    hidden = np.logical_or.reduce([is_unknown(cell) for cell in texts.values()])
    if hidden.any():
        keep = pa.array(~hidden)
        texts = {name: pc.if_else(keep, cell, pa.scalar(None, pa.binary())) for name, cell in texts.items()}
    made = key_bytes.handle_keys(table, {name: cell.view(pa.string()) for name, cell in texts.items()})
    return restore_nulls(pc.if_else(pa.array(~hidden), made, pa.scalar(None, pa.binary())), images)


def dropped_at(history: TableHistory, definition: int, images: pa.Array, ts: Ints) -> pa.Array:
    """The statement that drops or empties the partition that each row is in then; raises SchemaError where that cannot
    be told."""
    found = np.full(len(images), NEVER, np.int64)
    for cut in reversed(history.cuts):
        if cut.definition < definition or images.null_count == len(images):
            continue
        at = np.flatnonzero(as_mask(pc.is_valid(images)) & (ts <= cut.ts))
        if not len(at):
            continue
        table = history.definitions[cut.definition].table
        then = convert_to_last(history, definition, images.take(pa.array(at)), cut.definition)
        found[at[_cut(table, then, cut.names)]] = cut.ts
    return pa.array(found)


def _cut(table: Table, images: pa.Array, names: frozenset[str]) -> Mask:
    """Which rows are in those partitions."""
    if not names or table.partitioning is None:
        return np.ones(len(images), np.bool_)
    if has_unknown_cell(images).any():
        why = "which partition its rows are in is not told, and some were dropped or emptied"
        raise SchemaError(f"{table.schema}.{table.name}: {why}")
    cells = row_image.named(images, [column.name for column in visible_columns(table)])
    ordinal = locate_partition(table, cells)
    gone = [place for place, each in enumerate(table.partitioning.partitions) if each.name.lower() in names]
    return as_mask(pc.is_in(ordinal, pa.array(gone, pa.int32())))

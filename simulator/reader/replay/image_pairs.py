"""Decoded row changes as image pairs: the old and the new image of a row, by its handle.

An image pair depends only on its row change and the timeline, so that pairs can be built by any task in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import DELETE, INSERT, ROW, UPDATE, by_table, ints, picked
from simulator.columns.hashing import add_sums
from simulator.errors import NotSimulatedError, UserError
from simulator.reader.decode.row_images import table_from_layout
from simulator.reader.events import UNKNOWN_CELL, Layout
from simulator.reader.replay import (
    ANY,
    NEVER,
    SAME,
    STRICT,
    SentImages,
    SkippedChanges,
    as_mask,
    has_unknown_cell,
    is_unknown,
    keyed_pairs,
    normalize,
    select_pairs,
    with_told_times,
)
from simulator.reader.replay.normalize import (
    LikeNull,
    UndefinedTable,
    convert_to_last,
    dropped_at,
    normalize_images,
    nothing_like_null,
    nulls_as_one,
    row_handles,
    with_scales,
)
from simulator.reader.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline
from simulator.reader.replay.unique_keys import (
    INEXACT,
    NO_OLD_ROWS,
    UNTIMED,
    UniqueKey,
    by_number_of_table,
    follows_from_replay,
    key_values,
    pairs_of_changes,
    unique_keys,
    without,
)
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import SOFT_DELETE_TIME, Table, visible_columns

UNDEFINED = "nobody says how it is defined then, and messages do not tell its handle key"
ONLY_CONSISTENCY = "nobody says how it is defined then, so that they are held against each other alone"
ABOVE = "above the TSO at which rows are compared"
UNKNOWN_KEY = "messages do not tell its handle key"
UNKNOWN_ROW = "it has no handle key, and messages do not tell its rows wholly"
SPREAD = "its changes of one row may be in several partitions, and DELETEs do not tell their commit-ts"
HIDES_UPDATES = "it has no handle key, and messages do not tell UPDATEs from INSERTs"

Images = Callable[[pa.RecordBatch, Layout, Table, Fidelity], tuple[pa.Array, pa.Array]]
"""Converts rows (EVENT_SCHEMA) of one layout to their images before and after, as TiDB text in the table's column
order."""


@dataclass(frozen=True)
class ImagePairBuilder:
    timeline: TableTimeline
    fidelity: Fidelity
    images: Images
    until: int | None = None
    """The TSO at which rows are compared; later row changes are skipped."""

    restarts: bool = True
    """Whether row changes may be repeated."""

    one_partition: Callable[[Table], bool] = lambda table: True
    """As `StreamSpec.one_partition`."""

    like_null: LikeNull = nothing_like_null

    @cached_property
    def unique_keys(self) -> Mapping[int, Sequence[UniqueKey]]:
        """The unique keys, by the number of their table."""
        return by_number_of_table(unique_keys(self.timeline))

    def image_pairs(
        self, batch: pa.RecordBatch, layouts: Sequence[Layout], partition_index: int, skipped: SkippedChanges
    ) -> Iterator[pa.RecordBatch]:
        """Yield the image pairs of a batch (EVENT_SCHEMA) of the partition with that index."""
        rows = picked(batch, np.flatnonzero(ints(batch, "kind") == ROW))
        if self.until is not None:
            within = np.flatnonzero(ints(rows, "commit_ts") <= self.until)
            skipped.add(NO_TABLE, "", ABOVE, len(rows) - len(within))
            rows = picked(rows, within)
        if len(rows) and rows.column("bound")[0].is_valid:
            rows = _placed_by_bound(rows)
        for number, places in by_table(ints(rows, "layout")):
            part, layout = picked(rows, places), layouts[number]
            sent = SentImages(part, layout)
            yield from self._pairs_of_layout(part, layout, partition_index, skipped, sent)
            add_sums(skipped.sums, sent.sums(self.fidelity.milliseconds))

    def _pairs_of_layout(
        self, rows: pa.RecordBatch, layout: Layout, partition_index: int, skipped: SkippedChanges, sent: SentImages
    ) -> Iterator[pa.RecordBatch]:
        ts, name = ints(rows, "commit_ts"), f"{layout.schema}.{layout.table}"
        exact = rows.column("exact").to_numpy(zero_copy_only=False)
        for number, places in by_table(self.timeline.numbers((layout.schema, layout.table), ts, exact)):
            if number == NO_TABLE:
                yield from self._pairs_of_undefined(rows.take(pa.array(places)), layout, partition_index, skipped)
                continue
            history = self.timeline.tables[number]
            if history.odd:
                skipped.add(number, name, history.odd, len(places))
                continue
            if not history.keyed and (self.fidelity.hides_unchanged_updates or not self.fidelity.old_values):
                skipped.add(number, name, HIDES_UPDATES, len(places))
                continue
            if rows.column("bound")[0].is_valid and not self.one_partition(history.table):
                skipped.add(number, name, SPREAD, len(places))
                continue
            for definition, at in by_table(history.definition_at(ts[places])):
                part = picked(rows, places[at])
                try:
                    before, after = self._images(part, layout, history, definition)
                    table = history.definitions[definition].table
                    if not self.like_null(table):
                        touched = self.timeline.touched(object_key(layout.schema, layout.table))
                        sent.put(places[at], table, touched, before, after)
                    yield from self._pairs_of_table(part, number, definition, before, after, partition_index, skipped)
                except (
                    UserError,
                    NotSimulatedError,
                    ValueError,
                ) as error:  # ValueError: a text that is no value of its column's type
                    skipped.add(number, name, str(error), len(part))

    def _pairs_of_undefined(
        self, rows: pa.RecordBatch, layout: Layout, partition_index: int, skipped: SkippedChanges
    ) -> Iterator[pa.RecordBatch]:
        name = f"{layout.schema}.{layout.table}"
        if not normalize.has_key(layout):
            skipped.add(NO_TABLE, name, UNDEFINED, len(rows))
            return
        if self.fidelity.nulls or self.fidelity.old_nulls:
            rows, layout = _drop_columns(rows, layout, normalize.without_members(layout) | set(layout.keys))
        ts, touched = ints(rows, "commit_ts"), self.timeline.touched(object_key(layout.schema, layout.table))
        table = table_from_layout(layout)
        for begin, at in by_table(normalize.last_statement_before(touched, ts)):
            part, undefined = rows.take(pa.array(at)), UndefinedTable(layout, begin)
            try:
                before, after = (
                    normalize_images(side, table.columns) for side in self.images(part, layout, table, self.fidelity)
                )
            except (UserError, ValueError) as error:
                skipped.add(undefined.number, name, str(error), len(part))
                continue
            skipped.add(NO_TABLE, name, ONLY_CONSISTENCY, len(part))
            skipped.layouts.setdefault(undefined.number, {})[normalize.layout_marker(layout)] = layout
            was, now = undefined.handles(before), undefined.handles(after)
            part, was, before = self._with_old_rows(part, table, was, now, before)
            lost = _unknown_handles(before, was) | _unknown_handles(after, now)
            skipped.add(undefined.number, name, UNKNOWN_KEY, int(lost.sum()))
            # Inside a millisecond the order of rows and statements is unknown.
            columns = self._columns(part, partition_index, np.isin(ts[at], touched), None)
            yield from keyed_pairs(
                undefined.number,
                (was, now),
                columns,
                (normalize.add_marker(before, layout), normalize.add_marker(after, layout)),
                lost,
            )

    def _images(
        self, rows: pa.RecordBatch, layout: Layout, history: TableHistory, definition: int
    ) -> tuple[pa.Array, pa.Array]:
        table = history.definitions[definition].table
        columns = visible_columns(table)
        if history.lenient:
            rows, layout = _drop_columns(rows, layout, {column.name for column in columns})
        before, after = (normalize_images(side, columns) for side in self.images(rows, layout, table, self.fidelity))
        if history.lenient:
            earlier = pa.array((ints(rows, "commit_ts") <= history.altered) | as_mask(rows.column("bound").is_valid()))
            if pc.any(earlier).as_py():
                before, after = (pc.if_else(earlier, with_scales(side, columns), side) for side in (before, after))
        return self._without_marked(before, table), after

    def _without_marked(self, before: pa.Array, table: Table) -> pa.Array:
        """Return old rows without those that were marked as deleted, for which a DELETE was sent."""
        if not self.fidelity.ends_marked or not has_marks(table):
            return before
        names = [column.name for column in visible_columns(table)]
        old = np.flatnonzero(as_mask(before.is_valid()))
        marks = row_image.cell(before.take(pa.array(old)), len(names), names.index(SOFT_DELETE_TIME))
        marked = np.zeros(len(before), np.bool_)
        marked[old] = as_mask(pc.is_valid(marks)) & ~is_unknown(marks)
        return pc.if_else(pa.array(marked), pa.scalar(None, pa.binary()), before)

    def _pairs_of_table(
        self,
        rows: pa.RecordBatch,
        number: int,
        definition: int,
        before: pa.Array,
        after: pa.Array,
        partition_index: int,
        skipped: SkippedChanges,
    ) -> Iterator[pa.RecordBatch]:
        history = self.timeline.tables[number]
        dropped_ts = dropped_at(history, definition, after, ints(rows, "commit_ts"))
        sides = before, after
        before, after = (self._in_definition(history, definition, side) for side in sides)
        was, now = (row_handles(history.table, side) for side in (before, after))
        last_sides, sent = (before, after), rows
        if history.keyed:
            rows, was, before = self._with_old_rows(rows, history.table, was, now, before)
        lost = _unknown_handles(before, was) | _unknown_handles(after, now)
        skipped.add(number, str(history), UNKNOWN_KEY if history.keyed else UNKNOWN_ROW, int(lost.sum()))
        if history.keyed:
            skipped.unknown.update(dict(_unknown_values(number, history.table, after)))
        certain, table = np.zeros(len(rows), np.bool_), history.definitions[definition].table
        columns = {**self._columns(rows, partition_index, certain, table), "dropped_at": dropped_ts}
        marked = pc.and_(pc.is_valid(sent.column("before")), pc.is_null(sides[0]))  # sent as deleted, or still there
        columns["old_check"] = pc.if_else(marked, pa.scalar(ANY, pa.int8()), columns["old_check"])
        if number in self.unique_keys:
            yield from self._pairs_of_keys(sent, number, definition, sides, last_sides, columns, skipped)
        if history.keyed:
            yield from keyed_pairs(number, (was, now), columns, (before, after), lost)
            return
        nulls, empty = pa.nulls(len(rows), pa.binary()), pa.repeat(pa.scalar(b""), len(rows))
        columns["sequence"] = pc.coalesce(rows.column("rid"), pc.subtract(-1, rows.column("offset")))
        yield select_pairs(number, was, columns, empty, nulls, 0, as_mask(pc.is_valid(was)) & ~lost)
        yield select_pairs(number, now, columns, nulls, empty, 2, as_mask(pc.is_valid(now)) & ~lost)

    def _pairs_of_keys(
        self,
        rows: pa.RecordBatch,
        number: int,
        definition: int,
        sides: Sequence[pa.Array],
        last_sides: Sequence[pa.Array],
        columns: Mapping[str, pa.Array],
        skipped: SkippedChanges,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the image pairs of the values that rows have in unique keys. `sides` are the rows before and after, and
        `last_sides` in the last definition of the table."""
        history, ts = self.timeline.tables[number], ints(rows, "commit_ts")
        keys = [key for key in self.unique_keys.get(number, ()) if key.first <= definition <= key.last]
        untold = UNTIMED if rows.column("bound")[0].is_valid else NO_OLD_ROWS if self._hides_old_row(rows).any() else ""
        if untold != UNTIMED:
            keys = [key for key in keys if not follows_from_replay(key, self.fidelity)]
        if untold:
            skipped.keys.update((key.number, untold) for key in keys)
            return
        for key in keys:
            then = (
                last_sides
                if key.at_end
                else [self._in_definition(history, definition, side, key.last) for side in sides]
            )
            try:
                had, has = (key_values(key, *each) for each in zip(then, last_sides, strict=True))
            except (UserError, ValueError) as error:  # ValueError: a text that is no value of its column's type
                skipped.keys.add((key.number, str(error)))
                continue
            if had.unknown.any() or has.unknown.any():
                skipped.keys.add((key.number, INEXACT))
                continue
            # Inside a millisecond the order of rows and statements is unknown.
            table = history.definitions[definition].table
            touched = self.timeline.touched(object_key(table.schema, table.name))
            has = without(has, ~as_mask(rows.column("exact")) & np.isin(ts, touched))
            yield from pairs_of_changes(key, had, has, columns, ts <= key.since)

    def _in_definition(
        self, history: TableHistory, definition: int, images: pa.Array, last: int | None = None
    ) -> pa.Array:
        """Convert images from one definition of a table to its last one, or to the definition at index `last`."""
        return nulls_as_one(convert_to_last(history, definition, images, last), history, self.like_null, last)

    def _with_old_rows(
        self, rows: pa.RecordBatch, table: Table, was: pa.Array, now: pa.Array, before: pa.Array
    ) -> tuple[pa.RecordBatch, pa.Array, pa.Array]:
        """Return rows, the handles of their old rows, and these, where UPDATEs without one have an unknown one.

        It has the handle of the new row, unless an UPDATE may move it.
        """
        if not self.fidelity.names_operations or self.fidelity.moves_rows and not table.clustered:
            return rows, was, before
        bare = pa.array((ints(rows, "op") == UPDATE) & as_mask(pc.is_null(rows.column("before"))))
        unknown = pa.scalar(row_image.joined([UNKNOWN_CELL] * len(visible_columns(table))), pa.binary())
        sent = pc.if_else(bare, unknown, rows.column("before"))
        rows = rows.set_column(rows.schema.get_field_index("before"), "before", sent)
        return rows, pc.if_else(bare, now, was), pc.if_else(bare, unknown, before)

    def _columns(
        self, rows: pa.RecordBatch, partition_index: int, doubtful: Mask, table: Table | None
    ) -> dict[str, pa.Array]:
        """Return the columns that all image pairs of a row change share. The old rows of `doubtful` changes are
        unknown."""
        exact = rows.column("exact")
        doubtful = doubtful & ~exact.to_numpy(zero_copy_only=False)
        return {
            "commit_ts": rows.column("commit_ts"),
            "offset": rows.column("offset"),
            "exact": exact,
            "partition_index": pa.repeat(pa.scalar(partition_index, pa.int32()), len(rows)),
            "old_check": self._old_checks(rows, doubtful, table),
            "sequence": rows.column("offset"),
            "dropped_at": pa.repeat(pa.scalar(NEVER, pa.int64()), len(rows)),
        }

    def _old_checks(self, rows: pa.RecordBatch, doubtful: Mask, table: Table | None) -> pa.Array:
        """Return how old images are checked; an INSERT may stand for an UPDATE, which may have no old image."""
        old_check = np.where(_has_no_old_row(rows) & self.fidelity.hides_unchanged_updates, SAME, STRICT)
        if self.restarts:  # where the offset is the place, a repeated change is behind others
            doubtful = doubtful | rows.column("bound").is_valid().to_numpy(zero_copy_only=False)
        absent = self.fidelity.deletes_absent
        if absent == "keyed" or absent == "clustered" and (table is None or table.clustered):
            doubtful = doubtful | (ints(rows, "op") == DELETE)
        if self.fidelity.drops_deletes and table and has_marks(table):
            doubtful = doubtful | (ints(rows, "op") == INSERT)
        if self.fidelity.ends_marked and self.fidelity.names_operations and table and has_marks(table):
            doubtful = doubtful | (ints(rows, "op") == UPDATE)  # the old row may have been marked as deleted
        old_check = np.where(self._hides_old_row(rows) | doubtful, ANY, old_check)
        return pa.array(old_check.astype(np.int8))

    def _hides_old_row(self, rows: pa.RecordBatch) -> Mask:
        """Return which changes have no old row, although there may have been one."""
        if self.fidelity.names_operations:
            blind = ints(rows, "op") == UPDATE
        else:
            blind = np.full(len(rows), not self.fidelity.old_values)
        hidden: Mask = _has_no_old_row(rows) & (as_mask(rows.column("only_handle")) | blind)
        return hidden


def _has_no_old_row(rows: pa.RecordBatch) -> Mask:
    mask: Mask = (ints(rows, "op") == INSERT) | np.asarray(pc.is_null(rows.column("before")))
    return mask


def has_marks(table: Table) -> bool:
    """Return whether rows tell when they were marked as deleted."""
    types = {column.name: column.type for column in table.columns}
    mark = types.get(SOFT_DELETE_TIME)
    return mark is not None and (mark.name, mark.decimal) == ("timestamp", 6)


def _placed_by_bound(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose times do not fall, so that they are in the order of offsets, for a protocol whose rows may have
    no commit-ts."""
    rows = with_told_times(rows)
    columns = {"commit_ts": rows.column("bound"), "exact": pa.repeat(pa.scalar(False), len(rows))}
    for name, values in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    return rows


def _unknown_values(number: int, table: Table, images: pa.Array) -> Iterator[tuple[tuple[int, str], int]]:
    """Yield how many values of a column are unknown in images, for those columns that have any."""
    there = images.drop_null()
    if not len(there) or not has_unknown_cell(there).any():
        return
    cells = row_image.named(there, [column.name for column in visible_columns(table)])
    for name, column in cells.items():
        if count := int(is_unknown(column).sum()):
            yield (number, name), count


def _unknown_handles(images: pa.Array, handles: pa.Array) -> Mask:
    return as_mask(pc.and_(pc.is_valid(images), pc.is_null(handles)))


def _drop_columns(rows: pa.RecordBatch, layout: Layout, known: Collection[str]) -> tuple[pa.RecordBatch, Layout]:
    """Drop columns that are not in `known`, for a table whose earlier definitions are unknown; raises UserError if all
    are."""
    at = [place for place, name in enumerate(layout.names) if name in known]
    if len(at) == len(layout.names):
        return rows, layout
    if not at:
        raise UserError(f"no column of {', '.join(layout.names)} is known")
    for side in ("before", "after"):
        images = rows.column(side)
        if images.null_count < len(images):
            cut = row_image.split(images.drop_null(), len(layout.names))
            images = row_image.restore_nulls(row_image.pack([cut.cells(place) for place in at]), images)
            rows = rows.set_column(rows.schema.get_field_index(side), side, images)
    return rows, replace(
        layout,
        names=tuple(layout.names[place] for place in at),
        types=tuple(layout.types[place] for place in at),
        binary=tuple(layout.binary[place] for place in at),
        keys=tuple(name for name in layout.keys if name in known),
    )

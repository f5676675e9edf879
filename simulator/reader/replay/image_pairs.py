"""Decoded row changes as image pairs: the old and the new image of a row, by its handle.

An image pair depends only on its row change and the timeline, so that pairs can be built by any task in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import DELETE, INSERT, ROW, UPDATE, Ints, by_table, ints, picked
from simulator.columns.hashing import add_sums
from simulator.errors import NotSimulatedError, UserError
from simulator.reader.decode.row_images import table_from_layout
from simulator.reader.events import UNKNOWN_CELL, Layout
from simulator.reader.replay import (
    ANY,
    NEVER,
    SAME,
    STRICT,
    SkippedChanges,
    as_mask,
    has_unknown_cell,
    is_unknown,
    keyed_pairs,
    normalize,
    select_pairs,
)
from simulator.reader.replay.normalize import (
    LikeNull,
    UndefinedTable,
    convert_to_last,
    drop_columns,
    dropped_at,
    normalize_images,
    nothing_like_null,
    nulls_as_one,
    row_handles,
    with_scales,
)
from simulator.reader.replay.sent_images import SentImages, placed_by_bound, redefined
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
from simulator.tidb.model.table import SOFT_DELETE_TIME, Name, Table, visible_columns

UNDEFINED = "nobody says how it is defined then, and messages do not tell its handle key"
ONLY_CONSISTENCY = "nobody says how it is defined then, so that they are held against each other alone (--truth DIR of the run, or --before DIR, tells)"
ABOVE = "above the TSO at which rows are compared"
UNKNOWN_KEY = "messages do not tell its handle key"
UNKNOWN_ROW = "it has no handle key, and messages do not tell its rows wholly"
SPREAD = "its changes of one row may be in several partitions, and DELETEs do not tell their commit-ts"
HIDES_UPDATES = "it has no handle key, and messages do not tell UPDATEs from INSERTs"

NUMBER_BITS = 20  # of an event in its message

Images = Callable[[pa.RecordBatch, Layout, Table, Fidelity], tuple[pa.Array, pa.Array]]
"""Converts rows (EVENT_SCHEMA) of one layout to their images before and after, as TiDB text in the table's column
order."""

Sides = tuple[pa.Array, pa.Array]
"""The images before and after of row changes."""


@dataclass(frozen=True)
class LayoutChanges:
    """Row changes (EVENT_SCHEMA) of one layout in a partition."""

    rows: pa.RecordBatch
    layout: Layout
    partition_index: int
    skipped: SkippedChanges
    """Gets the changes without an image pair."""

    @property
    def name(self) -> str:
        return f"{self.layout.schema}.{self.layout.table}"

    def at(self, places: Ints) -> LayoutChanges:
        return replace(self, rows=picked(self.rows, places))

    def skip(self, number: int, why: str) -> None:
        """Note that these changes of the table with that number have no image pairs."""
        self.skipped.add(number, self.name, why, len(self.rows))


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
    told: TableTimeline | None = None
    """That with all statements of a truth, of rows that are in the order of their places alone."""

    @cached_property
    def unique_keys(self) -> Mapping[int, Sequence[UniqueKey]]:
        """The unique keys, by the number of their table."""
        return by_number_of_table(unique_keys(self.timeline))

    @cached_property
    def _redefined(self) -> frozenset[Name]:
        """The names that had several definitions, of which only the commit-ts of a row tells which one it had."""
        return frozenset() if self.told is None else redefined(self.told)

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
            rows = placed_by_bound(rows)
        for number, places in by_table(ints(rows, "layout")):
            changes = LayoutChanges(picked(rows, places), layouts[number], partition_index, skipped)
            sent = SentImages(changes.rows, changes.layout)
            yield from self._pairs_of_layout(changes, sent)
            name = changes.layout.schema, changes.layout.table
            if self.told is not None and name in self._redefined:
                sent.put_by_time(self.told, name, partial(self._told_images, changes.layout))
            add_sums(skipped.sums, sent.sums(self.fidelity.milliseconds))

    def _pairs_of_layout(self, changes: LayoutChanges, sent: SentImages) -> Iterator[pa.RecordBatch]:
        ts, layout = ints(changes.rows, "commit_ts"), changes.layout
        exact = changes.rows.column("exact").to_numpy(zero_copy_only=False)
        for number, places in by_table(self.timeline.numbers((layout.schema, layout.table), ts, exact)):
            of_table = changes.at(places)
            if number == NO_TABLE:
                yield from self._pairs_of_undefined(of_table)
                continue
            history = self.timeline.tables[number]
            if why := self._why_not_replayed(of_table.rows, history):
                of_table.skip(number, why)
                continue
            for definition, at in by_table(history.definition_at(ts[places])):
                part, table = of_table.at(at), history.definitions[definition].table
                try:
                    sides = self._images(part, history, table)
                    if not self.like_null(table) and (layout.schema, layout.table) not in self._redefined:
                        touched = self.timeline.touched(object_key(layout.schema, layout.table))
                        sent.put(places[at], table, touched, *sides)
                    yield from self._pairs_of_table(part, number, definition, sides)
                except (
                    UserError,
                    NotSimulatedError,
                    ValueError,
                ) as error:  # ValueError: a text that is no value of its column's type
                    part.skip(number, str(error))

    def _why_not_replayed(self, rows: pa.RecordBatch, history: TableHistory) -> str:
        """Return why row changes of a table have no image pairs; empty if they have."""
        if not history.odd and not history.keyed:
            if self.fidelity.hides_unchanged_updates or not self.fidelity.old_values:
                return HIDES_UPDATES
        if not history.odd and rows.column("bound")[0].is_valid and not self.one_partition(history.table):
            return SPREAD
        return history.odd

    def _pairs_of_undefined(self, changes: LayoutChanges) -> Iterator[pa.RecordBatch]:
        rows, layout, skipped = changes.rows, changes.layout, changes.skipped
        if not normalize.has_key(layout):
            changes.skip(NO_TABLE, UNDEFINED)
            return
        if self.fidelity.nulls or self.fidelity.old_nulls:
            rows, layout = drop_columns(rows, layout, normalize.without_members(layout) | set(layout.keys))
        ts, touched = ints(rows, "commit_ts"), self.timeline.touched(object_key(layout.schema, layout.table))
        table = table_from_layout(layout)
        for begin, at in by_table(normalize.last_statement_before(touched, ts)):
            part, undefined = changes.at(at), UndefinedTable(layout, begin)
            some = picked(rows, at)
            try:
                before, after = (
                    normalize_images(side, table.columns) for side in self.images(some, layout, table, self.fidelity)
                )
            except (UserError, ValueError) as error:
                part.skip(undefined.number, str(error))
                continue
            part.skip(NO_TABLE, ONLY_CONSISTENCY)
            skipped.layouts.setdefault(undefined.number, {})[normalize.layout_marker(layout)] = layout
            was, now = undefined.handles(before), undefined.handles(after)
            some, was, before = self._with_old_rows(some, table, was, now, before)
            lost = _unknown_handles(before, was) | _unknown_handles(after, now)
            skipped.add(undefined.number, changes.name, UNKNOWN_KEY, int(lost.sum()))
            # Inside a millisecond the order of rows and statements is unknown.
            columns = self._columns(some, changes.partition_index, np.isin(ts[at], touched), None)
            sides = normalize.add_marker(before, layout), normalize.add_marker(after, layout)
            yield from keyed_pairs(undefined.number, (was, now), columns, sides, lost)

    def _images(self, changes: LayoutChanges, history: TableHistory, table: Table) -> Sides:
        """Return the images of changes in that definition of their table."""
        rows, layout, columns = changes.rows, changes.layout, visible_columns(table)
        if history.lenient:
            rows, layout = drop_columns(rows, layout, {column.name for column in columns})
        before, after = (normalize_images(side, columns) for side in self.images(rows, layout, table, self.fidelity))
        if history.lenient:
            earlier = pa.array((ints(rows, "commit_ts") <= history.altered) | as_mask(rows.column("bound").is_valid()))
            if pc.any(earlier).as_py():
                before, after = (pc.if_else(earlier, with_scales(side, columns), side) for side in (before, after))
        return self._without_marked(before, table), after

    def _told_images(self, layout: Layout, rows: pa.RecordBatch, table: Table) -> Sides | None:
        """Return the images of changes in a definition of their table, as `sent_images.ImagesOf` does."""
        if self.like_null(table) or has_marks(table):
            return None
        before, after = self.images(rows, layout, table, self.fidelity)
        columns = visible_columns(table)
        return normalize_images(before, columns), normalize_images(after, columns)

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
        self, changes: LayoutChanges, number: int, definition: int, sides: Sides
    ) -> Iterator[pa.RecordBatch]:
        history, rows, skipped = self.timeline.tables[number], changes.rows, changes.skipped
        table = history.definitions[definition].table
        dropped_ts = dropped_at(history, definition, sides[1], ints(rows, "commit_ts"))
        before, after = last_sides = self._in_definition(history, definition, sides)
        was, now = (row_handles(history.table, side) for side in last_sides)
        if history.keyed:
            rows, was, before = self._with_old_rows(rows, history.table, was, now, before)
        lost = _unknown_handles(before, was) | _unknown_handles(after, now)
        skipped.add(number, str(history), UNKNOWN_KEY if history.keyed else UNKNOWN_ROW, int(lost.sum()))
        if history.keyed:
            skipped.unknown.update(dict(_unknown_values(number, history.table, after)))
        certain = np.zeros(len(rows), np.bool_)
        columns = {**self._columns(rows, changes.partition_index, certain, table), "dropped_at": dropped_ts}
        sent = changes.rows.column("before")
        marked = pc.and_(pc.is_valid(sent), pc.is_null(sides[0]))  # sent as deleted, or still there
        columns["old_check"] = pc.if_else(marked, pa.scalar(ANY, pa.int8()), columns["old_check"])
        for key in self._told_keys(changes, number, definition):
            then = last_sides if key.at_end else self._in_definition(history, definition, sides, key.last)
            # Inside a millisecond the order of rows and statements is unknown.
            touched = self.timeline.touched(object_key(table.schema, table.name))
            doubtful = ~as_mask(columns["exact"]) & np.isin(ints(changes.rows, "commit_ts"), touched)
            yield from _pairs_of_key(key, [*zip(then, last_sides)], columns, doubtful, skipped)
        if history.keyed:
            yield from keyed_pairs(number, (was, now), columns, (before, after), lost)
            return
        none, empty = pa.nulls(len(rows), pa.binary()), pa.repeat(pa.scalar(b""), len(rows))
        columns["sequence"] = pc.coalesce(rows.column("rid"), pc.subtract(-1, rows.column("offset")))
        for handle, rank, old, new in ((was, 0, empty, none), (now, 2, none, empty)):
            there = as_mask(pc.is_valid(handle)) & ~lost
            yield select_pairs(number, handle, {**columns, "old": old, "new": new}, rank, there)

    def _told_keys(self, changes: LayoutChanges, number: int, definition: int) -> Sequence[UniqueKey]:
        """Return the unique keys of a definition whose values the changes tell; note those of which they do not."""
        keys = [key for key in self.unique_keys.get(number, ()) if key.first <= definition <= key.last]
        is_untimed = changes.rows.column("bound")[0].is_valid
        if not is_untimed:
            keys = [key for key in keys if not follows_from_replay(key, self.fidelity)]
        untold = UNTIMED if is_untimed else NO_OLD_ROWS if self._hides_old_row(changes.rows).any() else ""
        if untold:
            changes.skipped.keys.update((key.number, untold) for key in keys)
        return [] if untold else keys

    def _in_definition(self, history: TableHistory, definition: int, sides: Sides, last: int | None = None) -> Sides:
        """Convert images from one definition of a table to its last one, or to the definition at index `last`."""
        before, after = (
            nulls_as_one(convert_to_last(history, definition, side, last), history, self.like_null, last)
            for side in sides
        )
        return before, after

    def _with_old_rows(
        self, rows: pa.RecordBatch, table: Table, was: pa.Array, now: pa.Array, before: pa.Array
    ) -> tuple[pa.RecordBatch, pa.Array, pa.Array]:
        """Return rows, the handles of their old rows, and these, where UPDATEs without one have an unknown one.

        It has the handle of the new row, unless an UPDATE may move it.
        """
        if not self.fidelity.names_operations or self.fidelity.moves_rows and not table.clustered:
            return rows, was, before
        bare = pa.array((ints(rows, "op") == UPDATE) & as_mask(pc.is_null(rows.column("before"))))
        unknown = pa.scalar(row_image.image_of([UNKNOWN_CELL] * len(visible_columns(table))), pa.binary())
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
            "sequence": pa.array((ints(rows, "offset") << NUMBER_BITS) + ints(rows, "number")),
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


def _pairs_of_key(
    key: UniqueKey, images: Sequence[Sides], columns: Mapping[str, pa.Array], doubtful: Mask, skipped: SkippedChanges
) -> Iterator[pa.RecordBatch]:
    """Yield the image pairs of the values that rows have in a unique key. `images` are the rows before and those after, each in
    the last definition of the key and in that of the table; what `doubtful` ones take is left out."""
    try:
        had, has = (key_values(key, *each) for each in images)
    except (UserError, ValueError) as error:  # ValueError: a text that is no value of its column's type
        skipped.keys.add((key.number, str(error)))
        return
    if had.unknown.any() or has.unknown.any():
        skipped.keys.add((key.number, INEXACT))
        return
    yield from pairs_of_changes(key, had, without(has, doubtful), columns)


def _has_no_old_row(rows: pa.RecordBatch) -> Mask:
    mask: Mask = (ints(rows, "op") == INSERT) | np.asarray(pc.is_null(rows.column("before")))
    return mask


def has_marks(table: Table) -> bool:
    """Return whether rows tell when they were marked as deleted."""
    types = {column.name: column.type for column in table.columns}
    mark = types.get(SOFT_DELETE_TIME)
    return mark is not None and (mark.name, mark.decimal) == ("timestamp", 6)


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

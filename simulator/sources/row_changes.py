"""Row changes of a table whose definition changes in between, each in the definition of its time.

A change precedes the statements exactly if its time does and the old definition can hold it. The statements then turn
the row into the result of the change. `transition` has the rows after the statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import ROW_CHANGES, Ints
from simulator.columns.row_image import same
from simulator.sources.snapshots import locate_rows
from simulator.sources.transition import (
    OCCURRENCE_BYTES,
    SchemaChangePoint,
    Transition,
    cut_unaltered,
    numpy_mask,
    split_at,
    texts_of,
)
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.datums.cast import convert_text
from simulator.tidb.ddl.column_definitions import FromColumn, FromDefault, convert_column, repeat_text
from simulator.tidb.ddl.defaults import row_default
from simulator.tidb.model.table import visible_columns
from simulator.tidb.model.types import family
from simulator.tidb.storage.row_keys import encode_key
from simulator.tso import ROW_LOGICAL, compose

FIRST = (1).to_bytes(OCCURRENCE_BYTES, "big")
"""Number of rows that have no equal row."""


ALTERED = pa.schema(
    [
        ("slot", pa.int64()),
        ("fixed", pa.int64()),
        ("table", pa.int32()),
        ("handle", pa.binary()),
        ("before", pa.binary()),
        ("after", pa.binary()),
        ("unaltered", pa.binary()),
    ]
)
"""Rows of both snapshots whose images differ, joined by `table`, the number of the new table or of a partition of it, and
`handle`.

`before` is the image from `altered_rows`, with `unaltered`, null for new rows; `after` is the image in the second
snapshot, null for removed rows. `slot` is the millisecond of the period, derived from seed, table and handle; where
`fixed` is not -1 it says when the row changes, even if the old definition could hold it later.
"""

Held = tuple[Mask, tuple[pa.Array, pa.Array, pa.Array, pa.Array]]
"""Mask of the changes that the old definition can hold, and table, handle, before and after of these."""

InOldDefinition = Callable[[Transition, pa.RecordBatch], Held]


def placed_row_changes(
    change: Transition, point: SchemaChangePoint, span: ChangePeriod, rows: pa.RecordBatch
) -> Iterator[tuple[Ints, pa.RecordBatch]]:
    """Yield the ROW_CHANGES of joined rows (ALTERED) in parts and in any order, each with the positions of its rows.

    Changes that the changefeed does not replicate under the table's name of their time are left out. Table, handle and
    images of a change are those of the definition of its time. The handle of a table without a handle key is the image
    and the number of the row among equal ones. `handle` has this form, too: for a table without a handle key after the
    statements it ends with that number, and so does the handle before them.
    """
    slots, fixed = rows["slot"].to_numpy(), rows["fixed"].to_numpy()
    early = np.zeros(len(slots), bool)
    for places, in_old_definition in _candidates(change, point, rows):
        fits, columns = in_old_definition(change, rows.take(pa.array(places)))
        early[places[fits]] = True
        at = places[fits]
        yield at, _batch(_chosen(fixed[at], _ahead(point, span, slots[at])), span, *columns)
    if change.sent[1]:
        late = rows.filter(pa.array(~early))
        table_numbers, handles, old, new = (late[name] for name in ROW_CHANGES.names[1:])
        at = np.flatnonzero(~early)
        yield at, _batch(_chosen(fixed[at], _behind(point, span, slots[at])), span, table_numbers, handles, old, new)


def _candidates(
    change: Transition, point: SchemaChangePoint, rows: pa.RecordBatch
) -> Iterator[tuple[Ints, InOldDefinition]]:
    """Yield the positions of rows whose change may precede the statements, with the function that converts it to the
    old definition."""
    slots, fixed = rows["slot"].to_numpy(), rows["fixed"].to_numpy()
    early = point.squeezed | (slots < point.slot) | _leaving(change, rows["before"], rows["after"])
    early = np.where(fixed < 0, early & bool(point.slot), fixed < point.slot)
    deleted, new = numpy_mask(pc.is_null(rows["after"])), numpy_mask(pc.is_null(rows["before"]))
    for kind, fit, in_old_definition in (
        (deleted, _deletes_fit, _deletes),
        (~deleted & ~new, _updates_fit, _updates),
        (new, _inserts_fit, _inserts),
    ):
        places = np.flatnonzero(early & kind)
        if len(places) and fit(change):
            yield places, in_old_definition


def _deletes(change: Transition, rows: pa.RecordBatch) -> Held:
    old = _unaltered(change, rows["handle"], rows["unaltered"])
    return np.ones(len(rows), bool), (old.table, old.handle, old.image, pa.nulls(len(rows), pa.binary()))


def _updates(change: Transition, rows: pa.RecordBatch) -> Held:
    old = _unaltered(change, rows["handle"], rows["unaltered"])
    fits, new = _as_old_rows(change, rows["handle"], rows["after"], old)
    return fits, (new.table, new.handle, old.image.filter(pa.array(fits)), new.image)


def _inserts(change: Transition, rows: pa.RecordBatch) -> Held:
    fits, new = _as_old_rows(change, rows["handle"], rows["after"], None)
    return fits, (new.table, new.handle, pa.nulls(len(new.table), pa.binary()), new.image)


def _ahead(point: SchemaChangePoint, span: ChangePeriod, slots: Ints) -> Ints:
    """Return milliseconds of the period for changes before the statements."""
    return slots * point.slot // span.over_ms if point.squeezed else slots % point.slot


def _behind(point: SchemaChangePoint, span: ChangePeriod, slots: Ints) -> Ints:
    """Return milliseconds of the period for changes after the statements."""
    left = max(1, span.over_ms - point.slot)
    return np.where(slots < point.slot, point.slot + slots % left, slots)


def _chosen(fixed: Ints, slots: Ints) -> Ints:
    return np.where(fixed < 0, slots, fixed)


def _batch(slots: Ints, span: ChangePeriod, *columns: pa.Array) -> pa.RecordBatch:
    commit_ts = compose(span.first_ms + slots, ROW_LOGICAL)
    return pa.RecordBatch.from_arrays([pa.array(commit_ts), *columns], schema=ROW_CHANGES)


@dataclass(frozen=True)
class OldRows:
    """Rows in the table's definition before the statements."""

    table: pa.Array
    handle: pa.Array
    image: pa.Array

    def filter(self, mask: Mask) -> OldRows:
        kept = pa.array(mask)
        return OldRows(self.table.filter(kept), self.handle.filter(kept), self.image.filter(kept))


def _unaltered(change: Transition, handle: pa.Array, unaltered: pa.Array) -> OldRows:
    """Return the old rows; `handle` is theirs in the new definition."""
    number, image = cut_unaltered(unaltered)
    return OldRows(number, _handle(change, handle, image), image)


def _as_old_rows(change: Transition, handle: pa.Array, after: pa.Array, old: OldRows | None) -> tuple[Mask, OldRows]:
    """Return which of the rows the old definition can hold, and these in the old definition.

    Those are the rows that the statements turn into the given ones. `old` are the rows before the change, None for new
    rows; a row keeps its handle and its partition.
    """
    new = list(texts_of(change.after.table, after).values())
    names = [column.name for column in visible_columns(change.before.table)]
    old_cells = dict(zip(names, _taken_back(change, new, old), strict=True))
    place = locate_rows(change.before, old_cells, len(after))
    fits = numpy_mask(pc.is_valid(place)) if old is None else same(place, old.table)
    possible = *_allowed(change, old_cells.values()), *_reached(change, list(old_cells.values()), new)
    for condition in (*possible, *_free(change, old_cells, old)):
        fits = fits & condition
    kept = pa.array(fits)
    image = row_image.pack([text.filter(kept) for text in old_cells.values()])
    rows = OldRows(place.filter(kept), _handle(change, handle.filter(kept), image), image)
    if old is None or change.key_stays:
        return fits, rows
    stays = same(rows.handle, old.handle.filter(kept))
    fits = fits.copy()
    fits[fits] = stays
    return fits, rows.filter(stays)


def _deletes_fit(change: Transition) -> bool:
    """Return whether changes before the statements are replicated."""
    return change.sent[0]


def _updates_fit(change: Transition) -> bool:
    """Return whether the old definition can hold updated rows: it needs a key that identifies them."""
    known = change.before.row_ids or bool(handle_key(change.before.table))
    return change.sent[0] and known and _computable(change)


def _inserts_fit(change: Transition) -> bool:
    """Return whether the old definition can hold new rows: its keys are the new ones, and no rows are removed."""
    names = [column.name for column in visible_columns(change.before.table)]
    came = {
        names[source.index]: (column.name, source)
        for source, column in zip(change.sources, visible_columns(change.after.table), strict=True)
        if isinstance(source, FromColumn)
    }
    unique = (index for index in change.before.table.indexes if index.unique)
    kept = all(part.name in came for index in unique for part in index.columns)
    return change.sent[0] and kept and _same_key(change, came) and not change.lost and _computable(change)


def _same_key(change: Transition, came: Mapping[str, tuple[str, FromColumn]]) -> bool:
    """Return whether the handle key has the same columns, prefix lengths and collations."""
    before, after = change.before.table, change.after.table
    parts = [came.get(name) for name in handle_key(before)]
    types = [(source.before, source.after) for _, source in filter(None, parts)]
    texts = [pair for pair in types if all(family(type) in ("string", "text") for type in pair)]
    return (
        tuple(part and part[0] for part in parts) == handle_key(after)
        and handle_lengths(before) == handle_lengths(after)
        and all(then.collation == now.collation for then, now in texts)
    )


def _computable(change: Transition) -> bool:
    """Return whether no stored generated column is dropped, whose old value would have to be computed."""
    kept = {source.index for source in change.sources if isinstance(source, FromColumn)}
    columns = visible_columns(change.before.table)
    return all(index in kept or not column.generated for index, column in enumerate(columns))


def _taken_back(change: Transition, new: Sequence[pa.Array], old: OldRows | None) -> Iterator[pa.Array]:
    """Yield the old table's texts: converted back from its new columns; dropped columns as before, or their default."""
    table, rows = change.before.table, len(new[0])
    back = {
        source.index: (index, source) for index, source in enumerate(change.sources) if isinstance(source, FromColumn)
    }
    columns = visible_columns(table)
    were = list(texts_of(table, old.image).values()) if old and len(back) < len(columns) else []
    for place, column in enumerate(columns):
        if place in back:
            index, source = back[place]
            yield convert_text(source.after, source.before, new[index]) if source.cast_back else new[index]
        else:
            default = None if column.default_expression else row_default(column)
            yield were[place] if were else repeat_text(default, rows)


def _allowed(change: Transition, old_cells: Iterable[pa.Array]) -> Iterator[Mask]:
    """Yield whether the old table accepts the row: no NULL in a NOT NULL column."""
    for column, text in zip(visible_columns(change.before.table), old_cells, strict=True):
        if column.not_null:
            yield numpy_mask(pc.is_valid(text))


def _reached(change: Transition, old_cells: Sequence[pa.Array], new: Sequence[pa.Array]) -> Iterator[Mask]:
    """Yield, for each column, whether the statements turn the old row into the new one."""
    for source, text in zip(change.sources, new, strict=True):
        match source:
            case FromDefault() | FromColumn(cast=True) | FromColumn(cast_back=True):
                yield same(convert_column(source, old_cells, len(text)), text)


def _leaving(change: Transition, before: pa.Array, after: pa.Array) -> Mask:
    """Return which rows leave a value of a unique key that the statements add: before them, as another row may have it."""
    leaving, there = np.zeros(len(before), bool), numpy_mask(pc.is_valid(before))
    gone = numpy_mask(pc.is_null(after))[there]
    images = [image.filter(pa.array(there)) for image in (before, pc.coalesce(after, before))]
    for key in change.added_keys:
        was, now = (encode_key(change.after.table, key, texts_of(change.after.table, image)) for image in images)
        leaving[there] |= numpy_mask(pc.is_valid(was)) & (gone | ~same(was, now))
    return leaving


def _free(change: Transition, cells: Mapping[str, pa.Array], old: OldRows | None) -> Iterator[Mask]:
    """Yield, for each unique key that the statements drop, whether the row gets no value of it: behind them another row
    may have the value, even one that does not change."""
    table = change.before.table
    for key in change.dropped_keys:
        value = encode_key(table, key, cells)
        kept = numpy_mask(pc.is_null(value))
        yield kept if old is None else kept | same(encode_key(table, key, texts_of(table, old.image)), value)


def _handle(change: Transition, handle: pa.Array, image: pa.Array) -> pa.Array:
    """Return the old handles of rows with these new handles, from their images."""
    table = change.before.table
    if change.key_stays:
        return handle
    if handle_key(table):
        return table_info.handles_of_rows(table, texts_of(table, image))
    numbered = not handle_key(change.after.table)
    occurrence = split_at(handle, -OCCURRENCE_BYTES)[1] if numbered else FIRST
    return pc.binary_join_element_wise(image, occurrence, b"")


@dataclass(frozen=True)
class ChangePeriod:
    """A period of simulated time in which rows change."""

    start_ms: int
    """The millisecond of statements that create tables; the first rows change in the next one."""

    over_ms: int

    @property
    def first_ms(self) -> int:
        """The first millisecond in which a row changes."""
        return self.start_ms + 1

    @property
    def end_ms(self) -> int:
        """The last millisecond in which a row changes."""
        return self.start_ms + self.over_ms

    @property
    def next_ms(self) -> int:
        """The earliest start of the next period, after the statements that drop tables."""
        return self.end_ms + 2

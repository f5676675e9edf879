"""Row images in one normal form, and converted to a later definition of their table.

Two normalized images are equal exactly if their rows are, as far as messages distinguish rows. Floating-point text has
one spelling, and bytes that are not UTF-8 become U+FFFD. An unknown cell is 0xFD, and may equal any other cell.

A table whose definition is unknown is replayed by the column names and the handle key in its messages. The effect of
a statement on it is unknown, so that it starts anew after each. Images begin with a marker of their layout, since
images of different layouts are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask, binary, buffers
from simulator.columns.change_frame import Ints
from simulator.errors import SchemaError, UserError
from simulator.reader.contract.message_writer import possible
from simulator.reader.decode.row_images import MEMBERS, table_from_layout, with_nulls
from simulator.reader.events import UNKNOWN_CELL, Layout
from simulator.reader.replay import LOST_BYTES, NEVER, as_mask, has_unknown_cell, is_unknown
from simulator.reader.replay.table_timeline import NO_TABLE, ReplayedTable, TableHistory
from simulator.ticdc import table_info
from simulator.ticdc.table_info import handle_key
from simulator.tidb.datums.cast import convert_text
from simulator.tidb.ddl.column_definitions import ColumnSource, FromColumn, FromDefault, find_column_sources
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import TYPES, ColumnType, family, is_binary
from simulator.tidb.storage.tables import locate_partition

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""A floating-point number as text."""


SCALES = {"decimal": 30, "datetime": 6, "time": 6}
"""Families of types whose texts have a number of decimals, with the greatest."""

LikeNull: TypeAlias = "Callable[[Table], Mapping[str, str]]"
"""Returns the columns of a table of which messages do not distinguish some values from NULL, with a regular expression of
these values' texts."""


def nothing_like_null(table: Table) -> Mapping[str, str]:
    return {}


def normalize_images(images: pa.Array, columns: Sequence[Column]) -> pa.Array:
    """Normalize the images (binary, null for no row) of a table with these visible columns."""
    odd = [place for place, column in enumerate(columns) if _needs_normalizing(column, images)]

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place in odd:
            cells[place] = _normalize_cells(columns[place], cells[place])
        return cells

    return row_image.with_columns(images, len(columns), change) if odd else images


def convert_images(images: pa.Array, before: Table, after: Table) -> pa.Array:
    """Convert images to a later definition of the table. A cell whose new value cannot be determined becomes
    unknown."""
    sources = find_column_sources(before, after)
    if _is_unchanged(sources, before):
        return images

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        return [
            _normalize_cells(column, _source_cells(source, cells, len(cells[0])))
            for column, source in zip(visible_columns(after), sources, strict=True)
        ]

    return row_image.with_columns(images, len(visible_columns(before)), change)


def with_scales(images: pa.Array, columns: Sequence[Column]) -> pa.Array:
    """Give numbers and times of images as many decimals as the columns have, as ALTER TABLE does; the images may be of an
    earlier definition, which is not known."""
    scaled = [place for place, column in enumerate(columns) if family(column.type) in SCALES]

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place in scaled:
            type = columns[place].type
            most = SCALES[family(type)]
            earlier = replace(type, decimal=most if type.decimal != most else most - 1)
            cells[place] = _converted(earlier, type, cells[place])
        return cells

    return row_image.with_columns(images, len(columns), change) if scaled else images


def arrange_columns(images: pa.Array, names: Sequence[str], table: Table) -> pa.Array:
    """Rearrange the columns of images to those of the table. Missing columns become unknown cells."""
    order = [column.name for column in visible_columns(table)]

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        by_name, unknown = dict(zip(names, cells, strict=True)), pa.repeat(pa.scalar(UNKNOWN_CELL), len(cells[0]))
        return [by_name.get(name, unknown) for name in order]

    return images if list(names) == order else row_image.with_columns(images, len(names), change)


def drop_columns(rows: pa.RecordBatch, layout: Layout, known: Collection[str]) -> tuple[pa.RecordBatch, Layout]:
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


def may_be_equal(images: pa.Array, others: pa.Array, columns: int) -> Mask:
    """Return whether images (no nulls) with that many cells may be of one row: all cells known on both sides are
    equal."""
    equal = as_mask(pc.equal(images, others))
    doubt = np.flatnonzero(~equal & (has_unknown_cell(images) | has_unknown_cell(others)))
    if len(doubt):
        places = pa.array(doubt)
        pairs = zip(*(_cells(side.take(places), columns) for side in (images, others)))
        equal[doubt] = np.logical_and.reduce(
            [row_image.same(one, other) | is_unknown(one) | is_unknown(other) for one, other in pairs]
        )
    return equal


def _cells(images: pa.Array, columns: int) -> list[pa.Array]:
    image = row_image.split(images, columns)
    return [image.cells(place) for place in range(columns)]


def _is_unchanged(sources: Sequence[ColumnSource], before: Table) -> bool:
    return len(sources) == len(visible_columns(before)) and all(
        isinstance(source, FromColumn) and source.index == place and not source.cast
        for place, source in enumerate(sources)
    )


def _source_cells(source: ColumnSource, cells: Sequence[pa.Array], rows: int) -> pa.Array:
    match source:
        case FromColumn(index, before, after):
            cell = cells[index]
            if not source.cast:
                return cell
            return _converted(before, after, cell)
        case FromDefault(text):
            default = None if text is None else text.encode("utf-8", "surrogatepass")
            return pa.repeat(pa.scalar(default, pa.binary()), rows)


def _converted(before: ColumnType, after: ColumnType, cells: pa.Array) -> pa.Array:
    """Convert cells to another type. Those whose new value cannot be determined become unknown, impossible ones too."""
    hidden = is_unknown(cells)
    if (right := possible(before, cells)) is not None:
        hidden |= ~as_mask(right.fill_null(True))
    text = pc.if_else(pa.array(hidden), pa.scalar(None, pa.binary()), cells)
    now = convert_text(before, after, text).cast(pa.binary())
    lost = as_mask(pc.is_null(now)) & (hidden | as_mask(pc.is_valid(cells)))
    return pc.if_else(pa.array(lost), pa.scalar(UNKNOWN_CELL), now)


def _needs_normalizing(column: Column, images: pa.Array) -> bool:
    """Return whether equal values of the column may have several spellings among these images."""
    if family(column.type) == "float":
        return True
    lead = 0xEF if is_binary(column.type) else 0xED
    return family(column.type) in ("string", "text") and bool((buffers(images)[0] == lead).any())


def _normalize_cells(column: Column, cells: pa.Array) -> pa.Array:
    if family(column.type) == "float":
        return _normalize_float(column, cells)
    if family(column.type) not in ("string", "text"):
        return cells
    if is_binary(column.type):
        lost = as_mask(pc.match_substring(cells, LOST_BYTES)) if _needs_normalizing(column, cells) else np.zeros(0)
        return pc.if_else(pa.array(lost), pa.scalar(UNKNOWN_CELL), cells) if lost.any() else cells
    return _replace_surrogates(cells)


def _normalize_float(column: Column, cells: pa.Array) -> pa.Array:
    """Normalize floating-point text: `1e21`, `1E+21` and the digits written out are one number. FLOAT has 32 bits."""
    hidden = is_unknown(cells)
    text = pc.if_else(pa.array(hidden), pa.scalar(None, pa.binary()), cells) if hidden.any() else cells
    readable = pc.match_substring_regex(text, NUMBER)
    if pc.any(pc.invert(readable)).as_py():  # what is no number is compared as it is
        others = _normalize_float(column, pc.if_else(readable, text, pa.scalar(None, pa.binary())))
        return pc.if_else(pc.fill_null(readable, False), others, cells)
    number = pc.cast(pc.cast(text, pa.string()), pa.float64())
    if column.type.name == "float":
        number = pc.cast(pc.cast(number, pa.float32(), safe=False), pa.float64())
    formed = pc.cast(pc.cast(pc.add(number, 0.0), pa.string()), pa.binary())
    return pc.if_else(pa.array(hidden), pa.scalar(UNKNOWN_CELL), formed) if hidden.any() else formed


def _replace_surrogates(cells: pa.Array) -> pa.Array:
    """Replace lone surrogates, which stand for bytes that are not UTF-8, by U+FFFD."""
    data, offsets = buffers(cells)
    leads = np.flatnonzero(data == 0xED)
    leads = leads[(data[leads + 1] & 0xFE) == 0xB2] if len(leads) else leads
    if not len(leads):
        return cells
    put = data.copy()
    for place, byte in enumerate(LOST_BYTES):
        put[leads + place] = byte
    return binary(put, offsets, cells)


def convert_to_last(history: TableHistory, definition: int, images: pa.Array, last: int | None = None) -> pa.Array:
    """Convert images from one definition of a table to its last one, or to the definition at index `last`."""
    tables = [each.table for each in history.definitions[definition : None if last is None else last + 1]]
    for before, after in zip(tables, tables[1:]):
        images = convert_images(images, before, after)
    return images


def nulls_as_one(images: pa.Array, history: TableHistory, like_null: LikeNull, last: int | None = None) -> pa.Array:
    """Return images of the last definition of a table, or of that at index `last`, with NULL in place of what any of its
    definitions does not distinguish from NULL, but for the handle key."""
    texts: dict[str, set[str]] = {}
    for definition in history.definitions:
        for name, text in like_null(definition.table).items():
            texts.setdefault(name, set()).add(text)
    table = history.table if last is None else history.definitions[last].table
    names, keys = [column.name for column in visible_columns(table)], handle_key(table)
    patterns = {name: "|".join(sorted(each)) for name, each in texts.items() if name not in keys}
    return with_nulls(images, names, patterns)


def row_handles(table: Table, images: pa.Array) -> pa.Array:
    """Return the handles of images; null where there is no image or a cell of the handle key is unknown."""
    if images.null_count == len(images):
        return pa.nulls(len(images), pa.binary())
    present = images.drop_null()
    if not handle_key(table):
        return row_image.restore_nulls(
            pc.if_else(pa.array(has_unknown_cell(present)), pa.scalar(None, pa.binary()), present), images
        )
    names = [column.name for column in visible_columns(table)]
    cells = row_image.LazyCells(present, names)
    texts = {name: cells[name] for name in handle_key(table)}
    hidden = np.logical_or.reduce([is_unknown(cell) for cell in texts.values()])
    if hidden.any():
        keep = pa.array(~hidden)
        texts = {name: pc.if_else(keep, cell, pa.scalar(None, pa.binary())) for name, cell in texts.items()}
    made = table_info.handles_of_rows(table, {name: cell.view(pa.string()) for name, cell in texts.items()})
    return row_image.restore_nulls(pc.if_else(pa.array(~hidden), made, pa.scalar(None, pa.binary())), images)


def dropped_at(history: TableHistory, definition: int, images: pa.Array, ts: Ints) -> pa.Array:
    """Return the commit-ts of the statement that drops or truncates each row's partition, else NEVER. Raises
    SchemaError if it cannot be determined."""
    timestamps = np.full(len(images), NEVER, np.int64)
    for cut in reversed(history.cuts):
        if cut.definition < definition or images.null_count == len(images):
            continue
        at = np.flatnonzero(as_mask(pc.is_valid(images)) & (ts <= cut.ts))
        if not len(at):
            continue
        table = history.definitions[cut.definition].table
        then = convert_to_last(history, definition, images.take(pa.array(at)), cut.definition)
        timestamps[at[_in_partitions(table, then, cut.names)]] = cut.ts
    return pa.array(timestamps)


def _in_partitions(table: Table, images: pa.Array, names: frozenset[str]) -> Mask:
    if not names or table.partitioning is None:
        return np.ones(len(images), np.bool_)
    if has_unknown_cell(images).any():
        why = "which partition its rows are in is not told, and some were dropped or emptied"
        raise SchemaError(f"{table.schema}.{table.name}: {why}")
    cells = row_image.named(images, [column.name for column in visible_columns(table)])
    ordinal = locate_partition(table, cells)
    dropped = [place for place, each in enumerate(table.partitioning.partitions) if each.name.lower() in names]
    return as_mask(pc.is_in(ordinal, pa.array(dropped, pa.int32())))


MARKER_SIZE = 8
"""Bytes of a layout marker."""

CODES = frozenset(TYPES[name].code for name in MEMBERS)
MOST = 1 << 30
"""Numbers for such tables, downwards from NO_TABLE."""


@dataclass(frozen=True)
class UndefinedTable:
    """An undefined table between two statements about it."""

    layout: Layout
    since: int
    """Commit-ts of the statement before."""

    @property
    def number(self) -> int:
        """Return a number below NO_TABLE, the same in every task. Collisions are harmless, since handles include the
        name."""
        return NO_TABLE - 1 - crc32(self._name) % MOST

    def handles(self, images: pa.Array) -> pa.Array:
        """Return the handles of images; null where there is no image or a cell of the handle key is unknown."""
        if images.null_count == len(images):
            return pa.nulls(len(images), pa.binary())
        there, names = images.drop_null(), self.layout.names
        cells = [row_image.cell(there, len(names), names.index(name)) for name in sorted(self.layout.keys)]
        hidden = np.logical_or.reduce([is_unknown(cell) for cell in cells])
        made = pc.binary_join_element_wise(self._name, row_image.pack(cells), b"\0")
        return row_image.restore_nulls(pc.if_else(pa.array(hidden), pa.scalar(None, pa.binary()), made), images)

    @property
    def _name(self) -> bytes:
        return f"{self.layout.schema}.{self.layout.table}\0{self.since}".encode("utf-8", "surrogatepass")


def has_key(layout: Layout) -> bool:
    """Return whether the messages identify rows."""
    return bool(layout.keys) and set(layout.keys) <= set(layout.names)


def layout_marker(layout: Layout) -> bytes:
    """Return the prefix of the images of a layout."""
    return b"%08x" % crc32(repr((layout.names, layout.types)).encode("utf-8", "surrogatepass"))


def add_marker(images: pa.Array, layout: Layout) -> pa.Array:
    return pc.binary_join_element_wise(layout_marker(layout), images, b"\xff")


def remove_marker(image: bytes) -> bytes:
    return image[MARKER_SIZE + 1 :]


def marked_may_be_equal(images: pa.Array, others: pa.Array) -> Mask:
    """Return whether images with markers may be of one row."""
    mask = np.ones(len(images), np.bool_)
    marks = pc.binary_slice(images, 0, MARKER_SIZE)
    same = np.flatnonzero(as_mask(pc.equal(marks, pc.binary_slice(others, 0, MARKER_SIZE))))
    encoded = marks.take(pa.array(same)).dictionary_encode()
    for number in range(len(encoded.dictionary)):
        places = same[np.asarray(encoded.indices) == number]
        one, other = (side.take(pa.array(places)) for side in (images, others))
        mask[places] = may_be_equal(one, other, one[0].as_py().count(b"\xff") + 1)
    return mask


def layout_history(layout: Layout) -> TableHistory:
    """Return the table as its messages describe it."""
    return TableHistory((ReplayedTable(-1, table_from_layout(layout)),), False)


def without_members(layout: Layout) -> frozenset[str]:
    """Return the columns whose values are not ENUM or SET numbers; an empty ENUM or SET may be sent as NULL."""
    return frozenset(
        name
        for name, kind in zip(layout.names, layout.types, strict=True)
        if kind not in CODES and str(kind).split("(")[0].lower() not in MEMBERS
    )


def last_statement_before(touched: Ints, ts: Ints) -> Ints:
    """Return the last statement before each commit-ts; -1 for none."""
    known = np.concatenate(([-1], touched))
    statements: Ints = known[np.searchsorted(touched, ts, "left")]
    return statements

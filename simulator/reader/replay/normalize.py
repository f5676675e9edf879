"""Row images in one normal form, and converted to a later definition of their table.

Two normalized images are equal exactly if their rows are, as far as messages distinguish rows. Floating-point text has
one spelling, and bytes that are not UTF-8 become U+FFFD. An unknown cell is 0xFD, and may equal any other cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask, binary, buffers
from simulator.reader.contract.possible_values import possible
from simulator.reader.decode import LOST
from simulator.reader.frame import UNKNOWN_CELL
from simulator.tidb.datums.cast import convert_text
from simulator.tidb.ddl.column_definitions import (
    ColumnSource,
    FromColumn,
    FromDefault,
    FromExpression,
    find_column_sources,
)
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, family, is_binary

LOST_BYTES = LOST.encode()

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


def has_unknown_cell(images: pa.Array) -> Mask:
    data, offsets = buffers(images)
    if not (data == UNKNOWN_CELL[0]).any():
        return np.zeros(len(images), np.bool_)
    return as_mask(pc.match_substring(images, UNKNOWN_CELL))


def has_lost_bytes(images: pa.Array) -> Mask:
    """Return which images have an unknown cell, or U+FFFD, which may stand for bytes that are not UTF-8."""
    lost = has_unknown_cell(images)
    if (buffers(images)[0] == LOST_BYTES[0]).any():
        lost |= as_mask(pc.match_substring(images, LOST_BYTES))
    return lost


def is_unknown(cells: pa.Array) -> Mask:
    return as_mask(pc.equal(cells, UNKNOWN_CELL))


def as_mask(mask: pa.Array) -> Mask:
    """Convert a boolean array to NumPy; null becomes False."""
    values: Mask = np.array(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))
    return values


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
        case FromExpression():
            return pa.repeat(pa.scalar(UNKNOWN_CELL), rows)


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

"""Row changes of tables that nobody defines, replayed as far as their layouts tell: names of columns, and which are the
handle key.

One law: what a statement made of such a table nobody knows, so that behind it the table begins anew. Images of two
layouts are not held against each other: each begins with the mark of its layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.consumer.decode.layout_table import table_from_layout
from simulator.consumer.decode.row_texts import MEMBERS
from simulator.consumer.frame import Layout
from simulator.consumer.replay.normalize import as_mask, is_unknown, may_be_equal, restore_nulls
from simulator.consumer.replay.table_timeline import NO_TABLE, TableHistory, TableVersion
from simulator.tidb.model.types import TYPES

MARKER_SIZE = 8
"""Bytes of the mark of a layout."""

CODES = frozenset(TYPES[name].code for name in MEMBERS)
MOST = 1 << 30
"""Numbers for such tables, downwards from NOWHERE."""


@dataclass(frozen=True)
class UndefinedTable:
    """Such a table between two statements about it."""

    layout: Layout
    since: int
    """Commit-ts of the statement before."""

    @property
    def number(self) -> int:
        """The same in every task, and below NOWHERE; that two tables share one does no harm, as handles have names."""
        return NO_TABLE - 1 - crc32(self._name) % MOST

    def handles(self, images: pa.Array) -> pa.Array:
        """Handles of images of the layout; null where there is none, or a cell of the handle key that nobody told."""
        if images.null_count == len(images):
            return pa.nulls(len(images), pa.binary())
        there, names = images.drop_null(), self.layout.names
        cells = [row_image.cell(there, len(names), names.index(name)) for name in sorted(self.layout.keys)]
        hidden = np.logical_or.reduce([is_unknown(cell) for cell in cells])
        made = pc.binary_join_element_wise(self._name, row_image.pack(cells), b"\0")
        return restore_nulls(pc.if_else(pa.array(hidden), pa.scalar(None, pa.binary()), made), images)

    @property
    def _name(self) -> bytes:
        return f"{self.layout.schema}.{self.layout.table}\0{self.since}".encode("utf-8", "surrogatepass")


def has_key(layout: Layout) -> bool:
    """Whether its messages tell rows apart."""
    return bool(layout.keys) and set(layout.keys) <= set(layout.names)


def layout_marker(layout: Layout) -> bytes:
    """What images of a layout begin with."""
    return b"%08x" % crc32(repr((layout.names, layout.types)).encode("utf-8", "surrogatepass"))


def add_marker(images: pa.Array, layout: Layout) -> pa.Array:
    return pc.binary_join_element_wise(layout_marker(layout), images, b"\xff")


def remove_marker(image: bytes) -> bytes:
    """Without its mark."""
    return image[MARKER_SIZE + 1 :]


def marked_may_be_equal(images: pa.Array, others: pa.Array) -> Mask:
    """Whether marked images may be of one row."""
    found = np.ones(len(images), np.bool_)
    marks = pc.binary_slice(images, 0, MARKER_SIZE)
    same = np.flatnonzero(as_mask(pc.equal(marks, pc.binary_slice(others, 0, MARKER_SIZE))))
    encoded = marks.take(pa.array(same)).dictionary_encode()
    for number in range(len(encoded.dictionary)):
        places = same[np.asarray(encoded.indices) == number]
        one, other = (side.take(pa.array(places)) for side in (images, others))
        found[places] = may_be_equal(one, other, one[0].as_py().count(b"\xff") + 1)
    return found


def layout_history(layout: Layout) -> TableHistory:
    """The table as its messages tell it."""
    return TableHistory((TableVersion(-1, table_from_layout(layout)),), False)


def without_members(layout: Layout) -> frozenset[str]:
    """Columns but those whose values are numbers of members, of which an empty one may be sent as NULL."""
    return frozenset(
        name
        for name, kind in zip(layout.names, layout.types, strict=True)
        if kind not in CODES and str(kind).split("(")[0].lower() not in MEMBERS
    )


def last_statement_before(touched: Ints, ts: Ints) -> Ints:
    """The statement before each commit-ts; -1 for none."""
    known = np.concatenate(([-1], touched))
    found: Ints = known[np.searchsorted(touched, ts, "left")]
    return found

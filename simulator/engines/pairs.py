"""Pairs the rows of two snapshots while they are read, so that only those that differ are exchanged between tasks.

Both snapshots usually have a key in about the same place of their files. A task reads pieces from the same place of
both, and compares what it has of both at a time. What it does not pair is paired after the exchange, if it is anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import PAIRED_ROWS, PLACED_ROWS, Ints, ints, picked

WAITING_ROWS, WAITING_BYTES = 1 << 15, 64 << 20
"""Rows and bytes of one snapshot that wait for the rows of the other one."""

KEY = "place", "handle"
KEPT = [name for name in PLACED_ROWS.names if name != "image"]

Batches = Iterator[pa.RecordBatch]
IsKeyed = Callable[[Ints], npt.NDArray[np.bool_]]
"""Takes the column `place`; returns whether the table of each row has a handle key."""


def paired_rows(before: Batches, after: Batches, is_keyed: IsKeyed, every: bool = False) -> Batches:
    """Yield the rows (PLACED_ROWS) of two snapshots as PAIRED_ROWS: those that are paired and equal only if `every`.

    A row without its pair has one image; its pair may come later, or in another task. Rows of tables without a handle
    key are not paired.
    """
    sides = _Side(before), _Side(after)
    while side := _next_side(*sides):
        side.read()
        if sides[0].rows.num_rows and sides[1].rows.num_rows:
            yield from _pair(*sides, is_keyed, every)
        for each, one in zip(sides, ("before", "after")):
            if each.is_full:
                yield _single(each.take_older(), one)
    for each, one in zip(sides, ("before", "after")):
        yield _single(each.rows, one)


def _single(rows: pa.RecordBatch, side: str) -> pa.RecordBatch:
    """Return rows of one side, `before` or `after`, without an image on the other one."""
    none = pa.nulls(rows.num_rows, pa.binary())
    columns = {name: rows.column(name) for name in KEPT} | {"before": none, "after": none, side: rows.column("image")}
    return _paired(columns | ({"unaltered": none} if side == "after" else {}))


def _paired(columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([columns[name] for name in PAIRED_ROWS.names], schema=PAIRED_ROWS)


class _Side:
    """The rows of one snapshot that wait for those of the other one."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self.rows = pa.RecordBatch.from_pylist([], PLACED_ROWS)
        self.last = (-1, b"")
        """Place and handle of the row that was read last."""

        self.ended = False

    def read(self) -> None:
        """Add the next batch."""
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
        elif batch.num_rows:
            self.rows = pa.concat_batches([self.rows, batch]) if self.rows.num_rows else batch
            self.last = batch.column("place")[-1].as_py(), batch.column("handle")[-1].as_py()

    @property
    def is_full(self) -> bool:
        return bool(self.rows.num_rows > WAITING_ROWS or self.rows.nbytes > WAITING_BYTES)

    def take_older(self) -> pa.RecordBatch:
        """Remove the older half of the rows; return it."""
        half = -(-self.rows.num_rows // 2)
        older, self.rows = self.rows.slice(0, half), self.rows.slice(half)
        return older


def _next_side(before: _Side, after: _Side) -> _Side | None:
    """Return the side to read from: where keys ascend, as in most files, the one that is behind; None at the end."""
    if before.ended or after.ended:
        return None if before.ended and after.ended else after if before.ended else before
    return before if before.last <= after.last else after


def _pair(before: _Side, after: _Side, is_keyed: IsKeyed, every: bool) -> Batches:
    """Remove the rows that both sides have; yield those of them that differ, or `every` one."""
    old, new = before.rows, after.rows
    old_at, new_at = _same_keys(old, new)
    keyed = is_keyed(ints(old, "place")[old_at])
    old_at, new_at = old_at[keyed], new_at[keyed]
    images = [rows.column("image").take(pa.array(at)) for rows, at in ((old, old_at), (new, new_at))]
    differ = np.flatnonzero(every | ~np.asarray(pc.equal(*images)))
    if len(differ):
        was, now = (each.take(pa.array(differ)) for each in images)
        rows = old.select(KEPT).take(pa.array(old_at[differ]))
        yield _paired({name: rows.column(name) for name in KEPT} | {"before": was, "after": now})
    before.rows, after.rows = _without(old, old_at), _without(new, new_at)


def _same_keys(old: pa.RecordBatch, new: pa.RecordBatch) -> tuple[Ints, Ints]:
    """Return the positions of rows with equal keys on both sides; each row is in one pair at most."""
    found = pc.index_in(new.column("row_hash"), value_set=old.column("row_hash"))
    new_at = np.flatnonzero(np.asarray(found.is_valid()))
    old_at = np.asarray(found.drop_null(), dtype=np.int64)
    once = np.bincount(old_at, minlength=1)[old_at] == 1
    old_at, new_at = old_at[once], new_at[once]
    keys = ((rows.column(name).take(pa.array(at)) for rows, at in ((old, old_at), (new, new_at))) for name in KEY)
    equal = np.logical_and.reduce([np.asarray(pc.equal(*both)) for both in keys])
    return old_at[equal], new_at[equal]


def _without(rows: pa.RecordBatch, places: Ints) -> pa.RecordBatch:
    stays = np.ones(rows.num_rows, np.bool_)
    stays[places] = False
    return picked(rows, np.flatnonzero(stays))

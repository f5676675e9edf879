"""The row changes of a table whose definition changes on the way, each in the definition of its time.

One law: a change stands before the statements exactly if its time does and the old definition can say it, so that what
the statements then make of the row is what the change leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import CHANGES
from simulator.sources.diff import commit_ts
from simulator.sources.schema_change.forms import true
from simulator.sources.schema_change.model import Transition, Turn
from simulator.sources.schema_change.told import tells_deletes, tells_inserts, tells_updates, told_new, told_old
from simulator.tso import Span

Rows = npt.NDArray[np.int64]
Said = tuple[npt.NDArray[np.bool_], tuple[pa.Array, pa.Array, pa.Array, pa.Array]]
"""Which rows the old definition can tell, and table, handle, before and after of these."""

Tell = Callable[[Transition, pa.RecordBatch], Said]


def events(
    change: Transition, turn: Turn, span: Span, slots: npt.NDArray[np.int64], table: int, handle: pa.Array,
    before: pa.Array, after: pa.Array, was: pa.Array,
) -> pa.RecordBatch:
    """The changes (columns CHANGES, in any order) of joined rows whose images differ.

    `table`, the number of the table after or of a partition of it, and `handle` are what the sides were joined by;
    `before` is the image that `prior` gave, beside `was`, null for rows that are new; `after` is the image in the
    second snapshot, null for rows that go; `slots` are the milliseconds of the span that seed, table and handle give.
    Changes that the changefeed does not replicate under the table's name of their time are left out.

    `table`, `handle` and images of a change are those of the definition of its time, a handle of a table without a
    handle key the image and the number of the row among equal ones. `handle` is expected so, too: of rows of a table
    that has no handle key after the statements it ends by that number, which the handle before them then ends by.
    """
    numbers = pa.repeat(pa.scalar(table, pa.int32()), len(slots))
    met = pa.record_batch(
        [pa.array(slots), numbers, handle, before, after, was], ["slot", "table", "handle", "before", "after", "was"])
    parts, early = [], np.zeros(len(slots), bool)
    for rows, tell in _candidates(change, turn, met):
        said, part = tell(change, met.take(pa.array(rows)))
        told = rows[said]
        early[told] = True
        parts.append(_batch(_ahead(turn, span, slots[told]), span, *part))
    if change.sent[1]:
        late = met.filter(pa.array(~early))
        parts.append(_batch(_behind(turn, span, slots[~early]), span, *(late[name] for name in CHANGES.names[1:])))
    return pa.concat_batches(parts) if parts else pa.RecordBatch.from_pylist([], CHANGES)


def _candidates(change: Transition, turn: Turn, met: pa.RecordBatch) -> Iterator[tuple[Rows, Tell]]:
    """Rows whose change may stand before the statements, and how the old definition tells it."""
    slots = met["slot"].to_numpy()
    early = np.full(len(slots), bool(turn.slot)) & (turn.squeezed | (slots < turn.slot))
    gone, new = true(pc.is_null(met["after"])), true(pc.is_null(met["before"]))
    for kind, tells, tell in (
        (gone, tells_deletes, _deletes), (~gone & ~new, tells_updates, _updates), (new, tells_inserts, _inserts),
    ):
        rows = np.flatnonzero(early & kind)
        if len(rows) and tells(change):
            yield rows, tell


def _deletes(change: Transition, rows: pa.RecordBatch) -> Said:
    old = told_old(change, rows["handle"], rows["was"])
    return np.ones(len(rows), bool), (old.table, old.handle, old.image, pa.nulls(len(rows), pa.binary()))


def _updates(change: Transition, rows: pa.RecordBatch) -> Said:
    old = told_old(change, rows["handle"], rows["was"])
    said, new = told_new(change, rows["handle"], rows["after"], old)
    return said, (new.table, new.handle, old.image.filter(pa.array(said)), new.image)


def _inserts(change: Transition, rows: pa.RecordBatch) -> Said:
    said, new = told_new(change, rows["handle"], rows["after"], None)
    return said, (new.table, new.handle, pa.nulls(len(new.table), pa.binary()), new.image)


def _ahead(turn: Turn, span: Span, slots: Rows) -> Rows:
    """Milliseconds of the span for changes before the statements."""
    return slots * turn.slot // span.over_ms if turn.squeezed else slots


def _behind(turn: Turn, span: Span, slots: Rows) -> Rows:
    """Milliseconds of the span for changes behind the statements."""
    left = max(1, span.over_ms - turn.slot)
    return np.where(slots < turn.slot, turn.slot + slots % left, slots)


def _batch(slots: Rows, span: Span, *columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(commit_ts(span.start_ms, slots)), *columns], schema=CHANGES)

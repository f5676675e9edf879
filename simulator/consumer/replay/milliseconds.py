"""Order of a row's changes inside one millisecond, for messages without a TSO.

Canal-JSON without the TiDB extension carries milliseconds only. Offsets give the order inside a partition. Between
partitions, and for changes that a restart repeats, only the images do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, ints
from simulator.consumer.replay.frame import BEGIN, END, same_row

Change = tuple[bytes | None, bytes | None]


def order_within_milliseconds(rows: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """Reorder sorted image pairs: inside one row and millisecond each pair should begin with the image that the pair
    before left. Repeated pairs are dropped. Pairs before `first` keep their places."""
    goes_on, ts = same_row(rows), ints(rows, "commit_ts")
    inexact = ~rows.column("exact").to_numpy(zero_copy_only=False) & (ts != BEGIN) & (ts != END)
    at_once = goes_on & inexact & (np.diff(ts, prepend=ts[:1]) == 0)
    at_once[: first + 1] = False
    if not at_once.any():
        return rows
    return rows.take(pa.array(_order(rows, goes_on, at_once), pa.int64()))


def _order(rows: pa.RecordBatch, goes_on: Mask, at_once: Mask) -> Ints:
    order: list[int] = []
    done = 0
    starts = np.flatnonzero(at_once & ~np.append(False, at_once[:-1])) - 1
    for start in starts.tolist():
        end = start + 1
        while end < len(rows) and at_once[end]:
            end += 1
        order += range(done, start)
        changes = [
            (old, new)
            for old, new in zip(*(rows.column(name).slice(start, end - start).to_pylist() for name in ("old", "new")))
        ]
        was = rows.column("new")[order[-1]].as_py() if goes_on[start] and order else None
        order += [start + place for place in chain_changes(changes, was)]
        done = end
    return np.array([*order, *range(done, len(rows))], np.int64)


def chain_changes(changes: list[Change], was: bytes | None) -> list[int]:
    """Return the indexes of the changes, ordered so that each begins with the image that the one before left, as far as
    possible; repeated changes are left out."""
    left, found, used = list(range(len(changes))), list[int](), set[Change]()
    while left:
        place = next((place for place in left if changes[place][0] == was), None)
        if place is None:
            left = [place for place in left if changes[place] not in used]
            if not left:
                break
            place = left[0]
        left.remove(place)
        found.append(place)
        used.add(changes[place])
        was = changes[place][1]
    return found
